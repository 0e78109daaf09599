/// Replaces secrets in text that is shown.
///
/// Secrets are recognized by their names or by their form. Descriptions, mirrors and log lines show header fields with
/// ``fieldValue(_:)``. They show URLs with ``redactedURL(_:)``, which replaces all query values. The other functions
/// keep values that are probably not secret, so that the resulting commands work.
enum Redaction {
    static let placeholder = "<redacted>"

    /// Returns a URL without user info and fragment, and with the secrets in its query replaced.
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

    /// Returns a query or a form with its secret values replaced.
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

    /// Returns the value of a header field without secrets.
    ///
    /// A secret value is replaced. A value that contains a URL is redacted like the URL.
    static func fieldValue(_ header: HTTPHeader) -> String {
        let (name, value) = (header.name.lowercased(), header.value)
        if SecretNames.isSecretField(name) || SecretNames.isSecretValue(value) { return placeholder }
        // A challenge starts with the same words as credentials.
        if !name.hasSuffix("authenticate"), value.hasPrefix("Bearer ") || value.hasPrefix("Basic ") {
            return placeholder
        }
        if name == "link" { return linkValue(value) }
        let isURL = urlFields.contains { name.hasSuffix($0) } || value.contains("://") || value.contains("?")
        return isURL ? redactedURL(value) : value
    }

    /// Redacts the value of a `Link` field, which can contain several URLs in angle brackets (RFC 8288 §3).
    ///
    /// Its parameters can also contain URLs.
    private static func linkValue(_ value: String) -> String {
        var (text, end) = ("", value.startIndex)
        for part in value.split(omittingEmptySubsequences: false, whereSeparator: { $0 == "<" || $0 == ">" }) {
            text += value[end..<part.startIndex]
            text += redactedURL(String(part))
            end = part.endIndex
        }
        return text
    }

    /// The name suffixes of header fields that contain absolute or relative URLs.
    private static let urlFields = [
        "location", "referer", "referrer", "refresh", "redirect", "destination", "url", "uri",
    ]

    /// Returns the text of a body, with the secrets in forms and JSON replaced.
    ///
    /// The data of server-sent events counts as JSON, which may be divided among several lines. Text of another type
    /// counts as JSON if it starts like an object or an array. Text without a type counts as a
    /// form if it contains pairs and no white space.
    static func body(_ text: String, _ mediaType: MediaType?) -> String {
        if mediaType?.subtype == "x-www-form-urlencoded" { return form(text) }
        if mediaType?.subtype == "event-stream" { return JSONRedactor.redact(text, isEventStream: true) }
        let first = text.utf8.first { !$0.isJSONSpace }
        if mediaType?.subtype.contains("json") == true || first == UInt8(ascii: "{") || first == UInt8(ascii: "[") {
            return JSONRedactor.redact(text)
        }
        return mediaType == nil && text.contains("=") && !text.contains(where: \.isWhitespace) ? form(text) : text
    }

    /// Replaces secret path parameters in the part of a URL before its query, as in `/a;jsessionid=1`.
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
    /// Whether the byte may precede JSON text: white space, a record separator (RFC 7464) or the UTF-8 byte order
    /// mark.
    fileprivate var isJSONSpace: Bool { [0x20, 0x09, 0x0a, 0x0d, 0x1e, 0xef, 0xbb, 0xbf].contains(self) }
}

/// Replaces the values of members with secret names in JSON text, and keeps the rest of the text.
///
/// It only searches for strings and colons. It can therefore also redact truncated JSON text and several JSON texts in
/// a row.
private struct JSONRedactor {
    private static let dataField = Array("data:".utf8)

    private let bytes: [UInt8]
    /// Whether lines begin with `data:`.
    private let isEventStream: Bool
    private var output: [UInt8] = []
    private var index = 0

    private init(_ text: String, isEventStream: Bool) {
        bytes = Array(text.utf8)
        self.isEventStream = isEventStream
    }

