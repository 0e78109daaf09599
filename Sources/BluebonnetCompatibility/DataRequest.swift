public import BluebonnetCallbacks
public import Foundation
public import FoundationNetworking

// Safety: all stored properties are constants of `Sendable` types.
/// A request whose response's body is kept in memory.
public class DataRequest: SerializedRequest<Bluebonnet.DataRequest>, @unchecked Sendable {
    /// A closure that decides whether a response is valid.
    ///
    /// It gets the request, the head and the body.
    public typealias Validation = @Sendable (URLRequest?, HTTPURLResponse, Data?) -> ValidationResult

    /// What the request was created from.
    public var convertible: any URLRequestConvertible { Converted.of(kind.convertible) }

    /// The body of the response; `nil` if nothing was received.
    public var data: Data? { kind.data.flatMap { $0.isEmpty ? nil : $0 } ?? validated.withLock(\.self) }

    /// The body of a response that is being validated.
    private let validated = Locked<Data?>(nil)

    /// Adds a closure that decides whether a response is valid.
    ///
    /// - Parameter validation: The closure.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func validate(_ validation: @escaping Validation) -> Self {
        kind.validate { [weak self] request, response, data in
            let data = data.flatMap { $0.isEmpty ? nil : $0 }
            self?.validated.withLock { $0 = data }
            return validation(self?.lastRequest ?? request.map { URLRequest($0) }, response.urlResponse, data)
        }
        return self
    }

    // MARK: Responses

    /// Calls a closure with the response, whose body is not serialized.
    ///
    /// - Parameters:
    ///   - queue: The queue of the call; the main queue by default.
    ///   - completionHandler: The closure, which is called once.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func response(
        queue: DispatchQueue = .main, completionHandler: @escaping @Sendable (AFDataResponse<Data?>) -> Void
    ) -> Self { respond(queue, BodySerializer(), completionHandler) }

    /// Calls a closure with the response, with a value that a serializer has made.
    ///
    /// - Parameters:
    ///   - queue: The queue of the call; the main queue by default.
    ///   - responseSerializer: The serializer. It is also called if the request has failed.
    ///   - completionHandler: The closure, which is called once.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func response<Serializer: DataResponseSerializerProtocol>(
        queue: DispatchQueue = .main, responseSerializer: Serializer,
        completionHandler: @escaping @Sendable (AFDataResponse<Serializer.SerializedObject>) -> Void
    ) -> Self {
        let bridge = SerializerBridge(data: responseSerializer)
        return respond(
            queue, kind.serializingResponse(using: bridge, automaticallyCancelling: false),
            { bridge.response($0, of: self) }, completionHandler)
    }

    /// Calls a closure with the response, with its body as a parsed property list.
    ///
    /// - Parameters:
    ///   - queue: The queue of the call; the main queue by default.
    ///   - options: The options of the parser.
    ///   - completionHandler: The closure, which is called once.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func responsePropertyList(
        queue: DispatchQueue = .main, options: PropertyListSerialization.ReadOptions = [],
        completionHandler: @escaping @Sendable (AFDataResponse<Any>) -> Void
    ) -> Self {
        respond(queue, PropertyListObjectSerializer(options: options)) { completionHandler($0.map { $0 }) }
    }

    /// Awaits the response, with a value that a serializer has made.
    ///
    /// - Parameters:
    ///   - serializer: The serializer. It is also called if the request has failed.
    ///   - automaticallyCancelling: Whether cancelling the waiting task cancels the request; `true` by default.
    /// - Returns: The task, whose value is awaited.
    public func serializingResponse<Serializer: DataResponseSerializerProtocol>(
        using serializer: Serializer, automaticallyCancelling: Bool = true
    ) -> DataTask<Serializer.SerializedObject> {
        let bridge = SerializerBridge(data: serializer)
        let task = kind.serializingResponse(using: bridge, automaticallyCancelling: automaticallyCancelling)
        return DataTask(request: resumedIfSuspended()) { bridge.response(await task.response, of: self) }
    }
}

// Safety: all stored properties are constants of `Sendable` types.
/// A request that sends a body.
public final class UploadRequest: DataRequest, @unchecked Sendable {
    /// The body; `nil` as long as the request was not made.
    public var uploadable: Uploadable? { base.request?.body.map { Uploadable($0) } }

    /// The body of an upload.
    public enum Uploadable {
        /// Data in memory.
        case data(Data)
        /// A file. It is never removed.
        case file(URL, shouldRemove: Bool)
        /// The content of a stream, or of a form.
        case stream(InputStream)
    }
}

extension UploadRequest.Uploadable {
    init(_ body: RequestBody) {
        if let data = body.data {
            self = .data(data)
        } else if let url = body.fileURL {
            self = .file(url, shouldRemove: false)
        } else {
            self = .stream(body.inputStream)
        }
    }
}

/// A serializer that returns the body, or nothing if it is empty.
struct BodySerializer: SynchronousResponseSerializer {
    func serialize(_ input: SerializerInput) -> Data? { input.data.isEmpty ? nil : input.data }
}
