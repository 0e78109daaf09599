public import BluebonnetCallbacks
public import Foundation
public import FoundationNetworking

// Safety: all stored properties are constants of `Sendable` types.
/// A request that keeps the body of the response in memory.
public class DataRequest: Request, @unchecked Sendable {
    /// A closure that decides whether a response is valid.
    ///
    /// The closure receives the request, the response head and the body.
    public typealias Validation = @Sendable (URLRequest?, HTTPURLResponse, Data?) -> ValidationResult

    let dataBase: Bluebonnet.DataRequest

    init(_ base: Bluebonnet.DataRequest) {
        dataBase = base
        super.init(base)
    }

    /// The value from which the request was created.
    public var convertible: any URLRequestConvertible { Converted.of(base.convertible) }

    /// The body of the response; `nil` if the body is empty or was not received.
    public var data: Data? { dataBase.data.flatMap { $0.isEmpty ? nil : $0 } ?? latest.withLock(\.data) }

    /// Adds a closure that decides whether a response is valid.
    ///
    /// - Parameter validation: The closure.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func validate(_ validation: @escaping Validation) -> Self {
        dataBase.validate { [weak self] request, response, data in
            let data = data.flatMap { $0.isEmpty ? nil : $0 }
            self?.latest.withLock { ($0.response, $0.data) = (response, data) }
            return validation(self?.lastRequest ?? request.map { URLRequest($0) }, response.urlResponse, data)
        }
        return self
    }

    // MARK: Responses

    /// Calls a closure with the response, whose value is the unchanged body, or `nil` if the body is empty.
    ///
    /// - Parameters:
    ///   - queue: The queue on which the closure is called; the main queue by default.
    ///   - completionHandler: The closure, which is called once.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func response(
        queue: DispatchQueue = .main, completionHandler: @escaping @Sendable (AFDataResponse<Data?>) -> Void
    ) -> Self { respond(queue, UnserializedBody(), completionHandler) }

    /// Calls a closure with the response, whose value a serializer creates.
    ///
    /// - Parameters:
    ///   - queue: The queue on which the closure is called; the main queue by default.
    ///   - responseSerializer: The serializer. It is also called if the request has failed.
    ///   - completionHandler: The closure, which is called once.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func response<Serializer: DataResponseSerializerProtocol>(
        queue: DispatchQueue = .main, responseSerializer: Serializer,
        completionHandler: @escaping @Sendable (AFDataResponse<Serializer.SerializedObject>) -> Void
    ) -> Self {
        respond(queue, SerializerBridge(handing: responseSerializer)) {
            completionHandler($0.map(\.value))
        }
    }

    /// Calls a closure with the response, whose value is the body.
    ///
    /// - Parameters:
    ///   - queue: The queue on which the closure is called; the main queue by default.
    ///   - dataPreprocessor: The preprocessor of the body; by default, it changes nothing.
    ///   - emptyResponseCodes: The status codes with which the body may be empty; 204 and 205 by default.
    ///   - emptyRequestMethods: The methods with which the body may be empty; `HEAD` by default.
    ///   - completionHandler: The closure, which is called once.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func responseData(
        queue: DispatchQueue = .main, dataPreprocessor: any DataPreprocessor = PassthroughPreprocessor(),
        emptyResponseCodes: Set<Int> = [204, 205], emptyRequestMethods: Set<HTTPMethod> = [.head],
        completionHandler: @escaping @Sendable (AFDataResponse<Data>) -> Void
    ) -> Self {
        let serializer = DataResponseSerializer(
            dataPreprocessor: dataPreprocessor, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods)
        return respond(queue, serializer, completionHandler)
    }

    /// Calls a closure with the response, whose value is the body as text.
    ///
    /// - Parameters:
    ///   - queue: The queue on which the closure is called; the main queue by default.
    ///   - dataPreprocessor: The preprocessor of the body; by default, it changes nothing.
    ///   - encoding: The encoding of the text; by default, the encoding is detected.
    ///   - emptyResponseCodes: The status codes with which the body may be empty; 204 and 205 by default.
    ///   - emptyRequestMethods: The methods with which the body may be empty; `HEAD` by default.
    ///   - completionHandler: The closure, which is called once.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func responseString(
        queue: DispatchQueue = .main, dataPreprocessor: any DataPreprocessor = PassthroughPreprocessor(),
        encoding: String.Encoding? = nil, emptyResponseCodes: Set<Int> = [204, 205],
        emptyRequestMethods: Set<HTTPMethod> = [.head],
        completionHandler: @escaping @Sendable (AFDataResponse<String>) -> Void
    ) -> Self {
        let serializer = StringResponseSerializer(
            dataPreprocessor: dataPreprocessor, encoding: encoding, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods)
        return respond(queue, serializer, completionHandler)
    }

    /// Calls a closure with the response, whose value is the body as parsed JSON.
    ///
    /// - Parameters:
    ///   - queue: The queue on which the closure is called; the main queue by default.
    ///   - dataPreprocessor: The preprocessor of the body; by default, it changes nothing.
    ///   - emptyResponseCodes: The status codes with which the body may be empty; 204 and 205 by default.
    ///   - emptyRequestMethods: The methods with which the body may be empty; `HEAD` by default.
    ///   - options: The options of the parser; by default, the top level can be any JSON value.
    ///   - completionHandler: The closure, which is called once.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func responseJSON(
        queue: DispatchQueue = .main, dataPreprocessor: any DataPreprocessor = PassthroughPreprocessor(),
        emptyResponseCodes: Set<Int> = [204, 205], emptyRequestMethods: Set<HTTPMethod> = [.head],
        options: JSONSerialization.ReadingOptions = .fragmentsAllowed,
        completionHandler: @escaping @Sendable (AFDataResponse<Any>) -> Void
    ) -> Self {
        let serializer = JSONObjectSerializer(
            dataPreprocessor: dataPreprocessor, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods, options: options)
        return respond(queue, serializer) { completionHandler($0.map { $0 }) }
    }

    /// Calls a closure with the response, whose value is the body as a parsed property list.
    ///
    /// - Parameters:
    ///   - queue: The queue on which the closure is called; the main queue by default.
    ///   - options: The options of the parser.
    ///   - completionHandler: The closure, which is called once.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func responsePropertyList(
        queue: DispatchQueue = .main, options: PropertyListSerialization.ReadOptions = [],
        completionHandler: @escaping @Sendable (AFDataResponse<Any>) -> Void
    ) -> Self {
        respond(queue, PropertyListObjectSerializer(options: options)) { completionHandler($0.map { $0 }) }
    }

    /// Calls a closure with the response, whose value is the decoded body.
    ///
    /// - Parameters:
    ///   - type: The type of the value; usually, the compiler infers it.
    ///   - queue: The queue on which the closure is called; the main queue by default.
    ///   - dataPreprocessor: The preprocessor of the body; by default, it changes nothing.
    ///   - decoder: The decoder; a `JSONDecoder` by default.
    ///   - emptyResponseCodes: The status codes with which the body may be empty; 204 and 205 by default.
    ///   - emptyRequestMethods: The methods with which the body may be empty; `HEAD` by default.
    ///   - completionHandler: The closure, which is called once.
    /// - Returns: This request, for chaining.
    @discardableResult @preconcurrency public func responseDecodable<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, queue: DispatchQueue = .main,
        dataPreprocessor: any DataPreprocessor = PassthroughPreprocessor(), decoder: any DataDecoder = JSONDecoder(),
        emptyResponseCodes: Set<Int> = [204, 205], emptyRequestMethods: Set<HTTPMethod> = [.head],
        completionHandler: @escaping @Sendable (AFDataResponse<Value>) -> Void
    ) -> Self {
        let serializer = DecodableResponseSerializer<Value>(
            dataPreprocessor: dataPreprocessor, decoder: decoder, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods)
        return respond(queue, serializer, completionHandler)
    }

    private func respond<Object>(
        _ queue: DispatchQueue, _ bridge: SerializerBridge<Object>,
        _ handler: @escaping @Sendable (AFDataResponse<Object>) -> Void
    ) -> Self {
        respond(
            queue, dataBase.serializingResponse(using: bridge, automaticallyCancelling: false),
            { AFDataResponse($0, of: self, result: bridge.result($0, of: self)) }, handler)
    }

    private func respond<Serializer: Bluebonnet.ResponseSerializer>(
        _ queue: DispatchQueue, _ serializer: Serializer,
        _ handler: @escaping @Sendable (AFDataResponse<Serializer.SerializedObject>) -> Void
    ) -> Self {
        respond(
            queue, dataBase.serializingResponse(using: serializer, automaticallyCancelling: false),
            { AFDataResponse($0, of: self) }, handler)
    }
}

// Safety: all stored properties are constants of `Sendable` types.
/// A request that sends a body.
public final class UploadRequest: DataRequest, @unchecked Sendable {
    /// The body; `nil` until the request is sent.
    public var uploadable: Uploadable? { base.request?.body.map { Uploadable($0) } }

    /// The body of an upload.
    public enum Uploadable {
        /// Data in memory.
        case data(Data)
        /// A file; `shouldRemove` is always `false`.
        case file(URL, shouldRemove: Bool)
        /// The content of a stream or of a form.
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
