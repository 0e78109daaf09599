public import Bluebonnet
import Foundation
public import FoundationNetworking

extension HTTPResponse {
    /// The response as a Foundation `HTTPURLResponse`, converted on each access.
    ///
    /// Repeated header fields become one field with joined values. Foundation also changes the case of well-known field
    /// names, for example to `Content-Type`.
    public var urlResponse: HTTPURLResponse {
        let response = HTTPURLResponse(
            url: url, statusCode: statusCode, httpVersion: httpVersion.description, headerFields: headers.dictionary)
        // The initializer is failable only for Objective-C. Foundation never returns `nil`.
        guard let response else { preconditionFailure("Foundation has no response for the status \(statusCode)") }
        return response
    }

    /// Creates a response from a Foundation `HTTPURLResponse`.
    ///
    /// The HTTP version is set to 1.1, because Foundation's response does not provide it.
    ///
    /// - Parameter urlResponse: The Foundation response. The result is `nil` if the Foundation response has no URL.
    public init?(_ urlResponse: HTTPURLResponse) {
        guard let url = urlResponse.url else { return nil }
        self.init(url: url, statusCode: urlResponse.statusCode, headers: urlResponse.headers)
    }

    /// Returns the value of a header field, with the values of repeated fields joined.
    ///
    /// - Parameter field: The field's name. The comparison ignores case.
    /// - Returns: The value, or `nil` if there is no such field.
    public func value(forHTTPHeaderField field: String) -> String? { headers[field] }
}

extension HTTPURLResponse {
    /// The header fields, sorted by name.
    ///
    /// Foundation joins the values of repeated fields.
    public var headers: HTTPHeaders {
        let pairs = allHeaderFields.compactMap { name, value in (name as? String).map { ($0, "\(value)") } }
        return HTTPHeaders(Dictionary(pairs) { "\($0), \($1)" })
    }
}

extension SerializedResponse {
    /// The last request that was sent, as a Foundation `URLRequest`; `nil` if no request was sent.
    public var urlRequest: URLRequest? { request.map { URLRequest($0) } }

    /// The response head as a Foundation `HTTPURLResponse`; `nil` if no response was received.
    public var urlResponse: HTTPURLResponse? { response?.urlResponse }
}

extension Request {
    /// Returns a sequence of the sent requests, converted to `URLRequest`s: one for each attempt and each redirect.
    ///
    /// The sequence begins with the latest `URLRequest`, if there is one, and ends when this request ends. The sequence
    /// does not start this request.
    ///
    /// - Parameter bufferingPolicy: The values to keep for a slow observer; all values by default.
    /// - Returns: The sequence of requests.
    public nonisolated func urlRequests(
        bufferingPolicy: StreamBufferingPolicy = .unbounded
    ) -> some AsyncSequence<URLRequest, Never> & Sendable {
        httpRequests(bufferingPolicy: bufferingPolicy).map { URLRequest($0) }
    }
}
