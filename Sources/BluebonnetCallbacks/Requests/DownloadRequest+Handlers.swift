import Bluebonnet
import BluebonnetFoundation
public import Dispatch
public import Foundation

nonisolated extension DownloadRequest: SerializingRequest {
    /// The response with the body as bytes.
    public typealias BytesResponse = AFDownloadResponse<Data>
    /// The response with the body as text.
    public typealias TextResponse = AFDownloadResponse<String>
    /// The response with the body as objects.
    public typealias ObjectsResponse = AFDownloadResponse<any Sendable>

    /// Makes a value with a serializer, and calls a handler with the response on a queue.
    ///
    /// Starts the request, and calls handlers in the order in which they were added, each exactly once, whatever happens,
    /// as the handler of a `DataRequest` does. The serializer gets the whole file, read.
    ///
    /// - Parameters:
    ///   - queue: Where the handler is called.
    ///   - responseSerializer: Makes the value.
    ///   - completionHandler: Gets the response, with the value or the error.
    /// - Returns: The request.
    @discardableResult @preconcurrency public func response<Serializer: ResponseSerializer>(
        queue: DispatchQueue, responseSerializer: Serializer,
        completionHandler: @escaping @Sendable (AFDownloadResponse<Serializer.SerializedObject>) -> Void
    ) -> Self {
        handle(on: queue, completionHandler) { answer in
            serializingResponse(using: responseSerializer, automaticallyCancelling: false)
                .onCompletion { answer($0.mapError(AFError.init)) }
        }
    }
    /// As ``response(queue:responseSerializer:completionHandler:)``, on the main queue.
    @discardableResult public func response<Serializer: ResponseSerializer>(
        responseSerializer: Serializer,
        completionHandler: @escaping @MainActor (AFDownloadResponse<Serializer.SerializedObject>) -> Void
    ) -> Self {
        response(queue: .main, responseSerializer: responseSerializer, completionHandler: onMain(completionHandler))
    }

    /// Calls a handler with where the file is on a queue; see ``response(queue:responseSerializer:completionHandler:)``.
    @discardableResult @preconcurrency public func response(
        queue: DispatchQueue, completionHandler: @escaping @Sendable (AFDownloadResponse<URL?>) -> Void
    ) -> Self { responseURL(queue: queue) { completionHandler($0.map { $0 }) } }
    /// As ``response(queue:completionHandler:)``, on the main queue.
    @discardableResult
    public func response(completionHandler: @escaping @MainActor (AFDownloadResponse<URL?>) -> Void) -> Self {
        response(queue: .main, completionHandler: onMain(completionHandler))
    }

    /// Calls a handler with where the file is on a queue; see ``response(queue:responseSerializer:completionHandler:)``.
    @discardableResult @preconcurrency public func responseURL(
        queue: DispatchQueue, completionHandler: @escaping @Sendable (AFDownloadResponse<URL>) -> Void
    ) -> Self {
        handle(on: queue, completionHandler) { answer in
            serializingURL(automaticallyCancelling: false).onCompletion { answer($0.mapError(AFError.init)) }
        }
    }
    /// As ``responseURL(queue:completionHandler:)``, on the main queue.
    @discardableResult
    public func responseURL(completionHandler: @escaping @MainActor (AFDownloadResponse<URL>) -> Void) -> Self {
        responseURL(queue: .main, completionHandler: onMain(completionHandler))
    }

    /// Calls a handler with a value decoded from the body on a queue; see ``response(queue:responseSerializer:completionHandler:)``.
    @discardableResult @preconcurrency public func responseDecodable<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, queue: DispatchQueue, dataPreprocessor: any DataPreprocessor = .passthrough,
        decoder: any DataDecoder = JSONDecoder(), emptyResponseCodes: Set<Int> = [204, 205],
        emptyRequestMethods: Set<HTTPMethod> = [.head],
        completionHandler: @escaping @Sendable (AFDownloadResponse<Value>) -> Void
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
        completionHandler: @escaping @MainActor (AFDownloadResponse<Value>) -> Void
    ) -> Self {
        responseDecodable(
            of: type, queue: .main, dataPreprocessor: dataPreprocessor, decoder: decoder,
            emptyResponseCodes: emptyResponseCodes, emptyRequestMethods: emptyRequestMethods,
            completionHandler: onMain(completionHandler))
    }

    /// Ends the request, and calls a handler with what the download can be resumed with, if it can.
    ///
    /// Everyone who awaits the request is answered with `.explicitlyCancelled`.
    ///
    /// - Parameter completionHandler: Gets the data, once the request has ended; called on the global pool.
    /// - Returns: The request.
    @discardableResult @preconcurrency
    public func cancel(byProducingResumeData completionHandler: @escaping @Sendable (_ data: Data?) -> Void) -> Self {
        cancel(producingResumeData: true)
        // It has been cancelled or answered, and so is not started by this.
        let task = serializingURL(automaticallyCancelling: false)
        Task { completionHandler(await task.response.resumeData) }
        return self
    }
}
