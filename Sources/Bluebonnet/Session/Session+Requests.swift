public import FoundationEssentials

extension Session {
    /// Changes a request before its parameters are encoded into it.
    ///
    /// What it throws is reported as `.invalidRequest(.conversion)` with it as the underlying error; a ``RequestError``
    /// stays as it is.
    public typealias RequestModifier = @Sendable (inout HTTPRequest) throws -> Void

    /// Vends a request.
    ///
    /// Nothing is sent until a serializer is attached. If the URL cannot be converted or the parameters cannot be
    /// encoded, the request fails with that error.
    ///
    /// - Parameters:
    ///   - convertible: The URL: a `String`, a `URL`, `URLComponents`, or your own ``URLConvertible`` type.
    ///   - method: The method; GET by default.
    ///   - headers: Header fields; they replace session fields of the same name.
    ///   - interceptor: An interceptor that adapts the request before it is sent, and decides about retries when it
    ///     fails. It runs after the session's interceptor. The default is `nil`.
    ///   - requestModifier: A closure that changes the request after its URL, method and header fields are set. It runs
    ///     on the global pool, once for each attempt.
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
    /// Nothing is sent until a serializer is attached. If the URL cannot be converted or the parameters cannot be
    /// encoded, the request fails with that error.
    ///
    /// - Parameters:
    ///   - convertible: The URL: a `String`, a `URL`, `URLComponents`, or your own ``URLConvertible`` type.
    ///   - method: The method; GET by default.
    ///   - parameters: The parameters that the encoder writes to the query or the body.
    ///   - encoder: How the parameters are encoded; as a URL-encoded form by default, in the query for GET, HEAD and
    ///     DELETE and in the body for other methods.
    ///   - headers: Header fields; they replace session fields of the same name.
    ///   - interceptor: An interceptor that adapts the request before it is sent, and decides about retries when it
    ///     fails. It runs after the session's interceptor. The default is `nil`.
    ///   - requestModifier: A closure that changes the request after its URL, method and header fields are set, before
    ///     the parameters are encoded. It runs on the global pool, once for each attempt.
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
    /// Nothing is sent until a serializer is attached.
    ///
    /// - Parameters:
    ///   - convertible: Your own type that makes the request, or an ``HTTPRequest``. Its `asHTTPRequest()` is called on
    ///     the global pool, once for each attempt.
    ///   - interceptor: An interceptor that adapts the request before it is sent, and decides about retries when it
    ///     fails. It runs after the session's interceptor. The default is `nil`.
    /// - Returns: The request.
    public nonisolated func request(
        _ convertible: any HTTPRequestConvertible, interceptor: (any RequestInterceptor)? = nil
    ) -> DataRequest {
        DataRequest(core: RequestCore(convertible: convertible, context: context, interceptor: interceptor))
    }
}

extension Session {
    /// Vends a request whose response is read while it comes in.
    ///
    /// Nothing is sent until you await the response of its ``DataStreamTask`` or begin to read one of the task's
    /// sequences.
    ///
    /// - Parameters:
    ///   - convertible: The URL: a `String`, a `URL`, `URLComponents`, or your own ``URLConvertible`` type.
    ///   - method: The method; GET by default.
    ///   - headers: Header fields; they replace session fields of the same name.
    ///   - automaticallyCancelOnStreamError: Whether the request is cancelled when one of its `streaming…` sequences
    ///     yields an error instead of a value; `false` by default.
    ///   - interceptor: An interceptor that adapts the request before it is sent, and decides about retries when it
    ///     fails. It runs after the session's interceptor. The default is `nil`.
    ///   - requestModifier: A closure that changes the request after its URL, method and header fields are set. It runs
    ///     on the global pool, once for each attempt.
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
    /// Nothing is sent until you await the response of its ``DataStreamTask`` or begin to read one of the task's
    /// sequences.
    ///
    /// - Parameters:
    ///   - convertible: The URL: a `String`, a `URL`, `URLComponents`, or your own ``URLConvertible`` type.
    ///   - method: The method; GET by default.
    ///   - parameters: The parameters that the encoder writes to the query or the body.
    ///   - encoder: How the parameters are encoded; as a URL-encoded form by default.
    ///   - headers: Header fields; they replace session fields of the same name.
    ///   - automaticallyCancelOnStreamError: Whether the request is cancelled when one of its `streaming…` sequences
    ///     yields an error instead of a value; `false` by default.
    ///   - interceptor: An interceptor that adapts the request before it is sent, and decides about retries when it
    ///     fails. It runs after the session's interceptor. The default is `nil`.
    ///   - requestModifier: A closure that changes the request after its URL, method and header fields are set, before
    ///     the parameters are encoded. It runs on the global pool, once for each attempt.
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
    /// Nothing is sent until you await the response of its ``DataStreamTask`` or begin to read one of the task's
    /// sequences.
    ///
    /// - Parameters:
    ///   - convertible: Your own type that makes the request, or an ``HTTPRequest``. Its `asHTTPRequest()` is called on
    ///     the global pool, once for each attempt.
    ///   - automaticallyCancelOnStreamError: Whether the request is cancelled when one of its `streaming…` sequences
    ///     yields an error instead of a value; `false` by default.
    ///   - interceptor: An interceptor that adapts the request before it is sent, and decides about retries when it
    ///     fails. It runs after the session's interceptor. The default is `nil`.
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

extension Session {
    /// Vends a request whose response is written to a file.
    ///
    /// Nothing is sent until a serializer is attached. The response is asked for without a content coding, unless
    /// `headers` has an `Accept-Encoding`: only so can a download be resumed.
    ///
    /// - Parameters:
    ///   - convertible: The URL: a `String`, a `URL`, `URLComponents`, or your own ``URLConvertible`` type.
    ///   - method: The method; GET by default.
    ///   - headers: Header fields; they replace session fields of the same name.
    ///   - interceptor: An interceptor that adapts the request before it is sent, and decides about retries when it
    ///     fails. It runs after the session's interceptor. The default is `nil`.
    ///   - requestModifier: A closure that changes the request after its URL, method and header fields are set. It runs
    ///     on the global pool, once for each attempt.
    ///   - destination: The destination of the file; a new file in the temporary directory by default.
    /// - Returns: The request.
    public nonisolated func download(
        _ convertible: any URLConvertible, method: HTTPMethod = .get, headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil, requestModifier: RequestModifier? = nil,
        to destination: DownloadRequest.Destination = .temporary
    ) -> DownloadRequest {
        download(
            ComposedRequest(
                url: convertible, method: method, headers: headers, requestModifier: requestModifier, encode: nil),
            interceptor: interceptor, to: destination)
    }

