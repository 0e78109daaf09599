public import Bluebonnet
import BluebonnetFoundation
public import FoundationNetworking

/// Changes a request, and calls a completion handler with it.
public typealias AdaptHandler =
    @Sendable (
        _ urlRequest: URLRequest, _ session: Session,
        _ completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) -> Void

/// Decides about a request that failed, and calls a completion handler with that.
public typealias RetryHandler =
    @Sendable (
        _ request: any Request, _ session: Session, _ error: any Error,
        _ completion: @escaping @Sendable (RetryResult) -> Void
    ) -> Void

extension Adapter {
    /// Creates an adapter of a closure that answers by a completion handler; see `CallbackRequestAdapter`.
    ///
    /// - Parameter adaptHandler: Gets the request, its session and the completion handler.
    @preconcurrency public init(_ adaptHandler: @escaping AdaptHandler) {
        self.init { request, state in
            try await Callbacks.adapt(request) { adaptHandler($0, state.session, $1) }
        }
    }
}

extension Retrier {
    /// Creates a retrier of a closure that answers by a completion handler; see `CallbackRequestRetrier`.
    ///
    /// - Parameter retryHandler: Gets the request, its session, the error and the completion handler.
    @preconcurrency public init(_ retryHandler: @escaping RetryHandler) {
        self.init { request, session, error in
            await Callbacks.retry(error) { retryHandler(request, session, $0, $1) }
        }
    }
}

extension Interceptor {
    /// Creates an interceptor of closures that answer by completion handlers.
    ///
    /// - Parameters:
    ///   - adaptHandler: Changes requests.
    ///   - retryHandler: Decides about requests that failed.
    @preconcurrency public init(adaptHandler: @escaping AdaptHandler, retryHandler: @escaping RetryHandler) {
        self.init(adapters: [Adapter(adaptHandler)], retriers: [Retrier(retryHandler)])
    }
}

extension RequestAdapter where Self == Adapter {
    /// An adapter of a closure that answers by a completion handler.
    @preconcurrency public static func adapter(using closure: @escaping AdaptHandler) -> Adapter { Adapter(closure) }
}

extension RequestRetrier where Self == Retrier {
    /// A retrier of a closure that answers by a completion handler.
    @preconcurrency public static func retrier(using closure: @escaping RetryHandler) -> Retrier { Retrier(closure) }
}

extension RequestInterceptor where Self == Interceptor {
    /// An interceptor of closures that answer by completion handlers.
    @preconcurrency
    public static func interceptor(adapter: @escaping AdaptHandler, retrier: @escaping RetryHandler) -> Interceptor {
        Interceptor(adaptHandler: adapter, retryHandler: retrier)
    }
}
