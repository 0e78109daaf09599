public import FoundationEssentials

extension Session {
    /// A closure that changes a request before its parameters are encoded.
    ///
    /// If the closure throws a ``RequestError``, the request fails with this error. If the closure throws another
    /// error, the request fails with `.invalidRequest(.conversion)`. ``RequestError/underlying`` is then the error of
    /// the closure.
    public typealias RequestModifier = @Sendable (inout HTTPRequest) throws -> Void

    /// Creates a request for a URL.
    ///
    /// By default, the request starts when you call its first `serializing…` method. The request fails if `convertible`
    /// is not a valid URL.
    ///
    /// - Parameters:
    ///   - convertible: The URL, as a `String`, a `URL`, `URLComponents` or your own ``URLConvertible`` type.
    ///   - method: The method; GET by default.
    ///   - headers: Header fields, which replace the session's fields of the same name.
    ///   - interceptor: An interceptor that adapts the request and decides about retries; `nil` by default. It runs
    ///     after the session's interceptor.
    ///   - requestModifier: A closure that changes the request after its URL, method and header fields are set. The
    ///     closure runs on the global executor, once for the first attempt and once for each retry.
    /// - Returns: A request that collects the response body in memory.
    public nonisolated func request(
        _ convertible: any URLConvertible, method: HTTPMethod = .get, headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil, requestModifier: RequestModifier? = nil
    ) -> DataRequest {
        guard requestModifier == nil, let url = ComposedRequest.url(fromURLOrText: convertible) else {
            return request(
                ComposedRequest(url: convertible, method: method, headers: headers, requestModifier: requestModifier),
                interceptor: interceptor)
        }
        // Without a modifier, the request is created here. Storing its parts first takes 900 instructions more.
        return DataRequest(
            core: RequestCore(
                convertible: HTTPRequest(url: url, method: method, headers: headers ?? [:]), runsUserCode: false,
                context: context, interceptor: interceptor))
    }

    /// Creates a request that encodes parameters.
    ///
    /// By default, the request starts when you call its first `serializing…` method. The request fails if `convertible`
    /// is not a valid URL, or if the parameters cannot be encoded.
    ///
    /// - Parameters:
    ///   - convertible: The URL, as a `String`, a `URL`, `URLComponents` or your own ``URLConvertible`` type.
    ///   - method: The method; GET by default.
    ///   - parameters: The parameters that the encoder writes to the query or the body.
    ///   - encoder: The parameter encoder; the session's encoder by default. Unless you set another encoder for the
    ///     session, the parameters are sent as a URL-encoded form. The form is in the query for GET, HEAD and DELETE,
    ///     and in the body for other methods.
    ///   - headers: Header fields, which replace the session's fields of the same name.
    ///   - interceptor: An interceptor that adapts the request and decides about retries; `nil` by default. It runs
    ///     after the session's interceptor.
    ///   - requestModifier: A closure that changes the request before the parameters are encoded. The closure runs on
    ///     the global executor, once for the first attempt and once for each retry.
    /// - Returns: A request that collects the response body in memory.
    public nonisolated func request<Parameters: Encodable & Sendable>(
        _ convertible: any URLConvertible, method: HTTPMethod = .get, parameters: Parameters?,
        encoder: (any ParameterEncoder)? = nil, headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil, requestModifier: RequestModifier? = nil
    ) -> DataRequest {
        request(
            ComposedRequest(
                url: convertible, method: method, headers: headers, requestModifier: requestModifier,
                encode: encoding(parameters, by: encoder)), interceptor: interceptor)
    }

    /// Creates a request with header fields from a dictionary.
    ///
    /// - Parameters:
    ///   - convertible: The URL, as a `String`, a `URL`, `URLComponents` or your own ``URLConvertible`` type.
    ///   - method: The method; GET by default.
    ///   - headers: Header fields, which replace the session's fields of the same name.
    ///   - interceptor: An interceptor that adapts the request and decides about retries; `nil` by default. It runs
    ///     after the session's interceptor.
    ///   - requestModifier: A closure that changes the request after its URL, method and header fields are set. The
    ///     closure runs on the global executor, once for the first attempt and once for each retry.
    /// - Returns: A request that collects the response body in memory.
    @_disfavoredOverload  // a literal becomes `HTTPHeaders`
    public nonisolated func request(
        _ convertible: any URLConvertible, method: HTTPMethod = .get, headers: [String: String],
        interceptor: (any RequestInterceptor)? = nil, requestModifier: RequestModifier? = nil
    ) -> DataRequest {
        request(
            convertible, method: method, headers: HTTPHeaders(headers), interceptor: interceptor,
            requestModifier: requestModifier)
    }

