public import FoundationEssentials

/// A type that turns a complete response into a value.
///
/// Serializers run after validation, in the order in which they were attached. Each runs once for every attempt with
/// an accepted response. A serializer never runs on the network's thread, so it may take its time and may `await`. If
/// yours does not await, conform to ``SynchronousResponseSerializer`` instead, which needs no suspension.
///
/// An error of the serializer ends the attempt. A ``RequestError`` is kept. Any other error becomes the underlying
/// error of `.serialization(.customSerializationFailed)`; a `CancellationError` becomes the underlying error of a
/// cancellation.
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

    /// The preprocessor for the body; by default, the body is not changed.
    var dataPreprocessor: any DataPreprocessor { get }

    /// The methods whose responses may have an empty body; `HEAD` by default.
    var emptyRequestMethods: Set<HTTPMethod> { get }

    /// The status codes whose responses may have an empty body; 204 and 205 by default.
    var emptyResponseCodes: Set<Int> { get }

    /// Returns the serialized value.
    ///
    /// Your implementation may use the preprocessor and the rules for empty bodies; they are not applied
    /// automatically. A built-in serializer that you call from it applies its own. Cancelling the request cancels the
    /// task that runs this method.
    ///
    /// - Parameter input: The request, response and body of the exchange.
    /// - Returns: The serialized value.
    /// - Throws: Any error. It ends the attempt.
    func serialize(_ input: SerializerInput) async throws -> SerializedObject
}

extension ResponseSerializer {
    /// A preprocessor that leaves the body unchanged.
    public var dataPreprocessor: any DataPreprocessor { PassthroughPreprocessor() }

    /// The default methods: ``defaultEmptyRequestMethods``.
    public var emptyRequestMethods: Set<HTTPMethod> { Self.defaultEmptyRequestMethods }

    /// The default status codes: ``defaultEmptyResponseCodes``.
    public var emptyResponseCodes: Set<Int> { Self.defaultEmptyResponseCodes }

    /// The default set of methods whose responses may have an empty body: `HEAD`.
    public static var defaultEmptyRequestMethods: Set<HTTPMethod> { EmptyResponseRules.requestMethods }

    /// The default set of status codes whose responses may have an empty body: 204 and 205.
    public static var defaultEmptyResponseCodes: Set<Int> { EmptyResponseRules.responseCodes }

    /// Returns whether the response may have an empty body because of its request's method or its status code.
    ///
    /// - Parameter input: The request, response and body of the exchange.
    /// - Returns: Whether an empty body is valid.
    public func allowsEmptyBody(_ input: SerializerInput) -> Bool {
        if let method = input.request?.method, emptyRequestMethods.contains(method) { return true }
        guard let code = input.response?.statusCode else { return false }
        return emptyResponseCodes.contains(code)
    }
}

extension ResponseSerializer {
    /// Returns the preprocessed body, or `nil` if it is empty and the method or status code allows it.
    ///
    /// - Parameter input: The request, response and body of the exchange.
    /// - Returns: The body, which is never empty, or `nil`.
    /// - Throws: ``RequestError`` with `.serialization(.inputDataNilOrZeroLength)` if the body is empty and neither
    ///   the method nor the status code allows it. Errors of the preprocessor are thrown unchanged.
    public func preprocessedData(of input: SerializerInput) throws -> Data? {
        // An empty body is never preprocessed, because there is nothing to change.
        let data = input.data.isEmpty ? input.data : try dataPreprocessor.preprocess(input.data)
        guard data.isEmpty else { return data }
        guard allowsEmptyBody(input) else { throw RequestError(.serialization(.inputDataNilOrZeroLength)) }
        return nil
    }
}

/// The default rules, created only once because every request has its own serializer.
private enum EmptyResponseRules {
    static let requestMethods: Set<HTTPMethod> = [.head]
    static let responseCodes: Set<Int> = [204, 205]
}

/// A serializer that never awaits.
///
/// Conform to this protocol instead of ``ResponseSerializer`` if your `serialize` method is not `async`. The request
/// then calls it without a suspension. All built-in serializers conform to this protocol.
public protocol SynchronousResponseSerializer<SerializedObject>: ResponseSerializer {
    /// Returns the serialized value.
    ///
    /// Runs on the global pool, or on the executor preferred by the awaiting task, such as ``Session/executor``.
    ///
    /// - Parameter input: The request, response and body of the exchange.
    /// - Returns: The serialized value.
    /// - Throws: Any error. It ends the attempt.
    func serialize(_ input: SerializerInput) throws -> SerializedObject
}

