/// Where the request of a WebSocket is, before, during and after its connection.
///
/// This is a value type without I/O and without a clock. Each method is an event. An event without a meaning in the
/// current stage changes nothing. ``WebSocketState`` has the closing handshake of an open connection.
enum WebSocketStage {
    /// The handshake is not complete; the connection is closed at once if the session was shut down meanwhile.
    case opening(isShuttingDown: Bool)
    /// The user has closed the connection before it was open.
    case abandoned
    /// Messages are sent and received; there is no exchange if it has ended before the stage began.
    case open(ExchangeReference?)
    /// Nothing more can be sent; what was received before is still parsed and read.
    case ended(ExchangeReference?, RequestError?)
    /// The request has ended; loops end with an error of their own.
    case finished(RequestError?, ofLoops: RequestError?)

    /// What to do with a complete handshake.
    enum Opening {
        case accepted
        /// The connection is closed, because the session is shut down.
        case closes
        /// The connection was closed before it was open.
        case refused
    }

    init() { self = .opening(isShuttingDown: false) }

    /// Whether nothing more can be sent.
    var isOver: Bool {
        switch self {
        case .opening, .abandoned, .open: false
        case .ended, .finished: true
        }
    }

    var isFinished: Bool { if case .finished = self { true } else { false } }

    /// Whether messages can be sent.
    var isConnected: Bool { if case .open(.some) = self { true } else { false } }

    var exchange: ExchangeReference? {
        switch self {
        case .open(let exchange), .ended(let exchange, _): exchange
        case .opening, .abandoned, .finished: nil
        }
    }

    var error: RequestError? {
        switch self {
        case .ended(_, let error), .finished(let error, _): error
        case .opening, .abandoned, .open: nil
        }
    }

    /// The error at the end of a loop.
    var errorOfLoops: RequestError? { if case .finished(_, let error) = self { error } else { nil } }

    /// Called when the handshake is complete.
    mutating func opened(_ exchange: ExchangeReference?) -> Opening {
        guard case .opening(let isShuttingDown) = self else { return .refused }
        self = .open(exchange)
        return isShuttingDown ? .closes : .accepted
    }

    /// Called when the user closes the connection; returns whether there has been one.
    mutating func closeRequested() -> Bool {
        switch self {
        case .opening, .abandoned:
            self = .abandoned
            return false
        case .open, .ended, .finished: return true
        }
    }

    /// Called when the session is shut down; returns whether there is a connection to close.
    mutating func sessionShutsDown() -> Bool {
        switch self {
        case .opening:
            self = .opening(isShuttingDown: true)
            return false
        case .open, .ended: return true
        case .abandoned, .finished: return false
        }
    }

    /// Called when the exchange has ended; a cancellation is no reason.
    mutating func exchangeEnded(_ failure: RequestError?) {
        guard case .open(let exchange) = self else { return }
        self = .ended(exchange, failure?.isCancellation == true ? nil : failure)
    }

    /// Called when the request has ended; returns what must be released without the lock.
    mutating func finished(_ error: RequestError?, ofLoops: RequestError?) -> (ExchangeReference?, RequestError?) {
        guard !isFinished else { return (nil, nil) }
        let before = (exchange, self.error)
        self = .finished(error, ofLoops: ofLoops)
        return before
    }
}

/// Refers to an exchange; a copy takes 12 instructions, and a copy of `any Exchange` takes 110.
final class ExchangeReference: Sendable {
    let exchange: any Exchange

    init(_ exchange: any Exchange) { self.exchange = exchange }
}
