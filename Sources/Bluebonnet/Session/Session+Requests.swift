public import FoundationEssentials

extension Session {
    /// A closure that changes a request before its parameters are encoded.
    ///
    /// If it throws a ``RequestError``, the request fails with that error. Any other error becomes the underlying error
    /// of `.invalidRequest(.conversion)`.
    public typealias RequestModifier = @Sendable (inout HTTPRequest) throws -> Void

    /// Creates a request for a URL.
    ///
    /// Nothing is sent until a serializer is attached. If the URL cannot be converted, the request fails with that
    /// error.
    ///
    /// - Parameters:
    ///   - convertible: The URL: a `String`, a `URL`, `URLComponents`, or your own ``URLConvertible`` type.
    ///   - method: The method; GET by default.
    ///   - headers: Header fields; they replace session fields of the same name.
    ///   - interceptor: An interceptor that adapts the request before it is sent, and decides about retries when it
    ///     fails. It runs after the session's interceptor. The default is `nil`.
    ///   - requestModifier: A closure that changes the request after its URL, method and header fields are set. It runs
    ///     on the global pool, once for each attempt.
    /// - Returns: A request that collects the response body in memory.
    public nonisolated func request(
        _ convertible: any URLConvertible, method: HTTPMethod = .get, headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil, requestModifier: RequestModifier? = nil
    ) -> DataRequest {
        let request = ComposedRequest(
            url: convertible, method: method, headers: headers, requestModifier: requestModifier, encode: nil)
        // Evaluated here, where the type is known: a cast for every request would cost more than making it.
        let runsUserCode = request.runsUserCode
        return DataRequest(
            core: RequestCore(
                convertible: request, runsUserCode: runsUserCode, context: context, interceptor: interceptor))
    }

    /// Creates a request with parameters.
    ///
    /// Nothing is sent until a serializer is attached. If the URL cannot be converted or the parameters cannot be
    /// encoded, the request fails with that error.
    ///
    /// - Parameters:
    ///   - convertible: The URL: a `String`, a `URL`, `URLComponents`, or your own ``URLConvertible`` type.
    ///   - method: The method; GET by default.
    ///   - parameters: The parameters that the encoder writes to the query or the body.
    ///   - encoder: The parameter encoder. By default, it makes a URL-encoded form, in the query for GET, HEAD and
    ///     DELETE and in the body for other methods.
    ///   - headers: Header fields; they replace session fields of the same name.
    ///   - interceptor: An interceptor that adapts the request before it is sent, and decides about retries when it
    ///     fails. It runs after the session's interceptor. The default is `nil`.
    ///   - requestModifier: A closure that changes the request after its URL, method and header fields are set, before
    ///     the parameters are encoded. It runs on the global pool, once for each attempt.
    /// - Returns: A request that collects the response body in memory.
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

    /// Creates a request from an ``HTTPRequest`` or your own request type.
    ///
    /// Nothing is sent until a serializer is attached.
    ///
    /// - Parameters:
    ///   - convertible: The ``HTTPRequest``, or your own ``HTTPRequestConvertible`` type. Its `asHTTPRequest()` is
    ///     called on the global pool, once for each attempt.
    ///   - interceptor: An interceptor that adapts the request before it is sent, and decides about retries when it
    ///     fails. It runs after the session's interceptor. The default is `nil`.
    /// - Returns: A request that collects the response body in memory.
    public nonisolated func request(
        _ convertible: any HTTPRequestConvertible, interceptor: (any RequestInterceptor)? = nil
    ) -> DataRequest {
        DataRequest(core: RequestCore(convertible: convertible, context: context, interceptor: interceptor))
    }
}

extension Session {
    /// Creates a request that delivers the response body while it arrives.
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
    /// - Returns: A request whose body is read with ``DataStreamRequest/streamTask(automaticallyCancelling:)``.
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

    /// Creates a request with parameters that delivers the response body while it arrives.
    ///
    /// Nothing is sent until you await the response of its ``DataStreamTask`` or begin to read one of the task's
    /// sequences.
    ///
    /// - Parameters:
    ///   - convertible: The URL: a `String`, a `URL`, `URLComponents`, or your own ``URLConvertible`` type.
    ///   - method: The method; GET by default.
    ///   - parameters: The parameters that the encoder writes to the query or the body.
    ///   - encoder: The parameter encoder. By default, it makes a URL-encoded form, in the query for GET, HEAD and
    ///     DELETE and in the body for other methods.
    ///   - headers: Header fields; they replace session fields of the same name.
    ///   - automaticallyCancelOnStreamError: Whether the request is cancelled when one of its `streaming…` sequences
    ///     yields an error instead of a value; `false` by default.
    ///   - interceptor: An interceptor that adapts the request before it is sent, and decides about retries when it
    ///     fails. It runs after the session's interceptor. The default is `nil`.
    ///   - requestModifier: A closure that changes the request after its URL, method and header fields are set, before
    ///     the parameters are encoded. It runs on the global pool, once for each attempt.
    /// - Returns: A request whose body is read with ``DataStreamRequest/streamTask(automaticallyCancelling:)``.
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