    /// Creates a request with parameters of several types, such as `["name": "Ada", "age": 36]`.
    ///
    /// - Parameters:
    ///   - convertible: The URL, as a `String`, a `URL`, `URLComponents` or your own ``URLConvertible`` type.
    ///   - method: The method; GET by default.
    ///   - parameters: The parameters that the encoder writes to the query or the body.
    ///   - encoder: The parameter encoder; the session's encoder by default.
    ///   - headers: Header fields, which replace the session's fields of the same name.
    ///   - interceptor: An interceptor that adapts the request and decides about retries; `nil` by default. It runs
    ///     after the session's interceptor.
    ///   - requestModifier: A closure that changes the request before the parameters are encoded. The closure runs on
    ///     the global executor, once for the first attempt and once for each retry.
    /// - Returns: A request that collects the response body in memory.
    @_disfavoredOverload  // a literal whose values have one type becomes a dictionary of this type
    public nonisolated func request(
        _ convertible: any URLConvertible, method: HTTPMethod = .get, parameters: [String: JSONValue],
        encoder: (any ParameterEncoder)? = nil, headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil, requestModifier: RequestModifier? = nil
    ) -> DataRequest {
        request(
            convertible, method: method, parameters: Optional(parameters), encoder: encoder, headers: headers,
            interceptor: interceptor, requestModifier: requestModifier)
    }

    /// Creates a request from an ``HTTPRequest`` or your own request type.
    ///
    /// By default, the request starts when you call its first `serializing…` method.
    ///
    /// - Parameters:
    ///   - convertible: The ``HTTPRequest`` or your own ``HTTPRequestConvertible`` type. The session calls
    ///     `asHTTPRequest()` of your type on the global executor, once for the first attempt and once for each retry.
    ///   - interceptor: An interceptor that adapts the request and decides about retries; `nil` by default. It runs
    ///     after the session's interceptor.
    /// - Returns: A request that collects the response body in memory.
    public nonisolated func request(
        _ convertible: any HTTPRequestConvertible, interceptor: (any RequestInterceptor)? = nil
    ) -> DataRequest {
        DataRequest(core: RequestCore(convertible: convertible, context: context, interceptor: interceptor))
    }
}

extension Session {
    /// Creates a request that streams the response body.
    ///
    /// By default, the request starts when you await the response of its ``DataStreamTask`` or when you begin to read
    /// one of the task's sequences.
    ///
    /// - Parameters:
    ///   - convertible: The URL, as a `String`, a `URL`, `URLComponents` or your own ``URLConvertible`` type.
    ///   - method: The method; GET by default.
    ///   - headers: Header fields, which replace the session's fields of the same name.
    ///   - automaticallyCancelOnStreamError: Whether the request is cancelled when one of its `streaming…` sequences
    ///     yields an error instead of a value; `false` by default.
    ///   - interceptor: An interceptor that adapts the request and decides about retries; `nil` by default. It runs
    ///     after the session's interceptor.
    ///   - requestModifier: A closure that changes the request after its URL, method and header fields are set. The
    ///     closure runs on the global executor, once for the first attempt and once for each retry.
    /// - Returns: A request whose body is read with ``DataStreamRequest/streamTask(automaticallyCancelling:)``.
    public nonisolated func streamRequest(
        _ convertible: any URLConvertible, method: HTTPMethod = .get, headers: HTTPHeaders? = nil,
        automaticallyCancelOnStreamError: Bool = false, interceptor: (any RequestInterceptor)? = nil,
        requestModifier: RequestModifier? = nil
    ) -> DataStreamRequest {
        streamRequest(
            ComposedRequest(url: convertible, method: method, headers: headers, requestModifier: requestModifier),
            automaticallyCancelOnStreamError: automaticallyCancelOnStreamError, interceptor: interceptor)
    }

