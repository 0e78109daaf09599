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
        let values = values.map { stripped($0.utf8) }.filter { !$0.isEmpty }
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

    /// Removes control characters and spaces at both ends, and tabs everywhere.
    private static func stripped(_ value: some Sequence<UInt8>) -> [UInt8] {
        var bytes = value.filter { $0 != 0x09 }[...]
        while let last = bytes.last, last <= 0x20 { bytes.removeLast() }
        while let first = bytes.first, first <= 0x20 { bytes.removeFirst() }
        return Array(bytes)
    }

    private func resolve(_ value: [UInt8]) -> URL? {
        var rest = value[...]
        let fragment = rest.takeSuffix(after: 0x23)
        let query = rest.takeSuffix(after: 0x3f)
        rest = ArraySlice(rest.map { $0 == 0x5c ? 0x2f : $0 })  // \ to /
        guard var target = target(rest, hasQuery: query != nil) else { return nil }
        if let query {
            target.append(0x3f)
            target += Self.encoded(query)
        }
        // RFC 9110 §10.2.2: if the location has no fragment, it inherits the fragment of the request.
        if let fragment = fragment ?? self.fragment {
            target.append(0x23)
            target += Self.encoded(fragment)
        }
        guard let url = URL(string: String(decoding: target, as: UTF8.self)) else { return nil }
        return (try? url.checkRequestable()) == nil ? nil : url
    }

    /// Resolves the part before the query.
    ///
    /// Returns `nil` if the result is not an HTTP or HTTPS URL.
    private func target(_ text: ArraySlice<UInt8>, hasQuery: Bool) -> [UInt8]? {
        var rest = text
        if let colon = Self.endOfScheme(rest) {
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
        if rest.first == 0x2f { return origin + Self.withoutDots(Self.encoded(rest)) }
        let folder = path.lastIndex(of: 0x2f).map { path[...$0] } ?? [0x2f]
        return origin + Self.withoutDots(Array(folder) + Self.encoded(rest))
    }

    private func absolute(_ scheme: [UInt8], _ rest: ArraySlice<UInt8>) -> [UInt8]? {
        let end = rest.firstIndex(of: 0x2f) ?? rest.endIndex
        guard let authority = Self.authority(rest[..<end]) else { return nil }
        let path = rest[end...].isEmpty ? [0x2f] : Self.withoutDots(Self.encoded(rest[end...]))
        return scheme + Array("://".utf8) + authority + path
    }

    // MARK: Parts

    /// The index of the colon after the scheme (RFC 3986 §3.1), if there is one.
    private static func endOfScheme(_ text: ArraySlice<UInt8>) -> Int? {
        guard let first = text.first, FieldSyntax.lowercased(first) &- 0x61 < 26 else { return nil }
        let end = text.firstIndex {
            !FieldSyntax.isAlphanumeric($0) && $0 != 0x2b && $0 != 0x2d && $0 != 0x2e
        }
        return end.flatMap { text[$0] == 0x3a ? $0 : nil }
    }

    /// Percent-encodes invalid characters in the user info, host and port.
    ///
    /// Returns `nil` if there is no host.
    private static func authority(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        guard let sign = text.lastIndex(of: 0x40) else { return text.isEmpty ? nil : host(text) }
        // An @ in a password is common, but invalid.
        let userInfo = encoded(text[..<sign]).flatMap { $0 == 0x40 ? Array("%40".utf8) : [$0] }
        guard text.index(after: sign) < text.endIndex else { return nil }
        return userInfo + [0x40] + host(text[(sign + 1)...])
    }

    private static func host(_ text: ArraySlice<UInt8>) -> [UInt8] {
        text.first == 0x5b ? Array(text) : encoded(text)
    }

    /// Percent-encodes the bytes that are invalid anywhere in a URL, and percent signs that do not begin an escape.
    private static func encoded(_ text: ArraySlice<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(text.count)
        for (index, byte) in zip(text.indices, text) {
            let isBare = byte == 0x25 && PercentEncoding.decode(text[index...].prefix(3)) == nil
            if isBare || !isAllowed(byte) { PercentEncoding.append(byte, to: &result) } else { result.append(byte) }
        }
        return result
    }

    /// Whether a byte may be in the path, the query or the fragment of a URL (RFC 3986 §3).
    private static func isAllowed(_ byte: UInt8) -> Bool {
        guard byte > 0x20, byte < 0x7f else { return false }
        switch byte {
        // " # < > [ \ ] ^ ` { | }
        case 0x22, 0x23, 0x3c, 0x3e, 0x5b, 0x5c, 0x5d, 0x5e, 0x60, 0x7b, 0x7c, 0x7d: return false
        default: return true
        }
    }

    /// Removes the segments `.` and `..` of an absolute path (RFC 3986 §5.2.4).
    private static func withoutDots(_ path: [UInt8]) -> [UInt8] {
        let segments = path.dropFirst().split(separator: 0x2f, omittingEmptySubsequences: false)
        var kept: [ArraySlice<UInt8>] = []
        for (index, segment) in segments.enumerated() {
            let dots = dots(segment)
            if dots == 2, !kept.isEmpty { kept.removeLast() }
            if dots == 0 { kept.append(segment) } else if index == segments.count - 1 { kept.append([]) }
        }
        return [0x2f] + kept.joined(separator: [0x2f])
    }

    /// The number of dots if a segment consists of one or two dots, plain or percent-encoded; otherwise 0.
    private static func dots(_ segment: ArraySlice<UInt8>) -> Int {
        guard !segment.isEmpty, segment.count <= 6, let bytes = PercentEncoding.decode(segment) else { return 0 }
        return bytes == [0x2e] ? 1 : bytes == [0x2e, 0x2e] ? 2 : 0
    }
}
