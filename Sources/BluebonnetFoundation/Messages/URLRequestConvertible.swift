public import Bluebonnet
public import Foundation
public import FoundationNetworking

/// A type that can be converted to a `URLRequest`, such as a route of an API.
public protocol URLRequestConvertible: HTTPRequestConvertible {
    /// Returns the request.
    ///
    /// Called when the request has started, and again for each attempt. Runs on the global executor, or on the executor
    /// that the awaiting task prefers.
    ///
    /// - Returns: The request to send.
    /// - Throws: The reason why the request cannot be created. A `RequestError` is reported unchanged; any other error
    ///   becomes the underlying error of an `.invalidRequest(.conversion)`.
    func asURLRequest() throws -> URLRequest
}

extension URLRequestConvertible {
    /// The request as a Foundation `URLRequest`; `nil` if the conversion fails.
    public var urlRequest: URLRequest? { try? asURLRequest() }

    /// Returns the request as an `HTTPRequest`, converted by `HTTPRequest.init(_:)`.
    ///
    /// - Returns: The Bluebonnet request.
    /// - Throws: The error of ``asURLRequest()``, or `.invalidURL` if its request has no URL.
    public func asHTTPRequest() throws -> HTTPRequest {
        try HTTPRequest(asURLRequest())
    }
}

extension URLRequest: URLRequestConvertible {
    /// Returns the request itself.
    ///
    /// - Returns: This request, unchanged.
    public func asURLRequest() -> URLRequest { self }
}

extension URLRequest {
    /// Creates a request for a value that can be converted to a URL.
    ///
    /// - Parameters:
    ///   - url: The URL to request: a `URL`, a string or another `URLConvertible`.
    ///   - method: The HTTP method.
    ///   - headers: The header fields to send; none by default.
    /// - Throws: The error of the conversion to a URL, such as `.invalidURL`.
    public init(url: any URLConvertible, method: HTTPMethod, headers: HTTPHeaders? = nil) throws {
        self.init(url: try url.asURL())
        self.method = method
        if let headers { self.headers = headers }
    }

    /// The HTTP method: `httpMethod` as an `HTTPMethod`.
    public var method: HTTPMethod? {
        get { httpMethod.map { HTTPMethod(rawValue: $0) } }
        set { httpMethod = newValue?.rawValue }
    }

    /// The header fields, sorted by name; setting them replaces all fields.
    ///
    /// Foundation keeps one value for each name: the values of repeated fields are joined.
    public var headers: HTTPHeaders {
        get { HTTPHeaders(allHTTPHeaderFields ?? [:]) }
        set { allHTTPHeaderFields = newValue.dictionary }
    }

    /// Checks that a GET request has no body.
    ///
    /// Before a request is sent, Bluebonnet checks this for HEAD and TRACE requests, too.
    ///
    /// - Throws: `.invalidRequest(.bodyDataInGETRequest)` if it has a body.
    public func validate() throws(RequestError) {
        guard method != .get || (httpBody == nil && httpBodyStream == nil) else {
            throw RequestError(.invalidRequest(.bodyDataInGETRequest))
        }
    }
}

extension ParameterEncoder {
    /// Returns a Foundation `URLRequest` with the parameters encoded into it.
    ///
    /// Runs on the caller's executor. Only the URL, the header fields and the body change.
    ///
    /// - Parameters:
    ///   - parameters: The parameters to encode; with `nil`, the request is returned unchanged.
    ///   - urlRequest: The request without the parameters.
    /// - Returns: The request with the parameters.
    /// - Throws: `.parameterEncoding(…)` around the encoding error, or `.invalidURL` if the request has no URL.
    public func encode<Parameters: Encodable & Sendable>(
        _ parameters: Parameters?, into urlRequest: URLRequest
    ) throws -> URLRequest {
        guard parameters != nil else { return urlRequest }
        return try urlRequest.changed { try encode(parameters, into: $0) }
    }
}

extension URLRequest {
    /// Returns this request with the changes that a Bluebonnet encoder makes.
    func changed(by encode: (HTTPRequest) throws -> HTTPRequest) throws -> URLRequest {
        guard let url else { throw RequestError(.invalidURL, underlying: URLError(.badURL)) }
        let encoded = try encode(HTTPRequest(url: url, method: method ?? .get, headers: headers))
        var request = self
        request.url = encoded.url
        request.headers = encoded.headers
        if let body = encoded.body { request.httpBody = body.data }
        return request
    }
}

/// The property and method names of `URLRequest`, for adapters and request modifiers that were written for it.
extension HTTPRequest {
    /// The connect and idle timeout in seconds; 60 if the request leaves its timeouts to the session.
    ///
    /// Setting it replaces the request's `timeouts`: connecting and idle time get this limit, and the session's other
    /// limits apply. Setting 60 leaves all timeouts to the session; see `HTTPRequest.init(_:)`. If the two timeouts
    /// differ, the value is the idle timeout.
    public var timeoutInterval: TimeInterval {
        get { timeouts == .default ? .defaultTimeout : TimeInterval(timeouts) }
        set { timeouts = timeouts.connectingAndIdling(like: TimeInterval.timeouts(newValue)) }
    }

    /// The HTTP method as it is sent; setting `nil` selects GET.
    public var httpMethod: String? {
        get { method.rawValue }
        set { method = newValue.map { HTTPMethod(rawValue: $0) } ?? .get }
    }

    /// The body; `nil` if there is none, or if it is not in memory.
    public var httpBody: Data? {
        get { body?.data }
        set { body = newValue.map { .data($0) } }
    }

    /// Whether cookies are sent and stored; the same as the request's `handlesCookies`.
    public var httpShouldHandleCookies: Bool {
        get { handlesCookies }
        set { handlesCookies = newValue }
    }

    /// The header fields by name, with the values of repeated fields joined; setting them replaces all fields.
    public var allHTTPHeaderFields: [String: String]? {
        get { headers.dictionary }
        set { headers = HTTPHeaders(newValue ?? [:]) }
    }

    /// Returns the value of a header field; the values of repeated fields are joined.
    ///
    /// - Parameter field: The field's name, in upper or lower case.
    /// - Returns: The value, or `nil` if there is no such field.
    public func value(forHTTPHeaderField field: String) -> String? { headers[field] }

    /// Sets a header field, replacing all fields of the same name.
    ///
    /// - Parameters:
    ///   - value: The new value; `nil` removes the field.
    ///   - field: The field's name, in upper or lower case.
    public mutating func setValue(_ value: String?, forHTTPHeaderField field: String) { headers[field] = value }

    /// Adds a header field; existing fields of the same name stay.
    ///
    /// - Parameters:
    ///   - value: The value to add.
    ///   - field: The field's name.
    public mutating func addValue(_ value: String, forHTTPHeaderField field: String) {
        headers.append(name: field, value: value)
    }
}
