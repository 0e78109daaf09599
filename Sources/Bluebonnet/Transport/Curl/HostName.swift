import CCurl

/// The names of hosts, as they are compared.
// Safety: libcurl's strings are copied before they are freed.
enum HostName {
    /// A host in lower case and in ASCII, without a dot at its end and without the brackets of an IPv6 address.
    ///
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
    static func pattern(_ host: String) -> String? {
        let name = canonical(host)
        let rest = name.hasPrefix("*.") ? String(name.dropFirst(2)) : name
        if isAddress(rest) { return name == rest ? name : nil }
        // What ends in a number is an address, or nothing.
        if name != rest, rest.split(separator: ".").last?.allSatisfy(\.isNumber) == true { return nil }
        let isHost =
            !rest.isEmpty
            && rest.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && !"*:/?#@[]\\%".utf8.contains($0) }
        return isHost ? name : nil
    }

    /// Whether a host is an IP address.
    static func isAddress(_ host: String) -> Bool { X509Certificate.isAddress(host) }

    private static func ascii(_ name: String) -> String? {
        if name.utf8.allSatisfy({ $0 < 0x80 && $0 != UInt8(ascii: "%") }) { return name }
        Libcurl.useUTF8()
        guard let url = unsafe curl_url() else { return nil }
        defer { unsafe curl_url_cleanup(url) }
        var text: UnsafeMutablePointer<CChar>?
        guard unsafe curl_url_set(url, CURLUPART_SCHEME, "https", 0) == CURLUE_OK,
            unsafe curl_url_set(url, CURLUPART_HOST, name, UInt32(CURLU_URLDECODE)) == CURLUE_OK,
            unsafe curl_url_get(url, CURLUPART_HOST, &text, UInt32(CURLU_PUNYCODE)) == CURLUE_OK,
            let text = unsafe text
        else { return nil }
        defer { unsafe curl_free(text) }
        return unsafe String(cString: text).lowercased()
    }
}
