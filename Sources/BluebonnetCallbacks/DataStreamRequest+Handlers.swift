import Bluebonnet
import BluebonnetFoundation
public import Dispatch
public import Foundation

nonisolated extension DataStreamRequest {
    /// Is called with what happens in a stream: a piece of the body for each event, and how the request ended last.
    public typealias Handler<Success: Sendable, Failure: Error> =
        @Sendable (_ stream: Stream<Success, Failure>) throws -> Void
    /// As ``Handler``, on the main actor.
    package typealias MainHandler<Success: Sendable, Failure: Error> =
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
    public func responseStream(on queue: DispatchQueue, stream: @escaping Handler<Data, Never>) -> Self {
        handle(on: queue, stream, mapError: \.self) { $0.streamingData() }
    }
    /// As ``responseStream(on:stream:)``, on the main queue.
    @discardableResult public func responseStream(
        stream: @escaping @MainActor (_ stream: Stream<Data, Never>) throws -> Void
    ) -> Self {
        responseStream(on: .main, stream: onMain(stream))
    }

    /// As ``responseStream(on:stream:)``, with each piece made into a value by a serializer.
    @discardableResult @preconcurrency public func responseStream<Serializer: DataStreamSerializer>(
        using serializer: Serializer, on queue: DispatchQueue,
        stream: @escaping Handler<Serializer.SerializedObject, AFError>
    ) -> Self {
        handle(on: queue, stream, mapError: AFError.init) { $0.streamingResponses(using: serializer) }
    }
    /// As ``responseStream(using:on:stream:)``, on the main queue.
    @discardableResult public func responseStream<Serializer: DataStreamSerializer>(
        using serializer: Serializer,
        stream: @escaping @MainActor (_ stream: Stream<Serializer.SerializedObject, AFError>) throws -> Void
    ) -> Self { responseStream(using: serializer, on: .main, stream: onMain(stream)) }

    /// As ``responseStream(on:stream:)``, with the body as text; no character is cut apart.
    @discardableResult @preconcurrency
    public func responseStreamString(on queue: DispatchQueue, stream: @escaping Handler<String, Never>) -> Self {
        handle(on: queue, stream, mapError: \.self) { $0.streamingStrings() }
    }
    /// As ``responseStreamString(on:stream:)``, on the main queue.
    @discardableResult public func responseStreamString(
        stream: @escaping @MainActor (_ stream: Stream<String, Never>) throws -> Void
    ) -> Self {
        responseStreamString(on: .main, stream: onMain(stream))
    }

    /// As ``responseStream(on:stream:)``, with values decoded from the body, one for each line of it.
    ///
    /// Each line is decoded as a whole, regardless of the pieces in which it arrives. With a preprocessor, each piece
    /// is preprocessed and decoded by itself, for servers that flush a whole value at a time.
    @discardableResult @preconcurrency public func responseStreamDecodable<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, on queue: DispatchQueue, using decoder: any DataDecoder = JSONDecoder(),
        preprocessor: (any DataPreprocessor)? = nil, stream: @escaping Handler<Value, AFError>
    ) -> Self {
        let serializer = preprocessor.map { DecodableStreamSerializer<Value>(decoder: decoder, dataPreprocessor: $0) }
        return handle(on: queue, stream, mapError: AFError.init) { task in
            serializer.map { task.streamingResponses(using: $0) } ?? task.streamingDecodables(type, decoder: decoder)
        }
    }
    /// As ``responseStreamDecodable(of:on:using:preprocessor:stream:)``, on the main queue.
    @discardableResult public func responseStreamDecodable<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, using decoder: any DataDecoder = JSONDecoder(),
        preprocessor: (any DataPreprocessor)? = nil,
        stream: @escaping @MainActor (_ stream: Stream<Value, AFError>) throws -> Void
    ) -> Self {
        responseStreamDecodable(
            of: type, on: .main, using: decoder, preprocessor: preprocessor, stream: onMain(stream))
    }

    /// Reads the body from now on, and hands each event to the handler once that has returned from the one before.
    private func handle<Success: Sendable, Failure: Error, HandlerFailure: Error>(
        on queue: DispatchQueue, _ handler: @escaping Handler<Success, HandlerFailure>,
        mapError: @escaping @Sendable (Failure) -> HandlerFailure,
        _ read: (DataStreamTask) -> StreamOf<Stream<Success, Failure>>
    ) -> Self {
        // The handler's error: it ends the reading, and the handler does not get the rest of the body.
        let thrown = Locked<RequestError?>(nil)
        return forEach(in: read(streamTask(automaticallyCancelling: false))) { element in
            let error = thrown.withLock(\.self)
            let event: Event<Success, HandlerFailure>
            switch element.event {
            case .stream where error != nil: return
            case .stream(let result): event = .stream(result.mapError(mapError))
            case .complete(let completion): event = .complete(completion.caused(by: error))
            }
            let result = await CompletionWaiter<Result<Void, any Error>>.wait(fallback: .success(())) { returned in
                queue.async { returned(Result { try handler(Stream(event: event, request: self)) }) }
            }
            guard case .failure(let error) = result else { return }
            let refusal = RequestError(.serialization(.customSerializationFailed), underlying: error)
            _ = thrown.withLock { exchange(&$0, with: refusal) }
            self.cancel()
        }
    }
}

extension DataStreamRequest.Completion {
    /// The completion, with the error that ended the request, if there was one.
    fileprivate func caused(by cause: RequestError?) -> Self {
        guard let cause, error?.isCancellation != false else { return self }
        return Self(request: request, response: response, metrics: metrics, error: cause)
    }
}
