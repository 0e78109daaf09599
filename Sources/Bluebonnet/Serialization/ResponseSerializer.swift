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
/// ``DecodableResponseSerializer``; ``ClosureResponseSerializer`` is made of a closure.
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
    /// The preprocessor and the rules for empty bodies are there for the implementation to use: see
    /// ``preprocessedData(of:)``. Cancelling the request cancels the task in which this runs.
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
    public func allowsEmptyBody(_ input: SerializerInput) -> Bool {
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
    public func preprocessedData(of input: SerializerInput) throws -> Data? {
        // An empty body is never preprocessed: there is nothing in it to remove.
        let data = input.data.isEmpty ? input.data : try dataPreprocessor.preprocess(input.data)
        guard data.isEmpty else { return data }
        guard allowsEmptyBody(input) else { throw RequestError(.serialization(.inputDataNilOrZeroLength)) }
        return nil
    }
}

/// The rules that serializers begin with, made once: there is a serializer for each request.
enum EmptyResponseRules {
    static let requestMethods: Set<HTTPMethod> = [.head]
    static let responseCodes: Set<Int> = [204, 205]
}
