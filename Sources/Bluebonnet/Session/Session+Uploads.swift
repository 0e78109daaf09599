public import FoundationEssentials

/// A ``DataRequest`` that uploads a body.
public typealias UploadRequest = DataRequest

extension Session {
    // MARK: To a URL

    /// Creates a request that sends bytes in memory.
    ///
    /// By default, the request starts when you call its first `serializing…` method.
    ///
    /// - Parameters:
    ///   - data: The bytes to send.
    ///   - convertible: The URL, as a `String`, a `URL`, `URLComponents` or your own ``URLConvertible`` type.
    ///   - method: The method; POST by default.
    ///   - headers: Header fields, which replace the session's fields of the same name. The request has a
    ///     `Content-Type` only if you set the field.
    ///   - interceptor: An interceptor that adapts the request and decides about retries; `nil` by default. It runs
    ///     after the session's interceptor.
    ///   - requestModifier: A closure that changes the request after its URL, method, header fields and body are set.
    ///     The closure runs on the global executor, once for the first attempt and once for each retry.
    /// - Returns: A request that collects the response body in memory.
    public nonisolated func upload(
        _ data: Data, to convertible: any URLConvertible, method: HTTPMethod = .post, headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil, requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        upload(
            .data(data), to: convertible, method: method, headers: headers, interceptor: interceptor,
            requestModifier: requestModifier)
    }

    /// Creates a request that sends a file.
    ///
    /// By default, the request starts when you call its first `serializing…` method. The request reads the file in
    /// pieces while it sends them, so the memory use does not depend on the size of the file. If the file cannot be
    /// read, the request fails with `.requestBody(…)`.
    ///
    /// - Parameters:
    ///   - fileURL: The URL of the file to send.
    ///   - convertible: The URL, as a `String`, a `URL`, `URLComponents` or your own ``URLConvertible`` type.
    ///   - method: The method; POST by default.
    ///   - headers: Header fields, which replace the session's fields of the same name. The request has a
    ///     `Content-Type` only if you set the field.
    ///   - interceptor: An interceptor that adapts the request and decides about retries; `nil` by default. It runs
    ///     after the session's interceptor.
    ///   - requestModifier: A closure that changes the request after its URL, method, header fields and body are set.
    ///     The closure runs on the global executor, once for the first attempt and once for each retry.
    /// - Returns: A request that collects the response body in memory.
    public nonisolated func upload(
        _ fileURL: URL, to convertible: any URLConvertible, method: HTTPMethod = .post, headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil, requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        upload(
            .file(fileURL), to: convertible, method: method, headers: headers, interceptor: interceptor,
            requestModifier: requestModifier)
    }

    /// Creates a request that sends the bytes of a sequence.
    ///
    /// By default, the request starts when you call its first `serializing…` method. The request reads the sequence as
    /// fast as the network accepts the bytes. The request iterates the sequence only once, on the global executor, so
    /// the body cannot be sent again. To create a body that can be sent again, use ``RequestBody/stream(length:_:)``.
    ///
    /// - Parameters:
    ///   - sequence: A sequence whose elements are the parts of the body, in order. An element can have any size.
    ///   - length: The total number of bytes; `nil`, the default, if the number is unknown. With `nil`, HTTP/1.1 uses
    ///     the chunked transfer coding (RFC 9112 §7.1).
    ///   - convertible: The URL, as a `String`, a `URL`, `URLComponents` or your own ``URLConvertible`` type.
    ///   - method: The method; POST by default.
    ///   - headers: Header fields, which replace the session's fields of the same name. The request has a
    ///     `Content-Type` only if you set the field.
    ///   - interceptor: An interceptor that adapts the request and decides about retries; `nil` by default. It runs
    ///     after the session's interceptor.
    ///   - requestModifier: A closure that changes the request after its URL, method, header fields and body are set.
    ///     The closure runs on the global executor, once for the first attempt and once for each retry.
    /// - Returns: A request that collects the response body in memory.
    public nonisolated func upload<Pieces: AsyncSequence & Sendable>(
        _ sequence: Pieces, length: Int64? = nil, to convertible: any URLConvertible, method: HTTPMethod = .post,
        headers: HTTPHeaders? = nil, interceptor: (any RequestInterceptor)? = nil,
        requestModifier: RequestModifier? = nil
    ) -> UploadRequest where Pieces.Element: DataProtocol & Sendable {
        upload(
            .stream(sequence, length: length), to: convertible, method: method, headers: headers,
            interceptor: interceptor, requestModifier: requestModifier)
    }

