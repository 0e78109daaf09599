public import FoundationEssentials

/// Reads a response while it comes in: the head first, then the body, as sequences.
///
/// Made by ``DataStreamRequest/streamTask(automaticallyCancelling:)``. Asking for a sequence starts the request, unless
/// its session or a suspension holds it back, and everything from then on waits for the loop over it; so several
/// sequences that are asked for together see the same. A sequence that is asked for when the request has ended, and is
/// not the first, ends at once, with the request's error if that failed.
///
/// A loop that is left early ends its reading, and the last to do so cancels the request; likewise a task that was asked
/// for the head alone cancels the request when it goes.
public struct DataStreamTask: Sendable {
    /// The request that is read.
    public let request: DataStreamRequest

    let automaticallyCancelling: Bool
    private let lifetime: Lifetime

    init(request: DataStreamRequest, automaticallyCancelling: Bool) {
        self.request = request
        self.automaticallyCancelling = automaticallyCancelling
        lifetime = Lifetime(body: automaticallyCancelling ? request.body : nil)
    }

    /// The head of the response, as soon as it is there and the validators have accepted it.
    ///
    /// Starts the request. The body waits until somebody reads it. If the awaiting task is cancelled, the request is,
    /// unless the task was made with `automaticallyCancelling: false`.
    ///
    /// - Throws: A ``RequestError`` if there is no such response.
    public var response: HTTPResponse {
        get async throws(RequestError) {
            request.core.observe(request)
            lifetime.begin()
            let head = await withTaskCancellationHandler {
                request.core.awaitedUnbegun(request)
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

    /// Begins to read, for one sequence, and starts the request.
    func observation() -> Offer<BodyObservation> {
        beginning(automaticallyCancelling) { Offer($0) }
    }

    /// Makes what reads the body, then starts the request, so that nothing of it is missed.
    func beginning<Reading>(
        _ cancelsRequest: Bool, _ make: (@escaping @Sendable () -> BodyObservation) -> Reading
    ) -> Reading {
        // A task that is cancelled already is not going to read anything.
        if cancelsRequest, Task.isCancelled { request.cancel() }
        let reading = make { [request] in BodyObservation(of: request, cancelsRequest: cancelsRequest) }
        request.core.observe(request)
        return reading
    }

    /// Cancels a request that was begun for its head, and whose body nobody came to read.
    private final class Lifetime: Sendable {
        private let body: BodyFanOut?
        private let hasBegun = OneTimeClaim()

        init(body: BodyFanOut?) {
            self.body = body
        }

        deinit {
            if hasBegun.isTaken { body?.taskEnded() }
        }

        func begin() {
            if hasBegun.take() { body?.taskBegan() }
        }
    }
}

extension DataStreamTask {
    /// The body as text, line by line, without the line ends.
    ///
    /// Lines end with LF or CRLF, the last one also with the body. The text is decoded as the response's `charset` says,
    /// as UTF-8 by default, with U+FFFD for what is malformed. Starts the request. The loop throws a ``RequestError`` if
    /// the request fails, and `.invalidResponse(.bodyTooLarge)` if a line has more than 16 MiB. Lines are split where the
    /// loop runs.
    public var lines: some AsyncSequence<String, RequestError> & Sendable {
        FramedBody(offer: observation()) { TextLineFramer(charset: $0?.textEncoding) }
    }

    /// The values in a body of newline-delimited JSON, or of any other format that has a value in each line.
    ///
    /// Blank lines are skipped. Starts the request. The loop throws a ``RequestError`` if the request fails,
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
        FramedBody(offer: observation()) { _ in NewlineDelimitedJSON(of: type, decoder: decoder) }
    }

    /// The body as server-sent events (WHATWG HTML §9.2).
    ///
    /// Of this one response: the sequence ends with it, and an event that is not complete then is dropped. An
    /// ``EventSource`` reconnects. The content type is not looked at, unless a validator does. Starts the request. The loop
    /// throws a ``RequestError`` if the request fails, and `.invalidResponse(.bodyTooLarge)` if a line or the data of an
    /// event has more than 16 MiB.
    public var serverSentEvents: some AsyncSequence<ServerSentEvent, RequestError> & Sendable {
        FramedBody(offer: observation()) { _ in ServerSentEventParser() }
    }
}

extension DataStreamTask {
    /// The body, in pieces as they come in.
    ///
    /// ```swift
    /// for try await piece in task.bytes { count += piece.count }
    /// ```
    ///
    /// Starts the request. The loop throws a ``RequestError`` if the request fails.
    public var bytes: Bytes { Bytes(offer: observation()) }

    /// The body of a response in pieces: none of them empty, and of any size up to some hundred KiB.
    public struct Bytes: AsyncSequence, Sendable {
        /// What a loop over the sequence throws.
        public typealias Failure = RequestError

        let offer: Offer<BodyObservation>

        /// Begins a loop.
        ///
        /// The first one sees everything from when the sequence was asked for, others from now on.
        ///
        /// - Returns: The iterator; dropping it ends the reading.
        public func makeAsyncIterator() -> Iterator { Iterator(observation: offer.claim()) }

        /// Takes the pieces one after the other.
        public struct Iterator: AsyncIteratorProtocol {
            let observation: BodyObservation

            /// Waits for the next piece.
            ///
            /// - Returns: The piece, or `nil` at the end of the body.
            /// - Throws: Why the request failed; `.cancelled` when the task is.
            public mutating func next() async throws(RequestError) -> Data? {
                try await observation.next()
            }

            /// Waits for the next piece.
            ///
            /// - Parameter actor: The actor that the caller is on.
            /// - Returns: The piece, or `nil` at the end of the body.
            /// - Throws: Why the request failed; `.cancelled` when the task is.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(RequestError) -> Data? {
                try await observation.next()
            }
        }
    }
}

/// A streamed body as a sequence of what a framer makes of it.
private struct FramedBody<Framer: BodyFramer>: AsyncSequence, Sendable {
    typealias Element = Framer.Element
    typealias Failure = RequestError

    let offer: Offer<BodyObservation>
    /// Makes the framer when the head is known.
    let makeFramer: @Sendable (HTTPResponse?) -> Framer

    func makeAsyncIterator() -> Iterator {
        Iterator(reader: FramedReader(offer.claim(), makeFramer: makeFramer))
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
                    reader.observation.request.core.events?.streamed(Result<_, RequestError>.success(element))
                    return element
                } while try await reader.receive()
                return nil
            } catch {
                // Whether the request failed or what it brought, nobody reads on after an error.
                reader.close()
                throw error
            }
        }
    }
}
