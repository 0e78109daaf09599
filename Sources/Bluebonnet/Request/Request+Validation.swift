extension Request {
    /// Adds a validator that accepts only these status codes.
    ///
    /// - Parameter acceptable: The status codes to accept, such as `200..<300`.
    /// - Returns: This request, for chaining.
    @discardableResult
    public nonisolated func validate(statusCode acceptable: some Sequence<Int> & Sendable) -> Self {
        validate(by: .statusCodes(StatusCodes(acceptable)))
    }

    /// Adds a validator that accepts only these content types (RFC 9110 §8.3).
    ///
    /// Content types can contain wildcards, as in `image/*`. A response without a body is accepted regardless of its
    /// content type. For a stream or a download, the validator runs before the body is received. Bluebonnet then
    /// assumes that there is no body only if the method is HEAD, the status code is 204 or 304, or `Content-Length` is
    /// 0.
    ///
    /// - Parameter acceptable: The content types to accept.
    /// - Returns: This request, for chaining.
    @discardableResult
    public nonisolated func validate(contentType acceptable: some Sequence<String> & Sendable) -> Self {
        validate(by: .contentTypes(Array(acceptable)))
    }

    /// Adds validators for status codes from 200 to 299 and for the content types in the request's `Accept` field.
    ///
    /// If the request itself has no `Accept` field, every content type is accepted. The content type of a response
    /// without a body is not checked. For a stream or a download, the validators run before the body is received.
    /// Bluebonnet then assumes that there is no body only if the method is HEAD, the status code is 204 or 304, or
    /// `Content-Length` is 0.
    ///
    /// - Returns: This request, for chaining.
    @discardableResult
    public nonisolated func validate() -> Self {
        core.configure { $0.validators += [.success, .accepted] }
        return self
    }

    nonisolated func validate(by validator: ResponseValidator) -> Self {
        core.configure { $0.validators.append(validator) }
        return self
    }
}
