package import FoundationEssentials

/// The scheme, host and port of a URL (RFC 6454 §4).
///
/// Secrets for one origin, such as a password, must not be sent to another origin.
package struct Origin: Hashable, Sendable {
    /// The scheme in lower case.
    package let scheme: String
    /// The host in lower case and in ASCII, with the brackets of an IPv6 address.
    package let host: String
    /// The port, or the default port of the scheme if the URL has none.
    package let port: Int

    /// Creates the origin of an absolute URL.
    package init(of url: URL) {
        let text = url.absoluteString
        let bytes = text.utf8.span
        let syntax = URLSyntax(bytes)
        let schemeBytes = bytes.extracting(syntax.scheme)
        // The text of the usual schemes need not be made from bytes.
        let usualScheme = schemeBytes.count == 5 ? "https" : "http"
        scheme = URL.isWeb(schemeBytes) ? usualScheme : Self.lowercased(schemeBytes)
        let host = Self.lowercased(bytes.extracting(syntax.host))
        // The escapes of an international name, or the zone of an address.
        self.host = host.utf8.contains(0x25) && !host.hasPrefix("[") ? HostName.ascii(host) : host
        let digits = syntax.port.map { Self.lowercased(bytes.extracting($0)) } ?? ""
        port = Int(digits) ?? (scheme == "https" ? 443 : 80)
    }

    /// Whether a third party on the network can read the messages.
    package var isInsecure: Bool { scheme != "https" }

    private static func lowercased(_ bytes: Span<UInt8>) -> String {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        for index in bytes.indices { result.append(FieldSyntax.lowercased(bytes[index])) }
        return String(decoding: result, as: UTF8.self)
    }
}

/// The last origin that was needed, because the next URL often has the same one.
struct RecentOrigin {
    private var origin: Origin?
    /// The URL up to the end of its authority.
    private var start = ""

    mutating func origin(of url: URL) -> Origin {
        let text = url.absoluteString
        if let origin, isStart(of: text) { return origin }
        let new = Origin(of: url)
        let bytes = text.utf8
        let authority = URLSyntax(bytes.span).authority.upperBound
        start = String(text[..<bytes.index(bytes.startIndex, offsetBy: authority)])
        origin = new
        return new
    }

    private func isStart(of text: String) -> Bool {
        let (start, bytes) = (start.utf8.span, text.utf8.span)
        guard bytes.count >= start.count else { return false }
        for index in start.indices where start[index] != bytes[index] { return false }
        guard bytes.count > start.count else { return true }
        let end = bytes[start.count]
        return end == 0x2f || end == 0x3f || end == 0x23
    }
}

extension HTTPRequest {
    /// The host and the port of the URL, with the default port if the URL has none.
    var hostAndPort: String {
        let origin = Origin(of: url)
        return "\(origin.host):\(origin.port)"
    }
}
