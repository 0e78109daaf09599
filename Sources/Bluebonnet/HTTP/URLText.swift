import FoundationEssentials

/// Makes URLs of text as leniently as browsers do (URL standard, WHATWG).
///
/// What may not be in a URL is percent-encoded, such as spaces, brackets and non-ASCII characters. Existing escapes
/// stay as they are: `URL(string:)` would encode their percent signs again if any other character must be encoded.
/// Before the query, a backslash is a slash.
enum URLText {
    /// Returns the URL of a text, which may be relative; `nil` if the text is not a URL.
    static func url(_ text: String) -> URL? {
        guard needsChange(text.utf8) else { return URL(string: text) }
        var rest = withSlashes(stripped(text.utf8))[...]
        let syntax = URLSyntax(Array(rest).span)
        let scheme = rest[syntax.scheme].map { FieldSyntax.lowercased($0) }
        guard scheme.isEmpty || schemes.contains(where: { scheme.elementsEqual($0.utf8) }) else {
            return URL(string: String(decoding: rest, as: UTF8.self))
        }
        var target = Array(rest[..<syntax.authority.lowerBound])
        let isAbsolute = !target.isEmpty
        if isAbsolute {
            var authority = rest[syntax.authority]
            for userInfo in [":@", "@"] where authority.starts(with: userInfo.utf8) {
                authority.removeFirst(userInfo.utf8.count)
            }
            // No name has spaces or control characters.
            guard authority.allSatisfy({ $0 > 0x20 && $0 != 0x7f }) else { return nil }
            target += Self.authority(authority) ?? Array(authority)
        }
        rest = rest[syntax.authority.upperBound...]
        let fragment = rest.takeSuffix(after: 0x23)
        let query = rest.takeSuffix(after: 0x3f)
        let path = encoded(rest)
        target += isAbsolute && path.first == 0x2f ? withoutDots(path) : path
        if let query { target += [0x3f] + encoded(query) }
        if let fragment { target += [0x23] + encoded(fragment) }
        return URL(string: String(decoding: target, as: UTF8.self))
    }

    /// Returns the absolute URL of a text.
    static func url(_ text: String, relativeTo base: URL) -> URL? {
        url(text).flatMap { URL(string: $0.relativeString, relativeTo: base)?.absoluteURL }
    }

    private static let schemes = ["http", "https", "ws", "wss"]

    /// Whether a text contains anything that ``url(_:)`` may change; most texts do not.
    private static func needsChange(_ text: String.UTF8View) -> Bool {
        var previous: UInt8 = 0
        for byte in text {
            // A segment of dots, and an empty user info.
            if byte == 0x2e, previous == 0x2f { return true }
            if byte == 0x40, previous == 0x2f || previous == 0x3a { return true }
            if byte == 0x25 || (byte != 0x23 && !isAllowed(byte)) { return true }
            previous = byte
        }
        return false
    }

    /// Replaces the backslashes before the query and the fragment by slashes.
    private static func withSlashes(_ text: [UInt8]) -> [UInt8] {
        let end = text.firstIndex { $0 == 0x3f || $0 == 0x23 } ?? text.endIndex
        return text[..<end].map { $0 == 0x5c ? 0x2f : $0 } + text[end...]
    }

    /// Removes characters at both ends, by default spaces, tabs and line breaks.
    static func stripped(
        _ value: some Sequence<UInt8>, where isSpace: (UInt8) -> Bool = { [0x20, 0x09, 0x0a, 0x0d].contains($0) }
    ) -> [UInt8] {
        var bytes = Array(value)[...]
        while let last = bytes.last, isSpace(last) { bytes.removeLast() }
        while let first = bytes.first, isSpace(first) { bytes.removeFirst() }
        return Array(bytes)
    }

    /// Percent-encodes invalid characters in the user info, host and port.
    ///
    /// Returns `nil` if there is no host.
    static func authority(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        guard let sign = text.lastIndex(of: 0x40) else { return text.isEmpty ? nil : host(text) }
        // An @ in a password is common, but invalid.
        let userInfo = encoded(text[..<sign]).flatMap { $0 == 0x40 ? Array("%40".utf8) : [$0] }
        guard text.index(after: sign) < text.endIndex else { return nil }
        return userInfo + [0x40] + host(text[(sign + 1)...])
    }

    /// An international name is converted to ASCII, so that both of its forms are one origin.
    private static func host(_ text: ArraySlice<UInt8>) -> [UInt8] {
        guard text.first != 0x5b else { return Array(text) }
        let encoded = encoded(text)
        guard encoded.contains(0x25) else { return encoded }
        let end = text.lastIndex(of: 0x3a) ?? text.endIndex
        let name = HostName.ascii(String(decoding: text[..<end], as: UTF8.self))
        return name.utf8.allSatisfy { isAllowed($0) && $0 != 0x25 } ? Array(name.utf8) + text[end...] : encoded
    }

    /// Percent-encodes the bytes that are invalid anywhere in a URL, and percent signs that do not begin an escape.
    static func encoded(_ text: ArraySlice<UInt8>) -> [UInt8] {
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
    static func withoutDots(_ path: [UInt8]) -> [UInt8] {
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