    /// Creates a request that sends a ``RequestBody``.
    ///
    /// By default, the request starts when you call its first `serializing…` method.
    ///
    /// - Parameters:
    ///   - body: The body to send.
    ///   - convertible: The URL, as a `String`, a `URL`, `URLComponents` or your own ``URLConvertible`` type.
    ///   - method: The method; POST by default.
    ///   - headers: Header fields, which replace the session's fields of the same name. The request has a
    ///     `Content-Type` only if the body is a multipart form or you set the field.
    ///   - interceptor: An interceptor that adapts the request and decides about retries; `nil` by default. It runs
    ///     after the session's interceptor.
    ///   - requestModifier: A closure that changes the request after its URL, method, header fields and body are set.
    ///     The closure runs on the global executor, once for the first attempt and once for each retry.
    /// - Returns: A request that collects the response body in memory.
    public nonisolated func upload(
        _ body: RequestBody, to convertible: any URLConvertible, method: HTTPMethod = .post,
        headers: HTTPHeaders? = nil, interceptor: (any RequestInterceptor)? = nil,
        requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        request(
            ComposedRequest(
                url: convertible, method: method, headers: headers, body: body, requestModifier: requestModifier),
            interceptor: interceptor)
    }

    // MARK: With a request

    /// Creates an upload request from an ``HTTPRequest`` or your own request type, with bytes in memory as the body.
    ///
    /// By default, the request starts when you call its first `serializing…` method. The new body replaces the body of
    /// the converted request. If the method of the converted request is GET, HEAD or TRACE, the request fails with
    /// `.invalidRequest(.bodyDataInGETRequest)`.
    ///
    /// - Parameters:
    ///   - data: The bytes to send.
    ///   - convertible: The ``HTTPRequest`` or your own ``HTTPRequestConvertible`` type. The session calls
    ///     `asHTTPRequest()` of your type on the global executor, once for the first attempt and once for each retry.
    ///   - interceptor: An interceptor that adapts the request and decides about retries; `nil` by default. It runs
    ///     after the session's interceptor.
    /// - Returns: A request that collects the response body in memory.
    public nonisolated func upload(
        _ data: Data, with convertible: any HTTPRequestConvertible, interceptor: (any RequestInterceptor)? = nil
    ) -> UploadRequest {
        upload(.data(data), with: convertible, interceptor: interceptor)
    }

    /// Creates an upload request from an ``HTTPRequest`` or your own request type, with a file as the body.
    ///
    /// By default, the request starts when you call its first `serializing…` method. The file replaces the body of the
    /// converted request. If the method of the converted request is GET, HEAD or TRACE, the request fails with
    /// `.invalidRequest(.bodyDataInGETRequest)`. If the file cannot be read, the request fails with `.requestBody(…)`.
    ///
    /// - Parameters:
    ///   - fileURL: The URL of the file to send.
    ///   - convertible: The ``HTTPRequest`` or your own ``HTTPRequestConvertible`` type. The session calls
    ///     `asHTTPRequest()` of your type on the global executor, once for the first attempt and once for each retry.
    ///   - interceptor: An interceptor that adapts the request and decides about retries; `nil` by default. It runs
    ///     after the session's interceptor.
    /// - Returns: A request that collects the response body in memory.
    public nonisolated func upload(
        _ fileURL: URL, with convertible: any HTTPRequestConvertible, interceptor: (any RequestInterceptor)? = nil
    ) -> UploadRequest {
        upload(.file(fileURL), with: convertible, interceptor: interceptor)
    }

