public import FoundationEssentials

/// A request that uploads a body; it is an ordinary ``DataRequest``.
public typealias UploadRequest = DataRequest

extension Session {
    // MARK: To a URL

    /// Creates a request that sends bytes in memory.
    ///
    /// Nothing is sent until a serializer is attached.
    ///
    /// - Parameters:
    ///   - data: The bytes to send.
    ///   - convertible: The URL: a `String`, a `URL`, `URLComponents`, or your own ``URLConvertible`` type.
    ///   - method: The method; POST by default.
    ///   - headers: Header fields; they replace session fields of the same name. No `Content-Type` is sent unless you
    ///     set one.
    ///   - interceptor: An interceptor that adapts the request before it is sent, and decides about retries when it
    ///     fails. It runs after the session's interceptor. The default is `nil`.
    ///   - requestModifier: A closure that changes the request after its URL, method, header fields and body are set.
    ///     It runs on the global pool, once for each attempt.
    /// - Returns: A request that collects the response body in memory.
    public nonisolated func upload(
        _ data: Data, to convertible: any URLConvertible, method: HTTPMethod = .post, headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil, requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        upload(
            .data(data), to: convertible, method: method, headers: headers, interceptor: interceptor,
            requestModifier: requestModifier)
    }

    /// Creates a request that sends a file, which is read while it is sent.
    ///
    /// Nothing is sent until a serializer is attached. If the file cannot be read, the request fails with
    /// `.requestBody(…)`. The memory use does not depend on the size of the file.
    ///
    /// - Parameters:
    ///   - fileURL: The URL of the file to send.
    ///   - convertible: The URL: a `String`, a `URL`, `URLComponents`, or your own ``URLConvertible`` type.
    ///   - method: The method; POST by default.
    ///   - headers: Header fields; they replace session fields of the same name. No `Content-Type` is sent unless you
    ///     set one.
    ///   - interceptor: An interceptor that adapts the request before it is sent, and decides about retries when it
    ///     fails. It runs after the session's interceptor. The default is `nil`.
    ///   - requestModifier: A closure that changes the request after its URL, method, header fields and body are set.
    ///     It runs on the global pool, once for each attempt.
    /// - Returns: A request that collects the response body in memory.
    public nonisolated func upload(
        _ fileURL: URL, to convertible: any URLConvertible, method: HTTPMethod = .post, headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil, requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        upload(
            .file(fileURL), to: convertible, method: method, headers: headers, interceptor: interceptor,
            requestModifier: requestModifier)
    }

    /// Creates a request that sends the bytes of a sequence, as fast as the network accepts them.
    ///
    /// Nothing is sent until a serializer is attached. The sequence is iterated only once, on the global pool, so the
    /// request cannot be sent again. ``RequestBody/stream(length:_:)`` makes a body that can be sent again.
    ///
    /// - Parameters:
    ///   - sequence: The pieces of the body, which can be of any size.
    ///   - length: The total number of bytes, or `nil`, the default, if it is unknown. HTTP/1.1 then sends the body in
    ///     chunks (RFC 9112 §7.1).
    ///   - convertible: The URL: a `String`, a `URL`, `URLComponents`, or your own ``URLConvertible`` type.
    ///   - method: The method; POST by default.
    ///   - headers: Header fields; they replace session fields of the same name. No `Content-Type` is sent unless you
    ///     set one.
    ///   - interceptor: An interceptor that adapts the request before it is sent, and decides about retries when it
    ///     fails. It runs after the session's interceptor. The default is `nil`.
    ///   - requestModifier: A closure that changes the request after its URL, method, header fields and body are set.
    ///     It runs on the global pool, once for each attempt.
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

    /// Creates a request that sends a body of any kind.
    ///
    /// Nothing is sent until a serializer is attached.
    ///
    /// - Parameters:
    ///   - body: The body to send.
    ///   - convertible: The URL: a `String`, a `URL`, `URLComponents`, or your own ``URLConvertible`` type.
    ///   - method: The method; POST by default.
    ///   - headers: Header fields; they replace session fields of the same name. Apart from forms, no `Content-Type` is
    ///     sent unless you set one.
    ///   - interceptor: An interceptor that adapts the request before it is sent, and decides about retries when it
    ///     fails. It runs after the session's interceptor. The default is `nil`.
    ///   - requestModifier: A closure that changes the request after its URL, method, header fields and body are set.
    ///     It runs on the global pool, once for each attempt.
    /// - Returns: A request that collects the response body in memory.
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

