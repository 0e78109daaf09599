public import Bluebonnet
import Foundation
import FoundationNetworking

extension Session {
    /// Creates a request with untyped parameters.
    ///
    /// - Parameters:
    ///   - convertible: The URL to request: a `URL`, a string or another `URLConvertible`.
    ///   - method: The HTTP method; GET by default.
    ///   - parameters: The parameters to encode; none by default.
    ///   - encoding: The encoding of the parameters; `URLEncoding.default` by default.
    ///   - headers: The header fields; they replace fields of the session with the same names.
    ///   - interceptor: An interceptor that adapts and retries this request; none by default. It runs after the
    ///     session's interceptor.
    ///   - requestModifier: A closure that changes the request before the parameters are encoded.
    /// - Returns: The new request.
    @_disfavoredOverload  // prefers the overload with a `ParameterEncoder`
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

    /// Creates a request with parameters of the type `[String: Any]`.
    ///
    /// This method copies the parameters to sendable values. `ParameterEncoding.encode(_:with:)` lists the types of
    /// values that can be copied. If a value cannot be copied, the request fails with
    /// `.parameterEncoding(.encoderFailed)`.
    ///
    /// - Parameters:
    ///   - convertible: The URL to request: a `URL`, a string or another `URLConvertible`.
    ///   - method: The HTTP method; GET by default.
    ///   - parameters: The parameters to encode.
    ///   - encoding: The encoding of the parameters; `URLEncoding.default` by default.
    ///   - headers: The header fields; they replace fields of the session with the same names.
    ///   - interceptor: An interceptor that adapts and retries this request; none by default. It runs after the
    ///     session's interceptor.
    ///   - requestModifier: A closure that changes the request before the parameters are encoded.
    /// - Returns: The new request.
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

    /// Creates a request with untyped parameters whose response is downloaded to a file.
    ///
    /// - Parameters:
    ///   - convertible: The URL to request: a `URL`, a string or another `URLConvertible`.
    ///   - method: The HTTP method; GET by default.
    ///   - parameters: The parameters to encode; none by default.
    ///   - encoding: The encoding of the parameters; `URLEncoding.default` by default.
    ///   - headers: The header fields; they replace fields of the session with the same names.
    ///   - interceptor: An interceptor that adapts and retries this request; none by default. It runs after the
    ///     session's interceptor.
    ///   - requestModifier: A closure that changes the request before the parameters are encoded.
    ///   - destination: The destination of the file; a temporary file by default.
    /// - Returns: The new request.
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

    /// Creates a download request with untyped parameters.
    ///
    /// The type of the parameters is `[String: Any]`.
    ///
    /// This method copies the parameters to sendable values. `ParameterEncoding.encode(_:with:)` lists the types of
    /// values that can be copied. If a value cannot be copied, the request fails with
    /// `.parameterEncoding(.encoderFailed)`.
    ///
    /// - Parameters:
    ///   - convertible: The URL to request: a `URL`, a string or another `URLConvertible`.
    ///   - method: The HTTP method; GET by default.
    ///   - parameters: The parameters to encode.
    ///   - encoding: The encoding of the parameters; `URLEncoding.default` by default.
    ///   - headers: The header fields; they replace fields of the session with the same names.
    ///   - interceptor: An interceptor that adapts and retries this request; none by default. It runs after the
    ///     session's interceptor.
    ///   - requestModifier: A closure that changes the request before the parameters are encoded.
    ///   - destination: The destination of the file; a temporary file by default.
    /// - Returns: The new request.
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

/// A request whose parameters are encoded by a ``ParameterEncoding``.
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
