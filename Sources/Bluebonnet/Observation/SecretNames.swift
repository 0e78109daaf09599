/// Knows by what names secrets go in queries, forms and JSON.
enum SecretNames {
    /// Names that hold one of these are of secrets.
    private static let fragments = [
        "token", "secret", "apikey", "accesskey", "privatekey", "authkey", "authorization", "signature", "credential",
        "session", "jwt", "bearer", "cookie", "assertion",
    ]

    /// Names that hold one of these are of secrets, and these may be numbers.
    private static let passwordFragments = ["password", "passwd", "passphrase", "passcode", "pwd"]

    /// Names that are one of these are of secrets, and these may be numbers.
    private static let names: Set<String> = [
        "sig", "pass", "pw", "sid", "auth", "pin", "otp", "totp", "verifier", "codeverifier",
    ]

    /// Names of secrets in a query or a form, which elsewhere are of anything.
    private static let parameterNames: Set<String> = ["key", "code"]

    /// Returns whether a parameter of a query or a form, such as `access_token` or `user[password]`, is a secret.
    static func isSecretParameter(_ name: some StringProtocol) -> Bool {
        let name = Name(name)
        return name.isSecret || parameterNames.contains(name.last)
    }

    /// Returns whether a member of a JSON object, such as `apiKey`, is a secret.
    ///
    /// A number is one under fewer names: `"total_tokens": 12` is none.
    static func isSecretMember(_ name: some StringProtocol, isNumber: Bool) -> Bool {
        let name = Name(name)
        return isNumber ? name.isSecretNumber : name.isSecret
    }

    /// Returns whether a value is a secret whatever its name: a JSON Web Token.
    static func isSecretValue(_ value: some StringProtocol) -> Bool {
        value.hasPrefix("eyJ")
    }

    /// A name taken apart: of a path, as in `user[pin]`, the last element decides alone; of a compound, as in
    /// `sort_key`, all of it.
    private struct Name {
        let last: String
        let joined: String

        init(_ name: some StringProtocol) {
            let elements = name.lowercased().split { "[].".contains($0) }
                .map { $0.filter { $0.isLetter || $0.isNumber } }
            last = elements.last ?? ""
            joined = elements.joined()
        }

        var isSecretNumber: Bool { names.contains(last) || passwordFragments.contains { joined.contains($0) } }

        var isSecret: Bool { isSecretNumber || fragments.contains { joined.contains($0) } }
    }
}
