package import FoundationEssentials

extension URL {
    /// The text of the URL without user info and query values, for logs and errors.
    package var redactedDescription: String { redactedURL(absoluteString) }
}

/// Returns the text of a URL without user info and query values; the text need not be a valid URL.
///
/// A part of the query without `=` could be a value, so it is redacted completely. A fragment that contains `=` is
/// redacted like a query. A path parameter is redacted if its name indicates a secret. Control characters are
/// percent-encoded, so that the text stays on one line.
package func redactedURL(_ text: String) -> String {
    var rest = text.utf8[...]
    let fragment = rest.takeSuffix(after: 0x23)
    let query = rest.takeSuffix(after: 0x3f)
    var result = Redaction.withoutSecretParameters(printable(withoutUserInfos(rest)))
    if let query {
        result += "?" + redactedPairs(query)
    }
    if let fragment {
        result += "#" + (fragment.contains(0x3d) ? redactedPairs(fragment) : printable(fragment))
    }
    return result
}

/// Returns the pairs of a query with their values redacted.
private func redactedPairs(_ query: Substring.UTF8View) -> String {
    query.split(separator: 0x26, omittingEmptySubsequences: false)
        .map { pair in
            // A name with `@` may be part of a URL with user info.
            guard let sign = pair.firstIndex(of: 0x3d), !pair[..<sign].contains(0x40) else {
                return pair.isEmpty ? "" : "<redacted>"
            }
            return printable(pair[..<sign]) + "=<redacted>"
        }
        .joined(separator: "&")
}

/// Returns the text before the query without user info, including the user info of further URLs in the text.
private func withoutUserInfos(_ text: Substring.UTF8View) -> Substring.UTF8View {
    // An address of mail is no user info.
    guard text.prefix(7).map(FieldSyntax.lowercased) != Array("mailto:".utf8) else { return text }
    let parts = String(Substring(text)).split(separator: "://", omittingEmptySubsequences: false)
    guard parts.count > 1 else { return withoutUserInfo(text) }
    // The text before the first "://" ends with a scheme.
    var result = parts[0].contains("/") ? String(Substring(withoutUserInfo(parts[0].utf8))) : String(parts[0])
    for part in parts.dropFirst() { result += String(Substring(withoutUserInfo("://\(part)".utf8[...]))) }
    return Substring(result).utf8
}

/// Returns the text before the query without user info.
private func withoutUserInfo(_ text: Substring.UTF8View) -> Substring.UTF8View {
    let bytes = Array(text)
    let slash = bytes.firstIndex(of: 0x2f) ?? bytes.endIndex
    let hasAuthority = slash + 1 < bytes.endIndex && bytes[slash + 1] == 0x2f
    // A path does not contain user info.
    guard slash > 0 || hasAuthority else { return text }
    let start = hasAuthority ? slash + 2 : 0
    let end = bytes[start...].firstIndex(of: 0x2f) ?? bytes.endIndex
    // A path often contains an @, which is kept. A slash in a password makes the URL invalid, but the password must
    // stay hidden.
    let authority = bytes[start..<end]
    let isUnusual = !hasAuthority || !authority.contains(0x40) && hasOddPort(authority)
    guard let sign = bytes[start..<(isUnusual ? bytes.endIndex : end)].lastIndex(of: 0x40) else { return text }
    return Substring(String(decoding: bytes[..<start] + bytes[(sign + 1)...], as: UTF8.self)).utf8
}

/// Whether the text after the last colon is not a port.
private func hasOddPort(_ authority: ArraySlice<UInt8>) -> Bool {
    guard let colon = authority.lastIndex(of: 0x3a) else { return false }
    return !authority[(colon + 1)...].allSatisfy { $0 &- 0x30 < 10 || $0 == 0x5d }
}

/// Returns the text with control characters percent-encoded.
private func printable(_ text: Substring.UTF8View) -> String {
    PercentEncoding.encode(text) { $0 < 0x20 || $0 == 0x7f }
}
