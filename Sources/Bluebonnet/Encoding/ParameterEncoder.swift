public import FoundationEssentials

/// Puts parameters into a request.
public protocol ParameterEncoder: Sendable {
    /// Returns the request with the parameters in it.
    ///
    /// Runs on the global pool, or on the executor that the awaiting task prefers, when the request has been started, and
    /// again for each attempt.
    ///
    /// - Parameters:
    ///   - parameters: What to encode; with `nil` the request stays as it is.
    ///   - request: The request to put it in.
    /// - Returns: The request with the parameters.
    /// - Throws: Why they could not be encoded. Bluebonnet's own encoders throw ``RequestError``; another error is
    ///   reported as `.parameterEncoding(.encoderFailed)` with it as the underlying one.
    func encode<Parameters: Encodable & Sendable>(
        _ parameters: Parameters?, into request: HTTPRequest
    ) throws -> HTTPRequest
}

extension ParameterEncoder {
    /// Runs an encoder and reports what it throws as `.parameterEncoding(.encoderFailed)`.
    func wrappingErrors<Value>(_ encode: () throws -> Value) throws(RequestError) -> Value {
        do {
            return try encode()
        } catch {
            throw RequestError(.parameterEncoding(.encoderFailed), underlying: error)
        }
    }
}

/// Encodes parameters as JSON into the body (RFC 8259).
///
/// Sets `Content-Type: application/json` unless the request has a content type.
public struct JSONParameterEncoder: ParameterEncoder {
    /// Encodes with the defaults of `JSONEncoder`.
    public static let `default` = JSONParameterEncoder()

    /// Encodes with line breaks and indentation.
    public static let prettyPrinted = JSONParameterEncoder(formatting: .prettyPrinted)

    /// Encodes with the keys of objects sorted.
    public static let sortedKeys = JSONParameterEncoder(formatting: .sortedKeys)

    private let encoder: JSONEncoder

    /// Creates an encoder.
    ///
    /// - Parameter encoder: What does the work; it must not be changed afterwards.
    public init(encoder: JSONEncoder = JSONEncoder()) {
        self.encoder = encoder
    }

    private init(formatting: JSONEncoder.OutputFormatting) {
        encoder = JSONEncoder()
        encoder.outputFormatting = formatting
    }

    /// Returns the request with the parameters as JSON in its body.
    ///
    /// - Parameters:
    ///   - parameters: What to encode; with `nil` the request stays as it is.
    ///   - request: The request to put it in.
    /// - Returns: The request with the body.
    /// - Throws: `.parameterEncoding(.encoderFailed)` with the error of the `JSONEncoder`.
    public func encode<Parameters: Encodable & Sendable>(
        _ parameters: Parameters?, into request: HTTPRequest
    ) throws(RequestError) -> HTTPRequest {
        guard let parameters else { return request }
        let body = try wrappingErrors { try encoder.encode(parameters) }
        return request.with(body, contentType: "application/json")
    }
}

extension ParameterEncoder where Self == JSONParameterEncoder {
    /// Encodes parameters as JSON into the body.
    public static var json: JSONParameterEncoder { .default }

    /// Encodes parameters as JSON into the body.
    ///
    /// - Parameter encoder: What does the work; it must not be changed afterwards.
    /// - Returns: The encoder.
    public static func json(encoder: JSONEncoder) -> JSONParameterEncoder {
        JSONParameterEncoder(encoder: encoder)
    }
}

extension HTTPRequest {
    /// Returns the request with a body, and with a content type if it had none.
    func with(_ body: Data, contentType: String) -> HTTPRequest {
        var request = self
        request.body = .data(body)
        if !request.headers.contains("Content-Type") {
            request.headers.append(.contentType(contentType))
        }
        return request
    }
}

/// Encodes parameters as a property list into the body.
///
/// Sets `Content-Type: application/x-plist` unless the request has a content type.
public struct PropertyListParameterEncoder: ParameterEncoder {
    /// Encodes as an XML property list.
    package static let `default` = PropertyListParameterEncoder(format: .xml)

    /// Encodes as a binary property list.
    package static let binary = PropertyListParameterEncoder(format: .binary)

    private let encoder: PropertyListEncoder

    /// Creates an encoder.
    ///
    /// - Parameter encoder: What does the work; it must not be changed afterwards.
    public init(encoder: PropertyListEncoder) {
        self.encoder = encoder
    }

    private init(format: PropertyListDecoder.PropertyListFormat) {
        encoder = PropertyListEncoder()
        encoder.outputFormat = format
    }

    /// Returns the request with the parameters as a property list in its body.
    ///
    /// - Parameters:
    ///   - parameters: What to encode; with `nil` the request stays as it is.
    ///   - request: The request to put it in.
    /// - Returns: The request with the body.
    /// - Throws: `.parameterEncoding(.encoderFailed)` with the error of the `PropertyListEncoder`.
    public func encode<Parameters: Encodable & Sendable>(
        _ parameters: Parameters?, into request: HTTPRequest
    ) throws(RequestError) -> HTTPRequest {
        guard let parameters else { return request }
        let body = try wrappingErrors { try encoder.encode(parameters) }
        return request.with(body, contentType: "application/x-plist")
    }
}

