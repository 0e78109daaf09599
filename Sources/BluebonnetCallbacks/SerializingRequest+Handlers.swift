public import Bluebonnet
import BluebonnetFoundation
public import Dispatch
public import Foundation

nonisolated extension SerializingRequest {
    /// Converts the body to a value with a serializer, and calls a handler on a queue with the response.
    ///
    /// This method returns at once. It starts the request if the session's `startRequestsImmediately` is `true` and the
    /// request is not suspended.
    ///
    /// - Each handler is called exactly once, even if the request fails, is cancelled or has already ended.
    /// - The handlers of a request are called one after the other, in the order in which they were added.
    /// - If the task that adds a handler is cancelled, the request continues.
    /// - The serializer runs on the global executor, once for each response that the validators accept. A request that
    ///   is retried can have several responses. For a download, the serializer receives the contents of the whole file.
    ///
    /// - Parameters:
    ///   - queue: The queue on which the handler is called.
    ///   - responseSerializer: The serializer that creates the value.
    ///   - completionHandler: The handler of the response, with the value or the error.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func response<Serializer: ResponseSerializer>(
        queue: DispatchQueue, responseSerializer: Serializer,
        completionHandler: @escaping @Sendable (SerializedResponse<Self, Serializer.SerializedObject, AFError>) -> Void
    ) -> Self {
        handle(on: queue, completionHandler) { answer in
            serializingResponse(using: responseSerializer, automaticallyCancelling: false)
                .onCompletion { answer($0.mapError(AFError.init)) }
        }
    }
    /// Converts the body to a value with a serializer, and calls a handler on the main queue with the response.
    ///
    /// For the rules of handlers, see ``response(queue:responseSerializer:completionHandler:)``.
    @discardableResult public func response<Serializer: ResponseSerializer>(
        responseSerializer: Serializer,
        completionHandler: @escaping @MainActor (SerializedResponse<Self, Serializer.SerializedObject, AFError>) -> Void
    ) -> Self {
        response(queue: .main, responseSerializer: responseSerializer, completionHandler: onMain(completionHandler))
    }

    /// Decodes a value from the body, and calls a handler on a queue with the response.
    ///
    /// For the rules of handlers, see `response(queue:responseSerializer:completionHandler:)`.
    @discardableResult @preconcurrency public func responseDecodable<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, queue: DispatchQueue, dataPreprocessor: any DataPreprocessor = .passthrough,
        decoder: (any DataDecoder)? = nil, emptyResponseCodes: Set<Int> = [204, 205],
        emptyRequestMethods: Set<HTTPMethod> = [.head],
        completionHandler: @escaping @Sendable (SerializedResponse<Self, Value, AFError>) -> Void
    ) -> Self {
        let serializer = DecodableResponseSerializer<Value>(
            dataPreprocessor: dataPreprocessor, decoder: decoder ?? sessionDecoder,
            emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods)
        return response(queue: queue, responseSerializer: serializer, completionHandler: completionHandler)
    }
    /// Decodes a value from the body, and calls a handler on the main queue with the response.
    ///
    /// For the rules of handlers, see `response(queue:responseSerializer:completionHandler:)`.
    @discardableResult public func responseDecodable<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, dataPreprocessor: any DataPreprocessor = .passthrough,
        decoder: (any DataDecoder)? = nil, emptyResponseCodes: Set<Int> = [204, 205],
        emptyRequestMethods: Set<HTTPMethod> = [.head],
        completionHandler: @escaping @MainActor (SerializedResponse<Self, Value, AFError>) -> Void
    ) -> Self {
        responseDecodable(
            of: type, queue: .main, dataPreprocessor: dataPreprocessor, decoder: decoder,
            emptyResponseCodes: emptyResponseCodes, emptyRequestMethods: emptyRequestMethods,
            completionHandler: onMain(completionHandler))
    }

    /// Calls a handler on a queue with the response, whose value is the body.
    ///
    /// For the rules of handlers, see `response(queue:responseSerializer:completionHandler:)`.
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
    /// Calls a handler on the main queue with the response, whose value is the body.
    ///
    /// For the rules of handlers, see `response(queue:responseSerializer:completionHandler:)`.
    @discardableResult public func responseData(
        dataPreprocessor: any DataPreprocessor = .passthrough, emptyResponseCodes: Set<Int> = [204, 205],
        emptyRequestMethods: Set<HTTPMethod> = [.head],
        completionHandler: @escaping @MainActor (SerializedResponse<Self, Data, AFError>) -> Void
    ) -> Self {
        responseData(
            queue: .main, dataPreprocessor: dataPreprocessor, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods, completionHandler: onMain(completionHandler))
    }

    /// Calls a handler on a queue with the response, whose value is the body as text.
    ///
    /// If `encoding` is `nil`, a `StringResponseSerializer` detects the encoding.
    /// For the rules of handlers, see `response(queue:responseSerializer:completionHandler:)`.
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
    /// Calls a handler on the main queue with the response, whose value is the body as text.
    ///
    /// If `encoding` is `nil`, a `StringResponseSerializer` detects the encoding.
    /// For the rules of handlers, see `response(queue:responseSerializer:completionHandler:)`.
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

    /// Parses the body with `JSONSerialization`, and calls a handler on a queue with the response.
    ///
    /// The value of the response is a dictionary, an array, a string, a number, a Boolean or `NSNull`. Cast it to the
    /// expected type. For the rules of handlers, see `response(queue:responseSerializer:completionHandler:)`.
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
    /// Parses the body with `JSONSerialization`, and calls a handler on the main queue with the response.
    ///
    /// The value of the response is a dictionary, an array, a string, a number, a Boolean or `NSNull`. Cast it to the
    /// expected type. For the rules of handlers, see `response(queue:responseSerializer:completionHandler:)`.
    @discardableResult public func responseJSON(
        dataPreprocessor: any DataPreprocessor = .passthrough, emptyResponseCodes: Set<Int> = [204, 205],
        emptyRequestMethods: Set<HTTPMethod> = [.head], options: JSONSerialization.ReadingOptions = .fragmentsAllowed,
        completionHandler: @escaping @MainActor (SerializedResponse<Self, any Sendable, AFError>) -> Void
    ) -> Self {
        responseJSON(
            queue: .main, dataPreprocessor: dataPreprocessor, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods, options: options, completionHandler: onMain(completionHandler))
    }

    /// Parses the body with `PropertyListSerialization`, and calls a handler on a queue with the response.
    ///
    /// The value of the response is a dictionary, an array, a string, a number, a Boolean, a date or data. It is
    /// `NSNull` if the body is empty and an empty body is allowed. Cast it to the expected type. For the rules of
    /// handlers, see `response(queue:responseSerializer:completionHandler:)`.
    @discardableResult @preconcurrency public func responsePropertyList(
        queue: DispatchQueue, dataPreprocessor: any DataPreprocessor = .passthrough,
        options: PropertyListSerialization.ReadOptions = [],
        completionHandler: @escaping @Sendable (SerializedResponse<Self, any Sendable, AFError>) -> Void
    ) -> Self {
        let serializer = PropertyListObjectSerializer(dataPreprocessor: dataPreprocessor, options: options)
        return response(queue: queue, responseSerializer: serializer, completionHandler: completionHandler)
    }
    /// Parses the body with `PropertyListSerialization`, and calls a handler on the main queue with the response.
    ///
    /// The value of the response is a dictionary, an array, a string, a number, a Boolean, a date or data. It is
    /// `NSNull` if the body is empty and an empty body is allowed. Cast it to the expected type. For the rules of
    /// handlers, see `response(queue:responseSerializer:completionHandler:)`.
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
    /// Calls a handler on a queue with the response, whose value is the unchanged body, or `nil` if the body is empty.
    ///
    /// For the rules of handlers, see `response(queue:responseSerializer:completionHandler:)`.
    @discardableResult @preconcurrency public func response(
        queue: DispatchQueue, completionHandler: @escaping @Sendable (AFDataResponse<Data?>) -> Void
    ) -> DataRequest {
        response(queue: queue, responseSerializer: UnserializedBody(), completionHandler: completionHandler)
    }
    /// Calls a handler on the main queue with the response, whose value is the unchanged body; see
    /// ``response(queue:completionHandler:)``.
    @discardableResult
    public func response(completionHandler: @escaping @MainActor (AFDataResponse<Data?>) -> Void) -> DataRequest {
        response(queue: .main, completionHandler: onMain(completionHandler))
    }
}

