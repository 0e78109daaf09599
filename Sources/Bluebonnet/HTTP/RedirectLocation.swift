import FoundationEssentials

/// Parses the target of a redirect in its `Location` field (RFC 9110 §10.2.2), as leniently as browsers do.
///
/// The value is resolved by RFC 3986 §5. Invalid values are parsed as in the URL standard. Spaces, non-ASCII characters
/// and other characters that are invalid in a URL are percent-encoded. A backslash is treated as a slash. The number of
/// slashes after the scheme is ignored.
struct RedirectLocation {
    /// The result of parsing the field.
    enum ParsedLocation: Equatable {
        /// The field is missing or empty, so there is no redirect.
        case absent
        case url(URL)
        /// The redacted value of a field that is not an HTTP or HTTPS URL.
        case invalid(String)
    }

    /// Parses the `Location` fields of a response.
    ///
    /// Several fields with different values are invalid, because an attacker may have injected one of them.
    ///
    /// - Parameters:
    ///   - values: The values of the fields.
    ///   - base: The URL of the request.
    ///   - isWebSocket: Whether the request asks for a WebSocket, so that `ws` and `wss` stand for `http` and `https`.
    /// - Returns: The target.
    static func read(_ values: [String], of base: URL, isWebSocket: Bool = false) -> ParsedLocation {
        let values = values.map { URLText.stripped($0.utf8.filter { $0 != 0x09 }, where: { $0 <= 0x20 }) }.filter {
            !$0.isEmpty
        }
        guard let value = values.first else { return .absent }
        guard values.allSatisfy({ $0 == value }) else {
            return .invalid(values.map { redactedURL(String(decoding: $0, as: UTF8.self)) }.joined(separator: ", "))
        }
        guard let url = RedirectLocation(base: base, isWebSocket: isWebSocket).resolve(value) else {
            return .invalid(redactedURL(String(decoding: value, as: UTF8.self)))
        }
        return .url(url)
    }

    // The parts of the base URL:
    private let scheme: [UInt8]
    /// The bytes up to the end of the authority.
    private let origin: ArraySlice<UInt8>
    private let path: ArraySlice<UInt8>
    private let query: ArraySlice<UInt8>?
    private let fragment: ArraySlice<UInt8>?
    private let isWebSocket: Bool

    private init(base: URL, isWebSocket: Bool) {
        self.isWebSocket = isWebSocket
        let bytes = Array(base.absoluteString.utf8)
        let syntax = URLSyntax(bytes.span)
        scheme = bytes[syntax.scheme].map { FieldSyntax.lowercased($0) }
        origin = bytes[..<syntax.authority.upperBound]
        var rest = bytes[syntax.authority.upperBound...]
        fragment = rest.takeSuffix(after: 0x23)
        query = rest.takeSuffix(after: 0x3f)
        path = rest.isEmpty ? [0x2f] : rest
    }

    private func resolve(_ value: [UInt8]) -> URL? {
        var rest = value[...]
        let fragment = rest.takeSuffix(after: 0x23)
        let query = rest.takeSuffix(after: 0x3f)
        let text = rest.map { $0 == 0x5c ? 0x2f : $0 }  // \ to /
        guard var target = target(text, hasQuery: query != nil) else { return nil }
        if let query { target += [0x3f] + URLText.encoded(query) }
        // RFC 9110 §10.2.2: if the location has no fragment, it inherits the fragment of the request.
        if let fragment = fragment ?? self.fragment { target += [0x23] + URLText.encoded(fragment) }
        guard let url = URL(string: String(decoding: target, as: UTF8.self)) else { return nil }
        return (try? url.checkRequestable()) == nil ? nil : url
    }

    /// Resolves the part before the query.
    ///
    /// Returns `nil` if the result is not an HTTP or HTTPS URL.
    private func target(_ text: [UInt8], hasQuery: Bool) -> [UInt8]? {
        var rest = text[...]
        let colon = URLSyntax(text.span).scheme.upperBound
        // A scheme begins with a letter (RFC 3986 §3.1).
        if colon > 0, FieldSyntax.lowercased(text[0]) &- 0x61 < 26 {
            var scheme = rest[..<colon].map { FieldSyntax.lowercased($0) }
            if isWebSocket, scheme.starts(with: Array("ws".utf8)) { scheme.replaceSubrange(..<2, with: "http".utf8) }
            guard scheme == Array("http".utf8) || scheme == Array("https".utf8) else { return nil }
            rest = rest[(colon + 1)...]
            let slashes = rest.prefix { $0 == 0x2f }.count
            // `http:path` is relative to a base of the same scheme.
            if slashes >= 2 || scheme != self.scheme { return absolute(scheme, rest.dropFirst(slashes)) }
        } else if rest.starts(with: [0x2f, 0x2f]) {
            return absolute(scheme, rest.drop { $0 == 0x2f })
        }
        if rest.isEmpty {
            guard !hasQuery, let query else { return Array(origin + path) }
            return origin + path + [0x3f] + query
        }
        if rest.first == 0x2f { return origin + URLText.withoutDots(URLText.encoded(rest)) }
        let folder = path.lastIndex(of: 0x2f).map { path[...$0] } ?? [0x2f]
        return origin + URLText.withoutDots(Array(folder) + URLText.encoded(rest))
    }

    private func absolute(_ scheme: [UInt8], _ rest: ArraySlice<UInt8>) -> [UInt8]? {
        let end = rest.firstIndex(of: 0x2f) ?? rest.endIndex
        guard let authority = URLText.authority(rest[..<end]) else { return nil }
        let path = rest[end...].isEmpty ? [0x2f] : URLText.withoutDots(URLText.encoded(rest[end...]))
        return scheme + Array("://".utf8) + authority + path
    }
}

extension RedirectLocation {
    /// Whether a response with this status code redirects to its `Location`.
    static func redirects(_ statusCode: Int) -> Bool { 301...303 ~= statusCode || 307...308 ~= statusCode }
}