    /// Creates a request from an ``HTTPRequest`` or your own request type; its body is bytes in memory.
    ///
    /// Nothing is sent until a serializer is attached. Any body that the request already has is replaced. The method
    /// comes from the request that `convertible` makes. With GET, HEAD or TRACE, the request fails with
    /// `.invalidRequest(.bodyDataInGETRequest)`.
    ///
    /// - Parameters:
    ///   - data: The bytes to send.
    ///   - convertible: The ``HTTPRequest``, or your own ``HTTPRequestConvertible`` type. Its `asHTTPRequest()` is
    ///     called on the global pool, once for each attempt.
    ///   - interceptor: An interceptor that adapts the request before it is sent, and decides about retries when it
    ///     fails. It runs after the session's interceptor. The default is `nil`.
    /// - Returns: A request that collects the response body in memory.
    public nonisolated func upload(
        _ data: Data, with convertible: any HTTPRequestConvertible, interceptor: (any RequestInterceptor)? = nil
    ) -> UploadRequest {
        upload(.data(data), with: convertible, interceptor: interceptor)
    }

    /// Creates a request from an ``HTTPRequest`` or your own request type; its body is a file.
    ///
    /// Nothing is sent until a serializer is attached. Any body that the request already has is replaced. The method
    /// comes from the request that `convertible` makes. With GET, HEAD or TRACE, the request fails with
    /// `.invalidRequest(.bodyDataInGETRequest)`. If the file cannot be read, the request fails with `.requestBody(…)`.
    ///
    /// - Parameters:
    ///   - fileURL: The URL of the file to send.
    ///   - convertible: The ``HTTPRequest``, or your own ``HTTPRequestConvertible`` type. Its `asHTTPRequest()` is
    ///     called on the global pool, once for each attempt.
    ///   - interceptor: An interceptor that adapts the request before it is sent, and decides about retries when it
    ///     fails. It runs after the session's interceptor. The default is `nil`.
    /// - Returns: A request that collects the response body in memory.
    public nonisolated func upload(
        _ fileURL: URL, with convertible: any HTTPRequestConvertible, interceptor: (any RequestInterceptor)? = nil
    ) -> UploadRequest {
        upload(.file(fileURL), with: convertible, interceptor: interceptor)
    }

    /// Creates a request from an ``HTTPRequest`` or your own request type; its body is the bytes of a sequence.
    ///
    /// Nothing is sent until a serializer is attached. The sequence is iterated only once, on the global pool, so the
    /// request cannot be sent again. Any body that the request already has is replaced. The method comes from the
    /// request that `convertible` makes. With GET, HEAD or TRACE, the request fails with
    /// `.invalidRequest(.bodyDataInGETRequest)`.
    ///
    /// - Parameters:
    ///   - sequence: The pieces of the body, which can be of any size.
    ///   - length: The total number of bytes, or `nil`, the default, if it is unknown. HTTP/1.1 then sends the body in
    ///     chunks (RFC 9112 §7.1).
    ///   - convertible: The ``HTTPRequest``, or your own ``HTTPRequestConvertible`` type. Its `asHTTPRequest()` is
    ///     called on the global pool, once for each attempt.
    ///   - interceptor: An interceptor that adapts the request before it is sent, and decides about retries when it
    ///     fails. It runs after the session's interceptor. The default is `nil`.
    /// - Returns: A request that collects the response body in memory.
    public nonisolated func upload<Pieces: AsyncSequence & Sendable>(
        _ sequence: Pieces, length: Int64? = nil, with convertible: any HTTPRequestConvertible,
        interceptor: (any RequestInterceptor)? = nil
    ) -> UploadRequest where Pieces.Element: DataProtocol & Sendable {
        upload(.stream(sequence, length: length), with: convertible, interceptor: interceptor)
    }

    /// Creates a request from an ``HTTPRequest`` or your own request type, with a body of any kind.
    ///
    /// Nothing is sent until a serializer is attached. Any body that the request already has is replaced. The method
    /// comes from the request that `convertible` makes. With GET, HEAD or TRACE, the request fails with
    /// `.invalidRequest(.bodyDataInGETRequest)`.
    ///
    /// - Parameters:
    ///   - body: The body to send.
    ///   - convertible: The ``HTTPRequest``, or your own ``HTTPRequestConvertible`` type. Its `asHTTPRequest()` is
    ///     called on the global pool, once for each attempt.
    ///   - interceptor: An interceptor that adapts the request before it is sent, and decides about retries when it
    ///     fails. It runs after the session's interceptor. The default is `nil`.
    /// - Returns: A request that collects the response body in memory.
    public nonisolated func upload(
        _ body: RequestBody, with convertible: any HTTPRequestConvertible,
        interceptor: (any RequestInterceptor)? = nil
    ) -> UploadRequest {
        request(UploadingRequest(body: body, convertible: convertible), interceptor: interceptor)
    }
}

