/// Takes the secrets out of texts that are shown, as far as their names give them away.
///
/// Every description, mirror and log line shows fields by ``fieldValue(_:)``, and URLs by ``redactedURL(_:)``, which takes
/// out every value of a query. The other functions leave what can be expected not to be secret, for commands that are to
/// be used.
enum Redaction {
    static let placeholder = "<redacted>"

    /// Returns a URL without user info and fragment, with the secrets in its query replaced.
    static func url(_ text: String) -> String {
        let (address, query) = split(text, at: "?")
        return withoutSecretParameters(withoutUserInfo(address)) + (query.map { "?" + form($0) } ?? "")
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

    /// Returns the value of a field: replaced if it is a secret, and redacted like a URL if it holds one.
    static func fieldValue(_ header: HTTPHeader) -> String {
        let (name, value) = (header.name.lowercased(), header.value)
        if SecretNames.isSecretField(name) || SecretNames.isSecretValue(value) { return placeholder }
        // A challenge begins like an answer.
        if !name.hasSuffix("authenticate"), value.hasPrefix("Bearer ") || value.hasPrefix("Basic ") {
            return placeholder
        }
        if name == "link" { return linkValue(value) }
        let isURL = urlFields.contains { name.hasSuffix($0) } || value.contains("://") || value.contains("?")
        return isURL ? redactedURL(value) : value
    }

    /// Returns a value that has several URLs, each in angle brackets (RFC 8288 §3), and parameters that may hold others.
    private static func linkValue(_ value: String) -> String {
        var (text, end) = ("", value.startIndex)
        for part in value.split(omittingEmptySubsequences: false, whereSeparator: { $0 == "<" || $0 == ">" }) {
            text += value[end..<part.startIndex]
            text += redactedURL(String(part))
            end = part.endIndex
        }
        return text
    }

    /// The ends of the names of fields with URLs, which may be relative.
    private static let urlFields = [
        "location", "referer", "referrer", "refresh", "redirect", "destination", "url", "uri",
    ]

    /// Returns the text of a body with the secrets in it replaced, where it is a form or JSON.
    ///
    /// What has no type that says so is JSON when it begins like an object or an array, and without any type a form when
    /// it has pairs and no white space.
    static func body(_ text: String, _ mediaType: MediaType?) -> String {
        if mediaType?.subtype == "x-www-form-urlencoded" { return form(text) }
        let first = text.utf8.first { !$0.isJSONSpace }
        if mediaType?.subtype.contains("json") == true || first == UInt8(ascii: "{") || first == UInt8(ascii: "[") {
            return JSONRedactor.redact(text)
        }
        return mediaType == nil && text.contains("=") && !text.contains(where: \.isWhitespace) ? form(text) : text
    }

    /// Returns the part of a URL before its query with the secrets among the parameters of its path replaced, as in
    /// `/a;jsessionid=1`.
    static func withoutSecretParameters(_ address: String) -> String {
        guard address.utf8.contains(UInt8(ascii: ";")) else { return address }
        let parts = address.split(separator: ";", omittingEmptySubsequences: false)
        return parts.dropFirst().reduce(String(parts[0])) { text, part in
            let pair = part.prefix { $0 != "/" }
            return text + ";" + form(String(pair)) + part[pair.endIndex...]
        }
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

extension UInt8 {
    /// Whether the byte may be before a JSON text: white space, a separator of records (RFC 7464), or the mark of UTF-8.
    fileprivate var isJSONSpace: Bool { [0x20, 0x09, 0x0a, 0x0d, 0x1e, 0xef, 0xbb, 0xbf].contains(self) }
}
