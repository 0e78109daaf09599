/// Knows how requests are authenticated with a credential, and how that is refreshed; see ``AuthenticationInterceptor``.
///
/// All methods run on the global pool, never on the network's loop.
public protocol Authenticator: Sendable {
    /// What requests are authenticated with.
    associatedtype Credential: AuthenticationCredential

    /// Puts the credential into a request, usually as its `Authorization` field.
    ///
    /// - Parameters:
    ///   - credential: The credential.
    ///   - request: The request that is about to be sent.
    func apply(_ credential: Credential, to request: inout HTTPRequest)

    /// Gets a new credential in place of one that has expired or was refused.
    ///
    /// Called by one task at a time, whatever number of requests wait for the credential. May use the session:
    /// the requests that it makes in this task, or in a child of it, do not pass the interceptor that calls this.
    /// Put a limit on its time, as ``HTTPRequest/timeouts`` do, since others wait.
    ///
    /// - Parameters:
    ///   - credential: The credential that is of no use any longer.
    ///   - session: The session of a request that needs another.
    /// - Returns: The new credential.
    /// - Throws: The reason of the failure; all waiting requests get it as the underlying error.
    @concurrent
    func refresh(_ credential: Credential, for session: Session) async throws -> Credential

    /// Returns whether a request failed since the server does not accept its credential.
    ///
    /// Where servers cannot revoke a credential before it expires, return `false`. Usually the status code is 401.
    ///
    /// - Parameters:
    ///   - request: The request as it was sent.
    ///   - response: The response.
    ///   - error: Why the request failed, usually a ``RequestError``.
    /// - Returns: Whether the credential is to be refreshed, and the request to be sent again.
    func didRequest(
        _ request: HTTPRequest, with response: HTTPResponse, failDueToAuthenticationError error: any Error
    ) -> Bool

    /// Returns whether a request was authenticated with a credential.
    ///
    /// If it was not, the credential has been refreshed since the request was sent, which is sent again with the new one.
    /// Where servers cannot revoke a credential before it expires, return `true`.
    ///
    /// - Parameters:
    ///   - request: The request as it was sent.
    ///   - credential: The credential of now.
    /// - Returns: Whether the request has the credential in it.
    func isRequest(_ request: HTTPRequest, authenticatedWith credential: Credential) -> Bool
}

/// Holds what an ``Authenticator`` authenticates requests with, such as a token and when it expires.
public protocol AuthenticationCredential: Sendable {
    /// Whether the credential is to be refreshed before another request is sent with it.
    ///
    /// Asked for every request. Say `true` some time before the credential expires: what is sent with it has still to
    /// arrive.
    var requiresRefresh: Bool { get }
}

/// Says why an ``AuthenticationInterceptor`` could not authenticate a request.
@nonexhaustive
public enum AuthenticationError: Error, Hashable, Sendable {
    /// The interceptor has no credential.
    case missingCredential
    /// The credential was refreshed as often as the ``RefreshWindow`` allows, and should have been refreshed again.
    case excessiveRefresh
}

extension AuthenticationError: Described {
    /// The error in a few words.
    package var text: String {
        switch self {
        case .missingCredential: "there is no credential"
        case .excessiveRefresh: "the credential was refreshed too often"
        }
    }
}

/// Limits how often a credential is refreshed, so that a server that accepts none is not asked indefinitely.
public struct RefreshWindow: Hashable, Sendable {
    /// The time that counts, back from now.
    package let interval: Duration

    /// How many refreshes may be begun in that time; with 0, none ever.
    package let maximumAttempts: Int

    /// Creates a window.
    ///
    /// - Parameters:
    ///   - interval: The time that counts; 30 s by default.
    ///   - maximumAttempts: How many refreshes may be begun in that time; 5 by default.
    public init(interval: Duration = .seconds(30), maximumAttempts: Int = 5) {
        self.interval = interval
        self.maximumAttempts = maximumAttempts
    }
}
