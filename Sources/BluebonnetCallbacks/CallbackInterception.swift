public import Bluebonnet
import BluebonnetFoundation
public import FoundationNetworking

/// A `RequestAdapter` that changes `URLRequest`s and returns its result through a completion handler.
///
/// Parts of the request that a `URLRequest` cannot represent stay unchanged. You can call the completion handler from
/// any thread. Only its first call has an effect. If the completion handler is released without a call, the request
/// fails.
public protocol CallbackRequestAdapter: RequestAdapter {
    /// Changes a request before it is sent.
    ///
    /// Bluebonnet calls this method on the global executor: once for the first attempt to send the request, and once
    /// for each retry. Implement either this method or `adapt(_:using:completion:)`.
    ///
    /// - Parameters:
    ///   - urlRequest: The request to change.
    ///   - session: The session of the request.
    ///   - completion: The handler to call with the request to send, or with an error that fails the request.
    func adapt(
        _ urlRequest: URLRequest, for session: Session,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void)

    /// Changes a request before it is sent, and can use the state of the request.
    ///
    /// Implement this method instead of `adapt(_:for:completion:)` if you need the state, for example the number of
    /// retries. The default implementation calls `adapt(_:for:completion:)`.
    ///
    /// - Parameters:
    ///   - urlRequest: The request to change.
    ///   - state: The state of the request being adapted, such as its session and its `requestID`.
    ///   - completion: The handler to call with the request to send, or with an error that fails the request.
    func adapt(
        _ urlRequest: URLRequest, using state: RequestAdapterState,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void)
}

extension CallbackRequestAdapter {
    /// Calls the completion handler with the unchanged request.
    public func adapt(
        _ urlRequest: URLRequest, for session: Session,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) { completion(.success(urlRequest)) }

    /// Calls `adapt(_:for:completion:)` with the session of the request.
    public func adapt(
        _ urlRequest: URLRequest, using state: RequestAdapterState,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) { adapt(urlRequest, for: state.session, completion: completion) }

    /// Calls `adapt(_:using:completion:)`, and returns the result that the completion handler receives.
    @concurrent
    public func adapt(_ request: HTTPRequest, using state: RequestAdapterState) async throws -> HTTPRequest {
        try await CallbackInterception.adapt(request) { adapt($0, using: state, completion: $1) }
    }
}

/// A `RequestRetrier` that returns its decision through a completion handler.
///
/// You can call the completion handler from any thread. Only its first call has an effect. If the completion handler is
/// released without a call, the request is not retried.
public protocol CallbackRequestRetrier: RequestRetrier {
    /// Decides whether a failed request is retried.
    ///
    /// This method runs on the global executor. Bluebonnet calls it at most once for each failure.
    ///
    /// - Parameters:
    ///   - request: The request that failed.
    ///   - session: The session of the request.
    ///   - error: The error of the request, as an ``AFError``.
    ///   - completion: The handler to call with the decision.
    func retry(
        _ request: any Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void)
}

extension CallbackRequestRetrier {
    /// Calls `retry(_:for:dueTo:completion:)`, and returns the result that the completion handler receives.
    @concurrent
    public func retry(_ request: any Request, for session: Session, dueTo error: any Error) async -> RetryResult {
        await CallbackInterception.retry(error) { retry(request, for: session, dueTo: $0, completion: $1) }
    }
}

/// A `RequestInterceptor` that returns its results through completion handlers.
///
/// The default implementations do not change a request and do not retry it.
public protocol CallbackRequestInterceptor: RequestInterceptor, CallbackRequestAdapter, CallbackRequestRetrier {}

extension CallbackRequestInterceptor {
    /// Calls the completion handler with `.doNotRetry`.
    public func retry(
        _ request: any Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) { completion(.doNotRetry) }

