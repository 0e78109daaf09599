/// A user name and a password for the authentication challenges of a server or a proxy (RFC 9110 §11).
///
/// Bluebonnet sends the credential to a server or an HTTP proxy only after a challenge. A SOCKS proxy sends no
/// challenge, and receives the credential immediately. Bluebonnet sends the credential of a request only to the origin
/// of the request. To authenticate without a challenge, set the header field
/// `HTTPHeader.authorization(username:password:)` or `.authorization(bearerToken:)`.
public struct Credential: Hashable, Sendable {
    /// The user name, which is empty for ``negotiate``.
    public let username: String

    /// The password of the user.
    public let password: String

    /// The authentication schemes that the request may use.
    public let schemes: Schemes

    /// Creates a credential.
    ///
    /// - Parameters:
    ///   - username: The name of the user.
    ///   - password: The password of the user.
    ///   - schemes: The schemes that the request may use; Basic, Digest and NTLM by default. The request uses the
    ///     strongest of these schemes that the server offers.
    public init(username: String, password: String, schemes: Schemes = [.basic, .digest, .ntlm]) {
        self.username = username
        self.password = password
        self.schemes = schemes
    }

    /// A credential for the Negotiate scheme (RFC 4559), which uses the Kerberos tickets of the user that runs the
    /// process.
    public static var negotiate: Credential { Credential(username: "", password: "", schemes: .negotiate) }

    /// A set of HTTP authentication schemes.
    public struct Schemes: OptionSet, Hashable, Sendable {
        /// The bits of the set; Bluebonnet does not document their meaning.
        public let rawValue: Int

        /// Creates a set of schemes from its bits.
        ///
        /// - Parameter rawValue: The bits of a set.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// The Basic scheme (RFC 7617), which sends the password unencrypted.
        public static let basic = Schemes(rawValue: 1)
        /// The Digest scheme (RFC 7616) with MD5 or SHA-256.
        public static let digest = Schemes(rawValue: 2)
        /// The NTLM scheme, which authenticates the connection instead of each request.
        public static let ntlm = Schemes(rawValue: 4)
        /// The Negotiate scheme (RFC 4559) with Kerberos.
        public static let negotiate = Schemes(rawValue: 8)
    }
}

extension Credential {
    /// What a field must not contain, if the name or the password contains it.
    var flaw: String? {
        let bytes = Array(username.utf8) + Array(password.utf8)
        if bytes.contains(0) { return "a NUL" }
        return bytes.contains { $0 == 0x0a || $0 == 0x0d } ? "a line break" : nil
    }
}

extension Credential: SecretKeeping {
    /// A fixed text that contains no secret.
    package var text: String { "Credential(…)" }
}

/// An authentication challenge of a server or a proxy (RFC 9110 §11.3).
package struct Challenge: Hashable, Sendable {
    /// A parameter with its name in lower case and its value without quotes.
    struct Parameter: Hashable {
        let name: String
        let value: String
    }

    /// The scheme, in lower case.
    package let scheme: String
    /// The text after the scheme if it is a single token68, as with NTLM and Negotiate.
    private(set) var token: String?
    /// The number of the field that has the challenge.
    private(set) var field = 0
    private(set) var parameters: [Parameter] = []

    /// Returns the value of the first parameter with a name in lower case.
    package func parameter(_ name: String) -> String? { parameters.first { $0.name == name }?.value }

    /// Parses the values of `WWW-Authenticate` or `Proxy-Authenticate` fields; malformed parts are skipped.
    ///
    /// Commas separate both challenges and parameters, so a token followed by `=` is a parameter.
    package static func parse(_ values: [String]) -> [Challenge] {
        var challenges: [Challenge] = []
        for (field, value) in values.enumerated() {
            var rest = value.utf8[...]
            // A parameter at the beginning of a field does not belong to a challenge.
            var current: Challenge?
            while true {
                rest = rest.drop { FieldSyntax.isWhitespace($0) || $0 == 0x2c }
                guard !rest.isEmpty else { break }
                let name = rest.takeToken()
                guard !name.isEmpty else {
                    rest = rest.drop { $0 != 0x2c }
                    continue
                }
                if let value = rest.takeParameterValue(until: [0x2c]) {
                    current?.parameters.append(Parameter(name: name, value: value))
                    continue
                }
                if let current { challenges.append(current) }
                current = Challenge(scheme: name, token: takeToken68(from: &rest), field: field)
            }
            if let current { challenges.append(current) }
        }
        return challenges
    }

    /// Returns the schemes that libcurl takes for offered: it does not know that a quoted value may contain commas.
    static func apparentSchemes(in values: [String]) -> [Credential.Schemes] {
        values.flatMap { $0.split(separator: ",") }.compactMap { part in
            var part = Substring(part).utf8.drop { FieldSyntax.isWhitespace($0) }
            let name = part.takeToken()
            return part.first.map(FieldSyntax.isWhitespace) ?? true ? Credential.Schemes(name: name) : nil
        }
    }

    /// Takes a token68 (RFC 9110 §11.2) if the challenge contains nothing else.
    private static func takeToken68(from rest: inout Substring.UTF8View) -> String? {
        let start = rest.drop { FieldSyntax.isWhitespace($0) }
        let text = start.prefix {
            FieldSyntax.isAlphanumeric($0) || [0x2d, 0x2e, 0x5f, 0x7e, 0x2b, 0x2f].contains($0)
        }
        let end = start[text.endIndex...].drop { $0 == 0x3d }
        let next = end.first { !FieldSyntax.isWhitespace($0) }
        guard !text.isEmpty, next == nil || next == 0x2c else { return nil }
        rest = end
        return String(Substring(start[..<end.startIndex]))
    }
}

