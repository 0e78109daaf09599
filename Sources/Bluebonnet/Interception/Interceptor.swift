/// Several adapters and retriers as one interceptor.
///
/// Requests go through the adapters and then through the interceptors, each in its order; the first that throws ends the
/// attempt. A failure goes to the retriers and then to the interceptors; the first answer other than `.doNotRetry`
/// counts.
public struct Interceptor: RequestInterceptor {
    /// The adapters, in the order in which they are asked: those of the interceptors come last.
    public let adapters: [any RequestAdapter]

    /// The retriers, in the order in which they are asked: those of the interceptors come last.
    public let retriers: [any RequestRetrier]

    /// Creates an interceptor.
    ///
    /// - Parameters:
    ///   - adapters: Adapters, asked first.
    ///   - retriers: Retriers, asked first.
    ///   - interceptors: Asked after the adapters, and after the retriers.
    public init(
        adapters: [any RequestAdapter] = [], retriers: [any RequestRetrier] = [],
        interceptors: [any RequestInterceptor] = []
    ) {
        self.adapters = adapters + interceptors
        self.retriers = retriers + interceptors
    }

    /// Creates an interceptor of one adapter and one retrier.
    ///
    /// - Parameters:
    ///   - adapter: The adapter.
    ///   - retrier: The retrier.
    public init(adapter: any RequestAdapter, retrier: any RequestRetrier) {
        adapters = [adapter]
        retriers = [retrier]
    }

    /// Creates an interceptor of two closures.
    ///
    /// - Parameters:
    ///   - adapt: Gets a request and whose it is, and returns it as it is to be sent. Runs on the global pool.
    ///   - retry: Gets a request, its session and why it failed, and returns what to do. Runs on the global pool.
    public init(
        adapt: @escaping @Sendable (HTTPRequest, RequestAdapterState) async throws -> HTTPRequest,
        retry: @escaping @Sendable (any Request, Session, any Error) async -> RetryResult
    ) {
        self.init(adapter: Adapter(adapt), retrier: Retrier(retry))
    }

    /// Asks the adapters, one after the other.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - state: Whose request it is.
    /// - Returns: The request as the last adapter returns it.
    /// - Throws: What the first adapter that throws throws.
    @concurrent
    public func adapt(_ request: HTTPRequest, using state: RequestAdapterState) async throws -> HTTPRequest {
        var request = request
        for adapter in adapters {
            try Task.checkCancellation()
            request = try await adapter.adapt(request, using: state)
        }
        return request
    }

    /// Asks the retriers, one after the other.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - session: Its session.
    ///   - error: Why it failed.
    /// - Returns: The first answer other than `.doNotRetry`, if there is one.
    @concurrent
    public func retry(_ request: any Request, for session: Session, dueTo error: any Error) async -> RetryResult {
        for retrier in retriers {
            if Task.isCancelled { return .doNotRetry }
            let result = await retrier.retry(request, for: session, dueTo: error)
            if case .doNotRetry = result { continue }
            return result
        }
        return .doNotRetry
    }
}

extension RequestInterceptor where Self == Interceptor {
    /// Several adapters and retriers as one interceptor.
    ///
    /// - Parameters:
    ///   - adapters: Adapters, asked first.
    ///   - retriers: Retriers, asked first.
    ///   - interceptors: Asked after the adapters, and after the retriers.
    /// - Returns: The interceptor.
    public static func interceptor(
        adapters: [any RequestAdapter] = [], retriers: [any RequestRetrier] = [],
        interceptors: [any RequestInterceptor] = []
    ) -> Interceptor { Interceptor(adapters: adapters, retriers: retriers, interceptors: interceptors) }

    /// An interceptor of two closures.
    ///
    /// - Parameters:
    ///   - adapt: Gets a request and whose it is, and returns it as it is to be sent. Runs on the global pool.
    ///   - retry: Gets a request, its session and why it failed, and returns what to do. Runs on the global pool.
    /// - Returns: The interceptor.
    package static func interceptor(
        adapt: @escaping @Sendable (HTTPRequest, RequestAdapterState) async throws -> HTTPRequest,
        retry: @escaping @Sendable (any Request, Session, any Error) async -> RetryResult
    ) -> Interceptor { Interceptor(adapt: adapt, retry: retry) }
}

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
    /// - Throws: The closure's error.
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

/// Decides by a closure whether requests are tried again.
public struct Retrier: RequestInterceptor {
    private let closure: @Sendable (any Request, Session, any Error) async -> RetryResult

    /// Creates a retrier.
    ///
    /// - Parameter retry: Gets a request, its session and why it failed, and returns what to do. Runs on the global pool.
    public init(_ retry: @escaping @Sendable (any Request, Session, any Error) async -> RetryResult) {
        closure = retry
    }

    /// Calls the closure.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - session: Its session.
    ///   - error: Why it failed.
    /// - Returns: What the closure returns.
    @concurrent
    public func retry(_ request: any Request, for session: Session, dueTo error: any Error) async -> RetryResult {
        await closure(request, session, error)
    }
}

extension RequestRetrier where Self == Retrier {
    /// A retrier that calls a closure.
    ///
    /// - Parameter retry: Gets a request, its session and why it failed, and returns what to do. Runs on the global pool.
    /// - Returns: The retrier.
    public static func retrier(
        using retry: @escaping @Sendable (any Request, Session, any Error) async -> RetryResult
    ) -> Retrier { Retrier(retry) }
}

/// The adapters of one request, of which an error can tell which it was.
struct AdapterChain: Sendable {
    let adapters: [any RequestAdapter]

    /// The adapters that others ask, so that an error tells which of them it was.
    static func parts(of adapters: [any RequestAdapter]) -> [any RequestAdapter] {
        adapters.flatMap { ($0 as? Interceptor).map { parts(of: $0.adapters) } ?? [$0] }
    }

    /// Asks the adapters, one after the other.
    @concurrent
    func adapt(_ request: HTTPRequest, using state: RequestAdapterState) async throws(RequestError) -> HTTPRequest {
        var request = request
        for adapter in adapters {
            guard !Task.isCancelled else { throw RequestError(.cancelled) }
            do {
                request = try await adapter.adapt(request, using: state)
            } catch {
                throw Self.error(of: adapter, error)
            }
        }
        return request
    }

    private static func error(of adapter: any RequestAdapter, _ error: any Error) -> RequestError {
        RequestError(.adaptation, detail: "in \(hookName(of: adapter))", underlying: error)
    }
}

/// The name of a hook's type, for errors; without the values of the hook, which may be secret.
func hookName(of hook: Any) -> String { String(describing: type(of: hook)) }

/// The retriers of one request.
enum RetrierChain {
    /// The retriers that others ask, so that an error tells which of them it was.
    static func parts(of retriers: [any RequestRetrier]) -> [any RequestRetrier] {
        retriers.flatMap { ($0 as? Interceptor).map { parts(of: $0.retriers) } ?? [$0] }
    }
}
