public import FoundationEssentials

/// Reads a response while it comes in: the head first, then the body, as sequences.
///
/// Made by ``DataStreamRequest/streamTask(automaticallyCancelling:)``. Asking for a sequence has no effect. When a loop
/// over it begins, a reader joins, and the request starts unless its session or a suspension holds it back.
///
/// Every reader gets the whole body. Several readers may join until the first byte is handed out; the slowest sets the
/// pace. A reader that joins later gets a ``RequestError`` whose kind is `.bodyAlreadyRead`, or the request's own error if
/// that has failed. Readers that share a body reserve their places with ``readers(_:)`` and need not begin together.
///
/// A loop that is left early ends its reading, and the last to do so cancels the request. A task that was asked for the
/// head alone cancels the request when it goes. With `automaticallyCancelling: false` the rest of the body is received and
/// dropped instead.
public struct DataStreamTask: Sendable {
    /// The request that is read.
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

    /// Returns tasks that share the body: each reads all of it, whenever its loop begins.
    ///
    /// ```swift
    /// let readers = task.readers(2)
    /// async let size = readers[0].bytes.reduce(0) { $0 + $1.count }
    /// for try await line in readers[1].lines { print(line) }
    /// ```
    ///
    /// The beginning of the body is kept until each of them has begun, and the slowest sets the pace: a reader that
    /// never begins holds the others back once ``Session/Configuration/bodyHighWatermark`` bytes wait for it. A reader
    /// that is released, with its sequences, holds nothing back. Does not start the request.
    ///
    /// - Parameter count: How many readers; none if it is not positive.
    /// - Returns: The tasks, each for one loop. Their loops fail with `.bodyAlreadyRead` if the beginning of the body was
    ///   handed out before.
    public func readers(_ count: Int) -> [DataStreamTask] {
        (0..<max(0, count)).map { _ in
            DataStreamTask(
                request: request, automaticallyCancelling: automaticallyCancelling,
                place: request.body.reserve(cancelsRequest: automaticallyCancelling))
        }
    }

    /// The head of the response, as soon as it is there and the validators have accepted it.
    ///
    /// Starts the request. The body waits until a task reads it. If the awaiting task is cancelled, the request is,
    /// unless the task was made with `automaticallyCancelling: false`.
    ///
    /// - Throws: A ``RequestError`` if there is no such response.
    public var response: HTTPResponse {
        get async throws(RequestError) {
            request.core.observe(request)
            lifetime.begin()
            let head = await withTaskCancellationHandler {
                request.core.awaitedBeforeStart(request)
                return await acceptedHead()
            } onCancel: {
                if automaticallyCancelling { request.cancel() }
            }
            return try head.get()
        }
    }

    private func acceptedHead() async -> Result<HTTPResponse, RequestError> {
        do throws(RequestError) {
            return .success(try await request.core.acceptedHead())
        } catch {
            return .failure(error)
        }
    }

    /// Cancels the request; every sequence ends with `.cancelled`, after what has come in.
    public func cancel() { request.cancel() }

    /// Holds the request back: nothing is read from or written to the network.
    public func suspend() { request.suspend() }

    /// Lets the request go on, or starts it.
    public func resume() { request.resume() }

    /// What a sequence of this task reads.
    func reading(automaticallyCancelling: Bool? = nil) -> BodyReading {
        BodyReading(
            request: request, cancelsRequest: automaticallyCancelling ?? self.automaticallyCancelling, place: place)
    }

    /// Ends a request that was begun for its head, and whose body was never read, when the task goes.
    private final class Lifetime: Sendable {
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
    /// The body as text, line by line, without the line ends.
    ///
    /// Lines end with LF or CRLF, the last one also with the body. The text is decoded as the response's `charset` says,
    /// as UTF-8 by default, with U+FFFD for what is malformed. The loop throws a ``RequestError`` if
    /// the request fails, and `.invalidResponse(.bodyTooLarge)` if a line has more than 16 MiB. Lines are split where the
    /// loop runs.
    public var lines: some AsyncSequence<String, RequestError> & Sendable {
        FramedBody(reading: reading()) { TextLineFramer(charset: $0?.textEncoding) }
    }

    /// The values in a body of newline-delimited JSON, or of any other format that has a value in each line.
    ///
    /// Blank lines are skipped. The loop throws a ``RequestError`` if the request fails,
    /// `.invalidResponse(.bodyTooLarge)` if a line has more than 16 MiB, and `.serialization(.decodingFailed)`, with the
    /// line's number in the detail, if one cannot be decoded; it ends with that. Values are decoded where the loop runs.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - decoder: The decoder of a line; JSON by default.
    /// - Returns: The sequence of values.
    public func decodables<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, decoder: any DataDecoder = JSONDecoder()
    ) -> some AsyncSequence<Value, RequestError> & Sendable {
        FramedBody(reading: reading()) { _ in NewlineDelimitedJSON(of: type, decoder: decoder) }
    }

    /// The body as server-sent events (WHATWG HTML §9.2).
    ///
    /// Of this one response: the sequence ends with it, and an event that is not complete then is dropped. An
    /// ``EventSource`` reconnects. The content type is not looked at, unless a validator does. The loop
    /// throws a ``RequestError`` if the request fails, and `.invalidResponse(.bodyTooLarge)` if a line or the data of an
    /// event has more than 16 MiB.
    public var serverSentEvents: some AsyncSequence<ServerSentEvent, RequestError> & Sendable {
        FramedBody(reading: reading()) { _ in ServerSentEventParser() }
    }
}

extension DataStreamTask {
    /// The body, in pieces as they come in.
    ///
    /// ```swift
    /// for try await piece in task.bytes { count += piece.count }
    /// ```
    ///
    /// None of them is empty, and each has any size up to some hundred KiB. The loop throws a ``RequestError`` if the
    /// request fails.
    public var bytes: Bytes { Bytes(reading: reading()) }

    /// The body of a response in pieces: none of them empty, and of any size up to some hundred KiB.
    public struct Bytes: AsyncSequence, Sendable {
        let reading: BodyReading

        /// Begins a loop.
        ///
        /// A reader joins, and the request starts.
        ///
        /// - Returns: The iterator; dropping it ends the reading.
        public func makeAsyncIterator() -> Iterator { Iterator(reader: reading.begin()) }

        /// Takes the pieces one after the other.
        public struct Iterator: AsyncIteratorProtocol {
            let reader: StreamReader

            /// Waits for the next piece.
            ///
            /// - Returns: The piece, or `nil` at the end of the body.
            /// - Throws: Why the request failed; `.cancelled` when the task is.
            public mutating func next() async throws(RequestError) -> Data? {
                try await reader.next()
            }

            /// Waits for the next piece.
            ///
            /// - Parameter actor: The actor that the caller is on.
            /// - Returns: The piece, or `nil` at the end of the body.
            /// - Throws: Why the request failed; `.cancelled` when the task is.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(RequestError) -> Data? {
                try await reader.next()
            }
        }
    }
}

/// A streamed body as a sequence of what a framer makes of it.
private struct FramedBody<Framer: BodyFramer>: AsyncSequence, Sendable {
    typealias Element = Framer.Element
    typealias Failure = RequestError

    let reading: BodyReading
    /// Makes the framer when the head is known.
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