/// The input of a serializer: the request, the response and the body.
public struct SerializerInput: Sendable {
    /// The request of the last attempt, without the header fields added by the session.
    public var request: HTTPRequest?

    /// The head of the response.
    public var response: HTTPResponse?

    /// The body after content decoding; empty if there is no body.
    public var data: Data

    /// The URL of the file, if the body was downloaded to a file.
    public var fileURL: URL?

    /// Creates the input of a serializer.
    ///
    /// - Parameters:
    ///   - request: The request of the last attempt.
    ///   - response: The head of the response.
    ///   - data: The body after content decoding.
    ///   - fileURL: The URL of the file, if the body was downloaded to a file; `nil` by default.
    public init(request: HTTPRequest?, response: HTTPResponse?, data: Data, fileURL: URL? = nil) {
        self.request = request
        self.response = response
        self.data = data
        self.fileURL = fileURL
    }
}

/// A serializer that calls a closure: `ClosureResponseSerializer { input in … }`.
public struct ClosureResponseSerializer<SerializedObject: Sendable>: ResponseSerializer {
    private let body: @Sendable (SerializerInput) async throws -> SerializedObject

    /// Creates the serializer.
    ///
    /// - Parameter body: Returns the serialized value. It receives the unchanged body, even if that is empty. Its
    ///   error becomes the underlying error of `.serialization(.customSerializationFailed)`, unless it is a
    ///   ``RequestError``.
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
/// ``DecodableResponseSerializer`` returns this value for an empty body, if ``ResponseSerializer/emptyRequestMethods``
/// or ``ResponseSerializer/emptyResponseCodes`` allow one. Optionals conform to this protocol with the value `nil`.
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

/// A value for responses where only success matters, as in `serializingDecodable(Empty.self)`.
public struct Empty: EmptyResponse, Codable, Hashable, Sendable {
    /// The only value.
    public static let value = Empty()

    /// Creates the only value.
    package init() {}

    /// Returns the only value.
    ///
    /// - Returns: The only value.
    public static func emptyValue() -> Empty { value }
}

/// A serializer in the form that the attempt loop runs: type-erased, and with errors that refer to the response.
package enum PreparedSerializer<Value: Sendable>: Sendable {
    /// A serializer that never suspends.
    case synchronous(@Sendable (SerializerInput) throws(RequestError) -> Value)
    /// A serializer that may suspend.
    case asynchronous(@Sendable (SerializerInput) async throws(RequestError) -> Value)

    /// Prepares a serializer that never awaits.
    package init(_ serializer: some SynchronousResponseSerializer<Value>) {
        self = .synchronous { input throws(RequestError) in
            do {
                // Overload resolution picks the synchronous requirement, because this closure is not `async`.
                return try serializer.serialize(input)
            } catch {
                throw RequestError.wrappingSerializer(error).aboutIfMissing(input)
            }
        }
    }

    /// Prepares any serializer.
    ///
    /// Generic code does not know whether the serializer awaits.
    package init(_ serializer: some ResponseSerializer<Value>) {
        if let synchronous = serializer as? any SynchronousResponseSerializer<Value> {
            self.init(synchronous)
            return
        }
        self = .asynchronous { input async throws(RequestError) in
            do {
                return try await serializer.serialize(input)
            } catch {
                throw RequestError.wrappingSerializer(error).aboutIfMissing(input)
            }
        }
    }
}

extension RequestError {
    /// Returns the error of a serializer or preprocessor as a `RequestError`, wrapped at most once.
    ///
    /// A ``RequestError`` is kept, and a `CancellationError` becomes a cancellation. Any other error becomes
    /// `.serialization(.customSerializationFailed)`.
    package static func wrappingSerializer(_ error: any Error) -> RequestError {
        switch error {
        case let error as RequestError: error
        case is CancellationError: RequestError(.cancelled, underlying: error)
        default: RequestError(.serialization(.customSerializationFailed), underlying: error)
        }
    }

    /// Adds the response that could not be serialized to the error, unless the error already has a response.
    func aboutIfMissing(_ input: SerializerInput) -> RequestError {
        guard response == nil, let response = input.response else { return self }
        return about(response, body: input.data)
    }
}