extension ParameterEncoder where Self == PropertyListParameterEncoder {
    /// Encodes parameters as an XML property list into the body.
    public static var propertyList: PropertyListParameterEncoder { .default }

    /// Encodes parameters as a property list into the body.
    ///
    /// - Parameter encoder: What does the work; it must not be changed afterwards.
    /// - Returns: The encoder.
    package static func propertyList(encoder: PropertyListEncoder) -> PropertyListParameterEncoder {
        PropertyListParameterEncoder(encoder: encoder)
    }
}

/// Encodes parameters as `key=value` pairs into the URL's query or the body.
///
/// A query that is there already is kept, and the pairs are appended to it. A body comes with
/// `Content-Type: application/x-www-form-urlencoded; charset=utf-8` unless the request has a content type.
public struct URLEncodedFormParameterEncoder: ParameterEncoder {
    /// Says where the pairs go.
    @nonexhaustive
    public enum Destination: Hashable, Sendable {
        /// Into the query for GET, HEAD and DELETE, into the body for all other methods.
        case methodDependent
        /// Into the query, whatever the method.
        case queryString
        /// Into the body, whatever the method.
        case httpBody

        /// Whether a request of the method has its pairs in the query.
        func isQuery(for method: HTTPMethod) -> Bool {
            switch self {
            case .methodDependent: method == .get || method == .head || method == .delete
            case .queryString: true
            case .httpBody: false
            }
        }
    }

    /// Encodes with the defaults of ``URLEncodedFormEncoder``, to where the method wants it.
    public static let `default` = URLEncodedFormParameterEncoder()

    /// What makes the pairs.
    package let encoder: URLEncodedFormEncoder

    /// Where the pairs go.
    package let destination: Destination

    /// Creates an encoder.
    ///
    /// - Parameters:
    ///   - encoder: What makes the pairs.
    ///   - destination: Where the pairs go.
    public init(encoder: URLEncodedFormEncoder = URLEncodedFormEncoder(), destination: Destination = .methodDependent) {
        self.encoder = encoder
        self.destination = destination
    }

    /// Returns the request with the parameters in its query or body.
    ///
    /// - Parameters:
    ///   - parameters: What to encode; with `nil` the request stays as it is.
    ///   - request: The request to put it in.
    /// - Returns: The request with the parameters.
    /// - Throws: `.parameterEncoding(.encoderFailed)` with what a value or an option of the encoder threw, or
    ///   `.invalidURL` when allowed characters make the query one that no URL can have.
    public func encode<Parameters: Encodable & Sendable>(
        _ parameters: Parameters?, into request: HTTPRequest
    ) throws(RequestError) -> HTTPRequest {
        guard let parameters else { return request }
        let pairs: String = try wrappingErrors { try encoder.encode(parameters) }
        guard destination.isQuery(for: request.method) else {
            return request.with(
                Data(pairs.utf8), contentType: "application/x-www-form-urlencoded; charset=utf-8")
        }
        guard !pairs.isEmpty else { return request }
        var request = request
        request.url = try request.url.appendingQuery(pairs)
        return request
    }
}

extension ParameterEncoder where Self == URLEncodedFormParameterEncoder {
    /// Encodes parameters as pairs into the query or the body, as the method wants it.
    public static var urlEncodedForm: URLEncodedFormParameterEncoder { .default }

    /// Encodes parameters as pairs into the query or the body.
    ///
    /// - Parameters:
    ///   - encoder: What makes the pairs.
    ///   - destination: Where the pairs go.
    /// - Returns: The encoder.
    public static func urlEncodedForm(
        encoder: URLEncodedFormEncoder = URLEncodedFormEncoder(),
        destination: URLEncodedFormParameterEncoder.Destination = .methodDependent
    ) -> URLEncodedFormParameterEncoder {
        URLEncodedFormParameterEncoder(encoder: encoder, destination: destination)
    }
}

extension URL {
    /// Returns the URL with encoded pairs after those of its query.
    fileprivate func appendingQuery(_ pairs: String) throws(RequestError) -> URL {
        let text = absoluteString
        let fragment = text.firstIndex(of: "#") ?? text.endIndex
        let base = text[..<fragment]
        let separator =
            switch base.firstIndex(of: "?") {
            case nil: "?"
            case base.index(base.endIndex, offsetBy: -1): ""
            default: "&"
            }
        let joined = base + separator + pairs + text[fragment...]
        guard let url = URL(string: String(joined), encodingInvalidCharacters: false) else {
            throw RequestError.invalidURL(redactedURL(String(joined)))
        }
        return url
    }
}
