public import FoundationEssentials

/// A type that encodes parameters into a request.
public protocol ParameterEncoder: Sendable {
    /// Returns the request with the encoded parameters.
    ///
    /// Called after the request has been started, and again for each attempt. It runs on the global pool, or on the
    /// executor preferred by the awaiting task.
    ///
    /// - Parameters:
    ///   - parameters: The parameters to encode; `nil` leaves the request unchanged.
    ///   - request: The request to add the parameters to.
    /// - Returns: The request with the parameters.
    /// - Throws: The reason the encoding failed. Bluebonnet's encoders throw ``RequestError``. Any other error becomes
    ///   the underlying error of `.parameterEncoding(.encoderFailed)`.
    func encode<Parameters: Encodable & Sendable>(
        _ parameters: Parameters?, into request: HTTPRequest
    ) throws -> HTTPRequest
}

extension ParameterEncoder {
    /// Runs an encoder, and reports its error as `.parameterEncoding(.encoderFailed)`.
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
/// Sets `Content-Type: application/json`, unless the request already has a content type.
public struct JSONParameterEncoder: ParameterEncoder {
    /// An encoder with the default settings of `JSONEncoder`.
    public static let `default` = JSONParameterEncoder()

    /// An encoder that uses line breaks and indentation.
    public static let prettyPrinted = JSONParameterEncoder(formatting: .prettyPrinted)

    /// An encoder that sorts the keys of objects.
    public static let sortedKeys = JSONParameterEncoder(formatting: .sortedKeys)

    private let encoder: JSONEncoder

    /// Creates an encoder.
    ///
    /// - Parameter encoder: The `JSONEncoder` to use. Do not change it afterwards.
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
    ///   - parameters: The parameters to encode; `nil` leaves the request unchanged.
    ///   - request: The request to add the parameters to.
    /// - Returns: The request with the JSON body.
    /// - Throws: ``RequestError`` with `.parameterEncoding(.encoderFailed)`; the underlying error is that of the
    ///   `JSONEncoder`.
    public func encode<Parameters: Encodable & Sendable>(
        _ parameters: Parameters?, into request: HTTPRequest
    ) throws(RequestError) -> HTTPRequest {
        guard let parameters else { return request }
        let body = try wrappingErrors { try encoder.encode(parameters) }
        return request.with(body, contentType: "application/json")
    }
}

extension ParameterEncoder where Self == JSONParameterEncoder {
    /// An encoder for parameters as JSON in the body.
    public static var json: JSONParameterEncoder { .default }

    /// An encoder for parameters as JSON in the body.
    ///
    /// - Parameter encoder: The `JSONEncoder` to use. Do not change it afterwards.
    /// - Returns: A parameter encoder that uses the `JSONEncoder`.
    public static func json(encoder: JSONEncoder) -> JSONParameterEncoder {
        JSONParameterEncoder(encoder: encoder)
    }
}

extension HTTPRequest {
    /// Returns the request with a body, and with a content type unless it already has one.
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
/// Sets `Content-Type: application/x-plist`, unless the request already has a content type.
public struct PropertyListParameterEncoder: ParameterEncoder {
    /// An encoder for XML property lists.
    public static let `default` = PropertyListParameterEncoder(format: .xml)

    /// An encoder for binary property lists.
    public static let binary = PropertyListParameterEncoder(format: .binary)

    private let encoder: PropertyListEncoder

