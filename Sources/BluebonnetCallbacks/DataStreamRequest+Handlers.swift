import Bluebonnet
import BluebonnetFoundation
public import Dispatch
public import Foundation

nonisolated extension DataStreamRequest {
    /// A closure that receives the events of a stream: first each piece of the body, and last the completion.
    public typealias Handler<Success: Sendable, Failure: Error> =
        @Sendable (_ stream: Stream<Success, Failure>) throws -> Void
    /// A ``Handler`` that runs on the main actor.
    package typealias MainHandler<Success: Sendable, Failure: Error> =
        @MainActor (_ stream: Stream<Success, Failure>) throws -> Void

    /// Calls a handler on a queue with each piece of the body as it arrives, and with the completion of the request.
    ///
    /// Starts the request, unless the session does not start requests immediately or the request is suspended. The
    /// handler receives the next piece after it has returned, so a slow handler slows down the transfer and memory use
    /// stays bounded. The network determines the size of the pieces.
    ///
    /// If the handler throws, the request is cancelled, and the completion has the handler's error.
    ///
    /// - Parameters:
    ///   - queue: The queue on which the handler is called.
    ///   - stream: The handler of the events. The last event, delivered once, is the completion.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency
    public func responseStream(on queue: DispatchQueue, stream: @escaping Handler<Data, Never>) -> Self {
        handle(on: queue, stream, mapError: \.self) { $0.streamingData() }
    }
    /// Calls a handler on the main queue with each piece of the body; see ``responseStream(on:stream:)``.
    @discardableResult public func responseStream(
        stream: @escaping @MainActor (_ stream: Stream<Data, Never>) throws -> Void
    ) -> Self {
        responseStream(on: .main, stream: onMain(stream))
    }

    /// Calls a handler on a queue with each piece of the body, converted by a serializer; see
    /// ``responseStream(on:stream:)``.
    @discardableResult @preconcurrency public func responseStream<Serializer: DataStreamSerializer>(
        using serializer: Serializer, on queue: DispatchQueue,
        stream: @escaping Handler<Serializer.SerializedObject, AFError>
    ) -> Self {
        handle(on: queue, stream, mapError: AFError.init) { $0.streamingResponses(using: serializer) }
    }
    /// Calls a handler on the main queue with each serialized piece; see ``responseStream(using:on:stream:)``.
    @discardableResult public func responseStream<Serializer: DataStreamSerializer>(
        using serializer: Serializer,
        stream: @escaping @MainActor (_ stream: Stream<Serializer.SerializedObject, AFError>) throws -> Void
    ) -> Self { responseStream(using: serializer, on: .main, stream: onMain(stream)) }

    /// Calls a handler on a queue with the body as text; see ``responseStream(on:stream:)``.
    ///
    /// A character is never split between two pieces.
    @discardableResult @preconcurrency
    public func responseStreamString(on queue: DispatchQueue, stream: @escaping Handler<String, Never>) -> Self {
        handle(on: queue, stream, mapError: \.self) { $0.streamingStrings() }
    }
    /// Calls a handler on the main queue with the body as text; see ``responseStreamString(on:stream:)``.
    @discardableResult public func responseStreamString(
        stream: @escaping @MainActor (_ stream: Stream<String, Never>) throws -> Void
    ) -> Self {
        responseStreamString(on: .main, stream: onMain(stream))
    }

    /// Calls a handler on a queue with a decoded value for each line of the body; see ``responseStream(on:stream:)``.
    ///
    /// Each line is decoded as a whole, regardless of the pieces in which it arrives. With a preprocessor, each piece
    /// is preprocessed and decoded separately instead. This suits servers that flush a whole value at a time.
    @discardableResult @preconcurrency public func responseStreamDecodable<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, on queue: DispatchQueue, using decoder: any DataDecoder = JSONDecoder(),
        preprocessor: (any DataPreprocessor)? = nil, stream: @escaping Handler<Value, AFError>
    ) -> Self {
        let serializer = preprocessor.map { DecodableStreamSerializer<Value>(decoder: decoder, dataPreprocessor: $0) }
        return handle(on: queue, stream, mapError: AFError.init) { task in
            serializer.map { task.streamingResponses(using: $0) } ?? task.streamingDecodables(type, decoder: decoder)
        }
    }
    /// Calls a handler on the main queue with decoded values; see
    /// ``responseStreamDecodable(of:on:using:preprocessor:stream:)``.
    @discardableResult public func responseStreamDecodable<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, using decoder: any DataDecoder = JSONDecoder(),
        preprocessor: (any DataPreprocessor)? = nil,
        stream: @escaping @MainActor (_ stream: Stream<Value, AFError>) throws -> Void
    ) -> Self {
        responseStreamDecodable(
            of: type, on: .main, using: decoder, preprocessor: preprocessor, stream: onMain(stream))
    }

    /// Reads the body from now on, and passes the next event to the handler when the handler has returned.
    private func handle<Success: Sendable, Failure: Error, HandlerFailure: Error>(
        on queue: DispatchQueue, _ handler: @escaping Handler<Success, HandlerFailure>,
        mapError: @escaping @Sendable (Failure) -> HandlerFailure,
        _ read: (DataStreamTask) -> StreamOf<Stream<Success, Failure>>
    ) -> Self {
        // The handler's error. It ends the reading, and the handler does not receive the rest of the body.
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
    /// The completion with the handler's error, if that error is the reason for the cancellation.
    fileprivate func caused(by cause: RequestError?) -> Self {
        guard let cause, error?.isCancellation != false else { return self }
        return Self(request: request, response: response, metrics: metrics, error: cause)
    }
}
