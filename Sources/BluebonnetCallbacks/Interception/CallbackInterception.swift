public import Bluebonnet
import BluebonnetFoundation
public import FoundationNetworking

/// A `RequestAdapter` that answers by a completion handler, and in Foundation's terms.
///
/// What has no place in a `URLRequest` stays as it is in the request. The completion handler may be called from anywhere;
/// the first call counts. One that is dropped without a call fails the request.
public protocol CallbackRequestAdapter: RequestAdapter {
    /// Changes a request before it is sent.
    ///
    /// Called on the global pool, once for each attempt. Either this method is to be implemented or the one with a state.
    ///
    /// - Parameters:
    ///   - urlRequest: The request.
    ///   - session: Its session.
    ///   - completion: To be called with the request to send, or with why there is none.
    func adapt(
        _ urlRequest: URLRequest, for session: Session,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void)

    /// Changes a request before it is sent, knowing which it is.
    ///
    /// - Parameters:
    ///   - urlRequest: The request.
    ///   - state: Whose request it is; `requestID` names it.
    ///   - completion: To be called with the request to send, or with why there is none.
    func adapt(
        _ urlRequest: URLRequest, using state: RequestAdapterState,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void)
}

extension CallbackRequestAdapter {
    /// Leaves the request as it is.
    public func adapt(
        _ urlRequest: URLRequest, for session: Session,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) { completion(.success(urlRequest)) }

    /// Asks the method without a state.
    public func adapt(
        _ urlRequest: URLRequest, using state: RequestAdapterState,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) { adapt(urlRequest, for: state.session, completion: completion) }

    /// Asks the method with a completion handler.
    @concurrent
    public func adapt(_ request: HTTPRequest, using state: RequestAdapterState) async throws -> HTTPRequest {
        try await Callbacks.adapt(request) { adapt($0, using: state, completion: $1) }
    }
}

/// A `RequestRetrier` that answers by a completion handler.
///
/// The completion handler may be called from anywhere; the first call counts. One that is dropped without a call says
/// `.doNotRetry`.
public protocol CallbackRequestRetrier: RequestRetrier {
    /// Decides what is to become of a request that failed.
    ///
    /// Called on the global pool, once for each distinct failure.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - session: Its session.
    ///   - error: Why the request failed, as an ``AFError``.
    ///   - completion: To be called with what to do.
    func retry(
        _ request: any Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void)
}

extension CallbackRequestRetrier {
    /// Asks the method with a completion handler.
    @concurrent
    public func retry(_ request: any Request, for session: Session, dueTo error: any Error) async -> RetryResult {
        await Callbacks.retry(error) { retry(request, for: session, dueTo: $0, completion: $1) }
    }
}

/// A `RequestInterceptor` that answers by completion handlers; what it does not implement changes nothing.
public protocol CallbackRequestInterceptor: RequestInterceptor, CallbackRequestAdapter, CallbackRequestRetrier {}

extension CallbackRequestInterceptor {
    /// Does not try again.
    public func retry(
        _ request: any Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) { completion(.doNotRetry) }

    /// Asks the method with a completion handler.
    @concurrent
    public func adapt(_ request: HTTPRequest, using state: RequestAdapterState) async throws -> HTTPRequest {
        try await Callbacks.adapt(request) { adapt($0, using: state, completion: $1) }
    }

    /// Asks the method with a completion handler.
    @concurrent
    public func retry(_ request: any Request, for session: Session, dueTo error: any Error) async -> RetryResult {
        await Callbacks.retry(error) { retry(request, for: session, dueTo: $0, completion: $1) }
    }
}
