public import Bluebonnet
import Foundation
public import FoundationNetworking

extension Credential {
    /// Creates a credential from one of Foundation's.
    ///
    /// It is used as long as its request lives: there is no storage of credentials, so persistence means nothing.
    ///
    /// - Parameter urlCredential: Foundation's credential; `nil` comes of one without a name and a password, which stands
    ///   for a certificate.
    public init?(_ urlCredential: URLCredential) {
        guard let user = urlCredential.user, let password = urlCredential.password else { return nil }
        self.init(username: user, password: password)
    }
}

extension URLCredential {
    /// Creates a credential from one of Bluebonnet's.
    ///
    /// The schemes that it is for have no place in it.
    ///
    /// - Parameters:
    ///   - credential: Bluebonnet's credential.
    ///   - persistence: How long a `URLSession` keeps it.
    public convenience init(_ credential: Credential, persistence: Persistence = .forSession) {
        self.init(user: credential.username, password: credential.password, persistence: persistence)
    }
}

extension Request {
    /// Answers challenges of the server with a credential of Foundation's, as `authenticate(using:)` does with one of ours.
    ///
    /// One without a name and a password changes nothing: the challenge is the response then.
    ///
    /// - Parameter credential: The credential.
    /// - Returns: The request.
    @discardableResult
    public nonisolated func authenticate(using credential: URLCredential) -> Self {
        guard let credential = Credential(credential) else { return self }
        return authenticate(using: credential)
    }

    /// Answers challenges of the server with a credential of Foundation's, as `authenticate(using:)` does.
    ///
    /// - Parameter credential: The credential.
    /// - Returns: The request.
    @discardableResult
    public nonisolated func authenticate(with credential: URLCredential) -> Self {
        authenticate(using: credential)
    }

    /// Answers challenges of the server with a name and a password.
    ///
    /// - Parameters:
    ///   - username: The user's name.
    ///   - password: The password.
    ///   - persistence: Without meaning: they are used for this request.
    /// - Returns: The request.
    @discardableResult
    public nonisolated func authenticate(
        username: String, password: String, persistence: URLCredential.Persistence
    ) -> Self {
        authenticate(username: username, password: password)
    }
}
