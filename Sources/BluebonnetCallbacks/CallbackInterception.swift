public import Bluebonnet
import BluebonnetFoundation
public import FoundationNetworking

/// A `RequestAdapter` that answers by a completion handler, and in Foundation's terms.
///
/// Parts of the request that a `URLRequest` does not have stay unchanged. The completion handler may be called from
/// anywhere; the first call counts. A handler that is dropped without a call fails the request.
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
    /// Decides whether a failed request is retried.
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

/// An `Authenticator` that answers by a completion handler, and in Foundation's terms.
///
/// The completion handler may be called from anywhere; the first call counts. One that is dropped without a call fails
/// the refresh.
public protocol CallbackAuthenticator<Credential>: Authenticator {
    /// What requests are authenticated with.
    // Once more, so that it is inferred of the methods of this protocol.
    associatedtype Credential

    /// Puts the credential into a request, usually as its `Authorization` field.
    ///
    /// - Parameters:
    ///   - credential: The credential.
    ///   - urlRequest: The request that is about to be sent.
    func apply(_ credential: Credential, to urlRequest: inout URLRequest)

    /// Gets a new credential in place of one that has expired or was refused.
    ///
    /// - Parameters:
    ///   - credential: The credential that is of no use any longer.
    ///   - session: The session of a request that needs another. Requests that are started before this returns do not
    ///     pass the interceptor.
    ///   - completion: To be called with the new credential, or with why there is none.
    func refresh(
        _ credential: Credential, for session: Session,
        completion: @escaping @Sendable (Result<Credential, any Error>) -> Void)

    /// Returns whether a request failed since the server does not accept its credential.
    ///
    /// - Parameters:
    ///   - urlRequest: The request as it was sent.
    ///   - response: The response.
    ///   - error: Why the request failed, as an ``AFError``.
    /// - Returns: Whether the credential is to be refreshed, and the request to be sent again.
    func didRequest(
        _ urlRequest: URLRequest, with response: HTTPURLResponse, failDueToAuthenticationError error: any Error
    ) -> Bool

    /// Returns whether a request was authenticated with a credential.
    ///
    /// - Parameters:
    ///   - urlRequest: The request as it was sent.
    ///   - credential: The credential of now.
    /// - Returns: Whether the request has the credential in it.
    func isRequest(_ urlRequest: URLRequest, authenticatedWith credential: Credential) -> Bool
}

extension CallbackAuthenticator {
    /// Asks the method in Foundation's terms.
    public func apply(_ credential: Credential, to request: inout HTTPRequest) {
        let original = URLRequest(request)
        var changed = original
        apply(credential, to: &changed)
        // A request that would become invalid is sent unchanged, and the server decides about it.
        if let authenticated = try? request.changed(from: original, to: changed) { request = authenticated }
    }

    /// Asks the method with a completion handler.
    @concurrent public func refresh(_ credential: Credential, for session: Session) async throws -> Credential {
        try await Callbacks.value { refresh(credential, for: session, completion: $0) }
    }

    /// Asks the method in Foundation's terms.
    public func didRequest(
        _ request: HTTPRequest, with response: HTTPResponse, failDueToAuthenticationError error: any Error
    ) -> Bool {
        didRequest(
            URLRequest(request), with: response.urlResponse, failDueToAuthenticationError: error.asAFError ?? error)
    }

    /// Asks the method in Foundation's terms.
    public func isRequest(_ request: HTTPRequest, authenticatedWith credential: Credential) -> Bool {
        isRequest(URLRequest(request), authenticatedWith: credential)
    }
}

/// Changes a request, and calls a completion handler with it.
package typealias AdaptHandler =
    @Sendable (
        _ urlRequest: URLRequest, _ session: Session,
        _ completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) -> Void

/// Decides about a request that failed, and calls a completion handler with that.
package typealias RetryHandler =
    @Sendable (
        _ request: any Request, _ session: Session, _ error: any Error,
        _ completion: @escaping @Sendable (RetryResult) -> Void
    ) -> Void

