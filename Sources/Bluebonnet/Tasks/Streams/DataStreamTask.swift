public import FoundationEssentials

/// A task that reads the response to a ``DataStreamRequest`` while it arrives.
///
/// ``DataStreamRequest/streamTask(automaticallyCancelling:)`` creates the task. The ``response`` of the task is the
/// head of the response, and the sequences of the task contain the body.
///
/// A loop over a sequence is a reader of the body. The request starts when the first reader begins. If the request is
/// suspended, or if the session was created with `startRequestsImmediately: false`, you must call ``resume()``.
///
/// Every reader receives the whole body, and the slowest reader limits the speed of the transfer. All readers must
/// begin before the first byte is delivered to a reader. A later reader fails with a ``RequestError`` of the kind
/// `.bodyAlreadyRead`. If the request has failed, a later reader fails with the error of the request. To begin several
/// loops at different times, reserve the readers with ``readers(_:)``.
///
/// The request is cancelled when a reader leaves its loop before the end of the body and no other reader remains. If
/// you only await ``response`` and begin no loop, the request is cancelled when the task and its sequences are
/// released. With `automaticallyCancelling: false`, the request continues in both cases, and the rest of the body is
/// received and discarded.
public struct DataStreamTask: Sendable {
    /// The request whose response this task reads.
    public let request: DataStreamRequest

    private(set) var automaticallyCancelling: Bool
    /// Keeps the body available while a sequence exists, even if the task was released.
    private let lifetime: Lifetime
    private let place: BodyPlace?

    init(request: DataStreamRequest, automaticallyCancelling: Bool, place: BodyPlace? = nil) {
        self.request = request
        self.automaticallyCancelling = automaticallyCancelling
        self.place = place
        lifetime = Lifetime(body: request.body, cancelsRequest: automaticallyCancelling)
    }

    /// Returns several tasks whose loops each receive the whole body.
    ///
    /// ```swift
    /// let readers = task.readers(2)
    /// async let size = readers[0].bytes.reduce(0) { $0 + $1.count }
    /// for try await line in readers[1].lines { print(line) }
    /// ```
    ///
    /// The loops can begin at different times, because the beginning of the body is kept until all loops have begun.
    /// The transfer pauses when ``Session/Configuration/bodyHighWatermark`` bytes wait for the slowest loop. A loop
    /// that never begins therefore blocks the other loops, until its task and the sequences of its task are released.
    /// This method does not start the request.
    ///
    /// - Parameter count: The number of tasks. If the number is 0 or negative, the result is empty.
    /// - Returns: The tasks. Use each task for only one loop. If the beginning of the body was delivered before this
    ///   call, the loops fail with `.bodyAlreadyRead`.
    public func readers(_ count: Int) -> [DataStreamTask] {
        (0..<max(0, count)).map { _ in
            DataStreamTask(
                request: request, automaticallyCancelling: automaticallyCancelling,
                place: request.body.reserve(cancelsRequest: automaticallyCancelling))
        }
    }

    /// The head of the response, which is available when the validators have accepted it.
    ///
    /// The request starts when you await the head. If the request is suspended, or if the session was created with
    /// `startRequestsImmediately: false`, you must call ``resume()``. The body is delivered only when a loop over a
    /// sequence begins.
    ///
    /// If the awaiting Swift task is cancelled, the request is also cancelled. With `automaticallyCancelling: false`,
    /// and for a task from ``readers(_:)``, only the wait ends, and the request continues.
    ///
    /// - Throws: A ``RequestError`` if the request fails before the head is accepted. The error is `.cancelled` if the
    ///   awaiting Swift task is cancelled.
    public var response: HTTPResponse {
        get async throws(RequestError) {
            request.core.observe(request)
            lifetime.begin()
            request.core.awaitedBeforeStart(request)
            do throws(RequestError) {
                return try await request.core.acceptedHead(cancellingRequest: automaticallyCancelling && place == nil)
            } catch {
                throw request.error(error)
            }
        }
    }

    /// Cancels the request.
    ///
    /// Every sequence delivers the bytes that have already arrived, and then ends with the error `.cancelled`.
    public func cancel() { request.cancel() }

