/// Combines several adapters and retriers into one interceptor.
///
/// A request passes through the adapters first, and then through the interceptors, in the given order. If an adapter or
/// an interceptor throws an error, the remaining adapters and interceptors are not called.
///
/// A failed request passes through the retriers first, and then through the interceptors, in the given order. The first
/// result other than `.doNotRetry` is used.
public struct Interceptor: RequestInterceptor {
    /// The adapters, followed by the interceptors, in the order in which they are called.
    public let adapters: [any RequestAdapter]

    /// The retriers, followed by the interceptors, in the order in which they are called.
    public let retriers: [any RequestRetrier]

    /// Creates an interceptor.
    ///
    /// - Parameters:
    ///   - adapters: The adapters to call first.
    ///   - retriers: The retriers to call first.
    ///   - interceptors: The interceptors to call last, both for adapting and for retrying.
    public init(
        adapters: [any RequestAdapter] = [], retriers: [any RequestRetrier] = [],
        interceptors: [any RequestInterceptor] = []
    ) {
        self.adapters = adapters + interceptors
        self.retriers = retriers + interceptors
    }

    /// Creates an interceptor from one adapter and one retrier.
    ///
    /// - Parameters:
    ///   - adapter: The adapter that changes requests before they are sent.
    ///   - retrier: The retrier that decides whether failed requests are retried.
    public init(adapter: any RequestAdapter, retrier: any RequestRetrier) {
        adapters = [adapter]
        retriers = [retrier]
    }

    /// Creates an interceptor from two closures.
    ///
    /// - Parameters:
    ///   - adapt: Receives a request and its state, and returns the request to send. Runs on the global executor.
    ///   - retry: Receives a request, its session and its error, and decides whether to retry. Runs on the global
    ///     executor.
    public init(
        adapt: @escaping @Sendable (HTTPRequest, RequestAdapterState) async throws -> HTTPRequest,
        retry: @escaping @Sendable (any Request, Session, any Error) async -> RetryResult
    ) {
        self.init(adapter: Adapter(adapt), retrier: Retrier(retry))
    }

    /// Calls the adapters one after another.
    ///
    /// - Parameters:
    ///   - request: The request to adapt.
    ///   - state: The state of the request, such as its session.
    /// - Returns: The request returned by the last adapter.
    /// - Throws: The error of the first adapter that fails, or `CancellationError` if the task is cancelled.
    @concurrent
    public func adapt(_ request: HTTPRequest, using state: RequestAdapterState) async throws -> HTTPRequest {
        var request = request
        for adapter in adapters {
            try Task.checkCancellation()
            request = try await adapter.adapt(request, using: state)
        }
        return request
    }

    /// Calls the retriers one after another.
    ///
    /// - Parameters:
    ///   - request: The failed request.
    ///   - session: The session of the request.
    ///   - error: The error of the request.
    /// - Returns: The first result other than `.doNotRetry`. If there is no such result, or if the task is cancelled,
    ///   the method returns `.doNotRetry`.
    @concurrent
    public func retry(_ request: any Request, for session: Session, dueTo error: any Error) async -> RetryResult {
        for retrier in retriers where !Task.isCancelled {
            let result = await retrier.retry(request, for: session, dueTo: error)
            if case .doNotRetry = result { continue }
            return result
        }
        return .doNotRetry
    }
}

extension RequestInterceptor where Self == Interceptor {
    /// Combines several adapters and retriers into one interceptor.
    ///
    /// - Parameters:
    ///   - adapters: The adapters to call first.
    ///   - retriers: The retriers to call first.
    ///   - interceptors: The interceptors to call last, both for adapting and for retrying.
    /// - Returns: The combined interceptor.
    public static func interceptor(
        adapters: [any RequestAdapter] = [], retriers: [any RequestRetrier] = [],
        interceptors: [any RequestInterceptor] = []
    ) -> Interceptor { Interceptor(adapters: adapters, retriers: retriers, interceptors: interceptors) }
}

/// An adapter that calls a closure to change requests.
public struct Adapter: RequestInterceptor {
    private let closure: @Sendable (HTTPRequest, RequestAdapterState) async throws -> HTTPRequest

    /// Creates an adapter.
    ///
    /// - Parameter adapt: Receives a request and its state, and returns the request to send. Runs on the global
    ///   executor.
    public init(_ adapt: @escaping @Sendable (HTTPRequest, RequestAdapterState) async throws -> HTTPRequest) {
        closure = adapt
    }

