public import FoundationEssentials

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
    ///   - convertible: Asked for the request again for each attempt, on the global pool.
    ///   - interceptor: Changes the request before it is sent, and is asked when it fails; after the session's.
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
    ///   - convertible: Asked for the request again for each attempt, on the global pool.
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

extension Session {
    /// Vends a request whose response is written to a file.
    ///
    /// Nothing happens before a serializer is attached. The response is asked for without a content coding, unless
    /// `headers` has an `Accept-Encoding`: only so can a download be resumed.
    ///
    /// - Parameters:
    ///   - convertible: The URL: a `String`, a `URL`, `URLComponents`, or a type of your own.
    ///   - method: The method; GET by default.
    ///   - headers: Fields that replace the session's of the same names.
    ///   - interceptor: Changes the request before it is sent, and is asked when it fails; after the session's.
    ///   - requestModifier: Changes the request once its URL, method and fields are set. Runs on the global pool,
    ///     again for each attempt.
    ///   - destination: Where the file goes; a new file in the temporary directory by default.
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
    /// Nothing happens before a serializer is attached. The response is asked for without a content coding, unless
    /// `headers` has an `Accept-Encoding`. Only a GET can be resumed.
    ///
    /// - Parameters:
    ///   - convertible: The URL: a `String`, a `URL`, `URLComponents`, or a type of your own.
    ///   - method: The method; GET by default.
    ///   - parameters: What the encoder puts into the query or the body.
    ///   - encoder: How the parameters are encoded; as a URL-encoded form by default.
    ///   - headers: Fields that replace the session's of the same names.
    ///   - interceptor: Changes the request before it is sent, and is asked when it fails; after the session's.
    ///   - requestModifier: Changes the request once its URL, method and fields are set, before the parameters are
    ///     encoded. Runs on the global pool, again for each attempt.
    ///   - destination: Where the file goes; a new file in the temporary directory by default.
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
    /// Nothing happens before a serializer is attached. The response is asked for without a content coding, unless the
    /// request has an `Accept-Encoding`. Only a GET can be resumed.
    ///
    /// - Parameters:
    ///   - convertible: Asked for the request again for each attempt, on the global pool.
    ///   - interceptor: Changes the request before it is sent, and is asked when it fails; after the session's.
    ///   - destination: Where the file goes; a new file in the temporary directory by default.
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
    /// ``DownloadRequest/Options/automaticallyResume``. Nothing happens before a serializer is attached.
    ///
    /// - Parameters:
    ///   - resumeData: What ``DownloadRequest/resumeData`` was. Anything else fails with `.download(.resumeDataInvalid)`.
    ///   - headers: Fields to add to those of the first request; a field replaces one of the same name. Resume data
    ///     holds no secrets, so pass `Authorization` and the like here.
    ///   - interceptor: Changes the request before it is sent, and is asked when it fails; after the session's.
    ///   - destination: Where the file goes; a new file in the temporary directory by default.
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
