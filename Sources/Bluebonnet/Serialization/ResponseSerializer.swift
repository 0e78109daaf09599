public import FoundationEssentials

/// A type that turns a complete response into a value.
///
/// The serializers of a request run after the validators, in the order in which you attached the serializers. A request
/// consists of one or more attempts, because each retry is a new attempt. The serializers run in each attempt whose
/// response the validators accept. An `async` serializer does not run on the event loop, so a slow serializer does not
/// delay other requests. If your `serialize` method is not `async`, conform to ``SynchronousResponseSerializer``
/// instead.
///
/// If a serializer throws an error, a ``RequestRetrier`` can start another attempt. Without another attempt, the result
/// of this serializer is a failure, and the other serializers still run. Bluebonnet delivers a ``RequestError``
/// unchanged. A `CancellationError` becomes the underlying error of `.cancelled`. Any other error becomes the
/// underlying error of `.serialization(.customSerializationFailed)`.
///
/// ```swift
/// struct CSVSerializer: SynchronousResponseSerializer {
///     func serialize(_ input: SerializerInput) throws -> [[String]] { … }
/// }
/// ```
///
/// The built-in serializers are ``DataResponseSerializer``, ``StringResponseSerializer``, ``JSONResponseSerializer``,
/// ``DecodableResponseSerializer`` and ``URLResponseSerializer``.
public protocol ResponseSerializer<SerializedObject>: Sendable {
    /// The type of the serialized value.
    associatedtype SerializedObject: Sendable

    /// The preprocessor for the body.
    ///
    /// The default preprocessor does not change the body.
    var dataPreprocessor: any DataPreprocessor { get }

    /// The request methods whose responses may have an empty body.
    ///
    /// The default is `HEAD`.
    var emptyRequestMethods: Set<HTTPMethod> { get }

    /// The status codes of responses that may have an empty body.
    ///
    /// The default is 204 and 205.
    var emptyResponseCodes: Set<Int> { get }

    /// Returns the serialized value.
    ///
    /// Bluebonnet does not apply ``dataPreprocessor`` and the rules for empty bodies automatically. To apply them, call
    /// ``preprocessedData(of:)``. If your method calls a built-in serializer, the built-in serializer applies its own
    /// preprocessor and rules. When the request is cancelled, Bluebonnet cancels the task that runs this method.
    ///
    /// - Parameter input: The request, response and body of the exchange.
    /// - Returns: The serialized value.
    /// - Throws: Any error if the response cannot be serialized.
    func serialize(_ input: SerializerInput) async throws -> SerializedObject
}

extension ResponseSerializer {
    /// A preprocessor that leaves the body unchanged.
    public var dataPreprocessor: any DataPreprocessor { PassthroughPreprocessor() }

    /// The default value, which is ``defaultEmptyRequestMethods``.
    public var emptyRequestMethods: Set<HTTPMethod> { Self.defaultEmptyRequestMethods }

    /// The default value, which is ``defaultEmptyResponseCodes``.
    public var emptyResponseCodes: Set<Int> { Self.defaultEmptyResponseCodes }

    /// The default request methods whose responses may have an empty body: only `HEAD`.
    public static var defaultEmptyRequestMethods: Set<HTTPMethod> { EmptyResponseRules.requestMethods }

    /// The default status codes of responses that may have an empty body: 204 and 205.
    public static var defaultEmptyResponseCodes: Set<Int> { EmptyResponseRules.responseCodes }

    /// Returns whether an empty body is allowed by the method of the request or the status code of the response.
    ///
    /// - Parameter input: The request, response and body of the exchange.
    /// - Returns: Whether an empty body is allowed.
    public func allowsEmptyBody(_ input: SerializerInput) -> Bool {
        if let method = input.request?.method, emptyRequestMethods.contains(method) { return true }
        guard let code = input.response?.statusCode else { return false }
        return emptyResponseCodes.contains(code)
    }
}

