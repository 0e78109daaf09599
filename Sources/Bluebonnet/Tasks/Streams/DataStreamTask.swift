public import FoundationEssentials

/// Reads a response while it arrives: first the head, then the body as sequences.
///
/// ``DataStreamRequest/streamTask(automaticallyCancelling:)`` creates it. Getting a sequence from the task has no
/// effect. When a loop over the sequence begins, a reader joins, and the request starts unless the session or a
/// suspension prevents that.
///
/// Every reader receives the whole body, and the slowest reader sets the pace. A reader can join until the first byte
/// has been delivered. After that, a new reader receives a ``RequestError`` of the kind `.bodyAlreadyRead`, or the
/// error of the request if the request has failed. To begin several loops at different times, reserve the readers with
/// ``readers(_:)``.
///
/// Leaving a loop early ends its reader. When the last reader ends, the request is cancelled. If the task was only used
/// for the head, the request is cancelled when the task is released. With `automaticallyCancelling: false`, the request
/// continues instead, and the rest of the body is received and dropped.
public struct DataStreamTask: Sendable {
    /// The request whose response this task reads.
    public let request: DataStreamRequest

    let automaticallyCancelling: Bool
    private let lifetime: Lifetime
    private let place: BodyPlace?

    init(request: DataStreamRequest, automaticallyCancelling: Bool, place: BodyPlace? = nil) {
        self.request = request
        self.automaticallyCancelling = automaticallyCancelling
        self.place = place
        lifetime = Lifetime(body: request.body, cancelsRequest: automaticallyCancelling)
    }

    /// Returns tasks that share the body: each receives all of it, whenever its loop begins.
    ///
    /// ```swift
    /// let readers = task.readers(2)
    /// async let size = readers[0].bytes.reduce(0) { $0 + $1.count }
    /// for try await line in readers[1].lines { print(line) }
    /// ```
    ///
    /// The beginning of the body is kept until all of these readers have begun. The slowest reader sets the pace: once
    /// ``Session/Configuration/bodyHighWatermark`` bytes wait for a reader that never begins, the others have to wait
    /// too. A reader stops delaying the others when its task and its sequences are released. This method does not start
    /// the request.
    ///
    /// - Parameter count: The number of readers; 0 or less for none.
    /// - Returns: One task for each reader; each task is for one loop. Their loops fail with `.bodyAlreadyRead` if the
    ///   beginning of the body was delivered before this call.
    public func readers(_ count: Int) -> [DataStreamTask] {
        (0..<max(0, count)).map { _ in
            DataStreamTask(
                request: request, automaticallyCancelling: automaticallyCancelling,
                place: request.body.reserve(cancelsRequest: automaticallyCancelling))
        }
    }

    /// The head of the response, as soon as the validators have accepted it.
    ///
    /// Awaiting it starts the request, unless the session or a suspension prevents that. The body is held back until a
    /// reader begins. If the awaiting task is cancelled, the request is cancelled too. A task that was made with
    /// `automaticallyCancelling: false` or by ``readers(_:)`` only stops waiting.
    ///
    /// - Throws: The ``RequestError`` of a request that failed before its head was accepted; `.cancelled` if the
    ///   awaiting task was cancelled.
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

    /// Cancels the request; every sequence ends with `.cancelled`, after the bytes that have already arrived.
    public func cancel() { request.cancel() }

    /// Suspends the request: nothing is read from or written to the network until ``resume()``.
    public func suspend() { request.suspend() }

    /// Starts the request, or resumes it after ``suspend()``.
    public func resume() {
        lifetime.begin()
        request.resume()
    }

    /// The settings with which a sequence of this task reads the body.
    func reading(automaticallyCancelling: Bool? = nil) -> BodyReading {
        BodyReading(
            request: request, cancelsRequest: automaticallyCancelling ?? self.automaticallyCancelling, place: place,
            lifetime: lifetime)
    }

    /// Ends a request that this task started, and whose body was never read, when the task and its sequences are
    /// released.
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
    /// A line ends with LF or CRLF, or at the end of the body. The encoding is that of a byte order mark, otherwise
    /// that of the response's `charset`, and UTF-8 without either. Malformed bytes become U+FFFD. Lines are split in
    /// the task that runs the loop.
    ///
    /// The loop throws a ``RequestError`` if the request fails. It throws `.invalidResponse(.bodyTooLarge)` if a line
    /// is longer than 16 MiB.
    public var lines: some AsyncSequence<String, RequestError> & Sendable {
        FramedBody(reading: reading()) { TextLineFramer(charset: $0?.textEncoding) }
    }