    /// Creates an upload request from an ``HTTPRequest`` or your own request type, with the bytes of a sequence as the
    /// body.
    ///
    /// By default, the request starts when you call its first `serializing…` method. The request iterates the sequence
    /// only once, on the global executor, so the body cannot be sent again. The sequence replaces the body of the
    /// converted request. If the method of the converted request is GET, HEAD or TRACE, the request fails with
    /// `.invalidRequest(.bodyDataInGETRequest)`.
    ///
    /// - Parameters:
    ///   - sequence: A sequence whose elements are the parts of the body, in order. An element can have any size.
    ///   - length: The total number of bytes; `nil`, the default, if the number is unknown. With `nil`, HTTP/1.1 uses
    ///     the chunked transfer coding (RFC 9112 §7.1).
    ///   - convertible: The ``HTTPRequest`` or your own ``HTTPRequestConvertible`` type. The session calls
    ///     `asHTTPRequest()` of your type on the global executor, once for the first attempt and once for each retry.
    ///   - interceptor: An interceptor that adapts the request and decides about retries; `nil` by default. It runs
    ///     after the session's interceptor.
    /// - Returns: A request that collects the response body in memory.
    public nonisolated func upload<Pieces: AsyncSequence & Sendable>(
        _ sequence: Pieces, length: Int64? = nil, with convertible: any HTTPRequestConvertible,
        interceptor: (any RequestInterceptor)? = nil
    ) -> UploadRequest where Pieces.Element: DataProtocol & Sendable {
        upload(.stream(sequence, length: length), with: convertible, interceptor: interceptor)
    }

    /// Creates an upload request from an ``HTTPRequest`` or your own request type, with a ``RequestBody``.
    ///
    /// By default, the request starts when you call its first `serializing…` method. The new body replaces the body of
    /// the converted request. If the method of the converted request is GET, HEAD or TRACE, the request fails with
    /// `.invalidRequest(.bodyDataInGETRequest)`.
    ///
    /// - Parameters:
    ///   - body: The body to send.
    ///   - convertible: The ``HTTPRequest`` or your own ``HTTPRequestConvertible`` type. The session calls
    ///     `asHTTPRequest()` of your type on the global executor, once for the first attempt and once for each retry.
    ///   - interceptor: An interceptor that adapts the request and decides about retries; `nil` by default. It runs
    ///     after the session's interceptor.
    /// - Returns: A request that collects the response body in memory.
    public nonisolated func upload(
        _ body: RequestBody, with convertible: any HTTPRequestConvertible,
        interceptor: (any RequestInterceptor)? = nil
    ) -> UploadRequest {
        request(ModifiedRequest(convertible: convertible) { $0.body = body }, interceptor: interceptor)
    }
}

extension Session {
    /// Creates a request that sends a multipart form, which a closure fills (RFC 7578).
    ///
    /// By default, the request starts when you call its first `serializing…` method. The request reads the parts while
    /// it sends them. If a part is invalid or cannot be read, the request fails with `.multipartEncoding(…)`.
    ///
    /// - Parameters:
    ///   - multipartFormData: A closure that appends the parts to an empty form. The closure runs before this method
    ///     returns.
    ///   - convertible: The URL, as a `String`, a `URL`, `URLComponents` or your own ``URLConvertible`` type.
    ///   - method: The method; POST by default.
    ///   - headers: Header fields, which replace the session's fields of the same name. A `Content-Type` field replaces
    ///     the `Content-Type` of the form; if it is a `multipart` type without a boundary, the form's is added.
    ///   - interceptor: An interceptor that adapts the request and decides about retries; `nil` by default. It runs
    ///     after the session's interceptor.
    ///   - requestModifier: A closure that changes the request after its URL, method, header fields and body are set.
    ///     The closure runs on the global executor, once for the first attempt and once for each retry.
    /// - Returns: A request that collects the response body in memory.
    public nonisolated func upload(
        multipartFormData: (inout MultipartFormData) -> Void, to convertible: any URLConvertible,
        method: HTTPMethod = .post, headers: HTTPHeaders? = nil, interceptor: (any RequestInterceptor)? = nil,
        requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        upload(
            multipartFormData: Self.form(multipartFormData), to: convertible, method: method, headers: headers,
            interceptor: interceptor, requestModifier: requestModifier)
    }