extension ResponseSerializer {
    /// Returns the preprocessed body, or `nil` for an empty body that is allowed.
    ///
    /// ``allowsEmptyBody(_:)`` describes when an empty body is allowed. A body that is empty after preprocessing also
    /// counts as empty.
    ///
    /// - Parameter input: The request, response and body of the exchange.
    /// - Returns: The preprocessed body, which is not empty, or `nil`.
    /// - Throws: ``RequestError`` with `.serialization(.inputDataNilOrZeroLength)` if the body is empty, and neither
    ///   the request method nor the status code allows this. An error of the preprocessor is rethrown unchanged.
    public func preprocessedData(of input: SerializerInput) throws -> Data? {
        // An empty body is never preprocessed, because there is nothing to change.
        let data = input.data.isEmpty ? input.data : try dataPreprocessor.preprocess(input.data)
        guard data.isEmpty else { return data }
        guard allowsEmptyBody(input) else { throw RequestError(.serialization(.inputDataNilOrZeroLength)) }
        return nil
    }
}

/// The default rules, which are created only once because every request has its own serializer.
private enum EmptyResponseRules {
    static let requestMethods: Set<HTTPMethod> = [.head]
    static let responseCodes: Set<Int> = [204, 205]
}

/// A serializer whose `serialize` method is synchronous.
///
/// Conform to this protocol instead of ``ResponseSerializer`` if your `serialize` method is not `async`. All built-in
/// serializers conform to this protocol.
public protocol SynchronousResponseSerializer<SerializedObject>: ResponseSerializer {
    /// Returns the serialized value.
    ///
    /// The method runs on the global executor. If the task that awaits the value has a preferred executor, the method
    /// can also run on this executor. If this executor is ``Session/executor``, a slow method delays other requests.
    ///
    /// - Parameter input: The request, response and body of the exchange.
    /// - Returns: The serialized value.
    /// - Throws: Any error if the response cannot be serialized.
    func serialize(_ input: SerializerInput) throws -> SerializedObject
}

/// The input of a serializer, with the request, the response and the body.
public struct SerializerInput: Sendable {
    /// The last request that was sent, without the header fields that the session adds.
    ///
    /// After a redirect, this property contains the request that was sent to the new URL.
    public var request: HTTPRequest?

    /// The head of the response.
    public var response: HTTPResponse?

    /// The body after content decoding; empty if there is no body.
    public var data: Data

    /// The URL of the file if the body was downloaded to a file.
    public var fileURL: URL?

    /// Creates the input of a serializer.
    ///
    /// - Parameters:
    ///   - request: The last request that was sent.
    ///   - response: The head of the response.
    ///   - data: The body after content decoding.
    ///   - fileURL: The URL of the file if the body was downloaded to a file; `nil` by default.
    public init(request: HTTPRequest?, response: HTTPResponse?, data: Data, fileURL: URL? = nil) {
        self.request = request
        self.response = response
        self.data = data
        self.fileURL = fileURL
    }
}

/// A serializer that calls a closure.
public struct ClosureResponseSerializer<SerializedObject: Sendable>: ResponseSerializer {
    private let body: @Sendable (SerializerInput) async throws -> SerializedObject

    /// Creates the serializer.
    ///
    /// - Parameter body: A closure that returns the serialized value. The closure receives the unchanged body, which
    ///   may be empty. Bluebonnet delivers a ``RequestError`` of the closure unchanged. A `CancellationError` becomes
    ///   the underlying error of `.cancelled`. Any other error becomes the underlying error of
    ///   `.serialization(.customSerializationFailed)`.
    public init(_ body: @escaping @Sendable (SerializerInput) async throws -> SerializedObject) {
        self.body = body
    }

    /// Calls the closure.
    ///
    /// - Parameter input: The request, response and body of the exchange.
    /// - Returns: The value that the closure returns.
    /// - Throws: The error that the closure throws.
    public func serialize(_ input: SerializerInput) async throws -> SerializedObject {
        try await body(input)
    }
}