    /// Returns a sequence of the values in a newline-delimited JSON body, or in any other format with one value per
    /// line.
    ///
    /// The loop throws a ``RequestError`` and ends in these cases:
    ///
    /// - The request fails.
    /// - A line is longer than 16 MiB: `.invalidResponse(.bodyTooLarge)`.
    /// - A line cannot be decoded: `.serialization(.decodingFailed)`, with the number of the line in the detail.
    ///
    /// Blank lines are skipped. Values are decoded in the task that runs the loop.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - decoder: The decoder for each line; a `JSONDecoder` by default.
    /// - Returns: The sequence of values.
    public func decodables<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, decoder: any DataDecoder = JSONDecoder()
    ) -> some AsyncSequence<Value, RequestError> & Sendable {
        FramedBody(reading: reading()) { _ in NewlineDelimitedJSON(of: type, decoder: decoder) }
    }

    /// The server-sent events in the body (WHATWG HTML §9.2).
    ///
    /// The sequence ends with this response; an event that is incomplete at that point is dropped. Use an
    /// ``EventSource`` to reconnect. The content type of the response is not checked, unless you add a validator.
    ///
    /// The loop throws a ``RequestError`` if the request fails. It throws `.invalidResponse(.bodyTooLarge)` if a line
    /// or the data of an event is longer than 16 MiB.
    public var serverSentEvents: some AsyncSequence<ServerSentEvent, RequestError> & Sendable {
        FramedBody(reading: reading()) { _ in ServerSentEventParser() }
    }
}

extension DataStreamTask {
    /// The pieces of the body, as they arrive.
    ///
    /// ```swift
    /// for try await piece in task.bytes { count += piece.count }
    /// ```
    ///
    /// No piece is empty, and a piece can be as large as a few hundred KiB. The loop throws a ``RequestError`` if the
    /// request fails.
    public var bytes: Bytes { Bytes(reading: reading()) }

    /// A sequence of the pieces of a response body: no piece is empty, and a piece can be as large as a few hundred
    /// KiB.
    public struct Bytes: AsyncSequence, Sendable {
        let reading: BodyReading

        /// Begins to read: a reader joins, and the request starts unless the session or a suspension prevents that.
        ///
        /// - Returns: The iterator; releasing it ends the reader.
        public func makeAsyncIterator() -> Iterator { Iterator(reader: reading.begin()) }

        /// The iterator of the pieces.
        public struct Iterator: AsyncIteratorProtocol {
            let reader: StreamReader

            /// Waits for the next piece.
            ///
            /// - Returns: The next piece, or `nil` at the end of the body.
            /// - Throws: The error of the request, or `.cancelled` if the current task is cancelled.
            public mutating func next() async throws(RequestError) -> Data? {
                try await reader.next()
            }

            /// Waits for the next piece.
            ///
            /// - Parameter actor: The actor that the caller is isolated to.
            /// - Returns: The next piece, or `nil` at the end of the body.
            /// - Throws: The error of the request, or `.cancelled` if the current task is cancelled.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(RequestError) -> Data? {
                try await reader.next()
            }
        }
    }
}

/// A streamed body as a sequence of the elements that a framer makes from it.
private struct FramedBody<Framer: BodyFramer>: AsyncSequence, Sendable {
    typealias Element = Framer.Element
    typealias Failure = RequestError

    let reading: BodyReading
    /// Makes the framer once the head is known.
    let makeFramer: @Sendable (HTTPResponse?) -> Framer

    func makeAsyncIterator() -> Iterator {
        Iterator(reader: FramedReader(reading.begin(), makeFramer: makeFramer))
    }

    struct Iterator: AsyncIteratorProtocol {
        let reader: FramedReader<Framer>

        mutating func next() async throws(RequestError) -> Framer.Element? {
            try await next(isolation: nil)
        }

        mutating func next(isolation actor: isolated (any Actor)?) async throws(RequestError) -> Framer.Element? {
            do throws(RequestError) {
                repeat {
                    guard let element = try reader.next() else { continue }
                    reader.streamReader.request.core.events?.streamed(Result<_, RequestError>.success(element))
                    return element
                } while try await reader.receive()
                return nil
            } catch {
                // Reading ends after an error, whether the request failed or the content is invalid.
                reader.close()
                throw error
            }
        }
    }
}