/// Returns the body unchanged, or `nil` if it is empty.
package struct UnserializedBody: SynchronousResponseSerializer {
    package init() {}

    package func serialize(_ input: SerializerInput) -> Data? { input.data.isEmpty ? nil : input.data }
}

/// A serializer that returns the file, if there is one.
package struct UnserializedFile: SynchronousResponseSerializer {
    package init() {}

    package func serialize(_ input: SerializerInput) -> URL? { input.fileURL }
}

nonisolated extension DownloadRequest {
    /// Calls a handler on a queue with the response, whose value is the URL of the downloaded file.
    ///
    /// For the rules of handlers, see `response(queue:responseSerializer:completionHandler:)`.
    @discardableResult @preconcurrency public func response(
        queue: DispatchQueue, completionHandler: @escaping @Sendable (AFDownloadResponse<URL?>) -> Void
    ) -> Self {
        handle(on: queue, completionHandler) { answer in
            serializingFile(using: UnserializedFile(), automaticallyCancelling: false)
                .onCompletion { answer($0.mapError(AFError.init)) }
        }
    }
    /// Calls a handler on the main queue with the response, whose value is the URL of the downloaded file; see
    /// ``response(queue:completionHandler:)``.
    @discardableResult
    public func response(completionHandler: @escaping @MainActor (AFDownloadResponse<URL?>) -> Void) -> Self {
        response(queue: .main, completionHandler: onMain(completionHandler))
    }

    /// Calls a handler on a queue with the response, whose value is the URL of the downloaded file.
    ///
    /// For the rules of handlers, see `response(queue:responseSerializer:completionHandler:)`.
    @discardableResult @preconcurrency public func responseURL(
        queue: DispatchQueue, completionHandler: @escaping @Sendable (AFDownloadResponse<URL>) -> Void
    ) -> Self {
        handle(on: queue, completionHandler) { answer in
            serializingURL(automaticallyCancelling: false).onCompletion { answer($0.mapError(AFError.init)) }
        }
    }
    /// Calls a handler on the main queue with the response, whose value is the URL of the downloaded file; see
    /// ``responseURL(queue:completionHandler:)``.
    @discardableResult
    public func responseURL(completionHandler: @escaping @MainActor (AFDownloadResponse<URL>) -> Void) -> Self {
        responseURL(queue: .main, completionHandler: onMain(completionHandler))
    }

    /// Cancels the request, and calls a handler with the data for resuming the download.
    ///
    /// If the request has not ended yet, its response handlers receive the error `.explicitlyCancelled`.
    ///
    /// - Parameter completionHandler: The handler. It is called on the global executor when the request has ended. The
    ///   data is `nil` if the download cannot be resumed.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency
    public func cancel(byProducingResumeData completionHandler: @escaping @Sendable (_ data: Data?) -> Void) -> Self {
        cancel(producingResumeData: true)
        // The request was cancelled or has ended, so this call does not start the request.
        let task = serializingURL(automaticallyCancelling: false)
        Task { completionHandler(await task.response.resumeData) }
        return self
    }
}
