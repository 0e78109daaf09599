public import Bluebonnet
import Foundation
public import FoundationNetworking

extension HTTPResponse {
    /// The response in Foundation's terms, made each time it is asked for.
    ///
    /// Foundation keeps one value for each field, those of repeated ones joined, and writes the names of the fields that
    /// it knows in its own way (`Content-Type`).
    public var urlResponse: HTTPURLResponse {
        let response = HTTPURLResponse(
            url: url, statusCode: statusCode, httpVersion: httpVersion.description, headerFields: headers.dictionary)
        // Failable because of Objective-C; Foundation makes one of anything.
        guard let response else { preconditionFailure("Foundation has no response for the status \(statusCode)") }
        return response
    }

    /// Creates a response from one of Foundation's.
    ///
    /// The version of HTTP is taken to be 1.1: Foundation's response does not tell.
    ///
    /// - Parameter urlResponse: Foundation's response; the result is `nil` without a URL.
    public init?(_ urlResponse: HTTPURLResponse) {
        guard let url = urlResponse.url else { return nil }
        self.init(url: url, statusCode: urlResponse.statusCode, headers: urlResponse.headers)
    }

    /// Returns the value of a field, those of repeated ones joined.
    ///
    /// - Parameter field: The field's name, in any case.
    /// - Returns: The value, or `nil` when there is no such field.
    public func value(forHTTPHeaderField field: String) -> String? { headers[field] }
}

extension HTTPURLResponse {
    /// The fields, sorted by name.
    ///
    /// Foundation has joined the values of repeated ones.
    public var headers: HTTPHeaders {
        let pairs = allHeaderFields.compactMap { name, value in (name as? String).map { ($0, "\(value)") } }
        return HTTPHeaders(Dictionary(pairs) { "\($0), \($1)" })
    }
}

extension SerializedResponse {
    /// The request in Foundation's terms, if one was made.
    public var urlRequest: URLRequest? { request.map { URLRequest($0) } }

    /// The head of the response in Foundation's terms, if there was one.
    public var urlResponse: HTTPURLResponse? { response?.urlResponse }
}

extension Request {
    /// Returns the requests that are made, one for each attempt and one for each redirect, in Foundation's terms.
    ///
    /// Begins with the latest, if there is one, and ends when the request does. Watching does not start the request.
    ///
    /// - Parameter bufferingPolicy: Which values are kept for an observer that is behind; all by default.
    /// - Returns: The sequence of requests.
    public nonisolated func urlRequests(
        bufferingPolicy: StreamBufferingPolicy = .unbounded
    ) -> some AsyncSequence<URLRequest, Never> & Sendable {
        httpRequests(bufferingPolicy: bufferingPolicy).map { URLRequest($0) }
    }
}
