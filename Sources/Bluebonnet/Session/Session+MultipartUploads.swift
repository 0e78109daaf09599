extension Session {
    /// Vends a request that sends a form made by a closure, whose parts are read while it is sent (RFC 7578).
    ///
    /// Nothing happens before a serializer is attached. What is wrong with a part ends the request with
    /// `.multipartEncoding(…)`.
    ///
    /// - Parameters:
    ///   - multipartFormData: Appends the parts to an empty form. Called at once, where this is called.
    ///   - convertible: The URL: a `String`, a `URL`, `URLComponents`, or a type of your own.
    ///   - method: The method; POST by default.
    ///   - headers: Fields that replace the session's of the same names, and the form's `Content-Type`.
    ///   - interceptor: Changes the request before it is sent, and is asked when it fails; after the session's.
    ///   - requestModifier: Changes the request once it has all of this. Runs on the global pool, again for each
    ///     attempt.
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
    /// Nothing happens before a serializer is attached. What is wrong with a part ends the request with
    /// `.multipartEncoding(…)`. The memory that this takes does not depend on the parts' sizes.
    ///
    /// - Parameters:
    ///   - multipartFormData: The form.
    ///   - convertible: The URL: a `String`, a `URL`, `URLComponents`, or a type of your own.
    ///   - method: The method; POST by default.
    ///   - headers: Fields that replace the session's of the same names, and the form's `Content-Type`.
    ///   - interceptor: Changes the request before it is sent, and is asked when it fails; after the session's.
    ///   - requestModifier: Changes the request once it has all of this. Runs on the global pool, again for each
    ///     attempt.
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
    /// Nothing happens before a serializer is attached. The method is the request's, and must not be GET, HEAD or TRACE; so
    /// is the `Content-Type`, if it has one.
    ///
    /// - Parameters:
    ///   - multipartFormData: Appends the parts to an empty form. Called at once, where this is called.
    ///   - convertible: Asked for the request anew for each attempt, on the global pool.
    ///   - interceptor: Changes the request before it is sent, and is asked when it fails; after the session's.
    /// - Returns: The request.
    public nonisolated func upload(
        multipartFormData: (inout MultipartFormData) -> Void, with convertible: any HTTPRequestConvertible,
        interceptor: (any RequestInterceptor)? = nil
    ) -> UploadRequest {
        upload(multipartFormData: Self.form(multipartFormData), with: convertible, interceptor: interceptor)
    }

    /// Vends a request that sends a form (RFC 7578) in place of its own body.
    ///
    /// Nothing happens before a serializer is attached. The method is the request's, and must not be GET, HEAD or TRACE; so
    /// is the `Content-Type`, if it has one.
    ///
    /// - Parameters:
    ///   - multipartFormData: The form.
    ///   - convertible: Asked for the request anew for each attempt, on the global pool.
    ///   - interceptor: Changes the request before it is sent, and is asked when it fails; after the session's.
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
