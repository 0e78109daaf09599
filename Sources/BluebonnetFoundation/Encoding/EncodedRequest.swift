import Bluebonnet
import Foundation
import FoundationNetworking

/// A request whose parameters a ``ParameterEncoding`` puts in.
struct EncodedRequest: HTTPRequestConvertible {
    let url: any URLConvertible
    let method: HTTPMethod
    let headers: HTTPHeaders?
    let requestModifier: Session.RequestModifier?
    let parameters: Result<Parameters?, RequestError>
    let encoding: any ParameterEncoding

    func asHTTPRequest() throws -> HTTPRequest {
        var request = HTTPRequest(url: try url.asURL(), method: method, headers: headers ?? [:])
        try requestModifier?(&request)
        guard let parameters = try parameters.get() else { return request }
        let before = URLRequest(request)
        let after: URLRequest
        do {
            after = try encoding.encode(before, with: parameters)
        } catch {
            throw error as? RequestError ?? RequestError(.parameterEncoding(.encoderFailed), underlying: error)
        }
        try request.change(from: before, to: after)
        return request
    }
}

extension HTTPRequest {
    /// Takes over what was changed of the request in Foundation's terms, which has no place for all of it.
    fileprivate mutating func change(from before: URLRequest, to after: URLRequest) throws {
        let changed = try HTTPRequest(after)
        url = changed.url
        method = changed.method
        handlesCookies = changed.handlesCookies
        if after.httpBody != nil || after.httpBodyStream !== before.httpBodyStream { body = changed.body }
        if after.timeoutInterval != before.timeoutInterval { timeouts = changed.timeouts }
        if after.allHTTPHeaderFields != before.allHTTPHeaderFields || after.cachePolicy != before.cachePolicy {
            headers = changed.headers
        }
    }
}
