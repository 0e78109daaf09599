public import BluebonnetCallbacks
public import Foundation
public import FoundationNetworking

/// The identifier and the session of the request that an adapter changes.
public struct RequestAdapterState: Sendable {
    /// The identifier of the request.
    public let requestID: UUID
    /// The session of the request.
    public let session: Session

    /// Creates a state, for tests of adapters.
    ///
    /// - Parameters:
    ///   - requestID: The identifier of the request.
    ///   - session: The session of the request.
    public init(requestID: UUID, session: Session) {
        self.requestID = requestID
        self.session = session
    }
}

/// A closure that is called once with a changed request or an error.
public typealias AdaptCompletion = @Sendable (_ result: Result<URLRequest, any Error>) -> Void
/// A closure that is called once with a decision about a retry.
public typealias RetryCompletion = @Sendable (RetryResult) -> Void

/// A type that changes requests before they are sent.
public protocol RequestAdapter: Sendable {
    /// Changes a request.
    ///
    /// - Parameters:
    ///   - urlRequest: The request.
    ///   - session: The session of the request.
    ///   - completion: The closure to call once, with the changed request or an error.
    func adapt(_ urlRequest: URLRequest, for session: Session, completion: @escaping AdaptCompletion)

    /// Changes a request; the default implementation calls `adapt(_:for:completion:)`.
    ///
    /// - Parameters:
    ///   - urlRequest: The request.
    ///   - state: The request's identifier and session.
    ///   - completion: The closure to call once, with the changed request or an error.
    func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState, completion: @escaping AdaptCompletion)
}

/// A type that decides whether failed requests are retried.
public protocol RequestRetrier: Sendable {
    /// Decides whether a failed request is retried.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - session: The session of the request.
    ///   - error: The error, usually an `AFError`.
    ///   - completion: The closure to call once, with the decision.
    func retry(_ request: Request, for session: Session, dueTo error: any Error, completion: @escaping RetryCompletion)
}

/// A type that changes requests, and decides whether failed requests are retried.
public protocol RequestInterceptor: RequestAdapter, RequestRetrier {}

extension RequestAdapter {
    /// Calls `adapt(_:for:completion:)`.
    public func adapt(
        _ urlRequest: URLRequest, using state: RequestAdapterState,
        completion: @escaping AdaptCompletion
    ) { adapt(urlRequest, for: state.session, completion: completion) }
}

extension RequestInterceptor {
    /// Calls the completion handler with the unchanged request.
    public func adapt(_ urlRequest: URLRequest, for session: Session, completion: @escaping AdaptCompletion) {
        completion(.success(urlRequest))
    }

    /// Calls the completion handler with `.doNotRetry`.
    public func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping RetryCompletion
    ) { completion(.doNotRetry) }
}

/// A closure that changes a request.
public typealias AdaptHandler =
    @Sendable (_ request: URLRequest, _ session: Session, _ completion: @escaping AdaptCompletion) -> Void

/// A closure that decides whether a failed request is retried.
public typealias RetryHandler =
    @Sendable (
        _ request: Request, _ session: Session, _ error: any Error, _ completion: @escaping RetryCompletion
    ) -> Void

// Safety: the only property is a constant; subclasses are responsible for their own properties.
/// An adapter that calls a closure.
open class Adapter: RequestInterceptor, @unchecked Sendable {
    private let adaptHandler: AdaptHandler

    /// Creates an adapter.
    ///
    /// - Parameter adaptHandler: The closure.
    @preconcurrency public init(_ adaptHandler: @escaping AdaptHandler) { self.adaptHandler = adaptHandler }

    /// Calls the closure.
    open func adapt(_ urlRequest: URLRequest, for session: Session, completion: @escaping AdaptCompletion) {
        adaptHandler(urlRequest, session, completion)
    }
}

// Safety: the only property is a constant; subclasses are responsible for their own properties.
/// A retrier that calls a closure.
open class Retrier: RequestInterceptor, @unchecked Sendable {
    private let retryHandler: RetryHandler