    /// Creates a request that encodes parameters and streams the response body.
    ///
    /// By default, the request starts when you await the response of its ``DataStreamTask`` or when you begin to read
    /// one of the task's sequences.
    ///
    /// - Parameters:
    ///   - convertible: The URL, as a `String`, a `URL`, `URLComponents` or your own ``URLConvertible`` type.
    ///   - method: The method; GET by default.
    ///   - parameters: The parameters that the encoder writes to the query or the body.
    ///   - encoder: The parameter encoder; the session's encoder by default. Unless you set another encoder for the
    ///     session, the parameters are sent as a URL-encoded form. The form is in the query for GET, HEAD and DELETE,
    ///     and in the body for other methods.
    ///   - headers: Header fields, which replace the session's fields of the same name.
    ///   - automaticallyCancelOnStreamError: Whether the request is cancelled when one of its `streaming…` sequences
    ///     yields an error instead of a value; `false` by default.
    ///   - interceptor: An interceptor that adapts the request and decides about retries; `nil` by default. It runs
    ///     after the session's interceptor.
    ///   - requestModifier: A closure that changes the request before the parameters are encoded. The closure runs on
    ///     the global executor, once for the first attempt and once for each retry.
    /// - Returns: A request whose body is read with ``DataStreamRequest/streamTask(automaticallyCancelling:)``.
    public nonisolated func streamRequest<Parameters: Encodable & Sendable>(
        _ convertible: any URLConvertible, method: HTTPMethod = .get, parameters: Parameters?,
        encoder: (any ParameterEncoder)? = nil, headers: HTTPHeaders? = nil,
        automaticallyCancelOnStreamError: Bool = false, interceptor: (any RequestInterceptor)? = nil,
        requestModifier: RequestModifier? = nil
    ) -> DataStreamRequest {
        streamRequest(
            ComposedRequest(
                url: convertible, method: method, headers: headers, requestModifier: requestModifier,
                encode: encoding(parameters, by: encoder)),
            automaticallyCancelOnStreamError: automaticallyCancelOnStreamError, interceptor: interceptor)
    }

    /// Creates a streaming request from an ``HTTPRequest`` or your own request type.
    ///
    /// By default, the request starts when you await the response of its ``DataStreamTask`` or when you begin to read
    /// one of the task's sequences.
    ///
    /// - Parameters:
    ///   - convertible: The ``HTTPRequest`` or your own ``HTTPRequestConvertible`` type. The session calls
    ///     `asHTTPRequest()` of your type on the global executor, once for the first attempt and once for each retry.
    ///   - automaticallyCancelOnStreamError: Whether the request is cancelled when one of its `streaming…` sequences
    ///     yields an error instead of a value; `false` by default.
    ///   - interceptor: An interceptor that adapts the request and decides about retries; `nil` by default. It runs
    ///     after the session's interceptor.
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
    /// By default, the request starts when you call its first `serializing…` method. Only downloads with the GET method
    /// can be resumed. The request sends `Accept-Encoding: identity`, because a compressed download cannot be resumed.
    /// If `headers` contains an `Accept-Encoding` field, the request sends that field instead.
    ///
    /// - Parameters:
    ///   - convertible: The URL, as a `String`, a `URL`, `URLComponents` or your own ``URLConvertible`` type.
    ///   - method: The method; GET by default.
    ///   - headers: Header fields, which replace the session's fields of the same name.
    ///   - interceptor: An interceptor that adapts the request and decides about retries; `nil` by default. It runs
    ///     after the session's interceptor.
    ///   - requestModifier: A closure that changes the request after its URL, method and header fields are set. The
    ///     closure runs on the global executor, once for the first attempt and once for each retry.
    ///   - destination: The destination of the file; a new file in the temporary directory by default.
    /// - Returns: A request that writes the response body to a file.
    public nonisolated func download(
        _ convertible: any URLConvertible, method: HTTPMethod = .get, headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil, requestModifier: RequestModifier? = nil,
        to destination: DownloadRequest.Destination = .temporary
    ) -> DownloadRequest {
        download(
            ComposedRequest(url: convertible, method: method, headers: headers, requestModifier: requestModifier),
            interceptor: interceptor, to: destination)
    }

    /// Creates a request that encodes parameters and writes the response body to a file.
    ///
    /// By default, the request starts when you call its first `serializing…` method. Only downloads with the GET method
    /// can be resumed. The request sends `Accept-Encoding: identity`, because a compressed download cannot be resumed.
    /// If `headers` contains an `Accept-Encoding` field, the request sends that field instead.
    ///
    /// - Parameters:
    ///   - convertible: The URL, as a `String`, a `URL`, `URLComponents` or your own ``URLConvertible`` type.
    ///   - method: The method; GET by default.
    ///   - parameters: The parameters that the encoder writes to the query or the body.
    ///   - encoder: The parameter encoder; the session's encoder by default. Unless you set another encoder for the
    ///     session, the parameters are sent as a URL-encoded form. The form is in the query for GET, HEAD and DELETE,
    ///     and in the body for other methods.
    ///   - headers: Header fields, which replace the session's fields of the same name.
    ///   - interceptor: An interceptor that adapts the request and decides about retries; `nil` by default. It runs
    ///     after the session's interceptor.
    ///   - requestModifier: A closure that changes the request before the parameters are encoded. The closure runs on
    ///     the global executor, once for the first attempt and once for each retry.
    ///   - destination: The destination of the file; a new file in the temporary directory by default.
    /// - Returns: A request that writes the response body to a file.
    public nonisolated func download<Parameters: Encodable & Sendable>(
        _ convertible: any URLConvertible, method: HTTPMethod = .get, parameters: Parameters?,
        encoder: (any ParameterEncoder)? = nil, headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil, requestModifier: RequestModifier? = nil,
        to destination: DownloadRequest.Destination = .temporary
    ) -> DownloadRequest {
        download(
            ComposedRequest(
                url: convertible, method: method, headers: headers, requestModifier: requestModifier,
                encode: encoding(parameters, by: encoder)), interceptor: interceptor, to: destination)
    }

