/// A user's name and password, with which challenges of a server are answered (RFC 9110 §11).
///
/// Sent only when the server asks, and only to the origin of the request. To send a name and a password, or a token,
/// without being asked, set the field: `HTTPHeader.authorization(username:password:)`, `.authorization(bearerToken:)`.
public struct Credential: Hashable, Sendable {
    /// The user's name; empty for ``negotiate``, which uses the tickets of the process's user.
    public let username: String

    /// The password.
    public let password: String

    /// The schemes with which a challenge may be answered.
    public let schemes: Schemes

    /// Creates a credential.
    ///
    /// - Parameters:
    ///   - username: The user's name.
    ///   - password: The password.
    ///   - schemes: The schemes with which a challenge may be answered; Basic, Digest and NTLM by default. Of those that
    ///     the server offers, the strongest is used.
    public init(username: String, password: String, schemes: Schemes = [.basic, .digest, .ntlm]) {
        self.username = username
        self.password = password
        self.schemes = schemes
    }

    /// Answers Negotiate challenges (RFC 4559) with the Kerberos tickets of the process's user.
    public static var negotiate: Credential { Credential(username: "", password: "", schemes: .negotiate) }

    /// Schemes of HTTP authentication.
    public struct Schemes: OptionSet, Hashable, Sendable {
        /// The bits, which mean nothing outside Bluebonnet.
        public let rawValue: Int

        /// Creates a set from its bits.
        ///
        /// - Parameter rawValue: The bits.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// Basic (RFC 7617): the password as it is.
        public static let basic = Schemes(rawValue: 1)
        /// Digest (RFC 7616) with MD5 or SHA-256.
        public static let digest = Schemes(rawValue: 2)
        /// NTLM, which authenticates a connection rather than a request.
        public static let ntlm = Schemes(rawValue: 4)
        /// Negotiate (RFC 4559), with Kerberos.
        public static let negotiate = Schemes(rawValue: 8)
    }
}

extension Credential: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Says that it is a credential, and nothing that is secret.
    public var description: String { "Credential(…)" }

    /// The ``description``.
    public var debugDescription: String { description }

    /// A mirror without the secrets.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
