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
        scheme = Self.lowercased(bytes.extracting(syntax.scheme))
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
