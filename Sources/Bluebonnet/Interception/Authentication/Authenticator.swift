/// A type that applies credentials to requests and refreshes them for an ``AuthenticationInterceptor``.
///
/// All methods run on the global pool, never on the network's event loop.
public protocol Authenticator: Sendable {
    /// The type of the credential, such as a token with its expiry date.
    associatedtype Credential: AuthenticationCredential

    /// Adds the credential to a request, usually as its `Authorization` field.
    ///
    /// - Parameters:
    ///   - credential: The current credential.
    ///   - request: The request that is about to be sent.
    func apply(_ credential: Credential, to request: inout HTTPRequest)

    /// Returns a new credential to replace an expired or refused one.
    ///
    /// Called by only one task at a time, no matter how many requests are waiting. The method may send requests with
    /// the session. Requests that it makes in this task or in a child task bypass the calling interceptor. Set a time
    /// limit for them, for example with ``HTTPRequest/timeouts``, because other requests are waiting.
    ///
    /// - Parameters:
    ///   - credential: The credential to replace.
    ///   - session: The session of a request that needs the new credential.
    /// - Returns: The new credential.
    /// - Throws: The reason the refresh failed. All waiting requests fail with this error as the underlying error.
    @concurrent
    func refresh(_ credential: Credential, for session: Session) async throws -> Credential

    /// Returns whether a request failed because the server did not accept its credential.
    ///
    /// The status code of such a response is usually 401. If your servers cannot revoke a credential before it
    /// expires, return `false`.
    ///
    /// - Parameters:
    ///   - request: The request as it was sent.
    ///   - response: The response of the server.
    ///   - error: The error of the request, usually a ``RequestError``.
    /// - Returns: Whether to refresh the credential and send the request again.
    func didRequest(
        _ request: HTTPRequest, with response: HTTPResponse, failDueToAuthenticationError error: any Error
    ) -> Bool

    /// Returns whether a request was sent with the given credential.
    ///
    /// The interceptor uses the result only for requests that it cannot track itself, because another adapter has
    /// replaced them with a new ``HTTPRequest``. If such a request was sent with an older credential, it is first sent
    /// again with the current one, without a refresh. If your servers cannot revoke a credential before it expires,
    /// return `true`.
    ///
    /// - Parameters:
    ///   - request: The request as it was sent.
    ///   - credential: The current credential.
    /// - Returns: Whether the request contains the credential.
    func isRequest(_ request: HTTPRequest, authenticatedWith credential: Credential) -> Bool
}

/// A credential of an ``Authenticator``, such as a token with its expiry date.
public protocol AuthenticationCredential: Sendable {
    /// Whether the credential must be refreshed before another request is sent with it.
    ///
    /// Read for every request. Return `true` some time before the credential expires, because a request takes time to
    /// reach the server.
    var requiresRefresh: Bool { get }
}

/// The reasons an ``AuthenticationInterceptor`` cannot authenticate a request.
@nonexhaustive
public enum AuthenticationError: Error, Hashable, Sendable {
    /// The interceptor has no credential.
    case missingCredential
    /// The credential needs another refresh, but was refreshed as often as the ``RefreshWindow`` allows.
    case excessiveRefresh
}

extension AuthenticationError: Described {
    /// A short description of the error.
    package var text: String {
        switch self {
        case .missingCredential: "there is no credential"
        case .excessiveRefresh: "the credential was refreshed too often"
        }
    }
}

/// Limits how often a credential is refreshed, so that refreshes stop if the server refuses every credential.
public struct RefreshWindow: Hashable, Sendable {
    /// The length of the window, which ends now.
    package let interval: Duration

    /// The maximum number of refreshes that may start within the window; 0 allows none.
    package let maximumAttempts: Int

    /// Creates a window.
    ///
    /// - Parameters:
    ///   - interval: The length of the window; 30 seconds by default.
    ///   - maximumAttempts: The maximum number of refreshes that may start within the window; 5 by default, and 0
    ///     allows none.
    public init(interval: Duration = .seconds(30), maximumAttempts: Int = 5) {
        self.interval = interval
        self.maximumAttempts = maximumAttempts
    }
}
