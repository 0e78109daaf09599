/// Decides when a connection of an event source or a WebSocket is made, read, awaited and ended.
///
/// The phases `connecting`, `open` and `waiting` repeat in this order. If an attempt to connect fails, `waiting`
/// follows `connecting`. `closed` is final. Each method reports an event and returns the next action.
struct ReconnectionState {
    /// The phase of the connection.
    enum Phase: Hashable {
        /// The head of the response has not arrived.
        case connecting
        /// The connection is open.
        case open
        /// The reconnection time has not passed.
        case waiting
        /// There are no more connections.
        case closed
    }

    /// The next action.
    enum Action: Hashable {
        /// Make a connection.
        case connect
        /// Read what the connection receives.
        case read
        /// Wait for the duration.
        case wait(Duration)
        /// End the sequence.
        case finish
        /// End the sequence with an error.
        case fail(RequestError.Kind)
    }

    /// The minimum delay that is doubled after failed attempts, which avoids a flood of requests to a failing server.
    static let shortestDelayAfterFailures = Duration.seconds(1)
    /// The maximum delay, which replaces longer delays.
    static let longestDelay = Duration.seconds(24 * 60 * 60)

    /// The wait after a connection that was open, or after the first failed attempt.
    var reconnectionTime: Duration
    /// The maximum of the doubled wait.
    let maximumDelay: Duration
    /// The maximum number of failed attempts in a row; `nil` for no limit.
    let maximumAttempts: Int?
    private(set) var phase = Phase.connecting
    /// The number of failed attempts to connect in a row.
    private(set) var failedAttempts = 0

    /// The connection is open.
    mutating func opened() -> Action {
        (phase, failedAttempts) = (.open, 0)
        return .read
    }

    /// The connection has ended, or the attempt to connect has failed.
    ///
    /// The failure is `nil` after an end without an error. No connection follows an end that is final, a permanent
    /// failure or the last attempt. The jitter is a random number between 0 and 1. If the server has asked for a wait,
    /// the failure is not permanent, and the wait is at least as long.
    mutating func ended(
        _ failure: RequestError.Kind?, isFinal: Bool, askedWait: Duration? = nil, jitter: Double
    ) -> Action {
        if phase == .connecting { failedAttempts += 1 }
        let isLastAttempt = maximumAttempts.map { failedAttempts >= max($0, 1) } ?? false
        let isPermanent = failure?.isPermanent == true && askedWait == nil
        if let failure, isFinal || isLastAttempt || isPermanent { return closed(.fail(failure)) }
        if isFinal { return closed(.finish) }
        phase = .waiting
        return .wait(delay(atLeast: min(askedWait ?? .zero, Self.longestDelay), jitter: jitter))
    }

    /// The wait is over.
    mutating func waited() -> Action {
        phase = .connecting
        return .connect
    }

    /// The reader's task was cancelled.
    mutating func cancelled() -> Action { closed(.fail(.cancelled)) }

    /// There are no more connections for another reason.
    mutating func closed(_ action: Action) -> Action {
        phase = .closed
        return action
    }

    /// Returns the reconnection time, doubled for each failed attempt except the first, plus a random part of up to a
    /// quarter.
    private func delay(atLeast minimum: Duration, jitter: Double) -> Duration {
        let time = max(.zero, min(reconnectionTime, Self.longestDelay))
        let maximum = max(time, min(maximumDelay, Self.longestDelay))
        var delay = time
        if failedAttempts > 1 {
            // With more doublings, the maximum is reached anyway.
            let doublings = min(failedAttempts - 1, 20)
            delay = max(time, min(max(time, Self.shortestDelayAfterFailures) * (1 << doublings), maximum))
        }
        delay = max(delay, minimum)
        return delay + delay * jitter / 4
    }
}

extension RequestError.Kind {
    /// Whether a new connection would fail in the same way.
    ///
    /// Failures that the network or a restarting server can cause are not permanent. Examples are failed name lookups,
    /// timeouts and interrupted handshakes.
    var isPermanent: Bool {
        switch self {
        case .connection, .timedOut, .circuitOpen, .trust(.handshake): false
        case .invalidResponse(let reason):
            switch reason {
            case .malformed, .truncated, .http2Stream, .http3Stream: false
            case .headTooLarge, .bodyTooLarge, .undecodableContent: true
            }
        case .webSocket(let reason):
            switch reason {
            case .closed, .pingUnanswered: false
            case .handshake(.unacceptableStatusCode(let code)):
                ![408, 425, 429].contains(code) && !(500...599).contains(code)
            case .handshake, .violation, .invalidClose: true
            }
        case .retry(let original): original.isPermanent
        case .invalidURL, .invalidRequest, .parameterEncoding, .multipartEncoding, .requestBody, .adaptation, .cookies,
            .redirect, .cache, .authentication, .trust, .validation, .serialization, .download, .eventSource,
            .bodyAlreadyRead, .cancelled, .sessionShutDown, .internal:
            true
        }
    }
}
