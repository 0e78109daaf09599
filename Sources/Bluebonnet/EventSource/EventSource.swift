import FoundationEssentials

/// A sequence of server-sent events that reconnects when the connection ends.
///
/// ```swift
/// for try await event in session.eventSource("https://example.com/news") {
///     print(event.event, event.data)
/// }
/// ```
///
/// When the connection is lost or the server closes it, the source waits for the reconnection time and connects again.
/// The reconnection time is ``Configuration/reconnectionTime``, until the server sets another time. If several attempts
/// to connect fail in a row, the source doubles the wait with each further failure, up to
/// ``Configuration/maximumReconnectionDelay``. The `Last-Event-ID` field of the new request contains the last event ID
/// that this loop received. Without an ID, the request does not have this field.
///
/// The source does not reconnect if ``Configuration/reconnects`` is `false`. The source also does not reconnect if the
/// method of its request is not idempotent, such as POST. To reconnect in this case, set
/// ``Configuration/repeatsNonIdempotentRequests``.
///
/// The sequence ends when the server responds with status 204, or sends ``Configuration/finalData`` or
/// ``Configuration/finalEvent``. Without these settings, the sequence of a source that does not reconnect also ends
/// when the server closes the connection.
///
/// The sequence throws an error in these cases:
///
/// - The status code is neither 200 nor 204, nor one of ``Configuration/reconnectingStatusCodes``.
/// - The content type is not `text/event-stream`.
/// - The request is invalid, the server is not trusted, or the session was shut down.
/// - The request fails for another reason that a new attempt would not change, such as too many redirects.
/// - A line or the data of an event is larger than ``Configuration/maximumEventBytes``.
/// - ``Configuration/maximumAttempts`` attempts in a row have failed.
/// - The connection fails, and the source does not reconnect.
/// - ``Configuration/finalData`` or ``Configuration/finalEvent`` is set, the source does not reconnect, and the server
///   closes the connection before it has sent this event.
///
/// Every `for try await` loop has its own connection. The source connects when the loop begins, and closes the
/// connection when the loop ends. A slow loop slows the transfer, so unread events use little memory. If the task of
/// the loop is cancelled, the source closes the connection immediately and throws `.cancelled`.
public struct EventSource: AsyncSequence, Sendable {
    /// Opens a connection with these request fields, and waits for the head of the response.
    typealias Open = @Sendable (HTTPHeaders) async throws(RequestError) -> EventSourceConnection

    /// The reconnection settings.
    package private(set) var configuration = Configuration()

    /// The functions for waiting and for random numbers.
    var timing = Timing()
    /// Opens a connection; the reader's task calls it for one connection after the other.
    let open: Open
    private let status = EventSourceStatus()

    /// A sequence of the states of the connection, starting with the current state if a loop has begun.
    ///
    /// If there are several loops over the source, the sequence contains the states of all their connections. If you
    /// read the sequence slowly, you receive only the newest 16 states. The sequence ends when the source and its
    /// iterators are released.
    public var states: StreamOf<State> { status.states.stream(bufferingPolicy: .newest(16)) }

    /// A sequence of the events and comments that the server sends, in their order.
    ///
    /// Each loop over the sequence has its own connection, as a loop over the source does, and ends like it. The
    /// comments are also in the sequence ``comments``.
    ///
    /// ```swift
    /// for try await entry in session.eventSource(url).entries {
    ///     switch entry {
    ///     case .event(let event): show(event.data)
    ///     case .comment: showThatTheServerIsBusy()
    ///     }
    /// }
    /// ```
    public var entries: Entries { Entries(source: self) }

    /// A sequence of the comments that the server sends, without the colon at the start and one space after the colon.
    ///
    /// Many servers send comments, which may be empty, to keep the connection open. A comment is cut off after 1 KiB.
    /// If you read the sequence slowly, you receive only the newest 16 comments.
    ///
    /// The sequence begins with the newest comment that has already arrived, if there is one. The sequence itself opens
    /// no connection. It receives comments only while a loop over the source reads the events. The sequence ends when
    /// the source and its iterators are released. A task that only reads comments should therefore keep this sequence,
    /// and not the source.
    public var comments: StreamOf<String> { status.comments.stream(bufferingPolicy: .newest(16)) }

    /// The last event ID that the source has received on any of its connections.
    ///
    /// Before the source receives an ID, the value is ``Configuration/initialLastEventID``. To continue later with a
    /// new source, set its ``Configuration/initialLastEventID`` to this value.
    public var lastEventID: String { status.lastEventID.withLock(\.self) ?? configuration.initialLastEventID }

    /// Creates an iterator with its own connection.
    ///
    /// - Returns: The iterator. It connects when you request the first event, and closes the connection when the
    ///   iterator is released.
    public func makeAsyncIterator() -> Iterator {
        Iterator(run: makeRun())
    }

