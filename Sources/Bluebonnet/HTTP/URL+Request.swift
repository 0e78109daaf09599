package import FoundationEssentials

extension URL {
    /// What stands for an empty text, which a URL cannot have.
    package static let emptyReference = URL(string: "#") ?? URL(filePath: "/")

    /// Checks the URL: the scheme is `http` or `https`, there is a host, and the port is valid or missing.
    ///
    /// The check runs for every request, so it is fast. It only scans the text, and allocates memory only for an error.
    package func checkRequestable() throws(RequestError) {
        let text = absoluteString
        let bytes = text.utf8.span
        let syntax = URLSyntax(bytes)
        guard Self.isWeb(bytes.extracting(syntax.scheme)) else {
            guard self != Self.emptyReference else { throw RequestError.invalidURL("", detail: "the text is empty") }
            throw syntax.scheme.isEmpty
                ? invalid("no scheme") : RequestError(.invalidRequest(.unsupportedScheme(scheme ?? "")))
        }
        guard !syntax.host.isEmpty, bytes[syntax.host.lowerBound] != 0x5b || syntax.host.count > 2 else {
            throw invalid("no host")
        }
        if let port = syntax.port, !Self.isPort(bytes.extracting(port)) { throw invalid("the port is not one") }
        guard Self.isEncoded(bytes.extracting(syntax.host)), Self.decodedHost(text, syntax) == nil else { return }
        throw invalid("the host is not a name")
    }

    /// The text of the URL for libcurl: without a fragment, and with an international host name in UTF-8.
    package var curlString: String {
        let text = absoluteString
        let bytes = text.utf8.span
        let syntax = URLSyntax(bytes)
        var end = 0
        while end < bytes.count, bytes[end] != 0x23 {
            end += 1
        }
        guard Self.isEncoded(bytes.extracting(syntax.host)), let host = Self.decodedHost(text, syntax) else {
            return end == bytes.count ? text : Self.slice(text, 0..<end)
        }
        return Self.slice(text, 0..<syntax.host.lowerBound) + host + Self.slice(text, syntax.host.upperBound..<end)
    }

    private func invalid(_ detail: String) -> RequestError {
        RequestError.invalidURL(redactedDescription, detail: detail)
    }

    /// Whether a scheme is `http` or `https`, in any case.
    static func isWeb(_ scheme: Span<UInt8>) -> Bool {
        guard scheme.count == 4 || scheme.count == 5 else { return false }
        let isHTTP =
            FieldSyntax.lowercased(scheme[0]) == 0x68 && FieldSyntax.lowercased(scheme[1]) == 0x74
            && FieldSyntax.lowercased(scheme[2]) == 0x74 && FieldSyntax.lowercased(scheme[3]) == 0x70
        return isHTTP && (scheme.count == 4 || FieldSyntax.lowercased(scheme[4]) == 0x73)
    }

    /// Whether the digits are a port; no digits mean the default port of the scheme.
    private static func isPort(_ digits: Span<UInt8>) -> Bool {
        var port = 0
        for index in digits.indices {
            let digit = digits[index] &- 0x30
            port = port * 10 + Int(digit)
            guard digit < 10, port <= 65_535 else { return false }
        }
        return true
    }

    /// Whether a host must be decoded: a name with a percent sign, but not an IPv6 address with a zone (RFC 6874).
    private static func isEncoded(_ host: Span<UInt8>) -> Bool {
        for index in host.indices where host[index] == 0x25 {
            return host[0] != 0x5b
        }
        return false
    }

    /// Returns the host without percent-encoding, or `nil` if the result is not a host name.
    ///
    /// The result is `nil` if the decoded bytes are not valid UTF-8, or contain ASCII bytes that are not allowed in a
    /// host name.
    private static func decodedHost(_ text: String, _ syntax: URLSyntax) -> String? {
        let encoded = text.utf8.dropFirst(syntax.host.lowerBound).prefix(syntax.host.count)
        guard let bytes = PercentEncoding.decode(encoded) else { return nil }
        let isName = bytes.allSatisfy { byte in
            byte >= 0x80 || FieldSyntax.isAlphanumeric(byte) || byte == 0x2d || byte == 0x2e || byte == 0x5f
        }
        return isName ? String(validating: bytes, as: UTF8.self) : nil
    }

    private static func slice(_ text: String, _ range: Range<Int>) -> String {
        String(Substring(text.utf8.dropFirst(range.lowerBound).prefix(range.count)))
    }
}

/// Finds the parts of a URL's text without copying them (RFC 3986 §3).
///
/// The offsets refer to the UTF-8 of an absolute URL. The text need not be a valid URL; missing parts are empty.
struct URLSyntax {
    /// The scheme without its colon; empty if there is none.
    let scheme: Range<Int>
    /// User info, host and port, between `//` and the path; empty if there is none.
    let authority: Range<Int>
    /// The host; an IPv6 address includes its brackets.
    let host: Range<Int>
    /// The port after the colon; `nil` if the host is not followed by a colon.
    let port: Range<Int>?

    /// Scans a URL.
    init(_ text: Span<UInt8>) {
        var index = 0
        while index < text.count, Self.isSchemeByte(text[index]) {
            index += 1
        }
        scheme = index < text.count && text[index] == 0x3a ? 0..<index : 0..<0
        let slashes = scheme.isEmpty ? 0 : index + 1
        guard slashes + 1 < text.count, text[slashes] == 0x2f, text[slashes + 1] == 0x2f else {
            authority = slashes..<slashes
            host = slashes..<slashes
            port = nil
            return
        }
        let start = slashes + 2
        var hostStart = start
        var colon: Int?
        index = start
        scan: while index < text.count {
            switch text[index] {
            case 0x2f, 0x3f, 0x23:  // / ? #
                break scan
            case 0x40:  // @
                hostStart = index + 1
                colon = nil
            case 0x3a:  // :
                colon = index
            case 0x5d:  // ]
                colon = nil
            default:
                break
            }
            index += 1
        }
        authority = start..<index
        host = hostStart..<(colon ?? index)
        port = colon.map { ($0 + 1)..<index }
    }

    private static func isSchemeByte(_ byte: UInt8) -> Bool {
        FieldSyntax.isAlphanumeric(byte) || byte == 0x2b || byte == 0x2d || byte == 0x2e
    }
}

extension URL {
    /// Whether the scheme is `https`; the caller has checked that it is `http` or `https`.
    var isSecure: Bool {
        let text = absoluteString
        let bytes = text.utf8.span
        return bytes.count > 4 && bytes[4] | 0x20 == UInt8(ascii: "s")
    }
}
