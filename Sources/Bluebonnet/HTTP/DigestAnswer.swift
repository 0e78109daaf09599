import FoundationEssentials

/// The answer to a Digest challenge to which libcurl would not respond (RFC 7616 §3.4).
struct DigestAnswer {
    let challenge: Challenge
    let credential: Credential
    /// The number of answers with the nonce of the challenge, including this one.
    var count = 1

    /// Returns the value of the `Authorization` or `Proxy-Authorization` field.
    ///
    /// - Parameters:
    ///   - method: The method of the request.
    ///   - target: The path and the query of the request.
    ///   - own: The client's own nonce.
    /// - Returns: The value.
    func fieldValue(method: HTTPMethod, target: String, nonce own: String = Self.randomNonce()) -> String {
        let (realm, nonce) = (challenge.parameter("realm") ?? "", challenge.parameter("nonce") ?? "")
        var secret = hash("\(credential.username):\(realm):\(credential.password)")
        if algorithm.hasSuffix("-sess") { secret = hash("\(secret):\(nonce):\(own)") }
        let digits = String(count, radix: 16)
        let number = String(repeating: "0", count: max(0, 8 - digits.count)) + digits
        let request = hash("\(method.rawValue):\(target)")
        let hidesName = challenge.parameter("userhash")?.lowercased() == "true"
        let name = hidesName ? hash("\(credential.username):\(realm)") : credential.username
        var parts = [
            "username=\(quoted(name))", "realm=\(quoted(realm))", "nonce=\(quoted(nonce))", "uri=\(quoted(target))",
        ]
        if challenge.parameter("qop") != nil {
            let response = hash("\(secret):\(nonce):\(number):\(own):auth:\(request)")
            parts += ["response=\"\(response)\"", "qop=auth", "nc=\(number)", "cnonce=\"\(own)\""]
        } else {
            parts.append("response=\"\(hash("\(secret):\(nonce):\(request)"))\"")
            if algorithm.hasSuffix("-sess") { parts.append("cnonce=\"\(own)\"") }
        }
        if let algorithm = challenge.parameter("algorithm") { parts.append("algorithm=\(algorithm)") }
        if let opaque = challenge.parameter("opaque") { parts.append("opaque=\(quoted(opaque))") }
        if hidesName { parts.append("userhash=true") }
        return "Digest " + parts.joined(separator: ", ")
    }

    private var algorithm: String { challenge.parameter("algorithm")?.lowercased() ?? "md5" }

    private func hash(_ text: String) -> String {
        let data = Data(text.utf8)
        return (algorithm.hasPrefix("sha-256") ? Digest.sha256(of: data) : Digest.md5(of: data)).hexadecimal
    }

    private func quoted(_ text: String) -> String {
        // A quotation mark with a combining mark is another character, but the same byte.
        var quoted = "\""
        for scalar in text.unicodeScalars {
            if scalar == "\"" || scalar == "\\" { quoted.unicodeScalars.append("\\") }
            quoted.unicodeScalars.append(scalar)
        }
        return quoted + "\""
    }

    private static func randomNonce() -> String {
        String(UInt64.random(in: .min ... .max), radix: 16) + String(UInt64.random(in: .min ... .max), radix: 16)
    }
}

extension Challenge {
    /// Whether only the nonce of the answer was too old.
    var isStale: Bool { parameter("stale")?.lowercased() == "true" }

    /// Whether an answer without a digest of the body is possible.
    var protectsOnlyHeads: Bool {
        parameter("qop").map { $0.split(separator: ",").contains { $0.trimmed.lowercased() == "auth" } } ?? true
    }
}