    /// Creates a request that sends a multipart form (RFC 7578).
    ///
    /// By default, the request starts when you call its first `serializing…` method. The request reads the parts while
    /// it sends them, so the memory use does not depend on the size of the form. If a part is invalid or cannot be
    /// read, the request fails with `.multipartEncoding(…)`.
    ///
    /// - Parameters:
    ///   - multipartFormData: The form to send (RFC 7578).
    ///   - convertible: The URL, as a `String`, a `URL`, `URLComponents` or your own ``URLConvertible`` type.
    ///   - method: The method; POST by default.
    ///   - headers: Header fields, which replace the session's fields of the same name. A `Content-Type` field replaces
    ///     the `Content-Type` of the form; if it is a `multipart` type without a boundary, the form's is added.
    ///   - interceptor: An interceptor that adapts the request and decides about retries; `nil` by default. It runs
    ///     after the session's interceptor.
    ///   - requestModifier: A closure that changes the request after its URL, method, header fields and body are set.
    ///     The closure runs on the global executor, once for the first attempt and once for each retry.
    /// - Returns: A request that collects the response body in memory.
    public nonisolated func upload(
        multipartFormData: MultipartFormData, to convertible: any URLConvertible, method: HTTPMethod = .post,
        headers: HTTPHeaders? = nil, interceptor: (any RequestInterceptor)? = nil,
        requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        upload(
            .multipart(multipartFormData), to: convertible, method: method, headers: headers,
            interceptor: interceptor, requestModifier: requestModifier)
    }

    /// Creates an upload request from an ``HTTPRequest`` or your own request type, with a multipart form that a closure
    /// fills.
    ///
    /// By default, the request starts when you call its first `serializing…` method. The form replaces the body of the
    /// converted request. If the method of the converted request is GET, HEAD or TRACE, the request fails with
    /// `.invalidRequest(.bodyDataInGETRequest)`. If the converted request has no `Content-Type` field, the form sets
    /// the field.
    ///
    /// - Parameters:
    ///   - multipartFormData: A closure that appends the parts to an empty form. The closure runs before this method
    ///     returns.
    ///   - convertible: The ``HTTPRequest`` or your own ``HTTPRequestConvertible`` type. The session calls
    ///     `asHTTPRequest()` of your type on the global executor, once for the first attempt and once for each retry.
    ///   - interceptor: An interceptor that adapts the request and decides about retries; `nil` by default. It runs
    ///     after the session's interceptor.
    /// - Returns: A request that collects the response body in memory.
    public nonisolated func upload(
        multipartFormData: (inout MultipartFormData) -> Void, with convertible: any HTTPRequestConvertible,
        interceptor: (any RequestInterceptor)? = nil
    ) -> UploadRequest {
        upload(multipartFormData: Self.form(multipartFormData), with: convertible, interceptor: interceptor)
    }

    /// Creates an upload request from an ``HTTPRequest`` or your own request type, with a multipart form as the body.
    ///
    /// By default, the request starts when you call its first `serializing…` method. The form replaces the body of the
    /// converted request. If the method of the converted request is GET, HEAD or TRACE, the request fails with
    /// `.invalidRequest(.bodyDataInGETRequest)`. If the converted request has no `Content-Type` field, the form sets
    /// the field.
    ///
    /// - Parameters:
    ///   - multipartFormData: The form to send (RFC 7578).
    ///   - convertible: The ``HTTPRequest`` or your own ``HTTPRequestConvertible`` type. The session calls
    ///     `asHTTPRequest()` of your type on the global executor, once for the first attempt and once for each retry.
    ///   - interceptor: An interceptor that adapts the request and decides about retries; `nil` by default. It runs
    ///     after the session's interceptor.
    /// - Returns: A request that collects the response body in memory.
    public nonisolated func upload(
        multipartFormData: MultipartFormData, with convertible: any HTTPRequestConvertible,
        interceptor: (any RequestInterceptor)? = nil
    ) -> UploadRequest {
        upload(.multipart(multipartFormData), with: convertible, interceptor: interceptor)
    }

    private static func form(_ append: (inout MultipartFormData) -> Void) -> MultipartFormData {
        var form = MultipartFormData()
        append(&form)
        return form
    }
}
