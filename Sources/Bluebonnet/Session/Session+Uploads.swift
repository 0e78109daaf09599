public import FoundationEssentials

/// A request that sends a body of its own: a ``DataRequest`` like any other.
public typealias UploadRequest = DataRequest

extension Session {
    // MARK: To a URL

    /// Vends a request that sends bytes in memory.
    ///
    /// Nothing is sent until a serializer is attached.
    ///
    /// - Parameters:
    ///   - data: The body.
    ///   - convertible: The URL: a `String`, a `URL`, `URLComponents`, or your own ``URLConvertible`` type.
    ///   - method: The method; POST by default.
    ///   - headers: Header fields; they replace session fields of the same name. No `Content-Type` is sent unless you
    ///     set one.
    ///   - interceptor: An interceptor that adapts the request before it is sent, and decides about retries when it
    ///     fails. It runs after the session's interceptor. The default is `nil`.
    ///   - requestModifier: A closure that changes the request after its URL, method, header fields and body are set.
    ///     It runs on the global pool, once for each attempt.
    /// - Returns: The request.
    public nonisolated func upload(
        _ data: Data, to convertible: any URLConvertible, method: HTTPMethod = .post, headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil, requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        upload(
            .data(data), to: convertible, method: method, headers: headers, interceptor: interceptor,
            requestModifier: requestModifier)
    }

    /// Vends a request that sends a file, which is read while it is sent.
    ///
    /// Nothing is sent until a serializer is attached. A file that cannot be read ends the request with
    /// `.requestBody(…)`. The memory that this takes does not depend on the file's size.
    ///
    /// - Parameters:
    ///   - fileURL: Where the file is.
    ///   - convertible: The URL: a `String`, a `URL`, `URLComponents`, or your own ``URLConvertible`` type.
    ///   - method: The method; POST by default.
    ///   - headers: Header fields; they replace session fields of the same name. No `Content-Type` is sent unless you
    ///     set one.
    ///   - interceptor: An interceptor that adapts the request before it is sent, and decides about retries when it
    ///     fails. It runs after the session's interceptor. The default is `nil`.
    ///   - requestModifier: A closure that changes the request after its URL, method, header fields and body are set.
    ///     It runs on the global pool, once for each attempt.
    /// - Returns: The request.
    public nonisolated func upload(
        _ fileURL: URL, to convertible: any URLConvertible, method: HTTPMethod = .post, headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil, requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        upload(
            .file(fileURL), to: convertible, method: method, headers: headers, interceptor: interceptor,
            requestModifier: requestModifier)
    }

    /// Vends a request that sends what a sequence yields, as fast as the network takes it.
    ///
    /// Nothing is sent until a serializer is attached. The sequence is iterated once, on the global pool, so that the
    /// request cannot be sent a second time; ``RequestBody/stream(length:_:)`` makes a body that can.
    ///
    /// - Parameters:
    ///   - sequence: The pieces of the body, of any size.
    ///   - length: How many bytes they have together; if that is not known, HTTP/1.1 frames the body as chunks
    ///     (RFC 9112 §7.1).
    ///   - convertible: The URL: a `String`, a `URL`, `URLComponents`, or your own ``URLConvertible`` type.
    ///   - method: The method; POST by default.
    ///   - headers: Header fields; they replace session fields of the same name. No `Content-Type` is sent unless you
    ///     set one.
    ///   - interceptor: An interceptor that adapts the request before it is sent, and decides about retries when it
    ///     fails. It runs after the session's interceptor. The default is `nil`.
    ///   - requestModifier: A closure that changes the request after its URL, method, header fields and body are set.
    ///     It runs on the global pool, once for each attempt.
    /// - Returns: The request.
    public nonisolated func upload<Pieces: AsyncSequence & Sendable>(
        _ sequence: Pieces, length: Int64? = nil, to convertible: any URLConvertible, method: HTTPMethod = .post,
        headers: HTTPHeaders? = nil, interceptor: (any RequestInterceptor)? = nil,
        requestModifier: RequestModifier? = nil
    ) -> UploadRequest where Pieces.Element: DataProtocol & Sendable {
        upload(
            .stream(sequence, length: length), to: convertible, method: method, headers: headers,
            interceptor: interceptor, requestModifier: requestModifier)
    }

