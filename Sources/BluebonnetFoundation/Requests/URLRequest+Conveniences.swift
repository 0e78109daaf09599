public import Bluebonnet
import Foundation
public import FoundationNetworking

extension URLRequest {
    /// Creates a request to what can be converted to a URL.
    ///
    /// - Parameters:
    ///   - url: Where the request goes.
    ///   - method: What is asked.
    ///   - headers: The fields to send; none by default.
    /// - Throws: What converting to a URL throws, such as `.invalidURL`.
    public init(url: any URLConvertible, method: HTTPMethod, headers: HTTPHeaders? = nil) throws {
        self.init(url: try url.asURL())
        self.method = method
        if let headers { self.headers = headers }
    }

    /// What is asked of the resource; `httpMethod` by its type.
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
