extension Request {
    /// Accepts only the given status codes.
    ///
    /// - Parameter acceptable: The status codes to accept, such as `200..<300`.
    /// - Returns: This request, for chaining.
    @discardableResult
    public nonisolated func validate(statusCode acceptable: some Sequence<Int> & Sendable) -> Self {
        validate(by: .statusCodes(StatusCodes(acceptable)))
    }

    /// Accepts only the given content types (RFC 9110 §8.3), such as `application/json` or `image/*`.
    ///
    /// A response without a body is accepted, whatever its type.
    ///
    /// - Parameter acceptable: The content types to accept.
    /// - Returns: This request, for chaining.
    @discardableResult
    public nonisolated func validate(contentType acceptable: some Sequence<String> & Sendable) -> Self {
        validate(by: .contentTypes(Array(acceptable)))
    }

    /// Accepts only status codes from 200 to 299, and content types that the `Accept` field of the request allows.
    ///
    /// If the request itself has no `Accept` field, every content type is accepted. A response without a body is
    /// accepted, whatever its type.
    ///
    /// - Returns: This request, for chaining.
    @discardableResult
    public nonisolated func validate() -> Self {
        core.machine.withLock { $0.setup.validators += [.success, .accepted] }
        return self
    }

    nonisolated func validate(by validator: ResponseValidator) -> Self {
        core.machine.withLock { $0.setup.validators.append(validator) }
        return self
    }
}