    /// Creates an encoder.
    ///
    /// - Parameter encoder: The `PropertyListEncoder` to use. Do not change it afterwards.
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
    ///   - parameters: The parameters to encode; `nil` leaves the request unchanged.
    ///   - request: The request to add the parameters to.
    /// - Returns: The request with the property list as its body.
    /// - Throws: ``RequestError`` with `.parameterEncoding(.encoderFailed)`; the underlying error is that of the
    ///   `PropertyListEncoder`.
    public func encode<Parameters: Encodable & Sendable>(
        _ parameters: Parameters?, into request: HTTPRequest
    ) throws(RequestError) -> HTTPRequest {
        guard let parameters else { return request }
        let body = try wrappingErrors { try encoder.encode(parameters) }
        return request.with(body, contentType: "application/x-plist")
    }
}

extension ParameterEncoder where Self == PropertyListParameterEncoder {
    /// An encoder for parameters as an XML property list in the body.
    public static var propertyList: PropertyListParameterEncoder { .default }

    /// An encoder for parameters as a property list in the body.
    ///
    /// - Parameter encoder: The `PropertyListEncoder` to use. Do not change it afterwards.
    /// - Returns: A parameter encoder that uses the `PropertyListEncoder`.
    public static func propertyList(encoder: PropertyListEncoder) -> PropertyListParameterEncoder {
        PropertyListParameterEncoder(encoder: encoder)
    }
}

/// Encodes parameters as `key=value` pairs into the URL's query or the body.
///
/// An existing query is kept, and the pairs are appended to it. For a body, the encoder sets
/// `Content-Type: application/x-www-form-urlencoded; charset=utf-8`, unless the request already has a content type.
public struct URLEncodedFormParameterEncoder: ParameterEncoder {
    /// The destinations of the pairs.
    @nonexhaustive
    public enum Destination: Hashable, Sendable {
        /// The query for GET, HEAD and DELETE; the body for all other methods.
        case methodDependent
        /// The query, for all methods.
        case queryString
        /// The body, for all methods.
        case httpBody

        /// Whether a request with this method has the pairs in its query.
        func isQuery(for method: HTTPMethod) -> Bool {
            switch self {
            case .methodDependent: method == .get || method == .head || method == .delete
            case .queryString: true
            case .httpBody: false
            }
        }
    }

    /// An encoder with the default settings of ``URLEncodedFormEncoder``; the destination depends on the method.
    public static let `default` = URLEncodedFormParameterEncoder()

    /// The encoder for the pairs.
    package let encoder: URLEncodedFormEncoder

    /// The destination of the pairs.
    package let destination: Destination

    /// Creates an encoder.
    ///
    /// - Parameters:
    ///   - encoder: The encoder for the pairs; one with default settings by default.
    ///   - destination: The destination of the pairs; `.methodDependent` by default.
    public init(encoder: URLEncodedFormEncoder = URLEncodedFormEncoder(), destination: Destination = .methodDependent) {
        self.encoder = encoder
        self.destination = destination
    }

    /// Returns the request with the parameters in its query or body.
    ///
    /// - Parameters:
    ///   - parameters: The parameters to encode; `nil` leaves the request unchanged.
    ///   - request: The request to add the parameters to.
    /// - Returns: The request with the parameters.
    /// - Throws: ``RequestError`` with `.parameterEncoding(.encoderFailed)` if a value or an encoder option fails; the
    ///   underlying error is that of the value or option. ``RequestError`` with `.invalidURL` if custom allowed
    ///   characters make the query invalid.
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
    /// An encoder for pairs in the query or the body; the destination depends on the method.
    public static var urlEncodedForm: URLEncodedFormParameterEncoder { .default }

    /// An encoder for pairs in the query or the body.
    ///
    /// - Parameters:
    ///   - encoder: The encoder for the pairs; one with default settings by default.
    ///   - destination: The destination of the pairs; `.methodDependent` by default.
    /// - Returns: A parameter encoder with these settings.
    public static func urlEncodedForm(
        encoder: URLEncodedFormEncoder = URLEncodedFormEncoder(),
        destination: URLEncodedFormParameterEncoder.Destination = .methodDependent
    ) -> URLEncodedFormParameterEncoder {
        URLEncodedFormParameterEncoder(encoder: encoder, destination: destination)
    }
}

extension URL {
    /// Returns the URL with encoded pairs appended to its query.
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
