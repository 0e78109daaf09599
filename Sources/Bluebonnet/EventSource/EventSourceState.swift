/// Decides when an ``EventSource`` connects, reads, waits and ends (WHATWG HTML §9.2.2, §9.2.3).
///
/// It adds the rules of event sources to ``ReconnectionState``. Each method reports an event and returns the next
/// action.
struct EventSourceState {
    typealias Action = ReconnectionState.Action

    /// The minimum delay that a server can set, unless the configured delay is shorter.
    static let shortestDelayOfServer = Duration.milliseconds(500)

    private let configuration: EventSource.Configuration
    private var reconnection: ReconnectionState
    /// Whether the request may be sent again.
    private var isRepeatable = true

    init(_ configuration: EventSource.Configuration) {
        self.configuration = configuration
        reconnection = ReconnectionState(
            reconnectionTime: configuration.reconnectionTime, maximumDelay: configuration.maximumReconnectionDelay,
            maximumAttempts: configuration.maximumAttempts)
    }

    var phase: ReconnectionState.Phase { reconnection.phase }
    var failedAttempts: Int { reconnection.failedAttempts }
    var reconnectionTime: Duration { reconnection.reconnectionTime }

    /// A request with a method was sent.
    mutating func requestSent(_ method: HTTPMethod) {
        isRepeatable = method.isIdempotent || configuration.repeatsNonIdempotentRequests
    }

    /// The head of a response was received.
    ///
    /// The wait is the one in its `Retry-After` field. The jitter is a random number between 0 and 1.
    mutating func headReceived(
        statusCode: Int, mimeType: String?, retryAfter: Duration? = nil, jitter: Double = 0
    ) -> Action {
        switch (statusCode, mimeType) {
        case (200, "text/event-stream"): reconnection.opened()
        case (204, _): reconnection.closed(.finish)
        case (200, _): reconnection.closed(.fail(.eventSource(.unacceptableContentType(mimeType))))
        case (let code, _) where configuration.reconnectingStatusCodes.contains(code):
            reconnection.ended(
                .eventSource(.unacceptableStatusCode(statusCode)), isFinal: isFinal, askedWait: retryAfter ?? .zero,
                jitter: jitter)
        default: reconnection.closed(.fail(.eventSource(.unacceptableStatusCode(statusCode))))
        }
    }

    /// Whether no connection follows.
    private var isFinal: Bool { !(configuration.reconnects && isRepeatable) }

    /// Whether an event ends the sequence.
    func isFinal(_ event: ServerSentEvent) -> Bool {
        event.data == configuration.finalData || event.event == configuration.finalEvent
    }

    /// The stream has set the reconnection time.
    mutating func reconnectionTimeReceived(_ time: Duration) {
        reconnection.reconnectionTime = max(time, min(configuration.reconnectionTime, Self.shortestDelayOfServer))
    }

    /// The event that ends the sequence was received.
    mutating func finalEventReceived() -> Action { reconnection.closed(.finish) }

    /// The connection has ended, or the attempt to connect has failed.
    ///
    /// The failure is `nil` if the server closed the connection. The jitter is a random number between 0 and 1.
    mutating func connectionEnded(_ failure: RequestError.Kind?, jitter: Double) -> Action {
        if failure == nil, isFinal, configuration.finalData != nil || configuration.finalEvent != nil {
            return reconnection.closed(.fail(.eventSource(.missingFinalData)))
        }
        return reconnection.ended(failure, isFinal: isFinal, jitter: jitter)
    }

    /// The wait is over.
    mutating func waited() -> Action { reconnection.waited() }

    /// The reader's task was cancelled.
    mutating func cancelled() -> Action { reconnection.cancelled() }
}
