public import Bluebonnet
public import Foundation
public import FoundationNetworking

/// Can be converted to a `URLRequest`, such as a route of an API that is written in Foundation's terms.
public protocol URLRequestConvertible: HTTPRequestConvertible {
    /// Returns the request.
    ///
    /// Called on the global pool, or on the executor that the awaiting task prefers, when the request has been started,
    /// and again for each attempt.
    ///
    /// - Returns: The request.
    /// - Throws: Why there is none. A `RequestError` is reported as it is, another error as
    ///   `.invalidRequest(.conversion)` with it as the underlying one.
    func asURLRequest() throws -> URLRequest
}

extension URLRequestConvertible {
    /// The request in Foundation's terms; what could not be made is `nil`.
    public var urlRequest: URLRequest? { try? asURLRequest() }

    /// Returns the request in Bluebonnet's terms, as `HTTPRequest.init(_:)` makes it.
    ///
    /// - Returns: The request.
    /// - Throws: The error of ``asURLRequest()``, or the reason why its request cannot be sent.
    public func asHTTPRequest() throws -> HTTPRequest {
        try HTTPRequest(asURLRequest())
    }
}

extension URLRequest: URLRequestConvertible {
    /// Returns the request itself.
    ///
    /// - Returns: The request.
    public func asURLRequest() -> URLRequest { self }
}

extension URLRequest {
    /// Creates a request to what can be converted to a URL.
    ///
    /// - Parameters:
    ///   - url: Where the request goes.
    ///   - method: What is asked.
    ///   - headers: The fields to send; none by default.
    /// - Throws: The error of the conversion to a URL, such as `.invalidURL`.
    public init(url: any URLConvertible, method: HTTPMethod, headers: HTTPHeaders? = nil) throws {
        self.init(url: try url.asURL())
        self.method = method
        if let headers { self.headers = headers }
    }

    /// The method of the request: `httpMethod` as an `HTTPMethod`.
    public var method: HTTPMethod? {
        get { httpMethod.map { HTTPMethod(rawValue: $0) } }
        set { httpMethod = newValue?.rawValue }
    }

    /// The fields to send, sorted by name; setting them replaces all.
    ///
    /// Foundation keeps one value for each name: repeated fields are joined.
    public var headers: HTTPHeaders {
        get { HTTPHeaders(allHTTPHeaderFields ?? [:]) }
        set { allHTTPHeaderFields = newValue.dictionary }
    }

    /// Checks that a GET has no body, as every request is checked before it is sent.
    ///
    /// - Throws: `.invalidRequest(.bodyDataInGETRequest)` when it has one.
    public func validate() throws(RequestError) {
        guard method != .get || (httpBody == nil && httpBodyStream == nil) else {
            throw RequestError(.invalidRequest(.bodyDataInGETRequest))
        }
    }
}

extension ParameterEncoder {
    /// Returns a request of Foundation's with the parameters in it.
    ///
    /// Runs where it is called. Of the request, the URL, the fields and the body change, and nothing else.
    ///
    /// - Parameters:
    ///   - parameters: What to encode; with `nil` the request stays as it is.
    ///   - urlRequest: The request to put it in.
    /// - Returns: The request with the parameters.
    /// - Throws: `.parameterEncoding(…)` around why they could not be encoded, or `.invalidURL` when the request has no
    ///   URL.
    public func encode<Parameters: Encodable & Sendable>(
        _ parameters: Parameters?, into urlRequest: URLRequest
    ) throws -> URLRequest {
        guard parameters != nil else { return urlRequest }
        return try urlRequest.changed { try encode(parameters, into: $0) }
    }
}

extension URLRequest {
    /// Returns the request with what an encoder of Bluebonnet's changes of it.
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

/// What adapters and request modifiers that were written for `URLRequest` call the parts of a request.
extension HTTPRequest {
    /// The longest time to connect and to be idle, in seconds; 60 where the request leaves that to the session.
    ///
    /// Setting it replaces the limits `connect` and `idle` of the session for this request; see `HTTPRequest.init(_:)`.
    public var timeoutInterval: TimeInterval {
        get { timeouts == .default ? .defaultTimeout : TimeInterval(timeouts) }
        set { timeouts = TimeInterval.timeouts(newValue) }
    }

    /// The method as it is sent; `nil` sets GET.
    public var httpMethod: String? {
        get { method.rawValue }
        set { method = newValue.map { HTTPMethod(rawValue: $0) } ?? .get }
    }

    /// The body, if it is in memory.
    public var httpBody: Data? {
        get { body?.data }
        set { body = newValue.map { .data($0) } }
    }

    /// Whether cookies are sent and kept; the request's `handlesCookies`.
    public var httpShouldHandleCookies: Bool {
        get { handlesCookies }
        set { handlesCookies = newValue }
    }

    /// The fields by name, the values of repeated ones joined; setting them replaces all.
    public var allHTTPHeaderFields: [String: String]? {
        get { headers.dictionary }
        set { headers = HTTPHeaders(newValue ?? [:]) }
    }

    /// Returns the value of a field, those of repeated ones joined.
    ///
    /// - Parameter field: The field's name, in any case.
    /// - Returns: The value, or `nil` when there is no such field.
    public func value(forHTTPHeaderField field: String) -> String? { headers[field] }

    /// Replaces a field.
    ///
    /// - Parameters:
    ///   - value: The value; `nil` removes the field.
    ///   - field: The field's name, in any case.
    public mutating func setValue(_ value: String?, forHTTPHeaderField field: String) { headers[field] = value }

    /// Appends a field; those of the same name stay.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - field: The field's name.
    public mutating func addValue(_ value: String, forHTTPHeaderField field: String) {
        headers.append(name: field, value: value)
    }
}
