public import Bluebonnet
import BluebonnetFoundation
public import Dispatch
public import Foundation

/// A request whose response is made into a value, with the handlers that `DataRequest` and `DownloadRequest` share.
public protocol SerializingRequest: Request {
    /// The response with the body as bytes.
    associatedtype BytesResponse: Sendable
    /// The response with the body as text.
    associatedtype TextResponse: Sendable
    /// The response with the body as objects.
    associatedtype ObjectsResponse: Sendable

    /// Makes bytes of the body with a serializer, and calls a handler with the response on a queue.
    @discardableResult @preconcurrency nonisolated func response<Serializer: ResponseSerializer<Data>>(
        queue: DispatchQueue, responseSerializer: Serializer,
        completionHandler: @escaping @Sendable (BytesResponse) -> Void
    ) -> Self

    /// Makes text of the body with a serializer, and calls a handler with the response on a queue.
    @discardableResult @preconcurrency nonisolated func response<Serializer: ResponseSerializer<String>>(
        queue: DispatchQueue, responseSerializer: Serializer,
        completionHandler: @escaping @Sendable (TextResponse) -> Void
    ) -> Self

    /// Makes objects of the body with a serializer, and calls a handler with the response on a queue.
    @discardableResult @preconcurrency nonisolated func response<Serializer: ResponseSerializer<any Sendable>>(
        queue: DispatchQueue, responseSerializer: Serializer,
        completionHandler: @escaping @Sendable (ObjectsResponse) -> Void
    ) -> Self
}

nonisolated extension SerializingRequest {
    /// Calls a handler with the body on a queue; see `response(queue:responseSerializer:completionHandler:)`.
    @discardableResult @preconcurrency public func responseData(
        queue: DispatchQueue, dataPreprocessor: any DataPreprocessor = .passthrough,
        emptyResponseCodes: Set<Int> = [204, 205], emptyRequestMethods: Set<HTTPMethod> = [.head],
        completionHandler: @escaping @Sendable (BytesResponse) -> Void
    ) -> Self {
        let serializer = DataResponseSerializer(
            dataPreprocessor: dataPreprocessor, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods)
        return response(queue: queue, responseSerializer: serializer, completionHandler: completionHandler)
    }
    /// As the form with a queue, on the main queue.
    @discardableResult public func responseData(
        dataPreprocessor: any DataPreprocessor = .passthrough, emptyResponseCodes: Set<Int> = [204, 205],
        emptyRequestMethods: Set<HTTPMethod> = [.head], completionHandler: @escaping @MainActor (BytesResponse) -> Void
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
        completionHandler: @escaping @Sendable (TextResponse) -> Void
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
        completionHandler: @escaping @MainActor (TextResponse) -> Void
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
        completionHandler: @escaping @Sendable (ObjectsResponse) -> Void
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
        completionHandler: @escaping @MainActor (ObjectsResponse) -> Void
    ) -> Self {
        responseJSON(
            queue: .main, dataPreprocessor: dataPreprocessor, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods, options: options, completionHandler: onMain(completionHandler))
    }

    /// Calls a handler with the body as property-list objects on a queue; see `PropertyListObjectSerializer`.
    @discardableResult @preconcurrency public func responsePropertyList(
        queue: DispatchQueue, dataPreprocessor: any DataPreprocessor = .passthrough,
        options: PropertyListSerialization.ReadOptions = [],
        completionHandler: @escaping @Sendable (ObjectsResponse) -> Void
    ) -> Self {
        let serializer = PropertyListObjectSerializer(dataPreprocessor: dataPreprocessor, options: options)
        return response(queue: queue, responseSerializer: serializer, completionHandler: completionHandler)
    }
    /// As the form with a queue, on the main queue.
    @discardableResult public func responsePropertyList(
        dataPreprocessor: any DataPreprocessor = .passthrough, options: PropertyListSerialization.ReadOptions = [],
        completionHandler: @escaping @MainActor (ObjectsResponse) -> Void
    ) -> Self {
        responsePropertyList(
            queue: .main, dataPreprocessor: dataPreprocessor, options: options,
            completionHandler: onMain(completionHandler))
    }
}
