public import BluebonnetCallbacks
public import Foundation
public import FoundationNetworking

/// A type that creates a value from the response of a `DataRequest`.
public protocol DataResponseSerializerProtocol<SerializedObject>: Sendable {
    /// The type of the value.
    associatedtype SerializedObject

    /// Creates a value from a response, or throws an error.
    ///
    /// - Parameters:
    ///   - request: The latest request.
    ///   - response: The head of the response.
    ///   - data: The body; `nil` if it is empty.
    ///   - error: The error of the request. Serializers usually throw this error.
    /// - Throws: An error if the value cannot be created.
    /// - Returns: The value.
    func serialize(
        request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?
    ) throws -> SerializedObject
}

/// A type that creates a value from the file of a `DownloadRequest`.
public protocol DownloadResponseSerializerProtocol<SerializedObject>: Sendable {
    /// The type of the value.
    associatedtype SerializedObject

    /// Creates a value from a file, or throws an error.
    ///
    /// - Parameters:
    ///   - request: The latest request.
    ///   - response: The head of the response.
    ///   - fileURL: The URL of the file with the body.
    ///   - error: The error of the request. Serializers usually throw this error.
    /// - Throws: An error if the value cannot be created.
    /// - Returns: The value.
    func serializeDownload(
        request: URLRequest?, response: HTTPURLResponse?, fileURL: URL?, error: (any Error)?
    ) throws -> SerializedObject
}

/// A type that creates a value from the response of a `DataRequest` or a `DownloadRequest`.
public protocol ResponseSerializer<SerializedObject>: DataResponseSerializerProtocol,
    DownloadResponseSerializerProtocol
{
    /// The preprocessor of the body; by default, it changes nothing.
    var dataPreprocessor: any DataPreprocessor { get }
    /// The methods whose responses may have an empty body; `HEAD` by default.
    var emptyRequestMethods: Set<HTTPMethod> { get }
    /// The status codes with which a response may have an empty body; 204 and 205 by default.
    var emptyResponseCodes: Set<Int> { get }
}

extension ResponseSerializer {
    /// The default preprocessor, which changes nothing.
    public static var defaultDataPreprocessor: any DataPreprocessor { PassthroughPreprocessor() }
    /// The default methods whose responses may have an empty body: `HEAD`.
    public static var defaultEmptyRequestMethods: Set<HTTPMethod> { [.head] }
    /// The default status codes with which a response may have an empty body: 204 and 205.
    public static var defaultEmptyResponseCodes: Set<Int> { [204, 205] }

    /// The preprocessor of the body, which changes nothing.
    public var dataPreprocessor: any DataPreprocessor { Self.defaultDataPreprocessor }
    /// The methods whose responses may have an empty body: `HEAD`.
    public var emptyRequestMethods: Set<HTTPMethod> { Self.defaultEmptyRequestMethods }
    /// The status codes with which a response may have an empty body: 204 and 205.
    public var emptyResponseCodes: Set<Int> { Self.defaultEmptyResponseCodes }

    /// Returns whether the method of a request allows an empty body; `nil` without a request.
    public func requestAllowsEmptyResponseData(_ request: URLRequest?) -> Bool? {
        request?.method.map { emptyRequestMethods.contains($0) }
    }

    /// Returns whether the status code of a response allows an empty body; `nil` without a response.
    public func responseAllowsEmptyResponseData(_ response: HTTPURLResponse?) -> Bool? {
        response.map { emptyResponseCodes.contains($0.statusCode) }
    }

    /// Returns whether the method of the request or the status code of the response allows an empty body.
    public func emptyResponseAllowed(forRequest request: URLRequest?, response: HTTPURLResponse?) -> Bool {
        requestAllowsEmptyResponseData(request) == true || responseAllowsEmptyResponseData(response) == true
    }
}

extension DownloadResponseSerializerProtocol where Self: DataResponseSerializerProtocol {
    /// Reads the file, and serializes its content.
    public func serializeDownload(
        request: URLRequest?, response: HTTPURLResponse?, fileURL: URL?, error: (any Error)?
    ) throws -> SerializedObject {
        if let error { throw error }
        guard let fileURL else { throw AFError.responseSerializationFailed(reason: .inputFileNil) }
        guard let data = try? Data(contentsOf: fileURL) else {
            throw AFError.responseSerializationFailed(reason: .inputFileReadFailed(at: fileURL))
        }
        return try serialize(request: request, response: response, data: data.isEmpty ? nil : data, error: nil)
    }
}

