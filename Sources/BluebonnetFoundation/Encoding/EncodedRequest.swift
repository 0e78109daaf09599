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
        return try request.changed(from: before, to: after)
    }
}
