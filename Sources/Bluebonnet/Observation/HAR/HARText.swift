package import FoundationEssentials

/// Writes the values of an HTTP archive, with `<redacted>` in place of secrets.
package struct HARText: Sendable {
    package static let placeholder = Redaction.placeholder

    let includesSecrets: Bool

    package init(includesSecrets: Bool) {
        self.includesSecrets = includesSecrets
    }

    /// Returns a URL without its fragment.
    package func url(_ text: String) -> String {
        let sent = Redaction.withoutFragment(text)
        // The result is a valid URL, like the one of a request that follows a redacted `Location`.
        return includesSecrets ? sent : Redaction.url(sent).replacing("<", with: "%3C").replacing(">", with: "%3E")
    }

    /// Returns a body as text, or in Base64 if it is not text in UTF-8.
    ///
    /// If the body is cut, its last character may be incomplete, and is left out.
    package func body(_ body: Data, type: String?, isCut: Bool = false) -> (text: String, encoding: String?) {
        let mediaType = type.flatMap { MediaType($0) }
        for excess in 0...(isCut ? 3 : 0) {
            guard let text = String(validating: body.dropLast(excess), as: UTF8.self) else { continue }
            // Other encodings of characters, such as UTF-16, contain zeros.
            if !text.utf8.contains(0) { return (includesSecrets ? text : Redaction.body(text, mediaType), nil) }
        }
        return (body.base64EncodedString(), "base64")
    }

    /// Whether a body may contain secrets that cannot be recognized: in a content coding, or in a multipart type, or as
    /// JSON or a form in another encoding than UTF-8.
    func isHidden(_ body: Data, headers: HTTPHeaders, isDecoded: Bool) -> Bool {
        guard !includesSecrets, !body.isEmpty else { return false }
        let type = headers["Content-Type"]?.lowercased() ?? ""
        if !isDecoded && headers.contains("Content-Encoding") || type.hasPrefix("multipart/") { return true }
        let isText = ["json", "x-www-form-urlencoded", "event-stream"].contains { type.contains($0) }
        // A body that was cut may end within a character.
        let isUTF8 = (0...3).contains { String(validating: body.dropLast($0), as: UTF8.self) != nil }
        return isText && (!isUTF8 || body.contains(0))
    }

    func value(of field: HTTPHeader) -> String { includesSecrets ? field.value : Redaction.fieldValue(field) }

    func fields(_ headers: HTTPHeaders) -> JSONValue { .array(headers.map { pair($0.name, value(of: $0)) }) }

    func pair(_ name: String, _ value: String?) -> JSONValue { ["name": .string(name), "value": .string(value ?? "")] }

    /// Returns a value that is always a secret.
    func secret(_ value: String) -> JSONValue { .string(includesSecrets ? value : Self.placeholder) }
}