    /// Creates a download request from an ``HTTPRequest`` or your own request type.
    ///
    /// By default, the request starts when you call its first `serializing…` method. Only downloads with the GET method
    /// can be resumed. The request sends `Accept-Encoding: identity`, because a compressed download cannot be resumed.
    /// If the converted request has an `Accept-Encoding` field, that field is sent instead.
    ///
    /// - Parameters:
    ///   - convertible: The ``HTTPRequest`` or your own ``HTTPRequestConvertible`` type. The session calls
    ///     `asHTTPRequest()` of your type on the global executor, once for the first attempt and once for each retry.
    ///   - interceptor: An interceptor that adapts the request and decides about retries; `nil` by default. It runs
    ///     after the session's interceptor.
    ///   - destination: The destination of the file; a new file in the temporary directory by default.
    /// - Returns: A request that writes the response body to a file.
    public nonisolated func download(
        _ convertible: any HTTPRequestConvertible, interceptor: (any RequestInterceptor)? = nil,
        to destination: DownloadRequest.Destination = .temporary
    ) -> DownloadRequest {
        DownloadRequest(
            convertible: convertible, context: context, interceptor: interceptor, destination: destination)
    }

    /// Creates a request that downloads to a file; the same as `download(url, to: .file(file))`.
    ///
    /// For header fields, options and the like, use that form.
    ///
    /// - Parameters:
    ///   - convertible: The URL, as a `String`, a `URL`, `URLComponents` or your own ``URLConvertible`` type.
    ///   - file: The URL of the file. The download fails if the file exists.
    /// - Returns: A request that writes the response body to the file.
    public nonisolated func download(_ convertible: any URLConvertible, to file: URL) -> DownloadRequest {
        download(convertible, to: .file(file))
    }

    /// Creates a request that resumes a failed or cancelled download, from this process or an earlier process.
    ///
    /// If the resource has not changed, the request fetches only the missing bytes (RFC 9110 §14). If the resource has
    /// changed, or if the partial file no longer exists, the request downloads the whole file. If the new download is
    /// interrupted, it resumes automatically only if the options of `destination` contain
    /// ``DownloadRequest/Options/automaticallyResume``. By default, the request starts when you call its first
    /// `serializing…` method.
    ///
    /// - Parameters:
    ///   - resumeData: The ``DownloadRequest/resumeData`` of the earlier download. If the data is not resume data, the
    ///     request fails with `.download(.resumeDataInvalid)`.
    ///   - headers: Header fields to add to the fields of the earlier download's request. These fields replace fields
    ///     of the same name. Resume data contains no secrets, so pass `Authorization` and similar fields again here.
    ///   - interceptor: An interceptor that adapts the request and decides about retries; `nil` by default. It runs
    ///     after the session's interceptor.
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

extension Session {
    /// Returns a closure that writes parameters with an encoder, or with the session's encoder.
    ///
    /// A GET or HEAD request must not have a body. If the session's encoder writes JSON or a property list, the default
    /// encoder is used instead.
    nonisolated func encoding<Parameters: Encodable & Sendable>(
        _ parameters: Parameters?, by encoder: (any ParameterEncoder)?
    ) -> @Sendable (HTTPRequest) throws -> HTTPRequest {
        { [context] request in
            var chosen = encoder ?? context.configuration.parameterEncoder
            let writesBody = chosen is JSONParameterEncoder || chosen is PropertyListParameterEncoder
            if encoder == nil, writesBody, request.method == .get || request.method == .head {
                chosen = .urlEncodedForm
            }
            return try chosen.encode(parameters, into: request)
        }
    }
}
