extension Request {
    /// Accepts the given status codes.
    ///
    /// - Parameter acceptable: The codes, such as `200..<300`.
    /// - Returns: The request.
    @discardableResult
    public nonisolated func validate(statusCode acceptable: some Sequence<Int> & Sendable) -> Self {
        validate(by: .statusCodes(StatusCodes(acceptable)))
    }

    /// Accepts the given content types (RFC 9110 §8.3), such as `application/json` or `image/*`.
    ///
    /// A response without a body is accepted whatever its type.
    ///
    /// - Parameter acceptable: The types.
    /// - Returns: The request.
    @discardableResult
    public nonisolated func validate(contentType acceptable: some Sequence<String> & Sendable) -> Self {
        validate(by: .contentTypes(Array(acceptable)))
    }

    /// Accepts status codes from 200 to 299, and content types that the request's `Accept` asks for.
    ///
    /// A request without an `Accept` field of its own accepts every type, and a response without a body is accepted
    /// whatever its type.
    ///
    /// - Returns: The request.
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
