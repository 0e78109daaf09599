import Bluebonnet
import BluebonnetFoundation
public import Dispatch
public import Foundation

nonisolated extension DataRequest: SerializingRequest {
    /// The response with the body as bytes.
    public typealias BytesResponse = AFDataResponse<Data>
    /// The response with the body as text.
    public typealias TextResponse = AFDataResponse<String>
    /// The response with the body as objects.
    public typealias ObjectsResponse = AFDataResponse<any Sendable>

    /// Makes a value with a serializer, and calls a handler with the response on a queue.
    ///
    /// Starts the request, unless its session or a suspension holds it back, and returns at once. The handlers of a request
    /// are called one after the other in the order in which they were added, each exactly once, also when the request fails,
    /// is cancelled or has been answered before; the task that adds a handler does not cancel the request when it is
    /// cancelled itself. The serializer runs on the global pool, once for each attempt that was accepted.
    ///
    /// - Parameters:
    ///   - queue: Where the handler is called.
    ///   - responseSerializer: Makes the value.
    ///   - completionHandler: Gets the response, with the value or the error.
    /// - Returns: The request.
    @discardableResult @preconcurrency public func response<Serializer: ResponseSerializer>(
        queue: DispatchQueue, responseSerializer: Serializer,
        completionHandler: @escaping @Sendable (AFDataResponse<Serializer.SerializedObject>) -> Void
    ) -> Self {
        handle(on: queue, completionHandler) { answer in
            serializingResponse(using: responseSerializer, automaticallyCancelling: false)
                .onCompletion { answer($0.mapError(AFError.init)) }
        }
    }
    /// As ``response(queue:responseSerializer:completionHandler:)``, on the main queue.
    @discardableResult public func response<Serializer: ResponseSerializer>(
        responseSerializer: Serializer,
        completionHandler: @escaping @MainActor (AFDataResponse<Serializer.SerializedObject>) -> Void
    ) -> Self {
        response(queue: .main, responseSerializer: responseSerializer, completionHandler: onMain(completionHandler))
    }

    /// Calls a handler with the body as it is, which may be missing, on a queue; see ``response(queue:responseSerializer:completionHandler:)``.
    @discardableResult @preconcurrency public func response(
        queue: DispatchQueue, completionHandler: @escaping @Sendable (AFDataResponse<Data?>) -> Void
    ) -> Self { response(queue: queue, responseSerializer: UnserializedBody(), completionHandler: completionHandler) }
    /// As ``response(queue:completionHandler:)``, on the main queue.
    @discardableResult
    public func response(completionHandler: @escaping @MainActor (AFDataResponse<Data?>) -> Void) -> Self {
        response(queue: .main, completionHandler: onMain(completionHandler))
    }

    /// Calls a handler with a value decoded from the body on a queue; see ``response(queue:responseSerializer:completionHandler:)``.
    @discardableResult @preconcurrency public func responseDecodable<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, queue: DispatchQueue, dataPreprocessor: any DataPreprocessor = .passthrough,
        decoder: any DataDecoder = JSONDecoder(), emptyResponseCodes: Set<Int> = [204, 205],
        emptyRequestMethods: Set<HTTPMethod> = [.head],
        completionHandler: @escaping @Sendable (AFDataResponse<Value>) -> Void
    ) -> Self {
        let serializer = DecodableResponseSerializer<Value>(
            dataPreprocessor: dataPreprocessor, decoder: decoder, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods)
        return response(queue: queue, responseSerializer: serializer, completionHandler: completionHandler)
    }
    /// As the form with a queue, on the main queue.
    @discardableResult public func responseDecodable<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, dataPreprocessor: any DataPreprocessor = .passthrough,
        decoder: any DataDecoder = JSONDecoder(), emptyResponseCodes: Set<Int> = [204, 205],
        emptyRequestMethods: Set<HTTPMethod> = [.head],
        completionHandler: @escaping @MainActor (AFDataResponse<Value>) -> Void
    ) -> Self {
        responseDecodable(
            of: type, queue: .main, dataPreprocessor: dataPreprocessor, decoder: decoder,
            emptyResponseCodes: emptyResponseCodes, emptyRequestMethods: emptyRequestMethods,
            completionHandler: onMain(completionHandler))
    }
}

/// Hands the body on as it is, or that there is none.
private struct UnserializedBody: SynchronousResponseSerializer {
    func serialize(_ input: SerializerInput) -> Data? { input.data.isEmpty ? nil : input.data }
}