    /// Suspends the request until ``resume()`` is called.
    ///
    /// A suspended request does not receive or send data.
    public func suspend() { request.suspend() }

    /// Starts the request, or resumes it after ``suspend()``.
    public func resume() {
        lifetime.begin()
        request.resume()
    }

    /// Returns the same task with another setting, unless it is `nil`.
    func with(automaticallyCancelling: Bool?) -> DataStreamTask {
        var task = self
        if let automaticallyCancelling { task.automaticallyCancelling = automaticallyCancelling }
        return task
    }

    /// Adds a reader and then starts the request, so that the reader receives the whole body.
    func begin() -> StreamReader {
        let reader = StreamReader(of: request, cancelsRequest: automaticallyCancelling, place: place)
        // A task that is already cancelled will not read anything. Other readers continue.
        if automaticallyCancelling, Task.isCancelled { reader.leave() } else { request.core.observe(request) }
        return reader
    }

    /// Ends the request when the task and its sequences are released, if the task started it and no reader read the
    /// body.
    final class Lifetime: Sendable {
        private let body: BodyFanOut
        private let cancelsRequest: Bool
        private let hasBegun = OnceFlag()

        init(body: BodyFanOut, cancelsRequest: Bool) {
            self.body = body
            self.cancelsRequest = cancelsRequest
        }

        deinit {
            if hasBegun.isTaken { body.taskEnded(cancelsRequest: cancelsRequest) }
        }

        func begin() {
            if hasBegun.take() { body.taskBegan() }
        }
    }
}

extension DataStreamTask {
    /// The lines of the body as text, without their line endings.
    ///
    /// A line ends with LF or CRLF, or at the end of the body. A byte order mark determines the encoding. If there is
    /// no mark, the encoding is the `charset` of the response, or UTF-8 by default. Malformed bytes become U+FFFD.
    ///
    /// The body is split into lines in the Swift task that runs the loop.
    ///
    /// The loop throws a ``RequestError`` and ends in these cases:
    ///
    /// - The request fails.
    /// - A line is longer than 16 MiB. The error is `.invalidResponse(.bodyTooLarge)`.
    /// - The `charset` is not available on this system, and the text is not well-formed UTF-8. The error is
    ///   `.serialization(.stringSerializationFailed)`.
    public var lines: some AsyncSequence<String, RequestError> & Sendable {
        FramedBody(task: self) { TextLineFramer(charset: $0?.textEncoding) }
    }

    /// Returns a sequence of the values in a newline-delimited JSON body.
    ///
    /// If you pass a `decoder` for another format, each line can contain a value in this format. Blank lines are
    /// skipped. The values are decoded in the Swift task that runs the loop.
    ///
    /// The loop throws a ``RequestError`` and ends in these cases:
    ///
    /// - The request fails.
    /// - A line is longer than 16 MiB. The error is `.invalidResponse(.bodyTooLarge)`.
    /// - A line cannot be decoded. The error is `.serialization(.decodingFailed)`, and its ``RequestError/detail``
    ///   contains the number of the line.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - decoder: The decoder for each line; the session's decoder by default.
    /// - Returns: The sequence of values.
    public func decodables<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, decoder: (any DataDecoder)? = nil
    ) -> Decodables<Value> {
        let decoder = decoder ?? request.sessionDecoder
        return Decodables(
            body: FramedBody(task: self) { _ in NewlineDelimitedJSON(of: type, decoder: decoder) })
    }

    /// A sequence of decoded values, which ``decodables(of:decoder:)`` returns.
    ///
    /// The compiler can specialize the loop for the type of the values.
    public struct Decodables<Value: Decodable & Sendable>: AsyncSequence, Sendable {
        fileprivate let body: FramedBody<NewlineDelimitedJSON<Value>>

        /// Creates an iterator, which starts the request if it has not started.
        ///
        /// - Returns: The iterator.
        public func makeAsyncIterator() -> Iterator { Iterator(reader: body.makeAsyncIterator().reader) }

        /// The iterator of the values.
        public struct Iterator: AsyncIteratorProtocol {
            @usableFromInline let reader: FramedReader<NewlineDelimitedJSON<Value>>

            /// Waits for the next value.
            ///
            /// - Returns: The next value, or `nil` at the end of the body.
            /// - Throws: The error of the request, or the error of a line that cannot be decoded.
            @inlinable
            public mutating func next() async throws(RequestError) -> Value? { try await next(isolation: nil) }

            /// Waits for the next value.
            ///
            /// - Parameter actor: The actor that the caller is isolated to.
            /// - Returns: The next value, or `nil` at the end of the body.
            /// - Throws: The error of the request, or the error of a line that cannot be decoded.
            @inlinable
            public mutating func next(isolation actor: isolated (any Actor)?) async throws(RequestError) -> Value? {
                if let value = try reader.nextForLoop() { return value }
                return try await reader.receiveForLoop()
            }
        }
    }

    /// The server-sent events in the body (WHATWG HTML §9.2).
    ///
    /// The sequence ends at the end of the response. It does not reconnect; use an ``EventSource`` for this. An
    /// incomplete event at the end is dropped. The content type of the response is checked only if you add a validator.
    ///
    /// The loop throws a ``RequestError`` if the request fails. It throws `.invalidResponse(.bodyTooLarge)` if a line
    /// or the data of an event is longer than 16 MiB.
    public var serverSentEvents: some AsyncSequence<ServerSentEvent, RequestError> & Sendable {
        FramedBody(task: self) { _ in ServerSentEventParser() }
    }
}

