public import FoundationEssentials

/// A task that reads the response to a ``DataStreamRequest`` while it arrives.
///
/// ``DataStreamRequest/streamTask(automaticallyCancelling:)`` creates the task. Its ``response`` is the head of the
/// response, and its sequences contain the body. A loop over a sequence is a reader of the body. When a reader begins,
/// the request starts, unless it is suspended or the session does not start requests automatically.
///
/// Every reader receives the whole body, and the slowest reader limits the speed of the transfer. All readers must
/// begin before the first byte is delivered. A later reader fails with a ``RequestError`` of the kind
/// `.bodyAlreadyRead`, or with the error of a failed request. To begin several loops at different times, reserve the
/// readers with ``readers(_:)``.
///
/// When a loop ends early, its reader ends. When the last reader ends, the request is cancelled. If only ``response``
/// was awaited, the request is cancelled when the task is released. With `automaticallyCancelling: false`, the request
/// continues instead, and the rest of the body is received and discarded.
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

    /// Returns several tasks whose loops each receive the whole body.
    ///
    /// ```swift
    /// let readers = task.readers(2)
    /// async let size = readers[0].bytes.reduce(0) { $0 + $1.count }
    /// for try await line in readers[1].lines { print(line) }
    /// ```
    ///
    /// The loops can begin at different times, because the beginning of the body is kept until all readers have begun.
    /// The transfer pauses when ``Session/Configuration/bodyHighWatermark`` bytes wait for the slowest reader. A reader
    /// that never begins therefore blocks the other readers, until its task and its sequences are released. This method
    /// does not start the request.
    ///
    /// - Parameter count: The number of readers. If it is 0 or negative, the result is empty.
    /// - Returns: One task for each reader, which is intended for one loop. If the beginning of the body was delivered
    ///   before this call, the loops fail with `.bodyAlreadyRead`.
    public func readers(_ count: Int) -> [DataStreamTask] {
        (0..<max(0, count)).map { _ in
            DataStreamTask(
                request: request, automaticallyCancelling: automaticallyCancelling,
                place: request.body.reserve(cancelsRequest: automaticallyCancelling))
        }
    }

    /// The head of the response, which is available when the validators have accepted it.
    ///
    /// Awaiting the head starts the request, unless the request is suspended or the session does not start requests
    /// automatically. The body is not delivered until a reader begins. If the awaiting Swift task is cancelled, the
    /// request is also cancelled. With `automaticallyCancelling: false`, and in a task of ``readers(_:)``, only the wait
    /// ends.
    ///
    /// - Throws: A ``RequestError`` if the request fails before the head is accepted; `.cancelled` if the awaiting Swift
    ///   task is cancelled.
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
    /// Every sequence delivers the bytes that have already arrived, and then ends with `.cancelled`.
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

    /// Returns the settings for a sequence that reads the body.
    func reading(automaticallyCancelling: Bool? = nil) -> BodyReading {
        BodyReading(
            request: request, cancelsRequest: automaticallyCancelling ?? self.automaticallyCancelling, place: place,
            lifetime: lifetime)
    }

    /// Ends the request when the task and its sequences are released, if the task started it and nobody read the body.
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
    /// no mark, the encoding is the `charset` of the response, or UTF-8 by default. Malformed bytes become U+FFFD. The
    /// Swift task that runs the loop splits the body into lines.
    ///
    /// The loop throws a ``RequestError`` if the request fails. It throws `.invalidResponse(.bodyTooLarge)` if a line
    /// is longer than 16 MiB.
    public var lines: some AsyncSequence<String, RequestError> & Sendable {
        FramedBody(reading: reading()) { TextLineFramer(charset: $0?.textEncoding) }
    }

    /// Returns a sequence of the values in a newline-delimited JSON body.
    ///
    /// With another decoder, the body can have any other format with one value per line. The loop throws a
    /// ``RequestError`` and ends in these cases:
    ///
    /// - The request fails.
    /// - A line is longer than 16 MiB. The error is `.invalidResponse(.bodyTooLarge)`.
    /// - A line cannot be decoded. The error is `.serialization(.decodingFailed)`, and its detail contains the number
    ///   of the line.
    ///
    /// Blank lines are skipped. The Swift task that runs the loop decodes the values.
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
    /// The sequence ends at the end of the response and does not reconnect, unlike an ``EventSource``. An incomplete
    /// event at the end is dropped. The content type of the response is not checked, unless you add a validator.
    ///
    /// The loop throws a ``RequestError`` if the request fails. It throws `.invalidResponse(.bodyTooLarge)` if a line
    /// or the data of an event is longer than 16 MiB.
    public var serverSentEvents: some AsyncSequence<ServerSentEvent, RequestError> & Sendable {
        FramedBody(reading: reading()) { _ in ServerSentEventParser() }
    }
}

extension DataStreamTask {
    /// A sequence of the pieces of the body, in the sizes in which they arrive.
    ///
    /// ```swift
    /// for try await piece in task.bytes { count += piece.count }
    /// ```
    ///
    /// A piece is never empty, and its size can be up to a few hundred KiB. The loop throws a ``RequestError`` if the
    /// request fails.
    public var bytes: Bytes { Bytes(reading: reading()) }

    /// A sequence of the pieces of a response body.
    ///
    /// A piece is never empty, and its size can be up to a few hundred KiB.
    public struct Bytes: AsyncSequence, Sendable {
        let reading: BodyReading

        /// Creates an iterator, which is a new reader of the body.
        ///
        /// The request starts, unless it is suspended or the session does not start requests automatically.
        ///
        /// - Returns: The iterator. The reader ends when the iterator is released.
        public func makeAsyncIterator() -> Iterator { Iterator(reader: reading.begin()) }

        /// The iterator of the pieces.
        public struct Iterator: AsyncIteratorProtocol {
            let reader: StreamReader

            /// Waits for the next piece.
            ///
            /// - Returns: The next piece, or `nil` at the end of the body.
            /// - Throws: The error of the request, or `.cancelled` if the current Swift task is cancelled.
            public mutating func next() async throws(RequestError) -> Data? {
                try await reader.next()
            }

            /// Waits for the next piece.
            ///
            /// - Parameter actor: The actor that the caller is isolated to.
            /// - Returns: The next piece, or `nil` at the end of the body.
            /// - Throws: The error of the request, or `.cancelled` if the current Swift task is cancelled.
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

    let reading: BodyReading
    /// Creates the framer when the head is known.
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
                // Reading ends after any error, whether the request has failed or the content is invalid.
                reader.close()
                throw error
            }
        }
    }
}
