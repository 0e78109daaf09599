import Bluebonnet
import BluebonnetFoundation
public import Dispatch
public import Foundation

// Each handler comes in two forms. Without a queue it is called on the main queue, and so may use what belongs to the
// main actor; with one it is called there.

extension DataRequest {
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
    @discardableResult @preconcurrency
    public nonisolated func response<Serializer: ResponseSerializer>(
        queue: DispatchQueue, responseSerializer: Serializer,
        completionHandler: @escaping @Sendable (AFDataResponse<Serializer.SerializedObject>) -> Void
    ) -> Self {
        handle(on: queue, completionHandler) { $0.serializingResponse(using: responseSerializer) }
    }

    /// As ``response(queue:responseSerializer:completionHandler:)``, on the main queue.
    @discardableResult
    public nonisolated func response<Serializer: ResponseSerializer>(
        responseSerializer: Serializer,
        completionHandler: @escaping @MainActor (AFDataResponse<Serializer.SerializedObject>) -> Void
    ) -> Self {
        response(queue: .main, responseSerializer: responseSerializer, completionHandler: onMain(completionHandler))
    }

    /// Calls a handler with the body as it is, which may be missing, on a queue; see ``response(queue:responseSerializer:completionHandler:)``.
    @discardableResult @preconcurrency
    public nonisolated func response(
        queue: DispatchQueue, completionHandler: @escaping @Sendable (AFDataResponse<Data?>) -> Void
    ) -> Self {
        handle(on: queue, completionHandler) { $0.serializingResponse(using: UnserializedBody()) }
    }

    /// As ``response(queue:completionHandler:)``, on the main queue.
    @discardableResult
    public nonisolated func response(
        completionHandler: @escaping @MainActor (AFDataResponse<Data?>) -> Void
    ) -> Self {
        response(queue: .main, completionHandler: onMain(completionHandler))
    }

    /// Calls a handler with the body on a queue; see ``response(queue:responseSerializer:completionHandler:)``.
    @discardableResult @preconcurrency
    public nonisolated func responseData(
        queue: DispatchQueue, dataPreprocessor: any DataPreprocessor = .passthrough,
        emptyResponseCodes: Set<Int> = DataResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = DataResponseSerializer.defaultEmptyRequestMethods,
        completionHandler: @escaping @Sendable (AFDataResponse<Data>) -> Void
    ) -> Self {
        let serializer = DataResponseSerializer(
            dataPreprocessor: dataPreprocessor, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods)
        return handle(on: queue, completionHandler) { $0.serializingResponse(using: serializer) }
    }

    /// As the form with a queue, on the main queue.
    @discardableResult
    public nonisolated func responseData(
        dataPreprocessor: any DataPreprocessor = .passthrough,
        emptyResponseCodes: Set<Int> = DataResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = DataResponseSerializer.defaultEmptyRequestMethods,
        completionHandler: @escaping @MainActor (AFDataResponse<Data>) -> Void
    ) -> Self {
        responseData(
            queue: .main, dataPreprocessor: dataPreprocessor, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods, completionHandler: onMain(completionHandler))
    }

    /// Calls a handler with the body as text on a queue; see ``response(queue:responseSerializer:completionHandler:)``.
    ///
    /// Without an encoding it is the one that the response names, or else UTF-8 or ISO-8859-1.
    @discardableResult @preconcurrency
    public nonisolated func responseString(
        queue: DispatchQueue, dataPreprocessor: any DataPreprocessor = .passthrough, encoding: String.Encoding? = nil,
        emptyResponseCodes: Set<Int> = DataResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = DataResponseSerializer.defaultEmptyRequestMethods,
        completionHandler: @escaping @Sendable (AFDataResponse<String>) -> Void
    ) -> Self {
        let serializer = StringResponseSerializer(
            dataPreprocessor: dataPreprocessor, encoding: encoding, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods)
        return handle(on: queue, completionHandler) { $0.serializingResponse(using: serializer) }
    }

    /// As the form with a queue, on the main queue.
    @discardableResult
    public nonisolated func responseString(
        dataPreprocessor: any DataPreprocessor = .passthrough, encoding: String.Encoding? = nil,
        emptyResponseCodes: Set<Int> = DataResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = DataResponseSerializer.defaultEmptyRequestMethods,
        completionHandler: @escaping @MainActor (AFDataResponse<String>) -> Void
    ) -> Self {
        responseString(
            queue: .main, dataPreprocessor: dataPreprocessor, encoding: encoding,
            emptyResponseCodes: emptyResponseCodes, emptyRequestMethods: emptyRequestMethods,
            completionHandler: onMain(completionHandler))
    }

