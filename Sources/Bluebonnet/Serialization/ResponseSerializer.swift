public import FoundationEssentials

/// Turns a complete response into a value.
///
/// A serializer is asked after validation, once for each attempt whose response was accepted, in the order in which
/// serializers were attached. It runs off the network's thread and may take its time and may `await`; a serializer that
/// never awaits is better a ``SynchronousResponseSerializer``, which costs no suspension. What it throws ends the attempt
/// as `.serialization(.customSerializationFailed)` with the thrown error as the underlying one; a ``RequestError`` stays as it is.
///
/// ```swift
/// struct CSVSerializer: SynchronousResponseSerializer {
///     func serialize(_ input: SerializerInput) throws -> [[String]] { … }
/// }
/// ```
///
/// The built-in ones are ``DataResponseSerializer``, ``StringResponseSerializer``, ``JSONResponseSerializer`` and
/// ``DecodableResponseSerializer``.
public protocol ResponseSerializer<SerializedObject>: Sendable {
    /// The type of the value.
    associatedtype SerializedObject: Sendable

    /// What the body goes through first; the body as it is by default.
    var dataPreprocessor: any DataPreprocessor { get }

    /// The methods whose responses may have an empty body; `HEAD` by default.
    var emptyRequestMethods: Set<HTTPMethod> { get }

    /// The status codes whose responses may have an empty body; 204 and 205 by default.
    var emptyResponseCodes: Set<Int> { get }

    /// Makes the value.
    ///
    /// The preprocessor and the rules for empty bodies are there for the implementation to use; a built-in serializer
    /// that the implementation calls applies its own. Cancelling the request cancels the task in which this runs.
    ///
    /// - Parameter input: The exchange.
    /// - Returns: The value.
    /// - Throws: Any error; it ends the attempt.
    func serialize(_ input: SerializerInput) async throws -> SerializedObject
}

extension ResponseSerializer {
    /// The body as it is.
    public var dataPreprocessor: any DataPreprocessor { PassthroughPreprocessor() }

    /// ``defaultEmptyRequestMethods``.
    public var emptyRequestMethods: Set<HTTPMethod> { Self.defaultEmptyRequestMethods }

    /// ``defaultEmptyResponseCodes``.
    public var emptyResponseCodes: Set<Int> { Self.defaultEmptyResponseCodes }

    /// The methods whose responses may have an empty body unless a serializer says otherwise: `HEAD`.
    public static var defaultEmptyRequestMethods: Set<HTTPMethod> { EmptyResponseRules.requestMethods }

    /// The status codes whose responses may have an empty body unless a serializer says otherwise: 204 and 205.
    public static var defaultEmptyResponseCodes: Set<Int> { EmptyResponseRules.responseCodes }

    /// Returns whether the response may have an empty body, by its request's method or its status code.
    ///
    /// - Parameter input: The exchange.
    /// - Returns: Whether an empty body is right.
    package func allowsEmptyBody(_ input: SerializerInput) -> Bool {
        if let method = input.request?.method, emptyRequestMethods.contains(method) { return true }
        guard let code = input.response?.statusCode else { return false }
        return emptyResponseCodes.contains(code)
    }
}

extension ResponseSerializer {
    /// Returns the preprocessed body, or `nil` when it is empty and may be.
    ///
    /// - Parameter input: The exchange.
    /// - Returns: The body, never empty, or `nil`.
    /// - Throws: ``RequestError`` `.serialization(.inputDataNilOrZeroLength)` when the body is empty and may not be;
    ///   what the preprocessor throws.
    package func preprocessedData(of input: SerializerInput) throws -> Data? {
        // An empty body is never preprocessed: there is nothing in it to remove.
        let data = input.data.isEmpty ? input.data : try dataPreprocessor.preprocess(input.data)
        guard data.isEmpty else { return data }
        guard allowsEmptyBody(input) else { throw RequestError(.serialization(.inputDataNilOrZeroLength)) }
        return nil
    }
}

/// The rules that serializers begin with, made once: there is a serializer for each request.
private enum EmptyResponseRules {
    static let requestMethods: Set<HTTPMethod> = [.head]
    static let responseCodes: Set<Int> = [204, 205]
}

