/// A type that applies credentials to requests and refreshes them for an ``AuthenticationInterceptor``.
///
/// All methods run on the global executor, never on the network's event loop.
public protocol Authenticator: Sendable {
    /// The type of the credential, such as a token with its expiry date.
    associatedtype Credential: AuthenticationCredential

    /// Adds the credential to a request, usually as its `Authorization` field.
    ///
    /// - Parameters:
    ///   - credential: The current credential.
    ///   - request: The request that is about to be sent.
    func apply(_ credential: Credential, to request: inout HTTPRequest)

    /// Returns a new credential that replaces an expired or rejected credential.
    ///
    /// The ``AuthenticationInterceptor`` runs one refresh at a time. However, if
    /// ``AuthenticationInterceptor/setCredential(_:)`` cancels a refresh, the next refresh can start before the
    /// cancelled refresh has ended.
    ///
    /// The method can send requests with the session. The interceptor does not adapt or retry requests that the method
    /// sends in its own task or in a child task. Set a time limit for these requests, for example with
    /// ``HTTPRequest/timeouts``, because other requests wait for the refresh.
    ///
    /// - Parameters:
    ///   - credential: The credential to replace.
    ///   - session: The session of a request that needs the new credential.
    /// - Returns: The new credential.
    /// - Throws: The reason why the refresh failed. All waiting requests fail with this error as the underlying error.
    @concurrent
    func refresh(_ credential: Credential, for session: Session) async throws -> Credential

    /// Returns whether a request failed because the server did not accept its credential.
    ///
    /// The server usually responds to such a request with the status code 401. If your servers never revoke a
    /// credential before it expires, always return `false`.
    ///
    /// - Parameters:
    ///   - request: The request as it was sent.
    ///   - response: The response of the server.
    ///   - error: The error of the request, usually a ``RequestError``.
    /// - Returns: Whether to refresh the credential and send the request again.
    func didRequest(
        _ request: HTTPRequest, with response: HTTPResponse, failDueToAuthenticationError error: any Error
    ) -> Bool

    /// Returns whether a request contains the given credential.
    ///
    /// The interceptor calls this method for every rejected request. It uses the result only if another adapter has
    /// replaced the request with a new ``HTTPRequest``. In this case, the interceptor does not know which credential
    /// the request contains. If the method returns `false`, the first retry of the request uses the current credential,
    /// without a refresh. If it returns `true`, the interceptor refreshes the credential before the retry. If your
    /// servers never revoke a credential before it expires, always return `true`.
    ///
    /// - Parameters:
    ///   - request: The request as it was sent.
    ///   - credential: The current credential.
    /// - Returns: Whether the request contains the credential.
    func isRequest(_ request: HTTPRequest, authenticatedWith credential: Credential) -> Bool
}

/// A credential of an ``Authenticator``, such as a token with its expiry date.
public protocol AuthenticationCredential: Sendable {
    /// Whether the credential must be refreshed before it is used for another request.
    ///
    /// The interceptor reads this property for every request. Return `true` some time before the credential expires,
    /// because a request takes time to arrive at the server.
    var requiresRefresh: Bool { get }
}

/// The reasons why an ``AuthenticationInterceptor`` cannot authenticate a request.
@nonexhaustive
public enum AuthenticationError: Error, Hashable, Sendable {
    /// The interceptor has no credential.
    case missingCredential
    /// The credential needs a refresh, but the ``RefreshWindow`` does not allow another refresh now, or the request was
    /// already rejected 20 times.
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

/// A limit on how often a credential is refreshed, such as 5 times in 30 seconds.
///
/// If the server rejects every credential, the limit ends the series of refreshes.
public struct RefreshWindow: Hashable, Sendable {
    /// The length of the period in which refreshes are counted.
    ///
    /// The period ends at the current time.
    package let interval: Duration

    /// The maximum number of refreshes that may start within the period; with 0, no refresh may start.
    package let maximumAttempts: Int

    /// Creates a limit.
    ///
    /// - Parameters:
    ///   - interval: The length of the period in which refreshes are counted; 30 seconds by default. The period ends at
    ///     the current time.
    ///   - maximumAttempts: The maximum number of refreshes that may start within the period; 5 by default. With 0, no
    ///     refresh may start.
    public init(interval: Duration = .seconds(30), maximumAttempts: Int = 5) {
        self.interval = interval
        self.maximumAttempts = maximumAttempts
    }
}
