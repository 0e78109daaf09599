import CCurl

/// The names of hosts, as they are compared.
// Safety: libcurl's strings are copied before they are freed.
package enum HostName {
    /// A host in lower case and in ASCII, without a dot at its end and without the brackets of an IPv6 address.
    ///
    /// An address is written in the one way in which libcurl writes it, so that it is the host that is connected to.
    /// A wildcard stays one. A name that libcurl cannot read stays as it is, in lower case, and so is like no other.
    static func canonical(_ host: String) -> String {
        let isWildcard = host.hasPrefix("*.")
        var name = (isWildcard ? String(host.dropFirst(2)) : host).lowercased()
        if name.utf8.contains(UInt8(ascii: ":")), !name.hasPrefix("[") { name = "[\(name)]" }
        var text = ascii(name) ?? name
        if text.hasSuffix(".") { text.removeLast() }
        if text.hasPrefix("["), text.hasSuffix("]") { text = String(text.dropFirst().dropLast()) }
        return isWildcard ? "*.\(text)" : text
    }

    /// The canonical form of a host or of a wildcard for one label of it; `nil` for what is neither.
    package static func pattern(_ host: String) -> String? {
        let name = canonical(host)
        let rest = name.hasPrefix("*.") ? String(name.dropFirst(2)) : name
        if IPAddress.isAddress(rest) { return name == rest ? name : nil }
        // What ends in a number is an address, or nothing.
        if name != rest, rest.split(separator: ".").last?.allSatisfy(\.isNumber) == true { return nil }
        let isHost =
            !rest.isEmpty
            && rest.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && !"*:/?#@[]\\%".utf8.contains($0) }
        return isHost ? name : nil
    }

    private static func ascii(_ name: String) -> String? {
        let isPlain = name.utf8.allSatisfy { $0 < 0x80 && $0 != UInt8(ascii: "%") }
        if isPlain, !mayBeAddress(name) { return name }
        // In a URL these would end the host, or stand before it.
        guard !name.utf8.contains(where: "/?#@\\".utf8.contains) else { return nil }
        return Libcurl.withUTF8 { host(in: "https://\(name)/") }
    }

    /// Whether a name may be an address, of which there are many ways to write most: `127.1`, `0x7f000001`, `[0::1]`.
    private static func mayBeAddress(_ name: String) -> Bool {
        name.hasPrefix("[")
            || name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): true
                default: byte == UInt8(ascii: "x") || byte == UInt8(ascii: ".")
                }
            }
    }

    /// The host of a URL, as libcurl writes it: it rewrites what it has read, and nothing else.
    private static func host(in text: String) -> String? {
        parts(of: text, flags: 0, (CURLUPART_HOST, UInt32(CURLU_PUNYCODE)))?[0]
    }

    /// The scheme and the canonical form of the host of a proxy's URL, as libcurl reads it; `nil` if it cannot.
    ///
    /// There may be one slash behind the scheme, or three, or no scheme at all.
    static func parts(ofProxy url: String) -> (scheme: String, host: String)? {
        let flags = UInt32(CURLU_NON_SUPPORT_SCHEME | CURLU_GUESS_SCHEME)
        let found = Libcurl.withUTF8 {
            parts(of: url, flags: flags, (CURLUPART_SCHEME, 0), (CURLUPART_HOST, UInt32(CURLU_PUNYCODE)))
        }
        return found.map { ($0[0], canonical($0[1])) }
    }

    /// Some parts of a URL, in lower case.
    private static func parts(
        of text: String, flags: UInt32, _ wanted: (part: CURLUPart, flags: UInt32)...
    ) -> [String]? {
        guard let url = unsafe curl_url() else { return nil }
        defer { unsafe curl_url_cleanup(url) }
        guard unsafe curl_url_set(url, CURLUPART_URL, text, flags) == CURLUE_OK else { return nil }
        var parts: [String] = []
        for (part, flags) in wanted {
            var value: UnsafeMutablePointer<CChar>?
            guard unsafe curl_url_get(url, part, &value, flags) == CURLUE_OK, let value = unsafe value else {
                return nil
            }
            parts.append(unsafe String(cString: value).lowercased())
            unsafe curl_free(value)
        }
        return parts
    }
}
