import FoundationEssentials

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
    public let encoder: URLEncodedFormEncoder

    /// Where the pairs go.
    public let destination: Destination

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