    /// Calls a handler with the body as JSON objects on a queue; see `JSONObjectSerializer`.
    @discardableResult @preconcurrency
    public nonisolated func responseJSON(
        queue: DispatchQueue, dataPreprocessor: any DataPreprocessor = .passthrough,
        emptyResponseCodes: Set<Int> = DataResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = DataResponseSerializer.defaultEmptyRequestMethods,
        options: JSONSerialization.ReadingOptions = .fragmentsAllowed,
        completionHandler: @escaping @Sendable (AFDataResponse<any Sendable>) -> Void
    ) -> Self {
        let serializer = JSONObjectSerializer(
            dataPreprocessor: dataPreprocessor, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods, options: options)
        return handle(on: queue, completionHandler) { $0.serializingResponse(using: serializer) }
    }

    /// As the form with a queue, on the main queue.
    @discardableResult
    public nonisolated func responseJSON(
        dataPreprocessor: any DataPreprocessor = .passthrough,
        emptyResponseCodes: Set<Int> = DataResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = DataResponseSerializer.defaultEmptyRequestMethods,
        options: JSONSerialization.ReadingOptions = .fragmentsAllowed,
        completionHandler: @escaping @MainActor (AFDataResponse<any Sendable>) -> Void
    ) -> Self {
        responseJSON(
            queue: .main, dataPreprocessor: dataPreprocessor, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods, options: options, completionHandler: onMain(completionHandler))
    }

    /// Calls a handler with the body as property-list objects on a queue; see `PropertyListObjectSerializer`.
    @discardableResult @preconcurrency
    public nonisolated func responsePropertyList(
        queue: DispatchQueue, dataPreprocessor: any DataPreprocessor = .passthrough,
        options: PropertyListSerialization.ReadOptions = [],
        completionHandler: @escaping @Sendable (AFDataResponse<any Sendable>) -> Void
    ) -> Self {
        let serializer = PropertyListObjectSerializer(dataPreprocessor: dataPreprocessor, options: options)
        return handle(on: queue, completionHandler) { $0.serializingResponse(using: serializer) }
    }

    /// As the form with a queue, on the main queue.
    @discardableResult
    public nonisolated func responsePropertyList(
        dataPreprocessor: any DataPreprocessor = .passthrough, options: PropertyListSerialization.ReadOptions = [],
        completionHandler: @escaping @MainActor (AFDataResponse<any Sendable>) -> Void
    ) -> Self {
        responsePropertyList(
            queue: .main, dataPreprocessor: dataPreprocessor, options: options,
            completionHandler: onMain(completionHandler))
    }

    /// Calls a handler with a value decoded from the body on a queue; see ``response(queue:responseSerializer:completionHandler:)``.
    @discardableResult @preconcurrency
    public nonisolated func responseDecodable<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, queue: DispatchQueue, dataPreprocessor: any DataPreprocessor = .passthrough,
        decoder: any DataDecoder = JSONDecoder(),
        emptyResponseCodes: Set<Int> = DataResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = DataResponseSerializer.defaultEmptyRequestMethods,
        completionHandler: @escaping @Sendable (AFDataResponse<Value>) -> Void
    ) -> Self {
        let serializer = DecodableResponseSerializer<Value>(
            dataPreprocessor: dataPreprocessor, decoder: decoder, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods)
        return handle(on: queue, completionHandler) { $0.serializingResponse(using: serializer) }
    }

    /// As the form with a queue, on the main queue.
    @discardableResult
    public nonisolated func responseDecodable<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, dataPreprocessor: any DataPreprocessor = .passthrough,
        decoder: any DataDecoder = JSONDecoder(),
        emptyResponseCodes: Set<Int> = DataResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = DataResponseSerializer.defaultEmptyRequestMethods,
        completionHandler: @escaping @MainActor (AFDataResponse<Value>) -> Void
    ) -> Self {
        responseDecodable(
            of: type, queue: .main, dataPreprocessor: dataPreprocessor, decoder: decoder,
            emptyResponseCodes: emptyResponseCodes, emptyRequestMethods: emptyRequestMethods,
            completionHandler: onMain(completionHandler))
    }

    /// Attaches a serializer now, and has the handler called in its turn.
    private nonisolated func handle<Value: Sendable>(
        on queue: DispatchQueue, _ handler: @escaping @Sendable (AFDataResponse<Value>) -> Void,
        _ attach: @escaping @Sendable (DataRequest) -> DataTask<Value>
    ) -> Self {
        let ticket = HandlerTicket(for: id)
        // In a task that nobody cancels, whatever becomes of the caller's; it drives the request. The serializer is
        // attached before this returns, so that those of a request are in the order of its handlers.
        Task.immediate {
            let response = await attach(self).response.mapError(AFError.init)
            ticket.call(on: queue) { handler(response) }
        }
        return self
    }
}