    private func makeRun() -> EventSourceRun {
        EventSourceRun(configuration: configuration, timing: timing, status: status, open: open)
    }

    /// The iterator of an ``EventSource``.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let run: EventSourceRun

        /// Waits for the next event, and reconnects if necessary.
        ///
        /// - Returns: The next event, or `nil` if the sequence has ended.
        /// - Throws: The error that ends the sequence, or `.cancelled` if the task is cancelled. Later calls return
        ///   `nil`.
        public mutating func next() async throws(RequestError) -> ServerSentEvent? {
            try await run.next()
        }

        /// Waits for the next event, and reconnects if necessary.
        ///
        /// - Parameter actor: The actor that the caller is isolated to.
        /// - Returns: The next event, or `nil` if the sequence has ended.
        /// - Throws: The error that ends the sequence, or `.cancelled` if the task is cancelled. Later calls return
        ///   `nil`.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(RequestError) -> ServerSentEvent? {
            try await run.next()
        }
    }
}

extension EventSource {
    /// An event or a comment.
    public enum Entry: Hashable, Sendable {
        /// An event, as in a loop over the source.
        case event(ServerSentEvent)
        /// The text of a comment, as in ``EventSource/comments``.
        case comment(String)
    }

    /// A sequence of events and comments, which ``EventSource/entries`` returns.
    public struct Entries: AsyncSequence, Sendable {
        fileprivate let source: EventSource

        /// Creates an iterator with its own connection.
        ///
        /// - Returns: The iterator. It connects when you request the first entry, and closes the connection when the
        ///   iterator is released.
        public func makeAsyncIterator() -> Iterator { Iterator(run: source.makeRun()) }

        /// The iterator of the entries.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate let run: EventSourceRun

            /// Waits for the next event or comment, and reconnects if necessary.
            ///
            /// - Returns: The next entry, or `nil` if the sequence has ended.
            /// - Throws: The error that ends the sequence, or `.cancelled` if the task is cancelled.
            public mutating func next() async throws(RequestError) -> Entry? { try await run.nextEntry() }

