public import Bluebonnet
import BluebonnetFoundation
public import Dispatch
public import Foundation

nonisolated extension SerializingRequest {
    /// Makes a value with a serializer, and calls a handler with the response on a queue.
    ///
    /// Starts the request, unless its session or a suspension holds it back, and returns at once. The handlers of a request
    /// are called one after the other in the order in which they were added, each exactly once, also when the request fails,
    /// is cancelled or has been answered before; the task that adds a handler does not cancel the request when it is
    /// cancelled itself. The serializer runs on the global pool, once for each attempt that was accepted; that of a
    /// download gets the whole file, read.
    ///
    /// - Parameters:
    ///   - queue: Where the handler is called.
    ///   - responseSerializer: Makes the value.
    ///   - completionHandler: Gets the response, with the value or the error.
    /// - Returns: The request.
    @discardableResult @preconcurrency public func response<Serializer: ResponseSerializer>(
        queue: DispatchQueue, responseSerializer: Serializer,
        completionHandler: @escaping @Sendable (SerializedResponse<Self, Serializer.SerializedObject, AFError>) -> Void
    ) -> Self {
        handle(on: queue, completionHandler) { answer in
            serializingResponse(using: responseSerializer, automaticallyCancelling: false)
                .onCompletion { answer($0.mapError(AFError.init)) }
        }
    }
    /// As ``response(queue:responseSerializer:completionHandler:)``, on the main queue.
    @discardableResult public func response<Serializer: ResponseSerializer>(
        responseSerializer: Serializer,
        completionHandler: @escaping @MainActor (SerializedResponse<Self, Serializer.SerializedObject, AFError>) -> Void
    ) -> Self {
        response(queue: .main, responseSerializer: responseSerializer, completionHandler: onMain(completionHandler))
    }

    /// Calls a handler with a value decoded from the body on a queue; see `response(queue:responseSerializer:completionHandler:)`.
    @discardableResult @preconcurrency public func responseDecodable<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, queue: DispatchQueue, dataPreprocessor: any DataPreprocessor = .passthrough,
        decoder: any DataDecoder = JSONDecoder(), emptyResponseCodes: Set<Int> = [204, 205],
        emptyRequestMethods: Set<HTTPMethod> = [.head],
        completionHandler: @escaping @Sendable (SerializedResponse<Self, Value, AFError>) -> Void
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
        completionHandler: @escaping @MainActor (SerializedResponse<Self, Value, AFError>) -> Void
    ) -> Self {
        responseDecodable(
            of: type, queue: .main, dataPreprocessor: dataPreprocessor, decoder: decoder,
            emptyResponseCodes: emptyResponseCodes, emptyRequestMethods: emptyRequestMethods,
            completionHandler: onMain(completionHandler))
    }

    /// Calls a handler with the body on a queue; see `response(queue:responseSerializer:completionHandler:)`.
    @discardableResult @preconcurrency public func responseData(
        queue: DispatchQueue, dataPreprocessor: any DataPreprocessor = .passthrough,
        emptyResponseCodes: Set<Int> = [204, 205], emptyRequestMethods: Set<HTTPMethod> = [.head],
        completionHandler: @escaping @Sendable (SerializedResponse<Self, Data, AFError>) -> Void
    ) -> Self {
        let serializer = DataResponseSerializer(
            dataPreprocessor: dataPreprocessor, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods)
        return response(queue: queue, responseSerializer: serializer, completionHandler: completionHandler)
    }
    /// As the form with a queue, on the main queue.
    @discardableResult public func responseData(
        dataPreprocessor: any DataPreprocessor = .passthrough, emptyResponseCodes: Set<Int> = [204, 205],
        emptyRequestMethods: Set<HTTPMethod> = [.head],
        completionHandler: @escaping @MainActor (SerializedResponse<Self, Data, AFError>) -> Void
    ) -> Self {
        responseData(
            queue: .main, dataPreprocessor: dataPreprocessor, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods, completionHandler: onMain(completionHandler))
    }

    /// Calls a handler with the body as text on a queue; see `response(queue:responseSerializer:completionHandler:)`.
    ///
    /// Without an encoding it is the one that the response names, or else UTF-8 or ISO-8859-1.
    @discardableResult @preconcurrency public func responseString(
        queue: DispatchQueue, dataPreprocessor: any DataPreprocessor = .passthrough, encoding: String.Encoding? = nil,
        emptyResponseCodes: Set<Int> = [204, 205], emptyRequestMethods: Set<HTTPMethod> = [.head],
        completionHandler: @escaping @Sendable (SerializedResponse<Self, String, AFError>) -> Void
    ) -> Self {
        let serializer = StringResponseSerializer(
            dataPreprocessor: dataPreprocessor, encoding: encoding, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods)
        return response(queue: queue, responseSerializer: serializer, completionHandler: completionHandler)
    }
    /// As the form with a queue, on the main queue.
    @discardableResult public func responseString(
        dataPreprocessor: any DataPreprocessor = .passthrough, encoding: String.Encoding? = nil,
        emptyResponseCodes: Set<Int> = [204, 205], emptyRequestMethods: Set<HTTPMethod> = [.head],
        completionHandler: @escaping @MainActor (SerializedResponse<Self, String, AFError>) -> Void
    ) -> Self {
        responseString(
            queue: .main, dataPreprocessor: dataPreprocessor, encoding: encoding,
            emptyResponseCodes: emptyResponseCodes, emptyRequestMethods: emptyRequestMethods,
            completionHandler: onMain(completionHandler))
    }

    /// Calls a handler with the body as JSON objects on a queue; see `JSONObjectSerializer`.
    @discardableResult @preconcurrency public func responseJSON(
        queue: DispatchQueue, dataPreprocessor: any DataPreprocessor = .passthrough,
        emptyResponseCodes: Set<Int> = [204, 205], emptyRequestMethods: Set<HTTPMethod> = [.head],
        options: JSONSerialization.ReadingOptions = .fragmentsAllowed,
        completionHandler: @escaping @Sendable (SerializedResponse<Self, any Sendable, AFError>) -> Void
    ) -> Self {
        let serializer = JSONObjectSerializer(
            dataPreprocessor: dataPreprocessor, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods, options: options)
        return response(queue: queue, responseSerializer: serializer, completionHandler: completionHandler)
    }
    /// As the form with a queue, on the main queue.
    @discardableResult public func responseJSON(
        dataPreprocessor: any DataPreprocessor = .passthrough, emptyResponseCodes: Set<Int> = [204, 205],
        emptyRequestMethods: Set<HTTPMethod> = [.head], options: JSONSerialization.ReadingOptions = .fragmentsAllowed,
        completionHandler: @escaping @MainActor (SerializedResponse<Self, any Sendable, AFError>) -> Void
    ) -> Self {
        responseJSON(
            queue: .main, dataPreprocessor: dataPreprocessor, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods, options: options, completionHandler: onMain(completionHandler))
    }

    /// Calls a handler with the body as property-list objects on a queue; see `PropertyListObjectSerializer`.
    @discardableResult @preconcurrency public func responsePropertyList(
        queue: DispatchQueue, dataPreprocessor: any DataPreprocessor = .passthrough,
        options: PropertyListSerialization.ReadOptions = [],
        completionHandler: @escaping @Sendable (SerializedResponse<Self, any Sendable, AFError>) -> Void
    ) -> Self {
        let serializer = PropertyListObjectSerializer(dataPreprocessor: dataPreprocessor, options: options)
        return response(queue: queue, responseSerializer: serializer, completionHandler: completionHandler)
    }
    /// As the form with a queue, on the main queue.
    @discardableResult public func responsePropertyList(
        dataPreprocessor: any DataPreprocessor = .passthrough, options: PropertyListSerialization.ReadOptions = [],
        completionHandler: @escaping @MainActor (SerializedResponse<Self, any Sendable, AFError>) -> Void
    ) -> Self {
        responsePropertyList(
            queue: .main, dataPreprocessor: dataPreprocessor, options: options,
            completionHandler: onMain(completionHandler))
    }
}

