extension Session {
    /// Vends a request whose response is read while it comes in.
    ///
    /// Nothing happens before its task is asked for the response or a sequence.
    ///
    /// - Parameters:
    ///   - convertible: The URL: a `String`, a `URL`, `URLComponents`, or a type of your own.
    ///   - method: The method; GET by default.
    ///   - headers: Fields that replace the session's of the same names.
    ///   - automaticallyCancelOnStreamError: Whether the request is cancelled when one of its `streaming…` sequences has
    ///     an error in the place of a value; it is not by default.
    ///   - interceptor: Changes the request before it is sent, and is asked when it fails; after the session's.
    ///   - requestModifier: Changes the request once its URL, method and fields are set. Runs on the global pool,
    ///     again for each attempt.
    /// - Returns: The request.
    public nonisolated func streamRequest(
        _ convertible: any URLConvertible, method: HTTPMethod = .get, headers: HTTPHeaders? = nil,
        automaticallyCancelOnStreamError: Bool = false, interceptor: (any RequestInterceptor)? = nil,
        requestModifier: RequestModifier? = nil
    ) -> DataStreamRequest {
        streamRequest(
            ComposedRequest(
                url: convertible, method: method, headers: headers, requestModifier: requestModifier, encode: nil),
            automaticallyCancelOnStreamError: automaticallyCancelOnStreamError, interceptor: interceptor)
    }

    /// Vends a request with parameters whose response is read while it comes in.
    ///
    /// Nothing happens before its task is asked for the response or a sequence.
    ///
    /// - Parameters:
    ///   - convertible: The URL: a `String`, a `URL`, `URLComponents`, or a type of your own.
    ///   - method: The method; GET by default.
    ///   - parameters: What the encoder puts into the query or the body.
    ///   - encoder: How the parameters are encoded; as a URL-encoded form by default.
    ///   - headers: Fields that replace the session's of the same names.
    ///   - automaticallyCancelOnStreamError: Whether the request is cancelled when one of its `streaming…` sequences has
    ///     an error in the place of a value; it is not by default.
    ///   - interceptor: Changes the request before it is sent, and is asked when it fails; after the session's.
    ///   - requestModifier: Changes the request once its URL, method and fields are set, before the parameters are
    ///     encoded. Runs on the global pool, again for each attempt.
    /// - Returns: The request.
    public nonisolated func streamRequest<Parameters: Encodable & Sendable>(
        _ convertible: any URLConvertible, method: HTTPMethod = .get, parameters: Parameters?,
        encoder: any ParameterEncoder = .urlEncodedForm, headers: HTTPHeaders? = nil,
        automaticallyCancelOnStreamError: Bool = false, interceptor: (any RequestInterceptor)? = nil,
        requestModifier: RequestModifier? = nil
    ) -> DataStreamRequest {
        streamRequest(
            ComposedRequest(
                url: convertible, method: method, headers: headers, requestModifier: requestModifier,
                encode: { try encoder.encode(parameters, into: $0) }),
            automaticallyCancelOnStreamError: automaticallyCancelOnStreamError, interceptor: interceptor)
    }

    /// Vends a request, described by a type of your own or made by hand, whose response is read while it comes in.
    ///
    /// Nothing happens before its task is asked for the response or a sequence.
    ///
    /// - Parameters:
    ///   - convertible: Asked for the request anew for each attempt, on the global pool.
    ///   - automaticallyCancelOnStreamError: Whether the request is cancelled when one of its `streaming…` sequences has
    ///     an error in the place of a value; it is not by default.
    ///   - interceptor: Changes the request before it is sent, and is asked when it fails; after the session's.
    /// - Returns: The request.
    public nonisolated func streamRequest(
        _ convertible: any HTTPRequestConvertible, automaticallyCancelOnStreamError: Bool = false,
        interceptor: (any RequestInterceptor)? = nil
    ) -> DataStreamRequest {
        DataStreamRequest(
            convertible: convertible, context: context,
            automaticallyCancelOnStreamError: automaticallyCancelOnStreamError, interceptor: interceptor)
    }
}
