/// Changes requests by a closure.
public struct Adapter: RequestInterceptor {
    private let closure: @Sendable (HTTPRequest, RequestAdapterState) async throws -> HTTPRequest

    /// Creates an adapter.
    ///
    /// - Parameter adapt: Gets a request and whose it is, and returns it as it is to be sent. Runs on the global pool.
    public init(_ adapt: @escaping @Sendable (HTTPRequest, RequestAdapterState) async throws -> HTTPRequest) {
        closure = adapt
    }

    /// Calls the closure.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - state: Whose request it is.
    /// - Returns: What the closure returns.
    /// - Throws: What the closure throws.
    @concurrent
    public func adapt(_ request: HTTPRequest, using state: RequestAdapterState) async throws -> HTTPRequest {
        try await closure(request, state)
    }
}

extension RequestAdapter where Self == Adapter {
    /// An adapter that calls a closure.
    ///
    /// - Parameter adapt: Gets a request and whose it is, and returns it as it is to be sent. Runs on the global pool.
    /// - Returns: The adapter.
    public static func adapter(
        using adapt: @escaping @Sendable (HTTPRequest, RequestAdapterState) async throws -> HTTPRequest
    ) -> Adapter { Adapter(adapt) }
}