// `@preconcurrency`, here and below: Alamofire's closures are not marked as Sendable, so code in Swift 5 mode that passes such a
// one compiles as it did. In Swift 6 mode the closure is checked.
extension Adapter {
    /// Creates an adapter of a closure that answers by a completion handler; see `CallbackRequestAdapter`.
    ///
    /// - Parameter adaptHandler: Gets the request, its session and the completion handler.
    @preconcurrency public init(
        _ adaptHandler:
            @escaping @Sendable (
                _ urlRequest: URLRequest, _ session: Session,
                _ completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
            ) -> Void
    ) {
        self.init { request, state in
            try await Callbacks.adapt(request) { adaptHandler($0, state.session, $1) }
        }
    }
}

extension Retrier {
    /// Creates a retrier of a closure that answers by a completion handler; see `CallbackRequestRetrier`.
    ///
    /// - Parameter retryHandler: Gets the request, its session, the error and the completion handler.
    @preconcurrency public init(
        _ retryHandler:
            @escaping @Sendable (
                _ request: any Request, _ session: Session, _ error: any Error,
                _ completion: @escaping @Sendable (RetryResult) -> Void
            ) -> Void
    ) {
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
    @preconcurrency public init(
        adaptHandler:
            @escaping @Sendable (
                _ urlRequest: URLRequest, _ session: Session,
                _ completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
            ) -> Void,
        retryHandler:
            @escaping @Sendable (
                _ request: any Request, _ session: Session, _ error: any Error,
                _ completion: @escaping @Sendable (RetryResult) -> Void
            ) -> Void
    ) {
        self.init(adapters: [Adapter(adaptHandler)], retriers: [Retrier(retryHandler)])
    }
}

extension RequestAdapter where Self == Adapter {
    /// An adapter of a closure that answers by a completion handler.
    @preconcurrency public static func adapter(
        using closure:
            @escaping @Sendable (
                _ urlRequest: URLRequest, _ session: Session,
                _ completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
            ) -> Void
    ) -> Adapter { Adapter(closure) }
}

extension RequestRetrier where Self == Retrier {
    /// A retrier of a closure that answers by a completion handler.
    @preconcurrency public static func retrier(
        using closure:
            @escaping @Sendable (
                _ request: any Request, _ session: Session, _ error: any Error,
                _ completion: @escaping @Sendable (RetryResult) -> Void
            ) -> Void
    ) -> Retrier { Retrier(closure) }
}

extension RequestInterceptor where Self == Interceptor {
    /// An interceptor of closures that answer by completion handlers.
    @preconcurrency
    public static func interceptor(
        adapter:
            @escaping @Sendable (
                _ urlRequest: URLRequest, _ session: Session,
                _ completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
            ) -> Void,
        retrier:
            @escaping @Sendable (
                _ request: any Request, _ session: Session, _ error: any Error,
                _ completion: @escaping @Sendable (RetryResult) -> Void
            ) -> Void
    ) -> Interceptor {
        Interceptor(adaptHandler: adapter, retryHandler: retrier)
    }
}

/// Asks user code that answers by completion handlers.
private enum Callbacks {
    /// Says that a completion handler was dropped without having been called.
    private struct CompletionNotCalled: Error, CustomStringConvertible {
        var description: String { "a completion handler was dropped and not called" }
    }

    typealias Completion<Value> = @Sendable (Value) -> Void

    nonisolated(nonsending) static func value<Value: Sendable>(
        _ ask: (@escaping Completion<Result<Value, any Error>>) -> Void
    ) async throws -> Value {
        try await CompletionWaiter.wait(fallback: .failure(CompletionNotCalled()), ask).get()
    }

    nonisolated(nonsending) static func adapt(
        _ request: HTTPRequest, _ ask: (URLRequest, @escaping Completion<Result<URLRequest, any Error>>) -> Void
    ) async throws -> HTTPRequest {
        let original = URLRequest(request)
        return try request.changed(from: original, to: await value { ask(original, $0) })
    }

    nonisolated(nonsending) static func retry(
        _ error: any Error, _ ask: (any Error, @escaping Completion<RetryResult>) -> Void
    ) async -> RetryResult {
        await CompletionWaiter.wait(fallback: .doNotRetry) { ask(error.asAFError ?? error, $0) }
    }
}