/// A request whose body is replaced with another one.
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
    /// Creates a request that sends a multipart form that a closure fills (RFC 7578).
    ///
    /// Nothing is sent until a serializer is attached. The parts are read while they are sent. If a part is invalid or
    /// cannot be read, the request fails with `.multipartEncoding(…)`.
    ///
    /// - Parameters:
    ///   - multipartFormData: A closure that appends the parts to an empty form. It is called before this method
    ///     returns.
    ///   - convertible: The URL: a `String`, a `URL`, `URLComponents`, or your own ``URLConvertible`` type.
    ///   - method: The method; POST by default.
    ///   - headers: Header fields; they replace session fields of the same name. A `Content-Type` field among them
    ///     replaces the form's.
    ///   - interceptor: An interceptor that adapts the request before it is sent, and decides about retries when it
    ///     fails. It runs after the session's interceptor. The default is `nil`.
    ///   - requestModifier: A closure that changes the request after its URL, method, header fields and body are set.
    ///     It runs on the global pool, once for each attempt.
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
    /// Nothing is sent until a serializer is attached. The parts are read while they are sent, so the memory use does
    /// not depend on their sizes. If a part is invalid or cannot be read, the request fails with
    /// `.multipartEncoding(…)`.
    ///
    /// - Parameters:
    ///   - multipartFormData: The form to send.
    ///   - convertible: The URL: a `String`, a `URL`, `URLComponents`, or your own ``URLConvertible`` type.
    ///   - method: The method; POST by default.
    ///   - headers: Header fields; they replace session fields of the same name. A `Content-Type` field among them
    ///     replaces the form's.
    ///   - interceptor: An interceptor that adapts the request before it is sent, and decides about retries when it
    ///     fails. It runs after the session's interceptor. The default is `nil`.
    ///   - requestModifier: A closure that changes the request after its URL, method, header fields and body are set.
    ///     It runs on the global pool, once for each attempt.
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

    /// Creates a request from an ``HTTPRequest`` or your own request type; its body is a form that a closure fills (RFC
    /// 7578).
    ///
    /// Nothing is sent until a serializer is attached. Any body that the request already has is replaced. The method
    /// comes from the request that `convertible` makes. With GET, HEAD or TRACE, the request fails with
    /// `.invalidRequest(.bodyDataInGETRequest)`. The request's own `Content-Type` is kept; without one, the form sets
    /// it.
    ///
    /// - Parameters:
    ///   - multipartFormData: A closure that appends the parts to an empty form. It is called before this method
    ///     returns.
    ///   - convertible: The ``HTTPRequest``, or your own ``HTTPRequestConvertible`` type. Its `asHTTPRequest()` is
    ///     called on the global pool, once for each attempt.
    ///   - interceptor: An interceptor that adapts the request before it is sent, and decides about retries when it
    ///     fails. It runs after the session's interceptor. The default is `nil`.
    /// - Returns: A request that collects the response body in memory.
    public nonisolated func upload(
        multipartFormData: (inout MultipartFormData) -> Void, with convertible: any HTTPRequestConvertible,
        interceptor: (any RequestInterceptor)? = nil
    ) -> UploadRequest {
        upload(multipartFormData: Self.form(multipartFormData), with: convertible, interceptor: interceptor)
    }

    /// Creates a request from an ``HTTPRequest`` or your own request type; its body is a multipart form (RFC 7578).
    ///
    /// Nothing is sent until a serializer is attached. Any body that the request already has is replaced. The method
    /// comes from the request that `convertible` makes. With GET, HEAD or TRACE, the request fails with
    /// `.invalidRequest(.bodyDataInGETRequest)`. The request's own `Content-Type` is kept; without one, the form sets
    /// it.
    ///
    /// - Parameters:
    ///   - multipartFormData: The form to send.
    ///   - convertible: The ``HTTPRequest``, or your own ``HTTPRequestConvertible`` type. Its `asHTTPRequest()` is
    ///     called on the global pool, once for each attempt.
    ///   - interceptor: An interceptor that adapts the request before it is sent, and decides about retries when it
    ///     fails. It runs after the session's interceptor. The default is `nil`.
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
