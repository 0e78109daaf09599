public import FoundationEssentials

/// A type that encodes parameters into a request.
public protocol ParameterEncoder: Sendable {
    /// Returns the request with the encoded parameters.
    ///
    /// Bluebonnet calls this method on the global executor, once for each attempt of the request. Each retry is a new
    /// attempt. Until the first HTTP request is sent, ``Request/cURLDescription(revealingSecrets:)`` and the
    /// `debugDescription` of a ``Request`` also call this method, on the thread of their caller.
    ///
    /// - Parameters:
    ///   - parameters: The parameters to encode; `nil` leaves the request unchanged.
    ///   - request: The request to add the parameters to.
    /// - Returns: The request with the parameters.
    /// - Throws: An error if the encoding fails. Bluebonnet reports a ``RequestError`` unchanged. Any other error
    ///   becomes the underlying error of `.parameterEncoding(.encoderFailed)`.
    func encode<Parameters: Encodable & Sendable>(
        _ parameters: Parameters?, into request: HTTPRequest
    ) throws -> HTTPRequest
}

/// An encoder that writes parameters to the body as JSON (RFC 8259).
///
/// If the request has no `Content-Type` field, the encoder sets `Content-Type: application/json`.
public struct JSONParameterEncoder: ParameterEncoder {
    /// An encoder with the default settings of `JSONEncoder`.
    public static let `default` = JSONParameterEncoder()

    /// An encoder that writes JSON with line breaks and indentation.
    public static let prettyPrinted = JSONParameterEncoder(formatting: .prettyPrinted)

    /// An encoder that sorts the keys of objects.
    public static let sortedKeys = JSONParameterEncoder(formatting: .sortedKeys)

    /// The encoder of the values.
    public let encoder: JSONEncoder

    /// Creates an encoder.
    ///
    /// - Parameter encoder: The `JSONEncoder` to use. Do not change this encoder after the call.
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
    /// - Throws: A ``RequestError`` with `.parameterEncoding(.encoderFailed)` if the `JSONEncoder` throws an error.
    ///   This error becomes the underlying error.
    public func encode<Parameters: Encodable & Sendable>(
        _ parameters: Parameters?, into request: HTTPRequest
    ) throws(RequestError) -> HTTPRequest {
        guard let parameters else { return request }
        let body = try RequestError.wrapping(.parameterEncoding(.encoderFailed)) { try encoder.encode(parameters) }
        return request.with(body, contentType: "application/json")
    }
}

extension ParameterEncoder where Self == JSONParameterEncoder {
    /// An encoder that writes parameters to the body as JSON.
    public static var json: JSONParameterEncoder { .default }

    /// An encoder that writes parameters to the body as JSON.
    ///
    /// - Parameter encoder: The `JSONEncoder` to use. Do not change this encoder after the call.
    /// - Returns: A parameter encoder that uses the `JSONEncoder`.
    public static func json(encoder: JSONEncoder) -> JSONParameterEncoder {
        JSONParameterEncoder(encoder: encoder)
    }
}

extension HTTPRequest {
    /// Returns the request with a body, and adds a `Content-Type` field if the request has none.
    func with(_ body: Data, contentType: String) -> HTTPRequest {
        var request = self
        request.body = .data(body)
        if !request.headers.contains("Content-Type") {
            request.headers.append(.contentType(contentType))
        }
        return request
    }
}

/// An encoder that writes parameters to the body as a property list.
///
/// If the request has no `Content-Type` field, the encoder sets `Content-Type: application/x-plist`.
public struct PropertyListParameterEncoder: ParameterEncoder {
    /// An encoder for XML property lists.
    public static let `default` = PropertyListParameterEncoder(format: .xml)

    /// An encoder for binary property lists.
    public static let binary = PropertyListParameterEncoder(format: .binary)

    /// The encoder of the values.
    public let encoder: PropertyListEncoder

    /// Creates an encoder.
    ///
    /// - Parameter encoder: The `PropertyListEncoder` to use. Do not change this encoder after the call.
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
    /// - Throws: A ``RequestError`` with `.parameterEncoding(.encoderFailed)` if the `PropertyListEncoder` throws an
    ///   error. This error becomes the underlying error.
    public func encode<Parameters: Encodable & Sendable>(
        _ parameters: Parameters?, into request: HTTPRequest
    ) throws(RequestError) -> HTTPRequest {
        guard let parameters else { return request }
        let body = try RequestError.wrapping(.parameterEncoding(.encoderFailed)) { try encoder.encode(parameters) }
        return request.with(body, contentType: "application/x-plist")
    }
}

extension ParameterEncoder where Self == PropertyListParameterEncoder {
    /// An encoder that writes parameters to the body as an XML property list.
    public static var propertyList: PropertyListParameterEncoder { .default }

    /// An encoder that writes parameters to the body as a property list.
    ///
    /// - Parameter encoder: The `PropertyListEncoder` to use. Do not change this encoder after the call.
    /// - Returns: A parameter encoder that uses the `PropertyListEncoder`.
    public static func propertyList(encoder: PropertyListEncoder) -> PropertyListParameterEncoder {
        PropertyListParameterEncoder(encoder: encoder)
    }
}

/// An encoder that writes parameters as `key=value` pairs to the query of the URL or to the body.
///
/// If the URL already has a query, the encoder appends the pairs to this query.
///
/// The encoder sets `Content-Type: application/x-www-form-urlencoded; charset=utf-8` if it writes a body and the
/// request has no `Content-Type` field.
public struct URLEncodedFormParameterEncoder: ParameterEncoder {
    /// The destination of the pairs.
    @nonexhaustive
    public enum Destination: Hashable, Sendable {
        /// The query for GET, HEAD and DELETE, and the body for all other methods.
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

    /// An encoder with the default settings of ``URLEncodedFormEncoder`` and the destination
    /// ``Destination/methodDependent``.
    public static let `default` = URLEncodedFormParameterEncoder()

    /// The encoder that creates the pairs.
    public let encoder: URLEncodedFormEncoder

    /// The destination of the pairs.
    public let destination: Destination

    /// Creates an encoder.
    ///
    /// - Parameters:
    ///   - encoder: The encoder that creates the pairs; by default, an encoder with default settings.
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
    /// - Throws: A ``RequestError`` with `.parameterEncoding(.encoderFailed)` if the ``URLEncodedFormEncoder`` throws
    ///   an error. This error becomes the underlying error. The method throws a ``RequestError`` with `.invalidURL` if
    ///   custom ``URLEncodedFormEncoder/AllowedCharacters`` make the query invalid.
    public func encode<Parameters: Encodable & Sendable>(
        _ parameters: Parameters?, into request: HTTPRequest
    ) throws(RequestError) -> HTTPRequest {
        guard let parameters else { return request }
        let pairs: String = try RequestError.wrapping(.parameterEncoding(.encoderFailed)) {
            try encoder.encode(parameters)
        }
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
    /// An encoder that writes `key=value` pairs to the query or the body, depending on the method.
    public static var urlEncodedForm: URLEncodedFormParameterEncoder { .default }

    /// An encoder that writes `key=value` pairs to the query or the body.
    ///
    /// - Parameters:
    ///   - encoder: The encoder that creates the pairs; by default, an encoder with default settings.
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