extension DataStreamTask {
    /// The bytes of the body, as a sequence of `Data` pieces.
    ///
    /// ```swift
    /// for try await piece in task.bytes { count += piece.count }
    /// ```
    ///
    /// The size of a piece depends on the network. A piece is never empty, and its size can be up to a few hundred KiB.
    /// The loop throws a ``RequestError`` if the request fails.
    public var bytes: Bytes { Bytes(task: self) }

    /// The bytes of a response body, as a sequence of `Data` pieces.
    ///
    /// The size of a piece depends on the network. A piece is never empty, and its size can be up to a few hundred KiB.
    public struct Bytes: AsyncSequence, Sendable {
        let task: DataStreamTask

        /// Creates an iterator, which is a new reader of the body, and starts the request.
        ///
        /// If the request is suspended, or if the session was created with `startRequestsImmediately: false`, you must
        /// call ``DataStreamTask/resume()``.
        ///
        /// - Returns: The iterator, which reads the body until it is released.
        public func makeAsyncIterator() -> Iterator { Iterator(reader: task.begin()) }

        /// The iterator of the pieces.
        public struct Iterator: AsyncIteratorProtocol {
            let reader: StreamReader

            /// Waits for the next piece.
            ///
            /// - Returns: The next piece, or `nil` at the end of the body.
            /// - Throws: The error of the request. The error is `.cancelled` if the current Swift task is cancelled,
            ///   and `.bodyAlreadyRead` if another reader had read the beginning of the body before the loop began.
            public mutating func next() async throws(RequestError) -> Data? {
                try await reader.next()
            }

            /// Waits for the next piece.
            ///
            /// - Parameter actor: The actor that the caller is isolated to.
            /// - Returns: The next piece, or `nil` at the end of the body.
            /// - Throws: The error of the request. The error is `.cancelled` if the current Swift task is cancelled,
            ///   and `.bodyAlreadyRead` if another reader had read the beginning of the body before the loop began.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(RequestError) -> Data? {
                try await reader.next()
            }
        }
    }
}

/// A sequence of the elements that a framer creates from a streamed body.
private struct FramedBody<Framer: BodyFramer>: AsyncSequence, Sendable {
    typealias Element = Framer.Element
    typealias Failure = RequestError

    let task: DataStreamTask
    /// Creates the framer when the head is known.
    let makeFramer: @Sendable (HTTPResponse?) -> Framer

    func makeAsyncIterator() -> Iterator {
        Iterator(reader: FramedReader(task.begin(), makeFramer: makeFramer))
    }

    struct Iterator: AsyncIteratorProtocol {
        let reader: FramedReader<Framer>

        mutating func next() async throws(RequestError) -> Framer.Element? {
            try await next(isolation: nil)
        }

        mutating func next(isolation actor: isolated (any Actor)?) async throws(RequestError) -> Framer.Element? {
            if let element = try reader.nextForLoop() { return element }
            return try await reader.receiveForLoop()
        }
    }
}
