import FoundationEssentials

extension Session {
    /// Changes a request before its parameters are encoded into it.
    ///
    /// What it throws is reported as `.invalidRequest(.conversion)` with it as the underlying error; a ``RequestError``
    /// stays as it is.
    public typealias RequestModifier = @Sendable (inout HTTPRequest) throws -> Void

    /// Vends a request.
    ///
    /// Nothing happens before a serializer is attached. What cannot be converted or encoded is reported by the task that
    /// awaits the value.
    ///
    /// - Parameters:
    ///   - convertible: The URL: a `String`, a `URL`, `URLComponents`, or a type of your own.
    ///   - method: The method; GET by default.
    ///   - headers: Fields that replace the session's of the same names.
    ///   - interceptor: Changes the request before it is sent, and is asked when it fails; after the session's.
    ///   - requestModifier: Changes the request once its URL, method and fields are set. Runs on the global pool,
    ///     again for each attempt.
    /// - Returns: The request.
    public nonisolated func request(
        _ convertible: any URLConvertible, method: HTTPMethod = .get, headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil, requestModifier: RequestModifier? = nil
    ) -> DataRequest {
        let request = ComposedRequest(
            url: convertible, method: method, headers: headers, requestModifier: requestModifier, encode: nil)
        // Asked here, where the type is known: a cast for every request would cost more than making it.
        let runsUserCode = request.runsUserCode
        return DataRequest(
            core: RequestCore(
                convertible: request, runsUserCode: runsUserCode, context: context, interceptor: interceptor))
    }

    /// Vends a request with parameters.
    ///
    /// Nothing happens before a serializer is attached. What cannot be converted or encoded is reported by the task that
    /// awaits the value.
    ///
    /// - Parameters:
    ///   - convertible: The URL: a `String`, a `URL`, `URLComponents`, or a type of your own.
    ///   - method: The method; GET by default.
    ///   - parameters: What the encoder puts into the query or the body.
    ///   - encoder: How the parameters are encoded; as a URL-encoded form by default, in the query for GET, HEAD and
    ///     DELETE and in the body for other methods.
    ///   - headers: Fields that replace the session's of the same names.
    ///   - interceptor: Changes the request before it is sent, and is asked when it fails; after the session's.
    ///   - requestModifier: Changes the request once its URL, method and fields are set, before the parameters are
    ///     encoded. Runs on the global pool, again for each attempt.
    /// - Returns: The request.
    public nonisolated func request<Parameters: Encodable & Sendable>(
        _ convertible: any URLConvertible, method: HTTPMethod = .get, parameters: Parameters?,
        encoder: any ParameterEncoder = .urlEncodedForm, headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil, requestModifier: RequestModifier? = nil
    ) -> DataRequest {
        request(
            ComposedRequest(
                url: convertible, method: method, headers: headers, requestModifier: requestModifier,
                encode: { try encoder.encode(parameters, into: $0) }), interceptor: interceptor)
    }

    /// Vends a request that a type of your own describes, or one made by hand.
    ///
    /// Nothing happens before a serializer is attached.
    ///
    /// - Parameters:
    ///   - convertible: Asked for the request anew for each attempt, on the global pool.
    ///   - interceptor: Changes the request before it is sent, and is asked when it fails; after the session's.
    /// - Returns: The request.
    public nonisolated func request(
        _ convertible: any HTTPRequestConvertible, interceptor: (any RequestInterceptor)? = nil
    ) -> DataRequest {
        DataRequest(core: RequestCore(convertible: convertible, context: context, interceptor: interceptor))
    }
}