            /// Waits for the next event or comment, and reconnects if necessary.
            ///
            /// - Parameter actor: The actor that the caller is isolated to.
            /// - Returns: The next entry, or `nil` if the sequence has ended.
            /// - Throws: The error that ends the sequence, or `.cancelled` if the task is cancelled.
            public mutating func next(isolation actor: isolated (any Actor)?) async throws(RequestError) -> Entry? {
                try await run.nextEntry()
            }
        }
    }

    /// The reconnection settings of an event source.
    public struct Configuration: Hashable, Sendable {
        /// The value of the `Last-Event-ID` field in the first request.
        ///
        /// If the value is empty, which is the default, the request does not have this field. If the value contains CR,
        /// LF or NUL, the request fails.
        public var initialLastEventID: String

        /// The time that the source waits before it reconnects.
        ///
        /// The default is 3 seconds. The server can set another time. The shortest time that the server can set is half
        /// a second, or this value if this value is shorter. The maximum is 24 hours, both for this value and for the
        /// time that the server sets.
        public var reconnectionTime: Duration

        /// The maximum time that the source waits after several failed attempts to connect.
        ///
        /// The default is 30 seconds. If the reconnection time is longer than this value, the source waits for the
        /// reconnection time instead.
        ///
        /// The source extends every wait by a random amount of up to a quarter of the wait, even beyond this maximum.
        /// Clients of a restarted server therefore do not all reconnect at the same time.
        public var maximumReconnectionDelay: Duration

        /// The maximum number of failed attempts to connect in a row, or `nil` for no limit.
        ///
        /// The default is `nil`. When the limit is reached, the source throws the error of the last attempt. The source
        /// makes at least one attempt, even if the value is less than 1.
        public var maximumAttempts: Int?

        /// Whether the source reconnects when the connection ends or an attempt to connect fails.
        ///
        /// The default is `true`.
        public var reconnects: Bool

        /// Whether the source reconnects if the method of its request is not idempotent, such as POST.
        ///
        /// The default is `false`, because each new connection sends the request again. The server could then process
        /// an order twice, for example. With `false`, a source with such a method does not reconnect. If the connection
        /// fails, the sequence throws the error. If the server closes the connection, the sequence ends. If
        /// ``finalData`` is set and has not arrived, the sequence throws `.eventSource(.missingFinalData)` instead.
        public var repeatsNonIdempotentRequests = false

        /// The data of an event that ends the sequence, such as the `[DONE]` that many language model APIs send.
        ///
        /// If the value is `nil`, which is the default, no event ends the sequence. The event itself is not delivered.
        /// When the event arrives, the source closes the connection and does not reconnect. If the settings prevent
        /// all reconnections, and the server closes the connection before it has sent this event, the sequence throws
        /// `.eventSource(.missingFinalData)`.
        public var finalData: String?

        /// The type of an event that ends the sequence, such as `message_stop`.
        ///
        /// The default is `nil`. An event of this type has the same effect as one with ``finalData``, whatever its data
        /// is, and is not delivered either.
        public var finalEvent: String?

        /// The status codes after which the source waits and reconnects, such as 429 and 503.
        ///
        /// The default is no status code, because a source must not reconnect after such a response unasked (WHATWG
        /// HTML §9.2.3). The response counts as a failed attempt to connect. If it has a `Retry-After` field (RFC 9110
        /// §10.2.3), the source waits at least for this time, or for 24 hours if it is longer, and for a random part of
        /// up to a quarter more. The source does not reconnect if
        /// ``reconnects`` is `false`, or if the method is not idempotent and ``repeatsNonIdempotentRequests`` is
        /// `false`.
        public var reconnectingStatusCodes: Set<Int>

        /// The maximum size in bytes of a line, and of the data of an event.
        ///
        /// The default is 16 MiB. If a line or the data of an event is larger, the sequence throws
        /// `.invalidResponse(.bodyTooLarge)`.
        public var maximumEventBytes: Int

        /// Creates a configuration.
        ///
        /// - Parameters:
        ///   - initialLastEventID: The value of the `Last-Event-ID` field in the first request; empty by default, which
        ///     means that the request does not have this field.
        ///   - reconnectionTime: The time that the source waits before it reconnects; 3 seconds by default. The server
        ///     can replace this time.
        ///   - maximumReconnectionDelay: The maximum time that the source waits after several failed attempts to
        ///     connect; 30 seconds by default.
        ///   - maximumAttempts: The maximum number of failed attempts to connect in a row, or `nil` for no limit; `nil`
        ///     by default.
        ///   - reconnects: Whether the source reconnects when the connection ends or an attempt to connect fails;
        ///     `true` by default.
        ///   - maximumEventBytes: The maximum size in bytes of a line, and of the data of an event; 16 MiB by default.
        ///   - finalData: The data of an event that ends the sequence; `nil`, the default, if no event ends it.
        ///   - finalEvent: The type of an event that ends the sequence; `nil`, the default, if no event ends it.
        ///   - reconnectingStatusCodes: The status codes after which the source reconnects; none by default.
        public init(
            initialLastEventID: String = "", reconnectionTime: Duration = .seconds(3),
            maximumReconnectionDelay: Duration = .seconds(30), maximumAttempts: Int? = nil, reconnects: Bool = true,
            maximumEventBytes: Int = 16 * 1024 * 1024, finalData: String? = nil, finalEvent: String? = nil,
            reconnectingStatusCodes: Set<Int> = []
        ) {
            self.initialLastEventID = initialLastEventID
            self.reconnectionTime = reconnectionTime
            self.maximumReconnectionDelay = maximumReconnectionDelay
            self.maximumAttempts = maximumAttempts
            self.reconnects = reconnects
            self.maximumEventBytes = maximumEventBytes
            self.finalData = finalData
            self.finalEvent = finalEvent
            self.reconnectingStatusCodes = reconnectingStatusCodes
        }
    }
}

extension EventSource {
    /// The functions for waiting and for random numbers, which tests replace.
    struct Timing: Sendable {
        /// Waits for a duration, and throws if the task is cancelled.
        var sleep: @Sendable (Duration) async throws -> Void = { try await ContinuousClock().sleep(for: $0) }
        /// Returns the next random number between 0 and 1.
        var jitter: @Sendable () -> Double = { Double.random(in: 0...1) }
    }

    /// The state of an event source's connection.
    public enum State: Hashable, Sendable {
        /// The source is connecting.
        case connecting
        /// The connection is open, and events can arrive.
        case open
        /// The connection has ended or an attempt to connect has failed, and the source waits before it reconnects.
        ///
        /// The first value is the duration of the wait. The second value is the kind of the error that ended the
        /// connection, or `nil` if the server closed the connection without an error.
        case waiting(Duration, after: RequestError.Kind?)
        /// The sequence of events has ended, or the loop over the sequence has ended earlier.
        case closed
    }
}

/// A connection of an ``EventSource`` whose response head has arrived.
struct EventSourceConnection: Sendable {
    /// The head of the response.
    let response: HTTPResponse
    /// The method of the request.
    var method = HTTPMethod.get
    /// The chunks of the body after content decoding, which are iterated at most once.
    let chunks: any AsyncSequence<Data, RequestError> & Sendable
    /// Closes the connection, and ends a wait for the next chunk.
    ///
    /// It may be called several times, from any thread, and from cancellation handlers. It must not block.
    let cancel: @Sendable () -> Void
}