/// Turns a complete response into a value without awaiting anything.
///
/// Conform to this protocol rather than to ``ResponseSerializer`` when `serialize` is not `async`: the request then runs
/// it without a suspension. All built-in serializers do.
public protocol SynchronousResponseSerializer<SerializedObject>: ResponseSerializer {
    /// Makes the value.
    ///
    /// Runs on the global pool, or on the executor that the awaiting task prefers, such as ``Session/executor``.
    ///
    /// - Parameter input: The exchange.
    /// - Returns: The value.
    /// - Throws: Any error; it ends the attempt.
    func serialize(_ input: SerializerInput) throws -> SerializedObject
}

/// The input of a serializer: the exchange as far as it went.
public struct SerializerInput: Sendable {
    /// The request of the last attempt, without the fields that the session adds.
    public var request: HTTPRequest?

    /// The head of the response.
    public var response: HTTPResponse?

    /// The body, decoded from its content coding; empty when there was none.
    public var data: Data

    /// Where the body is, if it was downloaded to a file.
    public var fileURL: URL?

    /// Creates the input of a serializer.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - response: The head of the response.
    ///   - data: The body.
    ///   - fileURL: Where the body is, if it was downloaded to a file.
    public init(request: HTTPRequest?, response: HTTPResponse?, data: Data, fileURL: URL? = nil) {
        self.request = request
        self.response = response
        self.data = data
        self.fileURL = fileURL
    }
}

/// Makes a value with a closure: `ClosureResponseSerializer { input in … }`.
package struct ClosureResponseSerializer<SerializedObject: Sendable>: ResponseSerializer {
    private let body: @Sendable (SerializerInput) async throws -> SerializedObject

    /// Creates the serializer.
    ///
    /// - Parameter body: Makes the value. It is handed the body as it is, empty ones too. What it throws ends the attempt
    ///   as `.serialization(.customSerializationFailed)` with the thrown error as the underlying one.
    package init(_ body: @escaping @Sendable (SerializerInput) async throws -> SerializedObject) {
        self.body = body
    }

    /// Calls the closure.
    ///
    /// - Parameter input: The exchange.
    /// - Returns: The value.
    /// - Throws: The closure's error.
    package func serialize(_ input: SerializerInput) async throws -> SerializedObject {
        try await body(input)
    }
}

/// A type that has a value for "there was no body".
///
/// ``DecodableResponseSerializer`` returns that value when a response has no body and may have none, by
/// ``ResponseSerializer/emptyRequestMethods`` and ``ResponseSerializer/emptyResponseCodes``. Optionals conform: their
/// value is `nil`.
public protocol EmptyResponse {
    /// Returns the value that stands for an empty body.
    ///
    /// - Returns: The value.
    static func emptyValue() -> Self
}

extension Optional: EmptyResponse {
    /// Returns `nil`.
    ///
    /// - Returns: `nil`.
    public static func emptyValue() -> Wrapped? { nil }
}

/// The value of a response of which only its success matters: `serializingDecodable(Empty.self)`.
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

/// A serializer as the attempt loop runs it: its type erased, its errors wrapped and told which response they are about.
package enum PreparedSerializer<Value: Sendable>: Sendable {
    /// Runs without suspending.
    case synchronous(@Sendable (SerializerInput) throws(RequestError) -> Value)
    /// May suspend.
    case asynchronous(@Sendable (SerializerInput) async throws(RequestError) -> Value)

    /// Prepares a serializer that never awaits.
    package init(_ serializer: some SynchronousResponseSerializer<Value>) {
        self = .synchronous { input throws(RequestError) in
            do {
                // A function without `async` chooses the synchronous requirement.
                return try serializer.serialize(input)
            } catch {
                throw RequestError.wrappingSerializer(error).aboutIfMissing(input)
            }
        }
    }

    /// Prepares any serializer; generic code does not know whether a serializer awaits.
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
    /// Returns what a serializer or preprocessor threw as a request's error, wrapped once.
    ///
    /// A ``RequestError`` stays itself, a `CancellationError` is a cancellation, all else is `.serialization(.customSerializationFailed)`.
    package static func wrappingSerializer(_ error: any Error) -> RequestError {
        switch error {
        case let error as RequestError: error
        case is CancellationError: RequestError(.cancelled, underlying: error)
        default: RequestError(.serialization(.customSerializationFailed), underlying: error)
        }
    }

    /// Returns the error with the response that could not be serialized, unless it has one already.
    func aboutIfMissing(_ input: SerializerInput) -> RequestError {
        guard response == nil, let response = input.response else { return self }
        return about(response, body: input.data)
    }
}
