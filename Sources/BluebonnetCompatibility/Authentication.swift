public import BluebonnetCallbacks
public import Foundation
public import FoundationNetworking

/// A type that applies credentials to requests, and refreshes them.
public protocol Authenticator: AnyObject, Sendable {
    /// The type of the credential.
    associatedtype Credential: AuthenticationCredential

    /// Applies a credential to a request.
    func apply(_ credential: Credential, to urlRequest: inout URLRequest)

    /// Refreshes a credential.
    ///
    /// - Parameters:
    ///   - credential: The credential.
    ///   - session: The session of the request that needs it.
    ///   - completion: The closure to call once, with the new credential or an error.
    func refresh(
        _ credential: Credential, for session: Session,
        completion: @escaping @Sendable (Result<Credential, any Error>) -> Void)

    /// Whether a request has failed because of its credential.
    func didRequest(
        _ urlRequest: URLRequest, with response: HTTPURLResponse, failDueToAuthenticationError error: any Error
    ) -> Bool

    /// Whether a request was made with a credential.
    func isRequest(_ urlRequest: URLRequest, authenticatedWith credential: Credential) -> Bool
}

/// An interceptor that authenticates requests, and refreshes the credential once for all that need it.
public final class AuthenticationInterceptor<AuthenticatorType: Authenticator>: AsyncInterceptor {
    /// The type of the credential.
    public typealias Credential = AuthenticatorType.Credential
    /// How many refreshes are allowed in which time; the interval is in seconds.
    public struct RefreshWindow: Sendable {
        /// The interval, in seconds.
        public let interval: TimeInterval
        /// The number of refreshes in the interval.
        public let maximumAttempts: Int

        /// Creates a window.
        ///
        /// - Parameters:
        ///   - interval: The interval, in seconds; 30 by default.
        ///   - maximumAttempts: The number of refreshes in the interval; 5 by default.
        public init(interval: TimeInterval = 30, maximumAttempts: Int = 5) {
            self.interval = interval
            self.maximumAttempts = maximumAttempts
        }
    }

    private let base: Bluebonnet.AuthenticationInterceptor<AuthenticatorBridge<AuthenticatorType>>
    private let current: CurrentCredential<Credential>

    var native: any Bluebonnet.RequestInterceptor { CredentialKeeping(base: base, current: current) }

    /// The credential.
    ///
    /// After it is set, all later requests use it.
    public var credential: Credential? {
        get { current.value }
        set { current.set(newValue) }
    }

    /// Creates an interceptor.
    ///
    /// - Parameters:
    ///   - authenticator: The type that applies and refreshes credentials.
    ///   - credential: The first credential; without one, requests fail.
    ///   - refreshWindow: How many refreshes are allowed in which time; `nil` for no limit.
    public init(
        authenticator: AuthenticatorType, credential: Credential? = nil,
        refreshWindow: RefreshWindow? = RefreshWindow()
    ) {
        current = CurrentCredential(credential)
        base = Bluebonnet.AuthenticationInterceptor(
            authenticator: AuthenticatorBridge(authenticator: authenticator, current: current), credential: credential,
            refreshWindow: refreshWindow.map {
                Bluebonnet.RefreshWindow(interval: .seconds($0.interval), maximumAttempts: $0.maximumAttempts)
            })
    }
}

/// A credential that may be newer than that of the interceptor of `Bluebonnet`, which only async code can set.
private final class CurrentCredential<Credential: AuthenticationCredential>: Sendable {
    private let state: Locked<(value: Credential?, isNews: Bool)>

    init(_ value: Credential?) { state = Locked((value, false)) }

    var value: Credential? { state.withLock { $0.value } }

    func set(_ value: Credential?) { state.withLock { $0 = (value, true) } }

    /// A refresh has succeeded.
    func refreshed(_ value: Credential) { state.withLock { if !$0.isNews { $0.value = value } } }

    /// The credential that was set and not handed on yet.
    func takeNews() -> Credential?? {
        state.withLock { state in
            guard state.isNews else { return nil }
            state.isNews = false
            return .some(state.value)
        }
    }
}

/// The interceptor of `Bluebonnet`, which first gets the credential that was set.
private struct CredentialKeeping<Base: Bluebonnet.Authenticator, Credential: AuthenticationCredential>:
    Bluebonnet.RequestInterceptor
where Base.Credential == Credential {
    let base: Bluebonnet.AuthenticationInterceptor<Base>
    let current: CurrentCredential<Credential>

    @concurrent
    func adapt(_ request: HTTPRequest, using state: Bluebonnet.RequestAdapterState) async throws -> HTTPRequest {
        if let news = current.takeNews() { await base.setCredential(news) }
        return try await base.adapt(request, using: state)
    }

    @concurrent
    func retry(
        _ request: any Bluebonnet.Request, for session: Bluebonnet.Session, dueTo error: any Error
    ) async -> RetryResult {
        if let news = current.takeNews() { await base.setCredential(news) }
        return await base.retry(request, for: session, dueTo: error)
    }
}

/// An authenticator of `Bluebonnet` that calls an authenticator of the user.
private struct AuthenticatorBridge<AuthenticatorType: Authenticator>: Bluebonnet.Authenticator {
    typealias Credential = AuthenticatorType.Credential

    let authenticator: AuthenticatorType
    let current: CurrentCredential<Credential>

    func apply(_ credential: Credential, to request: inout HTTPRequest) {
        let original = URLRequest(request)
        var changed = original
        authenticator.apply(credential, to: &changed)
        // If the change makes the request invalid, the request is sent unchanged, without the credential.
        if let authenticated = try? request.changed(from: original, to: changed) { request = authenticated }
    }

    @concurrent
    func refresh(_ credential: Credential, for session: Bluebonnet.Session) async throws -> Credential {
        let new = try await CallbackInterception.value {
            authenticator.refresh(credential, for: Session.of(session), completion: $0)
        }
        current.refreshed(new)
        return new
    }

    func didRequest(
        _ request: HTTPRequest, with response: HTTPResponse, failDueToAuthenticationError error: any Error
    ) -> Bool {
        authenticator.didRequest(
            URLRequest(request), with: response.urlResponse, failDueToAuthenticationError: error.asAFError ?? error)
    }

    func isRequest(_ request: HTTPRequest, authenticatedWith credential: Credential) -> Bool {
        authenticator.isRequest(URLRequest(request), authenticatedWith: credential)
    }
}
