import FoundationEssentials

/// A sequence of server-sent events, which reconnects when its connection ends.
///
/// ```swift
/// for try await event in session.eventSource("https://example.com/news") {
///     print(event.event, event.data)
/// }
/// ```
///
/// When the connection is lost, or when the server closes it, the source waits for the reconnection time and connects
/// again. The `Last-Event-ID` field tells the server which event was received last. The reconnection time comes from
/// the configuration until the server sends another. While no connection can be made, the time doubles with each
/// attempt, up to ``Configuration/maximumReconnectionDelay``.
///
/// The sequence ends when the server responds with status 204. It also ends when the server closes the connection, if
/// ``Configuration/reconnects`` is `false`.
///
/// The sequence throws an error in these cases, in which waiting would not help:
///
/// - The status code is neither 200 nor 204.
/// - The content type is not `text/event-stream`.
/// - The request cannot be sent, the server is not trusted, or the session was shut down.
/// - A line or the data of an event is larger than ``Configuration/maximumEventBytes``.
/// - ``Configuration/maximumAttempts`` attempts in a row have failed.
/// - The connection fails, and ``Configuration/reconnects`` is `false`.
///
/// Every `for try await` loop has its own connection. The connection is made when the loop begins, receives only as
/// fast as the loop reads, and is closed when the loop ends. Cancelling the task ends any wait for the next event,
/// closes the connection at once and throws `.cancelled`.
public struct EventSource: AsyncSequence, Sendable {
    /// Makes a connection with these fields in its request, and waits for the head of the response.
    typealias Open = @Sendable (HTTPHeaders) async throws(RequestError) -> EventSourceConnection

    /// The reconnection settings.
    package let configuration: Configuration

    private let open: Open
    private let timing: Timing
    private let status = EventSourceStatus()

    /// Creates a source.
    ///
    /// - Parameters:
    ///   - configuration: The reconnection settings.
    ///   - timing: The functions for waiting and for random numbers.
    ///   - open: A closure that makes a connection. It is called in the reader's task, for one connection after the
    ///     other.
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
    /// If there are several loops over the source, the sequence reports the states of all of their connections. For an
    /// observer that falls behind, the newest 16 states are kept. The sequence ends when the source and its iterators
    /// are released.
    public var states: StreamOf<State> { status.states.stream(bufferingPolicy: .newest(16)) }

    /// The last event ID that was received on any connection, for use as the initial ID of a later source.
    ///
    /// Before any is received, it is ``Configuration/initialLastEventID``.
    public var lastEventID: String { status.lastEventID.withLock(\.self) ?? configuration.initialLastEventID }

    /// Creates an iterator with its own connection, which is made when the first event is requested.
    ///
    /// - Returns: The iterator; releasing it closes the connection.
    public func makeAsyncIterator() -> Iterator {
        Iterator(run: EventSourceRun(configuration: configuration, timing: timing, status: status, open: open))
    }

    /// The iterator of an ``EventSource``.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let run: EventSourceRun

        /// Waits for the next event, and reconnects if necessary.
        ///
        /// - Returns: The next event, or `nil` if there are no more.
        /// - Throws: The error that ended the sequence, once; `.cancelled` if the task is cancelled.
        public mutating func next() async throws(RequestError) -> ServerSentEvent? {
            try await run.next()
        }

        /// Waits for the next event, and reconnects if necessary.
        ///
        /// - Parameter actor: The actor that the caller is isolated to.
        /// - Returns: The next event, or `nil` if there are no more.
        /// - Throws: The error that ended the sequence, once; `.cancelled` if the task is cancelled.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(RequestError) -> ServerSentEvent? {
            try await run.next()
        }
    }
}

extension EventSource {
    /// The reconnection settings of an event source.
    public struct Configuration: Hashable, Sendable {
        /// The `Last-Event-ID` of the first connection; empty, the default, to omit the field.
        ///
        /// It must not contain CR, LF or NUL; otherwise, the request cannot be sent.
        public var initialLastEventID: String

        /// The time to wait before reconnecting, until the server sends another; 3 seconds by default.
        ///
        /// More than 24 hours count as 24 hours, also if the server asks for them.
        public var reconnectionTime: Duration

        /// The maximum wait while no connection can be made; 30 seconds by default.
        ///
        /// A longer reconnection time takes precedence. Up to a quarter is added to every wait at random, so that the
        /// clients of a restarted server do not all reconnect at once.
        public var maximumReconnectionDelay: Duration

        /// The number of failed connection attempts in a row after which the source gives up; `nil`, the default, for
        /// no limit.
        ///
        /// The source then throws the error of the last attempt. It makes at least one attempt.
        public var maximumAttempts: Int?

        /// Whether the source reconnects; `true` by default.
        public var reconnects: Bool

        /// The maximum size of a line of the stream, and of the data of an event, in bytes; 16 MiB by default.
        ///
        /// A larger line or event ends the sequence with `.invalidResponse(.bodyTooLarge)`.
        public var maximumEventBytes: Int

        /// Creates a configuration.
        ///
        /// - Parameters:
        ///   - initialLastEventID: The `Last-Event-ID` of the first connection; none by default.
        ///   - reconnectionTime: The time to wait before reconnecting, until the server sends another; 3 seconds by
        ///     default.
        ///   - maximumReconnectionDelay: The maximum wait while no connection can be made; 30 seconds by default.
        ///   - maximumAttempts: The number of failed connection attempts in a row after which the source gives up;
        ///     `nil`, the default, for no limit.
        ///   - reconnects: Whether the source reconnects; `true` by default.
        ///   - maximumEventBytes: The maximum size of a line of the stream, and of the data of an event; 16 MiB by
        ///     default.
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
    /// The functions with which a source waits; tests replace them.
    struct Timing: Sendable {
        /// Waits; throws if the task is cancelled during the wait.
        var sleep: @Sendable (Duration) async throws -> Void = { try await ContinuousClock().sleep(for: $0) }
        /// Returns the next random number between 0 and 1.
        var jitter: @Sendable () -> Double = { Double.random(in: 0...1) }
    }

    /// The state of an event source's connection.
    public enum State: Hashable, Sendable {
        /// A connection is being made.
        case connecting
        /// The connection is open, and events can arrive.
        case open
        /// The connection has ended or could not be made, and the source waits to reconnect.
        ///
        /// The values are the time of the wait and the kind of the error, which is `nil` if the server closed the
        /// connection.
        case waiting(Duration, after: RequestError.Kind?)
        /// The sequence has ended, or its loop was left.
        case closed
    }
}

/// A connection of an ``EventSource``, once its response has begun.
struct EventSourceConnection: Sendable {
    /// The head of the response.
    let response: HTTPResponse
    /// The body, decoded from its content coding; iterated at most once.
    let chunks: any AsyncSequence<Data, RequestError> & Sendable
    /// Closes the connection, and ends a wait for the next chunk; it may be called again.
    ///
    /// It may be called from any thread, and from cancellation handlers, so it must not block.
    let cancel: @Sendable () -> Void
}