// MARK: Built-in serializers

extension DataResponseSerializer: ResponseSerializer, DefaultsOfSerializers {}
extension StringResponseSerializer: ResponseSerializer, DefaultsOfSerializers {}
extension DecodableResponseSerializer: ResponseSerializer, DefaultsOfSerializers {}

/// A protocol with the default values of the built-in serializers.
///
/// Two other protocols declare the same default values. This protocol resolves the conflict between them.
public protocol DefaultsOfSerializers: ResponseSerializer, Bluebonnet.ResponseSerializer {}

extension DefaultsOfSerializers {
    /// The default methods whose responses may have an empty body: `HEAD`.
    public static var defaultEmptyRequestMethods: Set<HTTPMethod> { [.head] }
    /// The default status codes with which a response may have an empty body: 204 and 205.
    public static var defaultEmptyResponseCodes: Set<Int> { [204, 205] }
}

extension DataResponseSerializer {
    /// Returns the body; throws an `AFError`.
    public func serialize(
        request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?
    ) throws -> Data { try failingWithAFError(request, response, data, error) }
}

extension StringResponseSerializer {
    /// Returns the body as text; throws an `AFError`.
    public func serialize(
        request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?
    ) throws -> String { try failingWithAFError(request, response, data, error) }
}

extension DecodableResponseSerializer {
    /// Returns the decoded body; throws an `AFError`.
    public func serialize(
        request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?
    ) throws -> Value { try failingWithAFError(request, response, data, error) }
}

extension SynchronousResponseSerializer {
    fileprivate func failingWithAFError(
        _ request: URLRequest?, _ response: HTTPURLResponse?, _ data: Data?, _ error: (any Error)?
    ) throws -> SerializedObject {
        do {
            return try value(request, response, data, error)
        } catch {
            throw error.asAFError ?? error
        }
    }
}

extension URLResponseSerializer: DownloadResponseSerializerProtocol {
    /// Returns the URL of the file, or throws the error of the request.
    public func serializeDownload(
        request: URLRequest?, response: HTTPURLResponse?, fileURL: URL?, error: (any Error)?
    ) throws -> URL {
        if let error { throw error }
        guard let fileURL else { throw AFError.responseSerializationFailed(reason: .inputFileNil) }
        return fileURL
    }
}

/// A serializer that parses JSON to dictionaries, arrays, strings, numbers, Booleans and `NSNull`.
public struct JSONResponseSerializer: ResponseSerializer {
    /// The preprocessor of the body.
    public var dataPreprocessor: any DataPreprocessor { base.dataPreprocessor }
    /// The methods whose responses may have an empty body.
    public var emptyRequestMethods: Set<HTTPMethod> { base.emptyRequestMethods }
    /// The status codes with which a response may have an empty body.
    public var emptyResponseCodes: Set<Int> { base.emptyResponseCodes }
    /// The options of the parser.
    public var options: JSONSerialization.ReadingOptions { base.options }

    let base: JSONObjectSerializer

    /// Creates a serializer.
    ///
    /// - Parameters:
    ///   - dataPreprocessor: The preprocessor of the body; by default, it changes nothing.
    ///   - emptyResponseCodes: The status codes with which a response may have an empty body; 204 and 205 by default.
    ///   - emptyRequestMethods: The methods whose responses may have an empty body; `HEAD` by default.
    ///   - options: The options of the parser; by default, the top level can be any JSON value.
    public init(
        dataPreprocessor: any DataPreprocessor = PassthroughPreprocessor(), emptyResponseCodes: Set<Int> = [204, 205],
        emptyRequestMethods: Set<HTTPMethod> = [.head], options: JSONSerialization.ReadingOptions = .fragmentsAllowed
    ) {
        base = JSONObjectSerializer(
            dataPreprocessor: dataPreprocessor, emptyResponseCodes: emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods, options: options)
    }

    /// Parses the body, or throws the error of the request.
    public func serialize(
        request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?
    ) throws -> Any {
        try base.failingWithAFError(request, response, data, error)
    }
}

