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
    ///   - session: The session of a request that needs a new credential.
    ///   - completion: The closure to call once, with the new credential or an error.
    func refresh(
        _ credential: Credential, for session: Session,
        completion: @escaping @Sendable (Result<Credential, any Error>) -> Void)

    /// Returns whether a request failed because the server did not accept its credential.
    func didRequest(
        _ urlRequest: URLRequest, with response: HTTPURLResponse, failDueToAuthenticationError error: any Error
    ) -> Bool

    /// Returns whether a request was sent with a credential.
    func isRequest(_ urlRequest: URLRequest, authenticatedWith credential: Credential) -> Bool
}

/// An interceptor that authenticates requests; one refresh serves all requests that wait for a new credential.
public final class AuthenticationInterceptor<AuthenticatorType: Authenticator>: AsyncInterceptor {
    /// The type of the credential.
    public typealias Credential = AuthenticatorType.Credential
    /// The maximum number of refreshes in a time interval.
    public struct RefreshWindow: Sendable {
        /// The interval, in seconds.
        public let interval: TimeInterval
        /// The maximum number of refreshes in the interval.
        public let maximumAttempts: Int

        /// Creates a window.
        ///
        /// - Parameters:
        ///   - interval: The interval, in seconds; 30 by default.
        ///   - maximumAttempts: The maximum number of refreshes in the interval; 5 by default.
        public init(interval: TimeInterval = 30, maximumAttempts: Int = 5) {
            self.interval = interval
            self.maximumAttempts = maximumAttempts
        }
    }

    private let base: Bluebonnet.AuthenticationInterceptor<AuthenticatorBridge<AuthenticatorType>>

    var native: any Bluebonnet.RequestInterceptor { base }

    /// The credential.
    ///
    /// After you set a new credential, all requests use it.
    public var credential: Credential? {
        get { base.currentCredential }
        set { base.currentCredential = newValue }
    }

    /// Creates an interceptor.
    ///
    /// - Parameters:
    ///   - authenticator: The type that applies and refreshes credentials.
    ///   - credential: The first credential; `nil` by default. Without a credential, requests fail.
    ///   - refreshWindow: The maximum number of refreshes in a time interval; `nil` for no limit. The default is 5
    ///     refreshes in 30 seconds.
    public init(
        authenticator: AuthenticatorType, credential: Credential? = nil,
        refreshWindow: RefreshWindow? = RefreshWindow()
    ) {
        base = Bluebonnet.AuthenticationInterceptor(
            authenticator: AuthenticatorBridge(authenticator: authenticator), credential: credential,
            refreshWindow: refreshWindow.map {
                Bluebonnet.RefreshWindow(interval: .seconds($0.interval), maximumAttempts: $0.maximumAttempts)
            })
    }
}

/// An authenticator of `Bluebonnet` that calls an authenticator of the user.
private struct AuthenticatorBridge<AuthenticatorType: Authenticator>: CallbackAuthenticator {
    typealias Credential = AuthenticatorType.Credential

    let authenticator: AuthenticatorType

    func apply(_ credential: Credential, to urlRequest: inout URLRequest) {
        authenticator.apply(credential, to: &urlRequest)
    }

    func refresh(
        _ credential: Credential, for session: Bluebonnet.Session,
        completion: @escaping @Sendable (Result<Credential, any Error>) -> Void
    ) { authenticator.refresh(credential, for: Session.of(session), completion: completion) }

    func didRequest(
        _ urlRequest: URLRequest, with response: HTTPURLResponse, failDueToAuthenticationError error: any Error
    ) -> Bool { authenticator.didRequest(urlRequest, with: response, failDueToAuthenticationError: error) }

    func isRequest(_ urlRequest: URLRequest, authenticatedWith credential: Credential) -> Bool {
        authenticator.isRequest(urlRequest, authenticatedWith: credential)
    }
}