    /// Calls `adapt(_:using:completion:)`, and returns the result that the completion handler receives.
    @concurrent
    public func adapt(_ request: HTTPRequest, using state: RequestAdapterState) async throws -> HTTPRequest {
        try await CallbackInterception.adapt(request) { adapt($0, using: state, completion: $1) }
    }

    /// Calls `retry(_:for:dueTo:completion:)`, and returns the result that the completion handler receives.
    @concurrent
    public func retry(_ request: any Request, for session: Session, dueTo error: any Error) async -> RetryResult {
        await CallbackInterception.retry(error) { retry(request, for: session, dueTo: $0, completion: $1) }
    }
}

/// An `Authenticator` that uses Foundation's request and response types, and refreshes with a completion handler.
///
/// You can call the completion handler from any thread. Only its first call has an effect. If the completion handler is
/// released without a call, the refresh fails.
public protocol CallbackAuthenticator<Credential>: Authenticator {
    /// The type of the credential, such as an access token.
    // Declared again, so that the compiler infers the type from the methods of this protocol.
    associatedtype Credential

    /// Adds the credential to a request, usually as its `Authorization` field.
    ///
    /// - Parameters:
    ///   - credential: The current credential.
    ///   - urlRequest: The request that is about to be sent.
    func apply(_ credential: Credential, to urlRequest: inout URLRequest)

    /// Replaces a credential that has expired or was refused.
    ///
    /// - Parameters:
    ///   - credential: The credential to replace.
    ///   - session: The session of a request that needs a new credential. This method can start its own request with
    ///     the session before it returns. The interceptor does not change or delay this request.
    ///   - completion: The handler to call with the new credential, or with an error that fails the refresh.
    func refresh(
        _ credential: Credential, for session: Session,
        completion: @escaping @Sendable (Result<Credential, any Error>) -> Void)

    /// Returns whether a request failed because the server did not accept its credential.
    ///
    /// - Parameters:
    ///   - urlRequest: The request as it was sent.
    ///   - response: The response head.
    ///   - error: The error of the request, as an ``AFError``.
    /// - Returns: Whether to refresh the credential and send the request again.
    func didRequest(
        _ urlRequest: URLRequest, with response: HTTPURLResponse, failDueToAuthenticationError error: any Error
    ) -> Bool

    /// Returns whether a request was sent with the current credential.
    ///
    /// - Parameters:
    ///   - urlRequest: The request as it was sent.
    ///   - credential: The current credential.
    /// - Returns: Whether the request contains the credential.
    func isRequest(_ urlRequest: URLRequest, authenticatedWith credential: Credential) -> Bool
}

extension CallbackAuthenticator {
    /// Converts the request to a `URLRequest`, and calls the `apply` method for `URLRequest`s.
    public func apply(_ credential: Credential, to request: inout HTTPRequest) {
        let original = URLRequest(request)
        var changed = original
        apply(credential, to: &changed)
        // If the change makes the request invalid, the request is sent unchanged, without the credential.
        if let authenticated = try? request.changed(from: original, to: changed) { request = authenticated }
    }

    /// Calls `refresh(_:for:completion:)`, and returns the credential that the completion handler receives.
    @concurrent public func refresh(_ credential: Credential, for session: Session) async throws -> Credential {
        try await CallbackInterception.value { refresh(credential, for: session, completion: $0) }
    }

    /// Converts the request and the response to Foundation's types, and calls the `didRequest` method for these types.
    public func didRequest(
        _ request: HTTPRequest, with response: HTTPResponse, failDueToAuthenticationError error: any Error
    ) -> Bool {
        didRequest(
            URLRequest(request), with: response.urlResponse, failDueToAuthenticationError: error.asAFError ?? error)
    }

    /// Converts the request to a `URLRequest`, and calls the `isRequest` method for `URLRequest`s.
    public func isRequest(_ request: HTTPRequest, authenticatedWith credential: Credential) -> Bool {
        isRequest(URLRequest(request), authenticatedWith: credential)
    }
}

