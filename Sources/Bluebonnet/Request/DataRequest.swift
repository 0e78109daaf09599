public import FoundationEssentials

/// A request that collects the response body in memory.
///
/// A ``Session`` creates it. Chained calls configure it. Each `serializing…` method makes a ``DataTask`` whose value
/// you await. By default, that method also starts the request:
///
/// ```swift
/// let user = try await session.request(url).validate().serializingDecodable(User.self).value
/// ```
///
/// Its members are `nonisolated`: you can use them from any thread, and they return at once. Conversion, validators and
/// serializers run one after the other, on the global pool or on the executor that the awaiting task prefers. They
/// never run on the awaiting task's actor or on the event loop.
public actor DataRequest: Request {
    /// An opaque reference to the state that all kinds of request share.
    public nonisolated let reference: RequestReference

    init(core: RequestCore) {
        reference = RequestReference(core: core)
        core.events?.adopt(self)
    }

    /// The body of the response, once the request has finished; `nil` if no response arrived.
    public nonisolated var data: Data? { core.machine.withLock { $0.record.last }?.data }
}

// MARK: Validation

extension DataRequest {
    /// Adds your own check of the response.
    ///
    /// The check runs once for each attempt that received a response, if all earlier validators accepted it. It runs on
    /// the global pool, or on the executor that the awaiting task prefers. If it throws or returns an error of any
    /// type, the request fails with `.validation(.customValidationFailed)`, and your error becomes the underlying
    /// error.
    ///
    /// - Parameter validation: A closure that receives the request, the response and the body, and accepts or refuses
    ///   the response.
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