nonisolated extension DataRequest {
    /// Calls a handler with the body as it is, which may be missing, on a queue; see `response(queue:responseSerializer:completionHandler:)`.
    @discardableResult @preconcurrency public func response(
        queue: DispatchQueue, completionHandler: @escaping @Sendable (AFDataResponse<Data?>) -> Void
    ) -> DataRequest {
        response(queue: queue, responseSerializer: UnserializedBody(), completionHandler: completionHandler)
    }
    /// As ``response(queue:completionHandler:)``, on the main queue.
    @discardableResult
    public func response(completionHandler: @escaping @MainActor (AFDataResponse<Data?>) -> Void) -> DataRequest {
        response(queue: .main, completionHandler: onMain(completionHandler))
    }
}

/// Hands the body on as it is, or that there is none.
private struct UnserializedBody: SynchronousResponseSerializer {
    func serialize(_ input: SerializerInput) -> Data? { input.data.isEmpty ? nil : input.data }
}

nonisolated extension DownloadRequest {
    /// Calls a handler with where the file is on a queue; see `response(queue:responseSerializer:completionHandler:)`.
    @discardableResult @preconcurrency public func response(
        queue: DispatchQueue, completionHandler: @escaping @Sendable (AFDownloadResponse<URL?>) -> Void
    ) -> Self { responseURL(queue: queue) { completionHandler($0.map { $0 }) } }
    /// As ``response(queue:completionHandler:)``, on the main queue.
    @discardableResult
    public func response(completionHandler: @escaping @MainActor (AFDownloadResponse<URL?>) -> Void) -> Self {
        response(queue: .main, completionHandler: onMain(completionHandler))
    }

    /// Calls a handler with where the file is on a queue; see `response(queue:responseSerializer:completionHandler:)`.
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

    /// Ends the request, and calls a handler with what the download can be resumed with, if it can.
    ///
    /// All awaiting tasks receive `.explicitlyCancelled`.
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
