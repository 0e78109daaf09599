/// Knows by what names secrets go in fields, queries, forms and JSON, and what values are secrets whatever their names.
///
/// The only such list: what is shown, what a redirect drops at the border of an origin, and what is kept for later all go
/// by it.
enum SecretNames {
    /// Names that hold one of these are of secrets.
    private static let fragments = [
        "token", "secret", "authorization", "signature", "credential", "session", "jwt", "bearer", "cookie",
        "assertion", "csrf", "xsrf", "saml",
        // A key alone is of anything: of a cache, of an idempotent request, of a table.
        "apikey", "accesskey", "privatekey", "authkey", "subscriptionkey", "functionskey", "functionkey", "masterkey",
        "appkey", "applicationkey", "encryptionkey", "customerkey", "consumerkey", "clientkey", "servicekey",
        "adminkey", "accountkey", "sharedkey", "signingkey", "storagekey",
    ]

    /// Names that hold one of these are of secrets, and these may be numbers.
    private static let passwordFragments = ["password", "passwd", "passphrase", "passcode", "pwd"]

    /// Names that are one of these are of secrets, and these may be numbers.
    private static let names: Set<String> = [
        "sig", "pass", "pw", "sid", "auth", "pin", "otp", "totp", "verifier", "codeverifier",
    ]

    /// Returns whether a field of this name, such as `Authorization` or `Ocp-Apim-Subscription-Key`, carries a secret.
    ///
    /// Of several words, the last may be that of a secret; a `Key` is one unless the word before it says what else it is.
    static func isSecretField(_ name: some StringProtocol) -> Bool {
        let words = name.lowercased().split { "-_ .".contains($0) }
        let joined = words.joined()
        guard let last = words.last, !(fragments + passwordFragments + ["xauth"]).contains(where: joined.contains)
        else { return !words.isEmpty }
        if last == "key" { return !harmlessKeys.contains(words.dropLast().last ?? "") }
        return names.contains(String(last)) || fieldNames.contains(last)
    }

    /// The last words of fields with secrets, which elsewhere are of anything.
    private static let fieldNames: Set<Substring> = ["mfa", "2fa", "ticket"]

    /// Of what a key in a field is no secret.
    private static let harmlessKeys: Set<Substring> = [
        "cache", "idempotency", "limit", "message", "object", "partition", "primary", "public", "routing", "shard",
        "sort", "surrogate", "websocket",
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