    /// Creates a retrier.
    ///
    /// - Parameter retryHandler: The closure.
    @preconcurrency public init(_ retryHandler: @escaping RetryHandler) { self.retryHandler = retryHandler }

    /// Calls the closure.
    open func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping RetryCompletion
    ) { retryHandler(request, session, error, completion) }
}

// Safety: the properties are constants; subclasses are responsible for their own properties.
/// An interceptor that calls several adapters and retriers.
///
/// The adapters run in order. The retriers are called in order, until a retrier returns a result other than
/// `.doNotRetry`.
open class Interceptor: RequestInterceptor, @unchecked Sendable {
    /// The adapters.
    public let adapters: [any RequestAdapter]
    /// The retriers.
    public let retriers: [any RequestRetrier]

    /// Creates an interceptor from closures.
    ///
    /// - Parameters:
    ///   - adaptHandler: The closure that changes requests.
    ///   - retryHandler: The closure that decides whether failed requests are retried.
    @preconcurrency public init(adaptHandler: @escaping AdaptHandler, retryHandler: @escaping RetryHandler) {
        adapters = [Adapter(adaptHandler)]
        retriers = [Retrier(retryHandler)]
    }

    /// Creates an interceptor from an adapter and a retrier.
    ///
    /// - Parameters:
    ///   - adapter: The adapter.
    ///   - retrier: The retrier.
    public init(adapter: any RequestAdapter, retrier: any RequestRetrier) {
        adapters = [adapter]
        retriers = [retrier]
    }

    /// Creates an interceptor from adapters, retriers and interceptors.
    ///
    /// - Parameters:
    ///   - adapters: The adapters. They run before the interceptors.
    ///   - retriers: The retriers. They are called before the interceptors.
    ///   - interceptors: The interceptors. Each interceptor is an adapter and a retrier.
    public init(
        adapters: [any RequestAdapter] = [], retriers: [any RequestRetrier] = [],
        interceptors: [any RequestInterceptor] = []
    ) {
        self.adapters = adapters + interceptors
        self.retriers = retriers + interceptors
    }

    /// Calls the adapters in order.
    open func adapt(_ urlRequest: URLRequest, for session: Session, completion: @escaping AdaptCompletion) {
        adapt(urlRequest, completion) { $0.adapt($1, for: session, completion: $2) }
    }

    /// Calls the adapters in order.
    open func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState, completion: @escaping AdaptCompletion) {
        adapt(urlRequest, completion) { $0.adapt($1, using: state, completion: $2) }
    }

    /// Calls the retriers in order, until a retrier returns a result other than `.doNotRetry`.
    open func retry(
        _ request: Request, for session: Session, dueTo error: any Error, completion: @escaping RetryCompletion
    ) {
        let first: RetryCompletion = retriers.reversed().reduce(completion) { next, retrier in
            { result in
                guard case .doNotRetry = result else { return completion(result) }
                retrier.retry(request, for: session, dueTo: error, completion: next)
            }
        }
        first(.doNotRetry)
    }

    private func adapt(
        _ urlRequest: URLRequest, _ completion: @escaping AdaptCompletion,
        _ call: @escaping @Sendable (any RequestAdapter, URLRequest, @escaping AdaptCompletion) -> Void
    ) {
        let first: AdaptCompletion = adapters.reversed().reduce(completion) { next, adapter in
            { result in
                guard case .success(let request) = result else { return completion(result) }
                call(adapter, request, next)
            }
        }
        first(.success(urlRequest))
    }
}

extension RequestAdapter where Self == Adapter {
    /// An adapter that calls a closure.
    @preconcurrency public static func adapter(using closure: @escaping AdaptHandler) -> Adapter { Adapter(closure) }
}

extension RequestRetrier where Self == Retrier {
    /// A retrier that calls a closure.
    @preconcurrency public static func retrier(using closure: @escaping RetryHandler) -> Retrier { Retrier(closure) }
}

