import FoundationEssentials

/// The state of a WebSocket connection after the handshake, without I/O and without a clock (RFC 6455 §5.5, §7).
///
///     open ──────► closing ──────► draining ──────► closed
///      │ close        │ the peer's    │ the server ends the connection, or the time limit
///      │ requested    │ close frame   ▲
///      └──────────────┼───────────────┘ the peer's close frame, or its violation
///                     └─ its violation, end or time limit ─► closed
///
/// Each method reports an event and returns the next action. As soon as the connection is not open, the owner starts
/// the time limit for closing.
enum WebSocketState: Equatable {
    /// Messages are sent and received.
    case open(Pings)
    /// A close frame was sent, and the peer's was not received; messages are still received.
    case closing(sent: WebSocketClose, Pings)
    /// Nothing more is sent or received; the server ends the connection (RFC 6455 §7.1.1).
    case draining(WebSocketClosure)
    /// The connection has ended.
    case closed(WebSocketClosure)

    /// The pings that were not answered.
    struct Pings: Equatable {
        fileprivate struct Ping: Equatable {
            let id: UInt64
            let isKeepAlive: Bool
        }

        fileprivate var nextID: UInt64 = 0
        fileprivate var unanswered: [Ping] = []

        fileprivate mutating func add(isKeepAlive: Bool) -> Action {
            unanswered.append(Ping(id: nextID, isKeepAlive: isKeepAlive))
            defer { nextID += 1 }
            return .sendPing(id: nextID)
        }

        /// A pong also answers all earlier pings (RFC 6455 §5.5.3); a pong that answers no ping is ignored.
        fileprivate mutating func answer(_ payload: Data) -> Action {
            guard let index = unanswered.lastIndex(where: { WebSocketState.payload(ofPing: $0.id) == payload }) else {
                return .none
            }
            defer { unanswered.removeSubrange(...index) }
            return .answered(unanswered[...index].map(\.id))
        }
    }

    /// The next action.
    enum Action: Equatable {
        case none
        /// Send a ping with ``payload(ofPing:)``.
        case sendPing(id: UInt64)
        /// Send a pong; it may replace an earlier pong that was not sent yet (RFC 6455 §5.5.3).
        case sendPong(Data)
        /// Send a close frame after the current frame, and nothing after it.
        case sendClose(WebSocketClose)
        /// Report that these pings are answered.
        case answered([UInt64])
        /// End the connection, and report its end.
        case end(WebSocketClosure)
    }

    init() { self = .open(Pings()) }

    var isOpen: Bool { if case .open = self { true } else { false } }

    /// Whether messages that were received are delivered.
    var mayRead: Bool { closure == nil }

    /// The end of the connection, which is known before the server ends it.
    var closure: WebSocketClosure? {
        switch self {
        case .open, .closing: nil
        case .draining(let closure), .closed(let closure): closure
        }
    }

    /// The bytes of a ping, by which its pong is recognized.
    static func payload(ofPing id: UInt64) -> Data {
        Data(stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: id >> UInt64($0)) })
    }

    /// The user wants to close the connection; only the first request counts.
    mutating func closeRequested(_ close: WebSocketClose) -> Action {
        guard case .open(let pings) = self else { return .none }
        self = .closing(sent: close, pings)
        return .sendClose(close)
    }

    /// The user wants to send a ping, which is not sent if the connection is not open.
    mutating func pingRequested() -> Action { pinged(isKeepAlive: false) }

    /// The time between two keep-alive pings has passed.
    ///
    /// - Parameters:
    ///   - limit: The number of unanswered keep-alive pings that end the connection.
    ///   - isAlive: Whether bytes show that the peer is alive. Its pong may be behind a long message.
    /// - Returns: The next action.
    mutating func keepAliveElapsed(limit: Int = 1, isAlive: Bool = false) -> Action {
        guard case .open(var pings) = self else { return .none }
        if isAlive {
            // The new ping takes the place of those without an answer; a pong may have been lost.
            pings.unanswered.removeAll(where: \.isKeepAlive)
            self = .open(pings)
        }
        guard pings.unanswered.count(where: \.isKeepAlive) < limit else {
            return ended(WebSocketClosure(isPingUnanswered: true))
        }
        return pinged(isKeepAlive: true)
    }

    /// An event was received.
    mutating func received(_ event: WebSocketEvent) -> Action {
        switch (self, event) {
        case (.open, .ping(let payload)), (.closing, .ping(let payload)): return .sendPong(payload)
        case (.open(var pings), .pong(let payload)):
            defer { self = .open(pings) }
            return pings.answer(payload)
        case (.closing(let sent, var pings), .pong(let payload)):
            defer { self = .closing(sent: sent, pings) }
            return pings.answer(payload)
        case (.open, .close(let close)):
            let answer = WebSocketClose(valid: close.code)
            self = .draining(WebSocketClosure(sent: answer, received: close))
            return .sendClose(answer)
        case (.closing(let sent, _), .close(let close)):
            // It answers the own close frame, or both ends close at the same time.
            self = .draining(WebSocketClosure(sent: sent, received: close))
            return .none
        case (.open, .violation(let violation)):
            // The connection is not ended at once: bytes that were not read would reset it before the frame arrives.
            let close = WebSocketClose(valid: violation.code, reason: violation.reason)
            self = .draining(WebSocketClosure(sent: close, violation: violation))
            return .sendClose(close)
        case (.closing(let sent, _), .violation(let violation)):
            return ended(WebSocketClosure(sent: sent, violation: violation))
        case (.draining(var closure), .violation(let violation)):
            // A message is read after the close frame that followed it, and is too big.
            closure.violation = closure.violation ?? violation
            self = .draining(closure)
            return .none
        case (.draining, _), (.closed, _), (_, .piece), (_, .nothing): return .none
        }
    }

    /// The server has ended the connection, or the connection has failed.
    mutating func connectionEnded() -> Action {
        switch self {
        case .open: ended(WebSocketClosure())
        case .closing(let sent, _): ended(WebSocketClosure(sent: sent))
        case .draining(let closure): ended(closure)
        case .closed: .none
        }
    }

    /// The time limit for closing has passed.
    mutating func closeTimeElapsed() -> Action { isOpen ? .none : connectionEnded() }

    /// The user does not wait for the peer.
    mutating func cancelled() -> Action { connectionEnded() }

    private mutating func ended(_ closure: WebSocketClosure) -> Action {
        self = .closed(closure)
        return .end(closure)
    }

    private mutating func pinged(isKeepAlive: Bool) -> Action {
        guard case .open(var pings) = self else { return .none }
        defer { self = .open(pings) }
        return pings.add(isKeepAlive: isKeepAlive)
    }
}