    /// Vends a request with parameters whose response is written to a file.
    ///
    /// Nothing is sent until a serializer is attached. The response is asked for without a content coding, unless
    /// `headers` has an `Accept-Encoding`. Only a GET can be resumed.
    ///
    /// - Parameters:
    ///   - convertible: The URL: a `String`, a `URL`, `URLComponents`, or your own ``URLConvertible`` type.
    ///   - method: The method; GET by default.
    ///   - parameters: The parameters that the encoder writes to the query or the body.
    ///   - encoder: How the parameters are encoded; as a URL-encoded form by default.
    ///   - headers: Header fields; they replace session fields of the same name.
    ///   - interceptor: An interceptor that adapts the request before it is sent, and decides about retries when it
    ///     fails. It runs after the session's interceptor. The default is `nil`.
    ///   - requestModifier: A closure that changes the request after its URL, method and header fields are set, before
    ///     the parameters are encoded. It runs on the global pool, once for each attempt.
    ///   - destination: The destination of the file; a new file in the temporary directory by default.
    /// - Returns: The request.
    public nonisolated func download<Parameters: Encodable & Sendable>(
        _ convertible: any URLConvertible, method: HTTPMethod = .get, parameters: Parameters?,
        encoder: any ParameterEncoder = .urlEncodedForm, headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil, requestModifier: RequestModifier? = nil,
        to destination: DownloadRequest.Destination = .temporary
    ) -> DownloadRequest {
        download(
            ComposedRequest(
                url: convertible, method: method, headers: headers, requestModifier: requestModifier,
                encode: { try encoder.encode(parameters, into: $0) }), interceptor: interceptor, to: destination)
    }

    /// Vends a request, described by a type of your own or made by hand, whose response is written to a file.
    ///
    /// Nothing is sent until a serializer is attached. The response is asked for without a content coding, unless the
    /// request has an `Accept-Encoding`. Only a GET can be resumed.
    ///
    /// - Parameters:
    ///   - convertible: Your own type that makes the request, or an ``HTTPRequest``. Its `asHTTPRequest()` is called on
    ///     the global pool, once for each attempt.
    ///   - interceptor: An interceptor that adapts the request before it is sent, and decides about retries when it
    ///     fails. It runs after the session's interceptor. The default is `nil`.
    ///   - destination: The destination of the file; a new file in the temporary directory by default.
    /// - Returns: The request.
    public nonisolated func download(
        _ convertible: any HTTPRequestConvertible, interceptor: (any RequestInterceptor)? = nil,
        to destination: DownloadRequest.Destination = .temporary
    ) -> DownloadRequest {
        DownloadRequest(
            convertible: convertible, context: context, interceptor: interceptor, destination: destination)
    }

    /// Creates a request that resumes a download that failed or was cancelled, in this process or an earlier one.
    ///
    /// Asks for the rest (RFC 9110 §14), on condition that the resource has not changed; if it has, or the partial file
    /// is gone, all of it is fetched. After another interruption it resumes automatically, as with
    /// ``DownloadOptions/automaticallyResume``. Nothing is sent until a serializer is attached.
    ///
    /// - Parameters:
    ///   - resumeData: What ``DownloadRequest/resumeData`` was. Anything else fails with `.download(.resumeDataInvalid)`.
    ///   - headers: Fields to add to those of the first request; a field replaces one of the same name. Resume data
    ///     holds no secrets, so pass `Authorization` and the like here.
    ///   - interceptor: An interceptor that adapts the request before it is sent, and decides about retries when it
    ///     fails. It runs after the session's interceptor. The default is `nil`.
    ///   - destination: The destination of the file; a new file in the temporary directory by default.
    /// - Returns: The request.
    public nonisolated func download(
        resumingWith resumeData: Data, headers: HTTPHeaders? = nil, interceptor: (any RequestInterceptor)? = nil,
        to destination: DownloadRequest.Destination = .temporary
    ) -> DownloadRequest {
        DownloadRequest(
            convertible: ResumedRequest(resumeData: resumeData, headers: headers), context: context,
            interceptor: interceptor, destination: destination, resumeData: resumeData)
    }
}
