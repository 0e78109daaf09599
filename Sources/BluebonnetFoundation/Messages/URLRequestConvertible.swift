public import Bluebonnet
public import Foundation
public import FoundationNetworking

/// A type that can be converted to a `URLRequest`, such as an `enum` of the endpoints of an API.
public protocol URLRequestConvertible: HTTPRequestConvertible {
    /// Returns the request as a Foundation `URLRequest`.
    ///
    /// After the request has been started, Bluebonnet calls this method on the global executor. It calls the method
    /// once for the first attempt, and once for each retry. Until the first HTTP request is sent, `cURLDescription()`
    /// and `debugDescription` of the `Request` also call this method, on the thread of their caller.
    ///
    /// - Returns: The request to send.
    /// - Throws: The reason why the request cannot be created. A `RequestError` is reported unchanged. Any other error
    ///   becomes the underlying error of `.invalidRequest(.conversion)`.
    func asURLRequest() throws -> URLRequest
}

extension URLRequestConvertible {
    /// The request as a Foundation `URLRequest`; `nil` if the conversion fails.
    public var urlRequest: URLRequest? { try? asURLRequest() }

    /// Returns the request as a Bluebonnet `HTTPRequest`.
    ///
    /// - Returns: The Bluebonnet request.
    /// - Throws: The error of ``asURLRequest()``, or `.invalidURL` if the Foundation request has no URL.
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
    /// Creates a request from a value that can be converted to a URL.
    ///
    /// - Parameters:
    ///   - url: The URL to request: a `URL`, a string or another `URLConvertible`.
    ///   - method: The HTTP method.
    ///   - headers: The header fields to send; none by default.
    /// - Throws: The error of the conversion to a URL, such as `.invalidURL`.
    @_disfavoredOverload  // BluebonnetCompatibility has one with its own header fields.
    public init(url: any URLConvertible, method: HTTPMethod, headers: HTTPHeaders? = nil) throws {
        self.init(url: try url.asURL())
        self.method = method
        if let headers { self.headers = headers }
    }

    /// The value of `httpMethod` as an `HTTPMethod`.
    public var method: HTTPMethod? {
        get { httpMethod.map { HTTPMethod(rawValue: $0) } }
        set { httpMethod = newValue?.rawValue }
    }

    /// The header fields, sorted by name.
    ///
    /// Setting this property replaces all header fields. Foundation joins the values of repeated fields.
    public var headers: HTTPHeaders {
        get { HTTPHeaders(allHTTPHeaderFields ?? [:]) }
        set { allHTTPHeaderFields = newValue.dictionary }
    }

    /// Checks that a GET request has no body.
    ///
    /// This method checks only GET requests. Before Bluebonnet sends a request, it also refuses a HEAD or TRACE request
    /// with a body.
    ///
    /// - Throws: `.invalidRequest(.bodyDataInGETRequest)` if a GET request has a body.
    public func validate() throws(RequestError) {
        guard method != .get || (httpBody == nil && httpBodyStream == nil) else {
            throw RequestError(.invalidRequest(.bodyDataInGETRequest))
        }
    }
}

extension ParameterEncoder {
    /// Returns a Foundation `URLRequest` with the parameters encoded into it.
    ///
    /// This method runs on the caller's executor. It changes only the URL, the header fields and the body.
    ///
    /// - Parameters:
    ///   - parameters: The parameters to encode; `nil` returns the request unchanged.
    ///   - urlRequest: The request without the parameters.
    /// - Returns: The request with the parameters.
    /// - Throws: The error of the encoder, or `.invalidURL` if the request has no URL.
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

/// The property and method names of `URLRequest`, for adapters and request modifiers that were written for
/// `URLRequest`.
extension HTTPRequest {
    /// The connect timeout and the idle timeout, in seconds; 60 if the request uses the timeouts of the session.
    ///
    /// Setting this property sets both timeouts. If you set 60, both timeouts come from the session; see
    /// `HTTPRequest.init(_:)`. The request's `pool` and `total` timeouts do not change.
    ///
    /// If the two timeouts differ, this property returns the idle timeout. If the idle timeout is `nil`, it returns the
    /// connect timeout. If both are `nil`, it returns ten years.
    public var timeoutInterval: TimeInterval {
        get { timeouts == .default ? .defaultTimeout : TimeInterval(timeouts) }
        set { timeouts = timeouts.connectingAndIdling(like: TimeInterval.timeouts(newValue)) }
    }

    /// The HTTP method; setting `nil` selects GET.
    public var httpMethod: String? {
        get { method.rawValue }
        set { method = newValue.map { HTTPMethod(rawValue: $0) } ?? .get }
    }

    /// The body; `nil` if there is no body, or if the body is not in memory.
    public var httpBody: Data? {
        get { body?.data }
        set { body = newValue.map { .data($0) } }
    }

    /// Whether cookies are sent and stored; the same as `handlesCookies`.
    public var httpShouldHandleCookies: Bool {
        get { handlesCookies }
        set { handlesCookies = newValue }
    }

    /// The header fields by name, with the values of repeated fields joined.
    ///
    /// Setting this property replaces all header fields.
    public var allHTTPHeaderFields: [String: String]? {
        get { headers.dictionary }
        set { headers = HTTPHeaders(newValue ?? [:]) }
    }

    /// Returns the value of a header field; the values of repeated fields are joined.
    ///
    /// - Parameter field: The field's name. The comparison ignores case.
    /// - Returns: The value, or `nil` if there is no such field.
    public func value(forHTTPHeaderField field: String) -> String? { headers[field] }

    /// Sets a header field, and removes all other fields with the same name.
    ///
    /// - Parameters:
    ///   - value: The new value; `nil` removes the field.
    ///   - field: The field's name. The comparison ignores case.
    public mutating func setValue(_ value: String?, forHTTPHeaderField field: String) { headers[field] = value }

    /// Adds a header field, and keeps existing fields with the same name.
    ///
    /// - Parameters:
    ///   - value: The value to add.
    ///   - field: The field's name.
    public mutating func addValue(_ value: String, forHTTPHeaderField field: String) {
        headers.append(name: field, value: value)
    }
}
