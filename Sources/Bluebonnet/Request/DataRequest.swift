public import FoundationEssentials

/// A request whose response is collected in memory.
///
/// Vended by ``Session``. Chained calls set it up; a `serializing…` method makes a ``DataTask`` to be awaited and, by
/// default, starts the request:
///
/// ```swift
/// let user = try await session.request(url).validate().serializingDecodable(User.self).value
/// ```
///
/// Its members are `nonisolated`: they return at once, from anywhere. Conversion, validators and serializers run one
/// after the other on the global pool, or on the executor that the awaiting task prefers; never on the actor of the
/// awaiting task, and never on the event loop.
public actor DataRequest: Request {
    /// Leads Bluebonnet to what all kinds of request share.
    public nonisolated let reference: RequestReference

    init(core: RequestCore) {
        reference = RequestReference(core: core)
        core.events?.adopt(self)
    }

    /// The body of the response, once the request has been answered.
    public nonisolated var data: Data? { core.machine.withLock { $0.record.last }?.data }
}

// MARK: Validation

extension DataRequest {
    /// Accepts a response by a check of your own.
    ///
    /// Runs on the global pool, once for each attempt that got a response, after the validators that were added
    /// before and only if those accepted. A failure becomes a `.validation(.customValidationFailed)` error with yours, of
    /// whatever type, as the underlying one.
    ///
    /// - Parameter validation: Gets the request, the response and the body.
    /// - Returns: The request.
    @discardableResult
    public nonisolated func validate(
        _ validation:
            @escaping @Sendable (_ request: HTTPRequest?, _ response: HTTPResponse, _ data: Data?) throws ->
            ValidationResult
    ) -> Self {
        validate(by: .custom(validation))
    }
}
