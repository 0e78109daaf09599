/// Decides when an ``EventSource`` connects, reads, waits and ends (WHATWG HTML §9.2.2, §9.2.3).
///
/// The phases `connecting`, `open` and `waiting` repeat in this order. If an attempt to connect fails, `waiting`
/// follows `connecting`. `closed` is final. Each method reports an event and returns the next action.
struct EventSourceState {
    /// The phase of the source.
    enum Phase: Hashable {
        /// The source waits for a response.
        case connecting
        /// The response is an event stream.
        case open
        /// The source waits for the reconnection time.
        case waiting
        /// There are no more events.
        case closed
    }

    /// The next action.
    enum Action: Hashable {
        /// Open a connection.
        case connect
        /// Read the connection's events.
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
    /// The minimum delay that a server can set, unless the configured delay is shorter.
    static let shortestDelayOfServer = Duration.milliseconds(500)
    /// The maximum delay, which replaces longer delays.
    static let longestDelay = Duration.seconds(24 * 60 * 60)

    private let configuration: EventSource.Configuration
    private(set) var phase = Phase.connecting
    /// The number of failed connection attempts in a row.
    private(set) var failedAttempts = 0
    private(set) var reconnectionTime: Duration
    /// Whether the request may be sent again.
    private var isRepeatable = true

    init(_ configuration: EventSource.Configuration) {
        self.configuration = configuration
        reconnectionTime = configuration.reconnectionTime
    }

    /// A request with a method was sent.
    mutating func requestSent(_ method: HTTPMethod) {
        isRepeatable = method.isIdempotent || configuration.repeatsNonIdempotentRequests
    }

    /// The head of a response was received.
    mutating func headReceived(statusCode: Int, mimeType: String?) -> Action {
        switch (statusCode, mimeType) {
        case (200, "text/event-stream"):
            phase = .open
            failedAttempts = 0
            return .read
        case (204, _): return closed(.finish)
        case (200, _): return closed(.fail(.eventSource(.unacceptableContentType(mimeType))))
        default: return closed(.fail(.eventSource(.unacceptableStatusCode(statusCode))))
        }
    }

    /// The stream has set the reconnection time.
    mutating func reconnectionTimeReceived(_ time: Duration) {
        reconnectionTime = max(time, min(configuration.reconnectionTime, Self.shortestDelayOfServer))
    }

    /// The event that ends the sequence was received.
    mutating func finalEventReceived() -> Action { closed(.finish) }

    /// The connection has ended, or the attempt to connect has failed.
    ///
    /// The failure is `nil` if the server closed the connection. The jitter is a random number between 0 and 1.
    mutating func connectionEnded(_ failure: RequestError.Kind?, jitter: Double) -> Action {
        if phase == .connecting { failedAttempts += 1 }
        let reconnects = configuration.reconnects && isRepeatable
        if let failure {
            let isLastAttempt = configuration.maximumAttempts.map { failedAttempts >= max($0, 1) } ?? false
            if Self.isPermanent(failure) || !reconnects || isLastAttempt { return closed(.fail(failure)) }
        } else if !reconnects {
            return closed(configuration.finalData == nil ? .finish : .fail(.eventSource(.missingFinalData)))
        }
        phase = .waiting
        return .wait(delay(jitter: jitter))
    }

    /// The wait is over.
    mutating func waited() -> Action {
        phase = .connecting
        return .connect
    }

    /// The reader's task was cancelled.
    mutating func cancelled() -> Action {
        closed(.fail(.cancelled))
    }

    private mutating func closed(_ action: Action) -> Action {
        phase = .closed
        return action
    }

    /// Returns the reconnection time, doubled for each failed attempt except the first, plus a random part of up to a
    /// quarter.
    private func delay(jitter: Double) -> Duration {
        let time = max(.zero, min(reconnectionTime, Self.longestDelay))
        let maximum = max(time, min(configuration.maximumReconnectionDelay, Self.longestDelay))
        var delay = time
        if failedAttempts > 1 {
            // With more doublings, the maximum is reached anyway.
            let doublings = min(failedAttempts - 1, 20)
            delay = max(time, min(max(time, Self.shortestDelayAfterFailures) * (1 << doublings), maximum))
        }
        return delay + delay * jitter / 4
    }
}

extension EventSourceState {
    /// Returns whether a new connection would fail in the same way.
    ///
    /// Failures that the network or a restarting server can cause are not permanent. Examples are failed name lookups,
    /// timeouts and interrupted handshakes.
    static func isPermanent(_ kind: RequestError.Kind) -> Bool {
        switch kind {
        case .connection, .timedOut, .circuitOpen, .trust(.handshake): false
        case .invalidResponse(let reason):
            switch reason {
            case .malformed, .truncated, .http2Stream, .http3Stream: false
            case .headTooLarge, .bodyTooLarge, .undecodableContent: true
            }
        case .retry(let original): isPermanent(original)
        case .invalidURL, .invalidRequest, .parameterEncoding, .multipartEncoding, .requestBody, .adaptation, .cookies,
            .redirect, .cache,
            .authentication, .trust, .validation, .serialization, .download, .eventSource, .webSocket,
            .bodyAlreadyRead, .cancelled,
            .sessionShutDown, .internal:
            true
        }
    }
}