    /// Creates a request, from an ``HTTPRequest`` or your own request type, that delivers the response body while it
    /// arrives.
    ///
    /// Nothing is sent until you await the response of its ``DataStreamTask`` or begin to read one of the task's
    /// sequences.
    ///
    /// - Parameters:
    ///   - convertible: The ``HTTPRequest``, or your own ``HTTPRequestConvertible`` type. Its `asHTTPRequest()` is
    ///     called on the global pool, once for each attempt.
    ///   - automaticallyCancelOnStreamError: Whether the request is cancelled when one of its `streaming…` sequences
    ///     yields an error instead of a value; `false` by default.
    ///   - interceptor: An interceptor that adapts the request before it is sent, and decides about retries when it
    ///     fails. It runs after the session's interceptor. The default is `nil`.
    /// - Returns: A request whose body is read with ``DataStreamRequest/streamTask(automaticallyCancelling:)``.
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
    /// Creates a request that writes the response body to a file.
    ///
    /// Nothing is sent until a serializer is attached. Only the download of a GET request can be resumed. The request
    /// asks for a response without a content coding, because a coded download could not be resumed. An
    /// `Accept-Encoding` field in `headers` overrides this.
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
    /// - Returns: A request that writes the response body to a file.
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

    /// Creates a request with parameters that writes the response body to a file.
    ///
    /// Nothing is sent until a serializer is attached. Only the download of a GET request can be resumed. The request
    /// asks for a response without a content coding, because a coded download could not be resumed. An
    /// `Accept-Encoding` field in `headers` overrides this.
    ///
    /// - Parameters:
    ///   - convertible: The URL: a `String`, a `URL`, `URLComponents`, or your own ``URLConvertible`` type.
    ///   - method: The method; GET by default.
    ///   - parameters: The parameters that the encoder writes to the query or the body.
    ///   - encoder: The parameter encoder. By default, it makes a URL-encoded form, in the query for GET, HEAD and
    ///     DELETE and in the body for other methods.
    ///   - headers: Header fields; they replace session fields of the same name.
    ///   - interceptor: An interceptor that adapts the request before it is sent, and decides about retries when it
    ///     fails. It runs after the session's interceptor. The default is `nil`.
    ///   - requestModifier: A closure that changes the request after its URL, method and header fields are set, before
    ///     the parameters are encoded. It runs on the global pool, once for each attempt.
    ///   - destination: The destination of the file; a new file in the temporary directory by default.
    /// - Returns: A request that writes the response body to a file.
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

    /// Creates a request, from an ``HTTPRequest`` or your own request type, that writes the response body to a file.
    ///
    /// Nothing is sent until a serializer is attached. Only the download of a GET request can be resumed. The request
    /// asks for a response without a content coding, because a coded download could not be resumed. An
    /// `Accept-Encoding` field of the request overrides this.
    ///
    /// - Parameters:
    ///   - convertible: The ``HTTPRequest``, or your own ``HTTPRequestConvertible`` type. Its `asHTTPRequest()` is
    ///     called on the global pool, once for each attempt.
    ///   - interceptor: An interceptor that adapts the request before it is sent, and decides about retries when it
    ///     fails. It runs after the session's interceptor. The default is `nil`.
    ///   - destination: The destination of the file; a new file in the temporary directory by default.
    /// - Returns: A request that writes the response body to a file.
    public nonisolated func download(
        _ convertible: any HTTPRequestConvertible, interceptor: (any RequestInterceptor)? = nil,
        to destination: DownloadRequest.Destination = .temporary
    ) -> DownloadRequest {
        DownloadRequest(
            convertible: convertible, context: context, interceptor: interceptor, destination: destination)
    }

    /// Creates a request that resumes a download that failed or was cancelled, in this process or an earlier one.
    ///
    /// The request asks for the missing part (RFC 9110 §14), on condition that the resource has not changed. If the
    /// resource has changed, or if the partial file no longer exists, the whole file is downloaded. After another
    /// interruption, the download resumes automatically, as with ``DownloadRequest/Options/automaticallyResume``. Nothing is
    /// sent until a serializer is attached.
    ///
    /// - Parameters:
    ///   - resumeData: The value of ``DownloadRequest/resumeData`` of the earlier download. Any other data fails the
    ///     request with `.download(.resumeDataInvalid)`.
    ///   - headers: Header fields to add to those of the first request; they replace fields of the same name. Resume
    ///     data contains no secrets, so pass `Authorization` and similar fields here.
    ///   - interceptor: An interceptor that adapts the request before it is sent, and decides about retries when it
    ///     fails. It runs after the session's interceptor. The default is `nil`.
    ///   - destination: The destination of the file; a new file in the temporary directory by default.
    /// - Returns: A request that writes the response body to a file.
    public nonisolated func download(
        resumingWith resumeData: Data, headers: HTTPHeaders? = nil, interceptor: (any RequestInterceptor)? = nil,
        to destination: DownloadRequest.Destination = .temporary
    ) -> DownloadRequest {
        DownloadRequest(
            convertible: ResumedRequest(resumeData: resumeData, headers: headers), context: context,
            interceptor: interceptor, destination: destination, resumeData: resumeData)
    }
}
