public import FoundationEssentials

/// A request that collects the response body in memory.
///
/// A ``Session`` creates data requests. You configure a request with chained calls. Each `serializing…` method returns
/// a ``DataTask``, whose value you await. By default, the method also starts the request:
///
/// ```swift
/// let user = try await session.request(url).validate().serializingDecodable(User.self).value
/// ```
///
/// All members are `nonisolated`, so you can use them from any thread. They return immediately. Validators and
/// serializers run one after the other, on the global executor or on the executor that the awaiting task prefers. They
/// never run on the actor of the awaiting task or on the event loop.
public actor DataRequest: Request {
    /// An opaque reference to the internal state of this request.
    public nonisolated let reference: RequestReference

    init(core: RequestCore) {
        reference = RequestReference(core: core)
        core.events?.adopt(self)
    }

    /// The body of the response, after content decoding.
    ///
    /// The value is `nil` if the request has not finished, or if no response was received.
    public nonisolated var data: Data? { core.read { $0.record.last }?.data }
}

// MARK: Validation

extension DataRequest {
    /// Adds a closure that validates the response.
    ///
    /// The closure runs for each response that all earlier validators have accepted, including the responses to
    /// retries. It runs on the global executor, or on the executor that the awaiting task prefers. If the closure
    /// throws or returns an error, the request fails with a ``RequestError`` of the kind
    /// `.validation(.customValidationFailed)`. The underlying error is the error of the closure.
    ///
    /// - Parameter validation: A closure that receives the request, the response and the body, and returns whether the
    ///   response is valid.
    /// - Returns: This request, for chaining.
    @discardableResult
    public nonisolated func validate(
        _ validation:
            @escaping @Sendable (_ request: HTTPRequest?, _ response: HTTPResponse, _ data: Data?) throws ->
            ValidationResult
    ) -> Self {
        validate(by: .custom(validation))
    }
}
