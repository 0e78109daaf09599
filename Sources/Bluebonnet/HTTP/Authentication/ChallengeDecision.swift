/// Decides what becomes of a first challenge, as a value.
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
    ///   - schemes: With what it may be answered.
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

    /// What libcurl gets wrong about a Digest challenge (RFC 7616 §3.3), if anything.
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
    /// The scheme of a name, which is in lower case.
    init?(name: String) {
        switch name {
        case "basic": self = .basic
        case "digest": self = .digest
        case "ntlm": self = .ntlm
        case "negotiate": self = .negotiate
        default: return nil
        }
    }

    /// The one of the schemes that libcurl prefers, if there are any.
    var strongest: Credential.Schemes? { [.negotiate, .digest, .ntlm, .basic].first { contains($0) } }

    /// The schemes' names.
    var names: String {
        let all: [(Credential.Schemes, String)] = [
            (.basic, "Basic"), (.digest, "Digest"), (.ntlm, "NTLM"), (.negotiate, "Negotiate"),
        ]
        return all.filter { contains($0.0) }.map(\.1).joined(separator: ", ")
    }
}