    static func redact(_ text: String, isEventStream: Bool = false) -> String {
        var redactor = JSONRedactor(text, isEventStream: isEventStream)
        redactor.run()
        return String(decoding: redactor.output, as: UTF8.self)
    }

    private mutating func run() {
        output.reserveCapacity(bytes.count)
        while index < bytes.count {
            guard bytes[index] == UInt8(ascii: "\"") else {
                output.append(bytes[index])
                index += 1
                continue
            }
            let name = bytes[index..<endOfString(from: index)]
            output += name
            index = name.endIndex
            guard let valueStart = startOfValue() else {
                redactIfToken(name)
                continue
            }
            guard isSecret(name, valueAt: valueStart) else { continue }
            output += bytes[index..<valueStart]
            output += Array("\"\(Redaction.placeholder)\"".utf8)
            index = endOfValue(from: valueStart)
        }
    }

    private func isSecret(_ name: ArraySlice<UInt8>, valueAt start: Int) -> Bool {
        // Booleans and `null` are not secrets.
        guard start < bytes.count, !"tfn".utf8.contains(bytes[start]) else { return false }
        let isNumber = bytes[start] == UInt8(ascii: "-") || bytes[start] &- UInt8(ascii: "0") < 10
        return SecretNames.isSecretMember(String(decoding: name, as: UTF8.self), isNumber: isNumber)
    }

    /// Replaces the string that was just copied if the string has the form of a secret.
    private mutating func redactIfToken(_ string: ArraySlice<UInt8>) {
        guard SecretNames.isSecretValue(String(decoding: string.dropFirst(), as: UTF8.self)) else { return }
        output.removeLast(string.count)
        output += Array("\"\(Redaction.placeholder)\"".utf8)
    }

    /// Returns the start of the value if a colon is next.
    private func startOfValue() -> Int? {
        let colon = skipSpace(from: index)
        guard colon < bytes.count, bytes[colon] == UInt8(ascii: ":") else { return nil }
        return skipSpace(from: colon + 1)
    }

    private func skipSpace(from start: Int) -> Int {
        var position = start
        while true {
            let next = bytes[position...].firstIndex { ![0x20, 0x09, 0x0A, 0x0D].contains($0) } ?? bytes.endIndex
            // A line ending in the data is written as a new field (WHATWG HTML, "Parsing an event stream").
            guard isEventStream, next > position, [0x0A, 0x0D].contains(bytes[next - 1]),
                bytes[next...].starts(with: Self.dataField)
            else { return next }
            position = next + Self.dataField.count
        }
    }

    /// Returns the position after the closing quotation mark, or the end of the text.
    private func endOfString(from start: Int) -> Int {
        var position = start + 1
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""): return position + 1
            case UInt8(ascii: "\\"): position += 2
            default: position += 1
            }
        }
        return bytes.endIndex
    }

    /// Returns the position after a value: a string, an entire array or object, or a word.
    private func endOfValue(from start: Int) -> Int {
        var depth = 0
        var position = start
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                position = endOfString(from: position)
                if depth == 0 { return position }
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                position += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if depth == 0 { return position }
                depth -= 1
                position += 1
                if depth == 0 { return position }
            case UInt8(ascii: ","), 0x20, 0x09, 0x0A, 0x0D:
                if depth == 0 { return position }
                position += 1
            default: position += 1
            }
        }
        return bytes.endIndex
    }
}

/// Recognizes secrets by their names in header fields, queries, forms and JSON, and some secrets by their values.
///
/// These lists decide which values are shown, which fields are removed on a redirect to another origin, and which
/// fields may be stored.
enum SecretNames {
    /// Parts of names of secrets.
    private static let fragments = [
        "token", "secret", "authorization", "signature", "credential", "session", "jwt", "bearer", "cookie",
        "assertion", "csrf", "xsrf", "saml",
        // The word "key" is not in this list, because a compound such as `sort_key` may be another kind of key.
        "apikey", "accesskey", "privatekey", "authkey", "subscriptionkey", "functionskey", "functionkey", "masterkey",
        "appkey", "applicationkey", "encryptionkey", "customerkey", "consumerkey", "clientkey", "servicekey",
        "adminkey", "accountkey", "sharedkey", "signingkey", "storagekey",
    ]