    /// Vends a request that sends a body of any kind.
    ///
    /// Nothing is sent until a serializer is attached.
    ///
    /// - Parameters:
    ///   - body: The body.
    ///   - convertible: The URL: a `String`, a `URL`, `URLComponents`, or your own ``URLConvertible`` type.
    ///   - method: The method; POST by default.
    ///   - headers: Header fields; they replace session fields of the same name. No `Content-Type` is sent unless you
    ///     set one.
    ///   - interceptor: An interceptor that adapts the request before it is sent, and decides about retries when it
    ///     fails. It runs after the session's interceptor. The default is `nil`.
    ///   - requestModifier: A closure that changes the request after its URL, method, header fields and body are set.
    ///     It runs on the global pool, once for each attempt.
    /// - Returns: The request.
    public nonisolated func upload(
        _ body: RequestBody, to convertible: any URLConvertible, method: HTTPMethod = .post,
        headers: HTTPHeaders? = nil, interceptor: (any RequestInterceptor)? = nil,
        requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        request(
            ComposedRequest(
                url: convertible, method: method, headers: headers, body: body, requestModifier: requestModifier,
                encode: nil), interceptor: interceptor)
    }

    // MARK: With a request

    /// Vends a request that sends bytes in memory in place of its own body.
    ///
    /// Nothing is sent until a serializer is attached. The method is the request's; with GET, HEAD or TRACE it fails
    /// with `.invalidRequest(.bodyDataInGETRequest)`.
    ///
    /// - Parameters:
    ///   - data: The body.
    ///   - convertible: Your own type that makes the request, or an ``HTTPRequest``. Its `asHTTPRequest()` is called on
    ///     the global pool, once for each attempt.
    ///   - interceptor: An interceptor that adapts the request before it is sent, and decides about retries when it
    ///     fails. It runs after the session's interceptor. The default is `nil`.
    /// - Returns: The request.
    public nonisolated func upload(
        _ data: Data, with convertible: any HTTPRequestConvertible, interceptor: (any RequestInterceptor)? = nil
    ) -> UploadRequest {
        upload(.data(data), with: convertible, interceptor: interceptor)
    }

    /// Vends a request that sends a file in place of its own body.
    ///
    /// Nothing is sent until a serializer is attached. The method is the request's; with GET, HEAD or TRACE it fails
    /// with `.invalidRequest(.bodyDataInGETRequest)`. A file that cannot be read ends the request with
    /// `.requestBody(…)`.
    ///
    /// - Parameters:
    ///   - fileURL: Where the file is.
    ///   - convertible: Your own type that makes the request, or an ``HTTPRequest``. Its `asHTTPRequest()` is called on
    ///     the global pool, once for each attempt.
    ///   - interceptor: An interceptor that adapts the request before it is sent, and decides about retries when it
    ///     fails. It runs after the session's interceptor. The default is `nil`.
    /// - Returns: The request.
    public nonisolated func upload(
        _ fileURL: URL, with convertible: any HTTPRequestConvertible, interceptor: (any RequestInterceptor)? = nil
    ) -> UploadRequest {
        upload(.file(fileURL), with: convertible, interceptor: interceptor)
    }

    /// Vends a request that sends what a sequence yields in place of its own body.
    ///
    /// Nothing is sent until a serializer is attached. The method is the request's; with GET, HEAD or TRACE it fails
    /// with `.invalidRequest(.bodyDataInGETRequest)`. The sequence is iterated once, on the global pool.
    ///
    /// - Parameters:
    ///   - sequence: The pieces of the body, of any size.
    ///   - length: How many bytes they have together; if that is not known, HTTP/1.1 frames the body as chunks
    ///     (RFC 9112 §7.1).
    ///   - convertible: Your own type that makes the request, or an ``HTTPRequest``. Its `asHTTPRequest()` is called on
    ///     the global pool, once for each attempt.
    ///   - interceptor: An interceptor that adapts the request before it is sent, and decides about retries when it
    ///     fails. It runs after the session's interceptor. The default is `nil`.
    /// - Returns: The request.
    public nonisolated func upload<Pieces: AsyncSequence & Sendable>(
        _ sequence: Pieces, length: Int64? = nil, with convertible: any HTTPRequestConvertible,
        interceptor: (any RequestInterceptor)? = nil
    ) -> UploadRequest where Pieces.Element: DataProtocol & Sendable {
        upload(.stream(sequence, length: length), with: convertible, interceptor: interceptor)
    }

    /// Vends a request that sends a body of any kind in place of its own.
    ///
    /// Nothing is sent until a serializer is attached. The method is the request's; with GET, HEAD or TRACE it fails
    /// with `.invalidRequest(.bodyDataInGETRequest)`.
    ///
    /// - Parameters:
    ///   - body: The body.
    ///   - convertible: Your own type that makes the request, or an ``HTTPRequest``. Its `asHTTPRequest()` is called on
    ///     the global pool, once for each attempt.
    ///   - interceptor: An interceptor that adapts the request before it is sent, and decides about retries when it
    ///     fails. It runs after the session's interceptor. The default is `nil`.
    /// - Returns: The request.
    public nonisolated func upload(
        _ body: RequestBody, with convertible: any HTTPRequestConvertible,
        interceptor: (any RequestInterceptor)? = nil
    ) -> UploadRequest {
        request(UploadingRequest(body: body, convertible: convertible), interceptor: interceptor)
    }
}

