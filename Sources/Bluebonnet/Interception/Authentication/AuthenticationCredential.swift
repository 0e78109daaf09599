/// Holds what an ``Authenticator`` authenticates requests with, such as a token and when it expires.
public protocol AuthenticationCredential: Sendable {
    /// Whether the credential is to be refreshed before another request is sent with it.
    ///
    /// Asked for every request. Say `true` some time before the credential expires: what is sent with it has still to
    /// arrive.
    var requiresRefresh: Bool { get }
}
