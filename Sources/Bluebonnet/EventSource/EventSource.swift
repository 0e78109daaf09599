import FoundationEssentials

/// Receives server-sent events for as long as it takes, over as many connections as it takes.
///
/// ```swift
/// for try await event in session.eventSource("https://example.com/news") {
///     print(event.event, event.data)
/// }
/// ```
///
/// When the connection is lost, or the server closes it, the source waits for the reconnection time and connects again;
/// `Last-Event-ID` tells the server which event was the last one. The reconnection time is that of the configuration
/// until the server sends one of its own. While no connection can be made the time doubles, up to
/// ``Configuration/maximumReconnectionDelay``.
///
/// The sequence ends when the server answers with 204, or when the connection has ended and
/// ``Configuration/reconnects`` is false. It throws when waiting does not help: a status code other than 200 and 204, a
/// content type other than `text/event-stream`, a request that cannot be sent, a server that is not trusted, a session
/// that was shut down; and when ``Configuration/maximumAttempts`` were made without success.
///
/// Every `for try await` has a connection of its own, which is made when the loop begins, waits for its reader, and is
/// closed when the loop is left. Cancelling the task ends any wait for the next event, closes the connection at once and
/// throws `.cancelled`.
public struct EventSource: AsyncSequence, Sendable {
    /// Makes a connection with these fields in its request, and waits for the head of the response.
    typealias Open = @Sendable (HTTPHeaders) async throws(RequestError) -> EventSourceConnection

    /// How the source reconnects.
    package let configuration: Configuration

    private let open: Open
    private let timing: Timing
    private let status = EventSourceStatus()

    /// Creates a source.
    ///
    /// - Parameters:
    ///   - configuration: How the source reconnects.
    ///   - timing: How it waits.
    ///   - open: Makes a connection. It is called in the reader's task, one connection after the other.
    init(
        configuration: Configuration = Configuration(), timing: Timing = Timing(),
        open: @escaping Open
    ) {
        self.configuration = configuration
        self.timing = timing
        self.open = open
    }

    /// The states of the connection, starting with the current state.
    ///
    /// Of all connections, if there are several loops over the source. For an observer that is behind, the newest 16 are
    /// kept. Ends when the source is gone.
    public var states: StreamOf<State> { status.states.stream(bufferingPolicy: .newest(16)) }

    /// The last event ID that was received, over all connections: what to begin with another time.
    public var lastEventID: String { status.lastEventID.withLock(\.self) ?? configuration.initialLastEventID }

    /// Creates an iterator with a connection of its own, which is made when the first event is asked for.
    ///
    /// - Returns: The iterator; dropping it closes the connection.
    public func makeAsyncIterator() -> Iterator {
        Iterator(run: EventSourceRun(configuration: configuration, timing: timing, status: status, open: open))
    }

    /// Receives the events of an ``EventSource``.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let run: EventSourceRun

        /// Returns the next event, waiting and reconnecting for it.
        ///
        /// - Returns: The event, or `nil` when there are none to come.
        /// - Throws: Why there are none to come, once; `.cancelled` when the task is cancelled.
        public mutating func next() async throws(RequestError) -> ServerSentEvent? {
            try await run.next()
        }

        /// Returns the next event, waiting and reconnecting for it.
        ///
        /// - Parameter actor: The actor that the caller is isolated to.
        /// - Returns: The event, or `nil` when there are none to come.
        /// - Throws: Why there are none to come, once; `.cancelled` when the task is cancelled.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(RequestError) -> ServerSentEvent? {
            try await run.next()
        }
    }
}

extension EventSource {
    /// Says how a source reconnects.
    public struct Configuration: Hashable, Sendable {
        /// The `Last-Event-ID` of the first connection; the field is omitted when this is empty.
        ///
        /// It may hold no CR, LF or NUL: a request with one is never sent.
        public var initialLastEventID: String

        /// How long to wait before reconnecting until the server says otherwise; 3 seconds by default.
        public var reconnectionTime: Duration

        /// How long the wait may become while no connection can be made; 30 seconds by default.
        ///
        /// A longer reconnection time counts nevertheless. A quarter may come on top of it by chance, so that the clients
        /// of a server that was away do not come back all at once.
        public var maximumReconnectionDelay: Duration

        /// After how many attempts in a row without a connection the source gives up; never by default.
        ///
        /// It throws why the last one failed. At least one is made.
        public var maximumAttempts: Int?

        /// Whether the source reconnects at all; so it does by default.
        public var reconnects: Bool

        /// How many bytes the data of an event and a line of the stream may have; 16 MiB by default.
        ///
        /// More ends the sequence with `.invalidResponse(.bodyTooLarge)`.
        public var maximumEventBytes: Int

        /// Creates a configuration.
        ///
        /// - Parameters:
        ///   - initialLastEventID: The `Last-Event-ID` of the first connection.
        ///   - reconnectionTime: How long to wait before reconnecting until the server says otherwise.
        ///   - maximumReconnectionDelay: How long the wait may become while no connection can be made.
        ///   - maximumAttempts: After how many attempts in a row without a connection the source gives up.
        ///   - reconnects: Whether the source reconnects at all.
        ///   - maximumEventBytes: How many bytes the data of an event and a line of the stream may have.
        public init(
            initialLastEventID: String = "", reconnectionTime: Duration = .seconds(3),
            maximumReconnectionDelay: Duration = .seconds(30), maximumAttempts: Int? = nil, reconnects: Bool = true,
            maximumEventBytes: Int = 16 * 1024 * 1024
        ) {
            self.initialLastEventID = initialLastEventID
            self.reconnectionTime = reconnectionTime
            self.maximumReconnectionDelay = maximumReconnectionDelay
            self.maximumAttempts = maximumAttempts
            self.reconnects = reconnects
            self.maximumEventBytes = maximumEventBytes
        }
    }
}

extension EventSource {
    /// How a source waits: tests put a clock of their own here.
    struct Timing: Sendable {
        /// Waits; throws when the task is cancelled meanwhile.
        var sleep: @Sendable (Duration) async throws -> Void = { try await ContinuousClock().sleep(for: $0) }
        /// Returns the next random number between 0 and 1.
        var jitter: @Sendable () -> Double = { Double.random(in: 0...1) }
    }

    /// The state of a source's connection.
    public enum State: Hashable, Sendable {
        /// A connection is being made.
        case connecting
        /// Events can come.
        case open
        /// The connection has ended, or could not be made: for which reason, none when the server has closed it.
        case waiting(Duration, after: RequestError.Kind?)
        /// No more events come: the sequence has ended or its loop was left.
        case closed
    }
}

/// A connection of an ``EventSource`` whose response has begun.
struct EventSourceConnection: Sendable {
    /// The head of the response.
    let response: HTTPResponse
    /// The body, decoded from its content coding; iterated once or never.
    let chunks: any AsyncSequence<Data, RequestError> & Sendable
    /// Closes the connection, also one that is closed already, and ends a wait for the next chunk.
    ///
    /// Callable from anywhere, cancellation handlers included, so it must not block.
    let cancel: @Sendable () -> Void
}