/// Decides how the first challenge is handled.
///
/// Libcurl responds to challenges with the strongest scheme that is offered and allowed. This type detects challenges
/// to which libcurl would respond incorrectly, and selects another scheme for them. Libcurl has these flaws: It uses
/// only the first of several Digest challenges, and mixes several in one field. It treats `SHA-512-256` as `SHA-256`
/// (7.88). It does not protect the body with `auth-int`. It takes a scheme's name within a quoted value for an offer.
enum ChallengeDecision: Equatable {
    /// No allowed scheme is offered, so the response is delivered like any other response.
    case deliver
    /// Libcurl responds to the challenge.
    case answer
    /// Libcurl may use only this scheme, or none, because its response with another one would be incorrect.
    case answerOnly(Credential.Schemes)
    /// Bluebonnet responds to this Digest challenge, because libcurl would respond to another one (RFC 7616 §3.7).
    case answerDigest(Challenge)
    /// No scheme leads to a correct response.
    case refuse(RequestError.AuthenticationReason)

    /// Decides how to handle challenges.
    ///
    /// - Parameters:
    ///   - challenges: The challenges in the order received.
    ///   - apparent: The schemes that libcurl takes for offered, in the order received.
    ///   - schemes: The authentication schemes that the request may use.
    ///   - hasBody: Whether the request has a body.
    /// - Returns: The decision.
    static func on(
        _ challenges: [Challenge], apparent: [Credential.Schemes], schemes: Credential.Schemes, hasBody: Bool
    ) -> ChallengeDecision {
        let offered = challenges.compactMap { Credential.Schemes(name: $0.scheme) }
        let usable = Credential.Schemes(offered).intersection(schemes)
        let isMistaken = Credential.Schemes(apparent).intersection(schemes).strongest != usable.strongest
        guard let strongest = usable.strongest else { return isMistaken ? .answerOnly([]) : .deliver }
        // Libcurl uses the first Digest challenge, which may be none.
        let isHidden = apparent.count { $0 == .digest } > offered.count { $0 == .digest }
        let digests = challenges.filter { $0.scheme == "digest" }
        let usual = isMistaken ? ChallengeDecision.answerOnly(strongest) : .answer
        guard strongest == .digest, let digest = digests.first else { return usual }
        let understood = digests.first { flaw(of: $0, hasBody: hasBody) == nil && $0.protectsOnlyHeads }
        guard let reason = isHidden ? .unsupportedScheme("Digest") : flaw(of: digest, hasBody: hasBody) else {
            let isAlone = digests.count { $0.field == digest.field } == 1
            return isAlone ? usual : understood.map(ChallengeDecision.answerDigest) ?? usual
        }
        if let understood, !isHidden { return .answerDigest(understood) }
        return usable.subtracting(.digest).strongest.map(ChallengeDecision.answerOnly) ?? .refuse(reason)
    }

    /// The reason why libcurl's response to a Digest challenge would be incorrect (RFC 7616 §3.3), if there is one.
    private static func flaw(of digest: Challenge, hasBody: Bool) -> RequestError.AuthenticationReason? {
        if let algorithm = digest.parameter("algorithm"), !algorithms.contains(algorithm.lowercased()) {
            return .unsupportedDigestAlgorithm(algorithm)
        }
        guard let protection = digest.parameter("qop") else { return nil }
        let qualities = protection.split(separator: ",").map { $0.trimmed.lowercased() }
        guard !qualities.contains("auth"), !qualities.isEmpty else { return nil }
        return qualities.contains("auth-int") && !hasBody ? nil : .unsupportedDigestProtection(protection)
    }

    /// The algorithms that libcurl implements correctly.
    private static let algorithms: Set<String> = ["md5", "md5-sess", "sha-256", "sha-256-sess"]
}

extension Credential.Schemes {
    /// All schemes with their names, in libcurl's order of preference.
    private static let all: [(scheme: Credential.Schemes, name: String)] = [
        (.negotiate, "Negotiate"), (.digest, "Digest"), (.ntlm, "NTLM"), (.basic, "Basic"),
    ]

    /// The scheme with a name, in any case.
    init?(name: String) {
        guard let known = Self.all.first(where: { $0.name.isSameIgnoringCase(as: name) }) else { return nil }
        self = known.scheme
    }

    /// The scheme that libcurl prefers in this set; `nil` if the set is empty.
    var strongest: Credential.Schemes? { Self.all.first { contains($0.scheme) }?.scheme }

    /// The names of the schemes.
    var names: String { Self.all.filter { contains($0.scheme) }.map(\.name).joined(separator: ", ") }
}
