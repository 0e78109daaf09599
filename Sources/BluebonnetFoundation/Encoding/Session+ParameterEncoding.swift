public import Bluebonnet
import Foundation
import FoundationNetworking

extension Session {
    /// Makes a request with parameters that have no type of their own.
    ///
    /// - Parameters:
    ///   - convertible: Where the request goes.
    ///   - method: What is asked; GET by default.
    ///   - parameters: What to encode.
    ///   - encoding: How it is encoded; as URL-encoded pairs by default.
    ///   - headers: The fields to send.
    ///   - interceptor: Adapts and retries this request, after the session's interceptor.
    ///   - requestModifier: Changes the request before the parameters are encoded.
    /// - Returns: The request.
    @_disfavoredOverload  // what a `ParameterEncoder` can do is left to that
    public nonisolated func request(
        _ convertible: any URLConvertible, method: HTTPMethod = .get, parameters: Parameters? = nil,
        encoding: any ParameterEncoding = URLEncoding.default, headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil, requestModifier: RequestModifier? = nil
    ) -> DataRequest {
        request(
            EncodedRequest(
                url: convertible, method: method, headers: headers, requestModifier: requestModifier,
                parameters: .success(parameters), encoding: encoding), interceptor: interceptor)
    }

    /// Makes a request with parameters of which the compiler does not know that they are sendable.
    ///
    /// They are copied now, as `ParameterEncoding` says; what cannot be ends the request
    /// with `.parameterEncoding(.encoderFailed)`.
    ///
    /// - Parameters:
    ///   - convertible: Where the request goes.
    ///   - method: What is asked; GET by default.
    ///   - parameters: What to encode.
    ///   - encoding: How it is encoded; as URL-encoded pairs by default.
    ///   - headers: The fields to send.
    ///   - interceptor: Adapts and retries this request, after the session's interceptor.
    ///   - requestModifier: Changes the request before the parameters are encoded.
    /// - Returns: The request.
    @_disfavoredOverload
    public nonisolated func request(
        _ convertible: any URLConvertible, method: HTTPMethod = .get, parameters: [String: Any]?,
        encoding: any ParameterEncoding = URLEncoding.default, headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil, requestModifier: RequestModifier? = nil
    ) -> DataRequest {
        request(
            EncodedRequest(
                url: convertible, method: method, headers: headers, requestModifier: requestModifier,
                parameters: ParameterCopy.result(of: parameters), encoding: encoding), interceptor: interceptor)
    }

    /// Makes a request with parameters that have no type of their own, whose response goes into a file.
    ///
    /// - Parameters:
    ///   - convertible: Where the request goes.
    ///   - method: What is asked; GET by default.
    ///   - parameters: What to encode.
    ///   - encoding: How it is encoded; as URL-encoded pairs by default.
    ///   - headers: The fields to send.
    ///   - interceptor: Adapts and retries this request, after the session's interceptor.
    ///   - requestModifier: Changes the request before the parameters are encoded.
    ///   - destination: Where the file goes; a temporary file by default.
    /// - Returns: The request.
    @_disfavoredOverload
    public nonisolated func download(
        _ convertible: any URLConvertible, method: HTTPMethod = .get, parameters: Parameters? = nil,
        encoding: any ParameterEncoding = URLEncoding.default, headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil, requestModifier: RequestModifier? = nil,
        to destination: DownloadRequest.Destination = .temporary
    ) -> DownloadRequest {
        download(
            EncodedRequest(
                url: convertible, method: method, headers: headers, requestModifier: requestModifier,
                parameters: .success(parameters), encoding: encoding), interceptor: interceptor, to: destination)
    }

    /// Makes a request with parameters that are copied now, as those of a data request are, whose response goes into a file.
    ///
    /// - Parameters:
    ///   - convertible: Where the request goes.
    ///   - method: What is asked; GET by default.
    ///   - parameters: What to encode.
    ///   - encoding: How it is encoded; as URL-encoded pairs by default.
    ///   - headers: The fields to send.
    ///   - interceptor: Adapts and retries this request, after the session's interceptor.
    ///   - requestModifier: Changes the request before the parameters are encoded.
    ///   - destination: Where the file goes; a temporary file by default.
    /// - Returns: The request.
    @_disfavoredOverload
    public nonisolated func download(
        _ convertible: any URLConvertible, method: HTTPMethod = .get, parameters: [String: Any]?,
        encoding: any ParameterEncoding = URLEncoding.default, headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil, requestModifier: RequestModifier? = nil,
        to destination: DownloadRequest.Destination = .temporary
    ) -> DownloadRequest {
        download(
            EncodedRequest(
                url: convertible, method: method, headers: headers, requestModifier: requestModifier,
                parameters: ParameterCopy.result(of: parameters), encoding: encoding), interceptor: interceptor,
            to: destination)
    }
}

/// A request whose parameters a ``ParameterEncoding`` puts in.
private struct EncodedRequest: HTTPRequestConvertible {
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