// The declarations below are `@preconcurrency`, because Alamofire's closures are not marked as `Sendable`. Code in
// Swift 5 mode can therefore pass a closure that is not `Sendable`. In Swift 6 mode, the compiler checks the closure.
extension Adapter {
    /// Creates an adapter from a closure with a completion handler; see `CallbackRequestAdapter`.
    ///
    /// - Parameter adaptHandler: The closure. It receives the request, the session and the completion handler.
    @preconcurrency public init(
        _ adaptHandler:
            @escaping @Sendable (
                _ urlRequest: URLRequest, _ session: Session,
                _ completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
            ) -> Void
    ) {
        self.init { request, state in
            try await CallbackInterception.adapt(request) { adaptHandler($0, state.session, $1) }
        }
    }
}

extension Retrier {
    /// Creates a retrier from a closure with a completion handler; see `CallbackRequestRetrier`.
    ///
    /// - Parameter retryHandler: The closure. It receives the request, the session, the error and the completion
    ///   handler.
    @preconcurrency public init(
        _ retryHandler:
            @escaping @Sendable (
                _ request: any Request, _ session: Session, _ error: any Error,
                _ completion: @escaping @Sendable (RetryResult) -> Void
            ) -> Void
    ) {
        self.init { request, session, error in
            await CallbackInterception.retry(error) { retryHandler(request, session, $0, $1) }
        }
    }
}

extension Interceptor {
    /// Creates an interceptor from closures with completion handlers.
    ///
    /// - Parameters:
    ///   - adaptHandler: The closure that changes requests; see `CallbackRequestAdapter`.
    ///   - retryHandler: The closure that decides whether failed requests are retried; see `CallbackRequestRetrier`.
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
    /// Creates an adapter from a closure with a completion handler; see `CallbackRequestAdapter`.
    @preconcurrency public static func adapter(
        using closure:
            @escaping @Sendable (
                _ urlRequest: URLRequest, _ session: Session,
                _ completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
            ) -> Void
    ) -> Adapter { Adapter(closure) }
}

extension RequestRetrier where Self == Retrier {
    /// Creates a retrier from a closure with a completion handler; see `CallbackRequestRetrier`.
    @preconcurrency public static func retrier(
        using closure:
            @escaping @Sendable (
                _ request: any Request, _ session: Session, _ error: any Error,
                _ completion: @escaping @Sendable (RetryResult) -> Void
            ) -> Void
    ) -> Retrier { Retrier(closure) }
}

extension RequestInterceptor where Self == Interceptor {
    /// Creates an interceptor from closures with completion handlers; see `CallbackRequestInterceptor`.
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

/// Calls user code with a completion handler, and waits for the value that the handler receives.
package enum CallbackInterception {
    /// The error for a completion handler that was released without a call.
    private struct CompletionNotCalled: Error, CustomStringConvertible {
        var description: String { "a completion handler was dropped and not called" }
    }

    package typealias Completion<Value> = @Sendable (Value) -> Void

    package nonisolated(nonsending) static func value<Value: Sendable>(
        _ ask: (@escaping Completion<Result<Value, any Error>>) -> Void
    ) async throws -> Value {
        try await CompletionWaiter.wait(fallback: .failure(CompletionNotCalled()), ask).get()
    }

    package nonisolated(nonsending) static func adapt(
        _ request: HTTPRequest, _ ask: (URLRequest, @escaping Completion<Result<URLRequest, any Error>>) -> Void
    ) async throws -> HTTPRequest {
        let original = URLRequest(request)
        return try request.changed(from: original, to: await value { ask(original, $0) })
    }

    package nonisolated(nonsending) static func retry(
        _ error: any Error, _ ask: (any Error, @escaping Completion<RetryResult>) -> Void
    ) async -> RetryResult {
        await CompletionWaiter.wait(fallback: .doNotRetry) { ask(error.asAFError ?? error, $0) }
    }
}