extension DataResponseSerializerProtocol where Self == DataResponseSerializer {
    /// A serializer that returns the body.
    public static var data: DataResponseSerializer { DataResponseSerializer() }
}

extension DataResponseSerializerProtocol where Self == StringResponseSerializer {
    /// A serializer that returns the body as text.
    public static var string: StringResponseSerializer { StringResponseSerializer() }
}

extension DataResponseSerializerProtocol {
    /// A serializer that decodes the body.
    ///
    /// - Parameters:
    ///   - type: The type of the value.
    ///   - dataPreprocessor: The preprocessor of the body; by default, it changes nothing.
    ///   - decoder: The decoder; a `JSONDecoder` by default.
    /// - Returns: The serializer.
    public static func decodable<T: Decodable>(
        of type: T.Type, dataPreprocessor: any DataPreprocessor = PassthroughPreprocessor(),
        decoder: any DataDecoder = JSONDecoder()
    ) -> Self where Self == DecodableResponseSerializer<T> {
        DecodableResponseSerializer(dataPreprocessor: dataPreprocessor, decoder: decoder)
    }
}

extension DownloadResponseSerializerProtocol where Self == URLResponseSerializer {
    /// A serializer that returns the URL of the file.
    public static var url: URLResponseSerializer { URLResponseSerializer() }
}

// MARK: In Bluebonnet

/// A value that a serializer passes to a handler, and that may not be `Sendable`.
// Safety: only the handler and the monitors have the value.
struct Handed<Value>: AnyHanded, @unchecked Sendable {
    let value: Value

    // The compiler does not allow a cast of the value itself to `any Sendable`, so an array of the value is cast.
    var sendable: (any Sendable)? { ([value] as? [any Sendable])?.first }
}

protocol AnyHanded {
    var sendable: (any Sendable)? { get }
}

/// A serializer of `Bluebonnet` that calls a serializer of the user.
struct SerializerBridge<Object: Sendable>: SynchronousResponseSerializer {
    private let call: @Sendable (URLRequest?, HTTPURLResponse?, Data?, URL?, (any Error)?) throws -> Object

    init(data serializer: some DataResponseSerializerProtocol<Object>) {
        call = { try serializer.serialize(request: $0, response: $1, data: $2, error: $4) }
    }

    init(file serializer: some DownloadResponseSerializerProtocol<Object>) {
        call = { try serializer.serializeDownload(request: $0, response: $1, fileURL: $3, error: $4) }
    }

    /// Wraps the serializer's values, because they may not be `Sendable`.
    init<Value>(handing serializer: some DataResponseSerializerProtocol<Value>) where Object == Handed<Value> {
        call = { Handed(value: try serializer.serialize(request: $0, response: $1, data: $2, error: $4)) }
    }

    /// Wraps the serializer's values, because they may not be `Sendable`.
    init<Value>(handingFile serializer: some DownloadResponseSerializerProtocol<Value>) where Object == Handed<Value> {
        call = { Handed(value: try serializer.serializeDownload(request: $0, response: $1, fileURL: $3, error: $4)) }
    }

    func serialize(_ input: SerializerInput) throws -> Object {
        do {
            return try call(
                input.request.map { URLRequest($0) }, input.response?.urlResponse,
                input.data.isEmpty ? nil : input.data, input.fileURL, nil)
        } catch {
            if (error as? RequestError)?.isFromSerializer == true { throw error }
            throw RequestError(.serialization(.customSerializationFailed), underlying: error)
        }
    }

    /// Returns the result of a request.
    ///
    /// If the request failed before the serializer was called, the serializer is called with the error.
    func result<Kind>(
        _ answer: SerializedResponse<Kind, Object, RequestError>, of request: Request
    ) -> Result<Object, AFError> {
        guard let error = answer.error, !error.isFromSerializer else { return answer.result.mapError(AFError.init) }
        let (data, fileURL, _) = answer.contents
        return Result {
            try call(
                request.lastRequest, answer.urlResponse, data?.isEmpty == true ? nil : data, fileURL, AFError(error))
        }.mapError { $0.asAFError(or: .responseSerializationFailed(reason: .customSerializationFailed(error: $0))) }
    }
}

extension RequestError {
    /// Whether a serializer threw this error; in this case, the serializer is not called again.
    fileprivate var isFromSerializer: Bool { if case .serialization = kind { true } else { false } }
}