extension RequestInterceptor where Self == Interceptor {
    /// An interceptor that calls closures.
    @preconcurrency public static func interceptor(
        adapter: @escaping AdaptHandler, retrier: @escaping RetryHandler
    ) -> Interceptor { Interceptor(adaptHandler: adapter, retryHandler: retrier) }

    /// An interceptor that calls an adapter and a retrier.
    public static func interceptor(adapter: any RequestAdapter, retrier: any RequestRetrier) -> Interceptor {
        Interceptor(adapter: adapter, retrier: retrier)
    }

    /// An interceptor that calls adapters, retriers and interceptors.
    public static func interceptor(
        adapters: [any RequestAdapter] = [], retriers: [any RequestRetrier] = [],
        interceptors: [any RequestInterceptor] = []
    ) -> Interceptor { Interceptor(adapters: adapters, retriers: retriers, interceptors: interceptors) }
}

// MARK: In Bluebonnet

/// An interceptor of `Bluebonnet` that calls an adapter and a retrier of the user.
struct InterceptorBridge: Bluebonnet.RequestInterceptor {
    let adapter: (any RequestAdapter)?
    let retrier: (any RequestRetrier)?

    /// Returns an interceptor that calls an interceptor of the user; for an ``AsyncInterceptor``, returns its
    /// interceptor of `Bluebonnet`.
    static func calling(_ interceptor: any RequestInterceptor) -> any Bluebonnet.RequestInterceptor {
        if let interceptor = interceptor as? any AsyncInterceptor { return interceptor.native }
        guard let chain = interceptor as? Interceptor, type(of: chain) == Interceptor.self else {
            return InterceptorBridge(adapter: interceptor, retrier: interceptor)
        }
        return Bluebonnet.Interceptor(
            adapters: chain.adapters.map { adapter in
                (adapter as? any AsyncInterceptor)?.native ?? InterceptorBridge(adapter: adapter, retrier: nil)
            },
            retriers: chain.retriers.map { retrier in
                (retrier as? any AsyncInterceptor)?.native ?? InterceptorBridge(adapter: nil, retrier: retrier)
            })
    }

    @concurrent
    func adapt(_ request: HTTPRequest, using state: Bluebonnet.RequestAdapterState) async throws -> HTTPRequest {
        guard let adapter else { return request }
        let own = RequestAdapterState(requestID: UUID(state.requestID), session: Session.of(state.session))
        let adapted = try await CallbackInterception.adapt(request) { adapter.adapt($0, using: own, completion: $1) }
        if request.body == nil, adapted.body != nil, adapted.method == .get {
            throw AFError.urlRequestValidationFailed(reason: .bodyDataInGETRequest)
        }
        return adapted
    }

    @concurrent
    func retry(
        _ request: any Bluebonnet.Request, for session: Bluebonnet.Session, dueTo error: any Error
    ) async -> RetryResult {
        guard let retrier else { return .doNotRetry }
        return await CallbackInterception.retry(error) {
            retrier.retry(Request.of(request), for: Session.of(session), dueTo: $0, completion: $1)
        }
    }
}

/// An interceptor whose work is done by an interceptor of `Bluebonnet`.
protocol AsyncInterceptor: RequestInterceptor {
    var native: any Bluebonnet.RequestInterceptor { get }
}

extension AsyncInterceptor {
    /// Changes the request.
    public func adapt(_ urlRequest: URLRequest, for session: Session, completion: @escaping AdaptCompletion) {
        Task { [native] in
            let state = Bluebonnet.RequestAdapterState(session: session.base)
            do {
                completion(.success(URLRequest(try await native.adapt(HTTPRequest(urlRequest), using: state))))
            } catch {
                completion(.failure(error))
            }
        }
    }

    /// Decides whether the request is retried.
    public func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping RetryCompletion
    ) {
        Task { [native] in
            let cause = error.asAFError?.requestError ?? error
            completion(await native.retry(request.base, for: session.base, dueTo: cause))
        }
    }
}