/// A type with a value that represents an empty body.
///
/// ``DecodableResponseSerializer`` returns this value for an allowed empty body.
/// ``ResponseSerializer/emptyRequestMethods`` and ``ResponseSerializer/emptyResponseCodes`` determine when an empty
/// body is allowed. The empty value of an optional is `nil`.
public protocol EmptyResponse {
    /// Returns the value that represents an empty body.
    ///
    /// - Returns: The empty value of the type.
    static func emptyValue() -> Self
}

extension Optional: EmptyResponse {
    /// Returns `nil`.
    ///
    /// - Returns: `nil`.
    public static func emptyValue() -> Wrapped? { nil }
}

/// A type for responses whose body is not needed, as in `serializingDecodable(Empty.self)`.
public struct Empty: EmptyResponse, Codable, Hashable, Sendable {
    /// The only value of the type.
    public static let value = Empty()

    /// Creates the only value of the type.
    package init() {}

    /// Returns the only value.
    ///
    /// - Returns: The only value of the type.
    public static func emptyValue() -> Empty { value }
}

/// A serializer for the attempt loop, whose errors contain the response.
///
/// It also boxes the value; a closure of its own for this would take 230 instructions.
package struct PreparedSerializer<Value: Sendable>: Sendable {
    let erased: ErasedSerializer

    private init(erased: ErasedSerializer) { self.erased = erased }

    /// Prepares a synchronous serializer.
    package init(_ serializer: some SynchronousResponseSerializer<Value>) {
        self.init(
            erased: .synchronous { input throws(RequestError) in
                do {
                    // This closure is not `async`, so overload resolution selects the synchronous method.
                    return ValueBox(try serializer.serialize(input))
                } catch {
                    throw RequestError.wrappingSerializer(error).aboutIfMissing(input)
                }
            })
    }

    /// Prepares a serializer that may suspend.
    ///
    /// The initializer also recognizes a synchronous serializer, because generic code may not know its type.
    package init(_ serializer: some ResponseSerializer<Value>) {
        if let synchronous = serializer as? any SynchronousResponseSerializer<Value> {
            self.init(synchronous)
            return
        }
        self.init(
            erased: .asynchronous { input async throws(RequestError) in
                do {
                    return ValueBox(try await serializer.serialize(input))
                } catch {
                    throw RequestError.wrappingSerializer(error).aboutIfMissing(input)
                }
            })
    }
}

/// A serializer whose value has no static type.
enum ErasedSerializer: Sendable {
    /// A serializer that never suspends.
    case synchronous(@Sendable (SerializerInput) throws(RequestError) -> any AnyValueBox)
    /// A serializer that may suspend.
    case asynchronous(@Sendable (SerializerInput) async throws(RequestError) -> any AnyValueBox)
}

/// A box for a value whose type is erased.
protocol AnyValueBox: AnyObject, Sendable {}

/// A box for a value of a known type.
final class ValueBox<Value: Sendable>: AnyValueBox {
    let value: Value

    init(_ value: Value) { self.value = value }
}

extension RequestError {
    /// Returns the error of a serializer or preprocessor as a `RequestError`.
    ///
    /// A ``RequestError`` stays unchanged. A `CancellationError` becomes the underlying error of `.cancelled`. Any
    /// other error becomes the underlying error of `.serialization(.customSerializationFailed)`.
    package static func wrappingSerializer(_ error: any Error) -> RequestError {
        switch error {
        case let error as RequestError: error
        case is CancellationError: RequestError(.cancelled, underlying: error)
        default: RequestError(.serialization(.customSerializationFailed), underlying: error)
        }
    }

    /// Returns the error with the response of the input, or the unchanged error if it already has a response.
    func aboutIfMissing(_ input: SerializerInput) -> RequestError {
        guard response == nil, let response = input.response else { return self }
        return about(response, body: input.data)
    }
}
