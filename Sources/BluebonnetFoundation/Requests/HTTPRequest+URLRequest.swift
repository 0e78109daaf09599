public import Bluebonnet
import Foundation
public import FoundationNetworking

extension HTTPRequest {
    /// Creates a request from one of Foundation's.
    ///
    /// - Parameter urlRequest: Foundation's request.
    /// - Throws: `.invalidURL` when it has no URL.
    public init(_ urlRequest: URLRequest) throws(RequestError) {
        guard let url = urlRequest.url else { throw RequestError(.invalidURL) }
        self.init(
            url: url, method: urlRequest.httpMethod.map { HTTPMethod(rawValue: $0) } ?? .get,
            headers: HTTPHeaders(urlRequest.allHTTPHeaderFields ?? [:]),
            body: urlRequest.httpBody.map { .data($0) })
        handlesCookies = urlRequest.httpShouldHandleCookies
    }
}
