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

extension Credential: SecretKeeping {
    /// Says that it is a credential, and nothing that is secret.
    package var text: String { "Credential(…)" }
}

/// A challenge of a server or a proxy (RFC 9110 §11.3).
struct Challenge: Equatable {
    /// A parameter, its name in lower case and its value without quotes.
    struct Parameter: Equatable {
        let name: String
        let value: String
    }

    /// The scheme, in lower case.
    let scheme: String
    /// The text after the scheme if it is a single piece, as with NTLM and Negotiate.
    private(set) var token: String?
    private(set) var parameters: [Parameter] = []

    /// Returns the value of the first parameter of a name, which is in lower case.
    func parameter(_ name: String) -> String? { parameters.first { $0.name == name }?.value }

    /// Parses the values of `WWW-Authenticate` or `Proxy-Authenticate` fields; what is malformed is left out.
    ///
    /// The commas between challenges are those between parameters, too: a token with `=` behind it is a parameter.
    static func parse(_ values: [String]) -> [Challenge] {
        var challenges: [Challenge] = []
        for value in values {
            var rest = value.utf8[...]
            // A parameter at the beginning of a field belongs to no challenge.
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
                current = Challenge(scheme: name, token: takeToken68(from: &rest))
            }
            if let current { challenges.append(current) }
        }
        return challenges
    }

    /// Takes base64, or something like it, if the challenge has nothing else.
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

/// Decides how a first challenge is handled, as a value.
///
/// Libcurl answers challenges by itself, with the strongest scheme that is offered and allowed. This tells when it would
/// answer wrongly, and with what else it can be made to answer. Tried with 7.88: of several Digest challenges it knows the
/// first alone; it takes `SHA-512-256` for `SHA-256`; it leaves the body out of what `auth-int` protects.
enum ChallengeDecision: Equatable {
    /// No challenge can be answered: the response is one like any other.
    case deliver
    /// Libcurl answers.
    case answer
    /// Libcurl would answer wrongly; it is to answer with this scheme and no other.
    case answerOnly(Credential.Schemes)
    /// There is no right answer.
    case refuse(RequestError.AuthenticationReason)

    /// Decides.
    ///
    /// - Parameters:
    ///   - challenges: What the server asks for, in order.
    ///   - schemes: The schemes with which it may be answered.
    ///   - hasBody: Whether the request has a body.
    init(_ challenges: [Challenge], schemes: Credential.Schemes, hasBody: Bool) {
        let offered = challenges.reduce(into: Credential.Schemes()) { offered, challenge in
            if let scheme = Credential.Schemes(name: challenge.scheme) { offered.insert(scheme) }
        }
        let usable = offered.intersection(schemes)
        guard let strongest = usable.strongest else {
            self = .deliver
            return
        }
        guard strongest == .digest, let digest = challenges.first(where: { $0.scheme == "digest" }),
            let reason = Self.flaw(of: digest, hasBody: hasBody)
        else {
            self = .answer
            return
        }
        self = usable.subtracting(.digest).strongest.map(ChallengeDecision.answerOnly) ?? .refuse(reason)
    }

    /// The reason why libcurl would answer a Digest challenge wrongly (RFC 7616 §3.3), if there is one.
    private static func flaw(of digest: Challenge, hasBody: Bool) -> RequestError.AuthenticationReason? {
        if let algorithm = digest.parameter("algorithm"), !algorithms.contains(algorithm.lowercased()) {
            return .unsupportedDigestAlgorithm(algorithm)
        }
        guard let protection = digest.parameter("qop") else { return nil }
        let qualities = protection.split(separator: ",").map { $0.trimmed.lowercased() }
        guard !qualities.contains("auth"), !qualities.isEmpty else { return nil }
        return qualities.contains("auth-int") && !hasBody ? nil : .unsupportedDigestProtection(protection)
    }

    /// The algorithms that libcurl has right.
    private static let algorithms: Set<String> = ["md5", "md5-sess", "sha-256", "sha-256-sess"]
}

extension Credential.Schemes {
    /// All of them with their names, in libcurl's order of preference.
    private static let all: [(scheme: Credential.Schemes, name: String)] = [
        (.negotiate, "Negotiate"), (.digest, "Digest"), (.ntlm, "NTLM"), (.basic, "Basic"),
    ]

    /// The scheme of a name, whatever its case.
    init?(name: String) {
        guard let known = Self.all.first(where: { $0.name.isSameIgnoringCase(as: name) }) else { return nil }
        self = known.scheme
    }

    /// The one of the schemes that libcurl prefers, if there are any.
    var strongest: Credential.Schemes? { Self.all.first { contains($0.scheme) }?.scheme }

    /// The schemes' names.
    var names: String { Self.all.filter { contains($0.scheme) }.map(\.name).joined(separator: ", ") }
}
