/// Takes the secrets out of texts that are shown, as far as their names give them away.
///
/// ``redactedURL(_:)`` takes out every value of a query, for errors and logs; these functions leave what can be expected
/// not to be secret, for commands that are to be used.
enum Redaction {
    static let placeholder = "<redacted>"

    /// Returns a URL without user info and fragment, with the secrets in its query replaced.
    static func url(_ text: String) -> String {
        let (address, query) = split(text, at: "?")
        return withoutUserInfo(address) + (query.map { "?" + form($0) } ?? "")
    }

    /// Returns a URL without its fragment, which is never sent.
    static func withoutFragment(_ text: String) -> String {
        String(text.prefix { $0 != "#" })
    }

    /// Returns whether a URL has user info.
    static func hasUserInfo(_ text: String) -> Bool {
        let address = split(withoutFragment(text), at: "?").0
        return withoutUserInfo(address) != address
    }

    /// Returns the names and values of a query or a form with the secret values replaced.
    static func form(_ text: String) -> String {
        text.split(separator: "&", omittingEmptySubsequences: false)
            .map { pair in
                guard let sign = pair.utf8.firstIndex(of: UInt8(ascii: "=")) else { return String(pair) }
                let name = pair[..<sign]
                let decodedName = PercentEncoding.decode(name.utf8).map { String(decoding: $0, as: UTF8.self) }
                let value = pair[pair.utf8.index(after: sign)...]
                let isSecret =
                    SecretNames.isSecretParameter(decodedName ?? String(name)) || SecretNames.isSecretValue(value)
                return isSecret ? "\(name)=\(placeholder)" : String(pair)
            }
            .joined(separator: "&")
    }

    /// Returns the value of a field, replaced if the field carries secrets.
    static func fieldValue(_ header: HTTPHeader) -> String {
        if HTTPHeader.isSensitive(name: header.name) { return placeholder }
        let isURL = header.value.hasPrefix("https://") || header.value.hasPrefix("http://")
        return isURL ? url(withoutFragment(header.value)) : header.value
    }

    /// Returns the text of a body with the secrets in it replaced, where the format is a form or JSON.
    static func body(_ text: String, _ mediaType: MediaType?) -> String {
        guard let mediaType else { return text }
        if mediaType.subtype == "x-www-form-urlencoded" { return form(text) }
        return mediaType.subtype.hasSuffix("json") ? JSONRedactor.redact(text) : text
    }

    private static func split(_ text: String, at separator: Character) -> (String, String?) {
        guard let index = text.firstIndex(of: separator) else { return (text, nil) }
        return (String(text[..<index]), String(text[text.index(after: index)...]))
    }

    private static func withoutUserInfo(_ address: String) -> String {
        guard let slashes = address.firstRange(of: "//") else { return address }
        let rest = address[slashes.upperBound...]
        let authority = rest.prefix { $0 != "/" }
        guard let sign = authority.lastIndex(of: "@") else { return address }
        return String(address[..<slashes.upperBound] + rest[rest.index(after: sign)...])
    }
}