    /// Creates an adapter that changes requests in place.
    ///
    /// ```swift
    /// Adapter { request, _ in request.headers["X-Trace"] = "1" }
    /// ```
    ///
    /// - Parameter change: Changes a request. It also receives its state. Runs on the global executor.
    @_disfavoredOverload  // a closure that only throws is one that returns a request
    public init(_ change: @escaping @Sendable (inout HTTPRequest, RequestAdapterState) async throws -> Void) {
        closure = { request, state in
            var request = request
            try await change(&request, state)
            return request
        }
    }

    /// Calls the closure.
    ///
    /// - Parameters:
    ///   - request: The request to adapt.
    ///   - state: The state of the request, such as its session.
    /// - Returns: The request that the closure returns.
    /// - Throws: The error that the closure throws.
    @concurrent
    public func adapt(_ request: HTTPRequest, using state: RequestAdapterState) async throws -> HTTPRequest {
        try await closure(request, state)
    }
}

extension RequestAdapter where Self == Adapter {
    /// An adapter that calls a closure.
    ///
    /// - Parameter adapt: Receives a request and its state, and returns the request to send. Runs on the global
    ///   executor.
    /// - Returns: An adapter that calls the closure.
    public static func adapter(
        using adapt: @escaping @Sendable (HTTPRequest, RequestAdapterState) async throws -> HTTPRequest
    ) -> Adapter { Adapter(adapt) }
}

/// A retrier that calls a closure to decide whether failed requests are retried.
public struct Retrier: RequestInterceptor {
    private let closure: @Sendable (any Request, Session, any Error) async -> RetryResult

    /// Creates a retrier.
    ///
    /// - Parameter retry: Receives a request, its session and its error, and decides whether to retry. Runs on the
    ///   global executor.
    public init(_ retry: @escaping @Sendable (any Request, Session, any Error) async -> RetryResult) {
        closure = retry
    }

    /// Creates a retrier whose closure needs no session.
    ///
    /// ```swift
    /// Retrier { request, error in error.statusCode == 409 ? .retryWithDelay(.seconds(1)) : .doNotRetry }
    /// ```
    ///
    /// - Parameter retry: Receives a request and its error, and decides whether to retry. An error that is not a
    ///   ``RequestError`` is the underlying error of `.serialization(.customSerializationFailed)`. Runs on the global
    ///   executor.
    public init(_ retry: @escaping @Sendable (any Request, RequestError) async -> RetryResult) {
        closure = { request, _, error in await retry(request, .wrappingSerializer(error)) }
    }

    /// Calls the closure.
    ///
    /// - Parameters:
    ///   - request: The failed request.
    ///   - session: The session of the request.
    ///   - error: The error of the request.
    /// - Returns: The decision that the closure returns.
    @concurrent
    public func retry(_ request: any Request, for session: Session, dueTo error: any Error) async -> RetryResult {
        await closure(request, session, error)
    }
}

extension RequestRetrier where Self == Retrier {
    /// A retrier that calls a closure.
    ///
    /// - Parameter retry: Receives a request, its session and its error, and decides whether to retry. Runs on the
    ///   global executor.
    /// - Returns: A retrier that calls the closure.
    public static func retrier(
        using retry: @escaping @Sendable (any Request, Session, any Error) async -> RetryResult
    ) -> Retrier { Retrier(retry) }
}

/// The adapters of one request.
///
/// An error of the chain names the adapter that failed.
struct AdapterChain: Sendable {
    let adapters: [any RequestAdapter]

    /// Replaces each `Interceptor` by its adapters, so that an error can name the adapter that failed.
    static func parts(of adapters: [any RequestAdapter]) -> [any RequestAdapter] {
        adapters.flatMap { ($0 as? Interceptor).map { parts(of: $0.adapters) } ?? [$0] }
    }

    /// Calls the adapters one after another.
    @concurrent
    func adapt(_ request: HTTPRequest, using state: RequestAdapterState) async throws(RequestError) -> HTTPRequest {
        var request = request
        for adapter in adapters {
            guard !Task.isCancelled else { throw RequestError(.cancelled) }
            do {
                request = try await adapter.adapt(request, using: state)
            } catch {
                throw RequestError(.adaptation, detail: "in \(hookName(of: adapter))", underlying: error)
            }
        }
        return request
    }
}

/// The type name of a hook, for error messages.
///
/// The name does not contain the hook's values, which may be secret.
func hookName(of hook: Any) -> String { String(describing: type(of: hook)) }

/// The retriers of one request.
enum RetrierChain {
    /// Replaces each `Interceptor` by its retriers, so that an error can name the retrier that caused it.
    static func parts(of retriers: [any RequestRetrier]) -> [any RequestRetrier] {
        retriers.flatMap { ($0 as? Interceptor).map { parts(of: $0.retriers) } ?? [$0] }
    }
}
