import Bluebonnet
import BluebonnetFoundation
public import Dispatch
public import Foundation

nonisolated extension DataStreamRequest {
    /// A closure that receives the events of a stream: the pieces of the body, and then the completion.
    public typealias Handler<Success: Sendable, Failure: Error> =
        @Sendable (_ stream: Stream<Success, Failure>) throws -> Void

    /// Calls a handler on a queue with each piece of the body as it arrives, and with the completion of the request.
    ///
    /// This method starts the request if the session's `startRequestsImmediately` is `true` and the request is not
    /// suspended.
    ///
    /// The handler receives the next piece only after the call for the current piece has returned. A slow handler
    /// therefore slows down the transfer, and memory use stays bounded. The size of the pieces depends on the network.
    ///
    /// A request can have several handlers. Add them before the first bytes are delivered. A later handler receives
    /// only the completion, with an error of the kind `.bodyAlreadyRead`. To add several handlers reliably, use a
    /// session with `startRequestsImmediately: false`, and call the request's `resume()` after you have added all
    /// handlers.
    ///
    /// If the handler throws, the request is cancelled. The completion then has an error of the kind
    /// `.serialization(.customSerializationFailed)` with the handler's error as its underlying error.
    ///
    /// - Parameters:
    ///   - queue: The queue on which the handler is called.
    ///   - stream: The handler of the events. The completion is the last event.
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

    /// Calls a handler on a queue with the value that a serializer creates from each piece of the body; see
    /// ``responseStream(on:stream:)``.
    @discardableResult @preconcurrency public func responseStream<Serializer: DataStreamSerializer>(
        using serializer: Serializer, on queue: DispatchQueue,
        stream: @escaping Handler<Serializer.SerializedObject, AFError>
    ) -> Self {
        handle(on: queue, stream, mapError: AFError.init) { $0.streamingResponses(using: serializer) }
    }
    /// Calls a handler on the main queue with the value of each piece; see ``responseStream(using:on:stream:)``.
    @discardableResult public func responseStream<Serializer: DataStreamSerializer>(
        using serializer: Serializer,
        stream: @escaping @MainActor (_ stream: Stream<Serializer.SerializedObject, AFError>) throws -> Void
    ) -> Self { responseStream(using: serializer, on: .main, stream: onMain(stream)) }

    /// Calls a handler on a queue with each piece of the body as text; see ``responseStream(on:stream:)``.
    ///
    /// The body is decoded as UTF-8. A character is never split between two pieces.
    @discardableResult @preconcurrency
    public func responseStreamString(on queue: DispatchQueue, stream: @escaping Handler<String, Never>) -> Self {
        handle(on: queue, stream, mapError: \.self) { $0.streamingStrings() }
    }
    /// Calls a handler on the main queue with each piece of the body as text; see ``responseStreamString(on:stream:)``.
    @discardableResult public func responseStreamString(
        stream: @escaping @MainActor (_ stream: Stream<String, Never>) throws -> Void
    ) -> Self {
        responseStreamString(on: .main, stream: onMain(stream))
    }

    /// Calls a handler on a queue with a decoded value for each line of the body; see ``responseStream(on:stream:)``.
    ///
    /// Each line is decoded as a whole, even if it arrives in several pieces. With a preprocessor, the body is not
    /// divided into lines. Instead, each received piece of the body is preprocessed and decoded separately. Use a
    /// preprocessor only if each piece contains a whole value.
    @discardableResult @preconcurrency public func responseStreamDecodable<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, on queue: DispatchQueue, using decoder: (any DataDecoder)? = nil,
        preprocessor: (any DataPreprocessor)? = nil, stream: @escaping Handler<Value, AFError>
    ) -> Self {
        let serializer = preprocessor.map {
            DecodableStreamSerializer<Value>(decoder: decoder ?? sessionDecoder, dataPreprocessor: $0)
        }
        return handle(on: queue, stream, mapError: AFError.init) { task in
            serializer.map { task.streamingResponses(using: $0) } ?? task.streamingDecodables(type, decoder: decoder)
        }
    }
    /// Calls a handler on the main queue with a decoded value for each line of the body; see
    /// ``responseStreamDecodable(of:on:using:preprocessor:stream:)``.
    @discardableResult public func responseStreamDecodable<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, using decoder: (any DataDecoder)? = nil,
        preprocessor: (any DataPreprocessor)? = nil,
        stream: @escaping @MainActor (_ stream: Stream<Value, AFError>) throws -> Void
    ) -> Self {
        responseStreamDecodable(
            of: type, on: .main, using: decoder, preprocessor: preprocessor, stream: onMain(stream))
    }

    /// Reads the body, and passes each event to the handler after the handler's previous call has returned.
    private func handle<Success: Sendable, Failure: Error, HandlerFailure: Error>(
        on queue: DispatchQueue, _ handler: @escaping Handler<Success, HandlerFailure>,
        mapError: @escaping @Sendable (Failure) -> HandlerFailure,
        _ read: (DataStreamTask) -> StreamOf<Stream<Success, Failure>>
    ) -> Self {
        // The error that the handler threw. After it, the handler receives only the completion.
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
    /// Returns the completion with the error that the handler threw, if this error caused the cancellation.
    fileprivate func caused(by cause: RequestError?) -> Self {
        guard let cause, error?.isCancellation != false else { return self }
        return Self(request: request, response: response, metrics: metrics, error: cause)
    }
}