/// A request that gets its body from elsewhere.
private struct UploadingRequest: HTTPRequestConvertible {
    let body: RequestBody
    let convertible: any HTTPRequestConvertible

    func asHTTPRequest() throws -> HTTPRequest {
        var request = try convertible.asHTTPRequest()
        request.body = body
        return request
    }
}

extension Session {
    /// Vends a request that sends a form made by a closure, whose parts are read while it is sent (RFC 7578).
    ///
    /// Nothing is sent until a serializer is attached. What is wrong with a part ends the request with
    /// `.multipartEncoding(…)`.
    ///
    /// - Parameters:
    ///   - multipartFormData: Appends the parts to an empty form. Called at once, where this is called.
    ///   - convertible: The URL: a `String`, a `URL`, `URLComponents`, or your own ``URLConvertible`` type.
    ///   - method: The method; POST by default.
    ///   - headers: Header fields; they replace session fields of the same name. A `Content-Type` among them replaces
    ///     the form's.
    ///   - interceptor: An interceptor that adapts the request before it is sent, and decides about retries when it
    ///     fails. It runs after the session's interceptor. The default is `nil`.
    ///   - requestModifier: A closure that changes the request after its URL, method, header fields and body are set.
    ///     It runs on the global pool, once for each attempt.
    /// - Returns: The request.
    public nonisolated func upload(
        multipartFormData: (inout MultipartFormData) -> Void, to convertible: any URLConvertible,
        method: HTTPMethod = .post, headers: HTTPHeaders? = nil, interceptor: (any RequestInterceptor)? = nil,
        requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        upload(
            multipartFormData: Self.form(multipartFormData), to: convertible, method: method, headers: headers,
            interceptor: interceptor, requestModifier: requestModifier)
    }

    /// Vends a request that sends a form (RFC 7578), whose parts are read while it is sent.
    ///
    /// Nothing is sent until a serializer is attached. What is wrong with a part ends the request with
    /// `.multipartEncoding(…)`. The memory that this takes does not depend on the parts' sizes.
    ///
    /// - Parameters:
    ///   - multipartFormData: The form.
    ///   - convertible: The URL: a `String`, a `URL`, `URLComponents`, or your own ``URLConvertible`` type.
    ///   - method: The method; POST by default.
    ///   - headers: Header fields; they replace session fields of the same name. A `Content-Type` among them replaces
    ///     the form's.
    ///   - interceptor: An interceptor that adapts the request before it is sent, and decides about retries when it
    ///     fails. It runs after the session's interceptor. The default is `nil`.
    ///   - requestModifier: A closure that changes the request after its URL, method, header fields and body are set.
    ///     It runs on the global pool, once for each attempt.
    /// - Returns: The request.
    public nonisolated func upload(
        multipartFormData: MultipartFormData, to convertible: any URLConvertible, method: HTTPMethod = .post,
        headers: HTTPHeaders? = nil, interceptor: (any RequestInterceptor)? = nil,
        requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        upload(
            .multipart(multipartFormData), to: convertible, method: method, headers: headers,
            interceptor: interceptor, requestModifier: requestModifier)
    }

    /// Vends a request that sends a form made by a closure in place of its own body.
    ///
    /// Nothing is sent until a serializer is attached. The method is the request's, and must not be GET, HEAD or TRACE;
    /// so is the `Content-Type`, if it has one.
    ///
    /// - Parameters:
    ///   - multipartFormData: Appends the parts to an empty form. Called at once, where this is called.
    ///   - convertible: Your own type that makes the request, or an ``HTTPRequest``. Its `asHTTPRequest()` is called on
    ///     the global pool, once for each attempt.
    ///   - interceptor: An interceptor that adapts the request before it is sent, and decides about retries when it
    ///     fails. It runs after the session's interceptor. The default is `nil`.
    /// - Returns: The request.
    public nonisolated func upload(
        multipartFormData: (inout MultipartFormData) -> Void, with convertible: any HTTPRequestConvertible,
        interceptor: (any RequestInterceptor)? = nil
    ) -> UploadRequest {
        upload(multipartFormData: Self.form(multipartFormData), with: convertible, interceptor: interceptor)
    }

    /// Vends a request that sends a form (RFC 7578) in place of its own body.
    ///
    /// Nothing is sent until a serializer is attached. The method is the request's, and must not be GET, HEAD or TRACE;
    /// so is the `Content-Type`, if it has one.
    ///
    /// - Parameters:
    ///   - multipartFormData: The form.
    ///   - convertible: Your own type that makes the request, or an ``HTTPRequest``. Its `asHTTPRequest()` is called on
    ///     the global pool, once for each attempt.
    ///   - interceptor: An interceptor that adapts the request before it is sent, and decides about retries when it
    ///     fails. It runs after the session's interceptor. The default is `nil`.
    /// - Returns: The request.
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