    /// Parts of names of secrets that may be numbers.
    private static let passwordFragments = ["password", "passwd", "passphrase", "passcode", "pwd"]

    /// The ends of names of secrets that may be numbers, unlike `total_tokens`.
    private static let numberSuffixes = [
        "token", "secret", "sessionid", "sessionkey", "signature", "credential", "apikey", "accesskey", "csrf", "xsrf",
    ]

    /// Names of secrets that may be numbers.
    private static let names: Set<String> = [
        "sig", "pass", "pw", "sid", "auth", "pin", "otp", "totp", "verifier", "codeverifier",
    ]

    /// Returns whether a header field such as `Authorization` or `Ocp-Apim-Subscription-Key` contains a secret.
    ///
    /// The last word of the name can mark a secret. `Key` marks a secret unless the word before it describes another
    /// kind of key.
    static func isSecretField(_ name: some StringProtocol) -> Bool {
        let words = name.lowercased().split { "-_ .".contains($0) }
        let joined = words.joined()
        guard let last = words.last, !(fragments + passwordFragments + ["xauth"]).contains(where: joined.contains)
        else { return !words.isEmpty }
        if last == "key" { return !harmlessKeys.contains(words.dropLast().last ?? "") }
        return names.contains(String(last)) || fieldNames.contains(last)
    }

    /// The final words of names that mark secrets in header fields only.
    private static let fieldNames: Set<Substring> = ["mfa", "2fa", "ticket"]

    /// The words before `Key` in the names of header fields that are not secrets.
    private static let harmlessKeys: Set<Substring> = [
        "cache", "idempotency", "limit", "message", "object", "partition", "primary", "public", "routing", "shard",
        "sort", "surrogate", "websocket",
    ]

    /// The names that mark secrets in queries and forms.
    private static let parameterNames: Set<String> = ["key", "code"]

    /// Returns whether a query or form parameter such as `access_token` or `user[password]` is a secret.
    static func isSecretParameter(_ name: some StringProtocol) -> Bool {
        let name = Name(name)
        return name.isSecret || parameterNames.contains(name.last)
    }

    /// Returns whether a member of a JSON object, such as `apiKey`, is a secret.
    ///
    /// Fewer names mark a number as a secret. For example, the value of `"total_tokens": 12` is not a secret. The word
    /// "code" is not a secret, because errors have codes.
    static func isSecretMember(_ name: some StringProtocol, isNumber: Bool) -> Bool {
        let name = Name(name)
        return isNumber ? name.isSecretNumber : name.isSecret || name.last == "key"
    }

    /// Returns whether a value is a secret regardless of its name, such as a JSON Web Token.
    static func isSecretValue(_ value: some StringProtocol) -> Bool {
        value.hasPrefix("eyJ")
    }

    /// A parsed name.
    ///
    /// In a path such as `user[pin]`, the last element is compared alone. In a compound such as `sort_key`, the whole
    /// name is compared.
    private struct Name {
        let last: String
        let joined: String

        init(_ name: some StringProtocol) {
            let elements = name.lowercased().split { "[].".contains($0) }
                .map { $0.filter { $0.isLetter || $0.isNumber } }
            last = elements.last ?? ""
            joined = elements.joined()
        }

        var isSecretNumber: Bool {
            names.contains(last) || passwordFragments.contains { joined.contains($0) }
                || numberSuffixes.contains { joined.hasSuffix($0) }
        }

        var isSecret: Bool { isSecretNumber || fragments.contains { joined.contains($0) } }
    }
}
