import Bluebonnet
import BluebonnetFoundation
public import Dispatch
public import Foundation

extension DataStreamRequest {
    /// Is called with what happens in a stream: a piece of the body for each event, and how the request ended last.
    public typealias Handler<Success: Sendable, Failure: Error> =
        @Sendable (_ stream: Stream<Success, Failure>) throws -> Void

    /// As ``Handler``, on the main actor.
    public typealias MainHandler<Success: Sendable, Failure: Error> =
        @MainActor (_ stream: Stream<Success, Failure>) throws -> Void

    /// Calls a handler on a queue with each piece of the body as it comes in, and with the end of the request.
    ///
    /// Starts the request, unless its session or a suspension holds it back. The next piece comes when the handler has
    /// returned: a slow one slows the transfer, and memory stays bounded. A handler that throws cancels the request; the
    /// completion's error has what it threw then. The pieces are what the network makes of the body.
    ///
    /// - Parameters:
    ///   - queue: Where the handler is called.
    ///   - stream: Gets the events; the last, once, is the completion.
    /// - Returns: The request.
    @discardableResult @preconcurrency
    public nonisolated func responseStream(on queue: DispatchQueue, stream: @escaping Handler<Data, Never>) -> Self {
        handle(on: queue, stream, { $0.streamingData() }, event: { $0.event })
    }

    /// As ``responseStream(on:stream:)``, on the main queue.
    @discardableResult
    public nonisolated func responseStream(stream: @escaping MainHandler<Data, Never>) -> Self {
        responseStream(on: .main, stream: onMain(stream))
    }

    /// As ``responseStream(on:stream:)``, with each piece made into a value by a serializer.
    @discardableResult @preconcurrency
    public nonisolated func responseStream<Serializer: DataStreamSerializer>(
        using serializer: Serializer, on queue: DispatchQueue,
        stream: @escaping Handler<Serializer.SerializedObject, AFError>
    ) -> Self {
        handle(on: queue, stream, { $0.streamingResponses(using: serializer) }, event: { $0.event.withAFError })
    }

    /// As ``responseStream(using:on:stream:)``, on the main queue.
    @discardableResult
    public nonisolated func responseStream<Serializer: DataStreamSerializer>(
        using serializer: Serializer, stream: @escaping MainHandler<Serializer.SerializedObject, AFError>
    ) -> Self {
        responseStream(using: serializer, on: .main, stream: onMain(stream))
    }

    /// As ``responseStream(on:stream:)``, with the body as text; no character is cut apart.
    @discardableResult @preconcurrency
    public nonisolated func responseStreamString(
        on queue: DispatchQueue, stream: @escaping Handler<String, Never>
    ) -> Self {
        handle(on: queue, stream, { $0.streamingStrings() }, event: { $0.event })
    }

    /// As ``responseStreamString(on:stream:)``, on the main queue.
    @discardableResult
    public nonisolated func responseStreamString(stream: @escaping MainHandler<String, Never>) -> Self {
        responseStreamString(on: .main, stream: onMain(stream))
    }

    /// As ``responseStream(on:stream:)``, with values decoded from the body, one for each line of it.
    ///
    /// What is in a line is decoded, whatever pieces the network makes of it. With a preprocessor, each piece is
    /// preprocessed and decoded by itself, for servers that flush a whole value at a time.
    @discardableResult @preconcurrency
    public nonisolated func responseStreamDecodable<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, on queue: DispatchQueue, using decoder: any DataDecoder = JSONDecoder(),
        preprocessor: (any DataPreprocessor)? = nil, stream: @escaping Handler<Value, AFError>
    ) -> Self {
        handle(on: queue, stream) { task in
            guard let preprocessor else { return task.streamingDecodables(type, decoder: decoder) }
            return task.streamingResponses(
                using: DecodableStreamSerializer<Value>(decoder: decoder, dataPreprocessor: preprocessor))
        } event: {
            $0.event.withAFError
        }
    }

    /// As ``responseStreamDecodable(of:on:using:preprocessor:stream:)``, on the main queue.
    @discardableResult
    public nonisolated func responseStreamDecodable<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, using decoder: any DataDecoder = JSONDecoder(),
        preprocessor: (any DataPreprocessor)? = nil, stream: @escaping MainHandler<Value, AFError>
    ) -> Self {
        responseStreamDecodable(
            of: type, on: .main, using: decoder, preprocessor: preprocessor, stream: onMain(stream))
    }

    /// Reads the body now, and hands each event to the handler once that has returned from the one before.
    private nonisolated func handle<Success: Sendable, Failure: Error, HandlerFailure: Error>(
        on queue: DispatchQueue, _ handler: @escaping Handler<Success, HandlerFailure>,
        _ read: @escaping @Sendable (DataStreamTask) -> StreamOf<Stream<Success, Failure>>,
        event: @escaping @Sendable (Stream<Success, Failure>) -> Event<Success, HandlerFailure>
    ) -> Self {
        let ticket = HandlerTicket(for: id)
        // Before this returns, so that handlers that are added one after the other read the same body from its beginning.
        Task.immediate {
            // Whoever throws does not read on; the rest of the body is not for it.
            var failure: RequestError?
            for await element in read(streamTask(automaticallyCancelling: false)) {
                let event = event(element).completed(with: failure)
                if failure != nil, case .stream = event { continue }
                do {
                    try await queue.returning { try handler(Stream(event: event, request: self)) }
                } catch {
                    failure = RequestError(.serialization(.customSerializationFailed), underlying: error)
                    cancel()
                }
            }
            ticket.leave()
        }
        return self
    }
}

extension DataStreamRequest.Event {
    /// The event, its completion with the error of whoever ended the request, if that did.
    fileprivate func completed(with error: RequestError?) -> Self {
        guard let error, case .complete(let completion) = self, completion.error?.isCancellation != false else {
            return self
        }
        return .complete(
            DataStreamRequest.Completion(
                request: completion.request, response: completion.response, metrics: completion.metrics, error: error))
    }
}

extension DataStreamRequest.Event where Failure == RequestError {
    fileprivate var withAFError: DataStreamRequest.Event<Success, AFError> {
        switch self {
        case .stream(let result): .stream(result.mapError(AFError.init))
        case .complete(let completion): .complete(completion)
        }
    }
}

extension DispatchQueue {
    /// Calls a closure on the queue, and returns when it has returned.
    fileprivate func returning(_ body: @escaping @Sendable () throws -> Void) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            async { continuation.resume(with: Result { try body() }) }
        }
    }
}
