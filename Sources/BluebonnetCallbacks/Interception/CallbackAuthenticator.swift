public import Bluebonnet
import BluebonnetFoundation
public import FoundationNetworking

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
        // One that cannot be sent any more goes as it was, and the server says what it thinks of it.
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
