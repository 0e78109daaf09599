import FoundationEssentials

extension Cookie {
    /// Checks that a session can keep the cookie and send it as it is.
    ///
    /// The limits are those of libcurl, which drops a cookie that is beyond them without a word.
    func validate() throws(RequestError) {
        if let reason = refusal { throw RequestError(.cookies(reason)) }
    }

    /// Why the cookie cannot be kept, if it cannot.
    private var refusal: RequestError.CookieReason? {
        guard !name.isEmpty, name.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7f && $0 != 0x3b && $0 != 0x3d }) else {
            return .invalidName
        }
        guard value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f && $0 != 0x3b }), value.trimmed == value else {
            return .invalidValue(name: name)
        }
        guard name.utf8.count + value.utf8.count <= Self.sizeLimit else { return .tooLarge(name: name) }
        // Libcurl would take two slashes for one, and so send the cookie everywhere.
        guard path.utf8.first == 0x2f, path != "//", path.utf8.count <= Self.sizeLimit,
            path.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f && $0 != 0x3b })
        else { return .invalidPath(name: name) }
        guard Self.isHost(domain) else { return .invalidDomain(name: name) }
        if includesSubdomains {
            guard !IPAddress.isAddress(domain) else { return .invalidDomain(name: name) }
            guard !PublicSuffixes.isPublicSuffix(domain) else { return .publicSuffix(name: name, domain: domain) }
        }
        return prefixRefusal
    }

    /// Which promise of the name's prefix the cookie does not keep (RFC 6265bis §4.1.3).
    private var prefixRefusal: RequestError.CookieReason? {
        let prefix = name.lowercased()
        if prefix.hasPrefix("__secure-"), !isSecure { return .prefix(name: name) }
        if prefix.hasPrefix("__host-"), !isSecure || includesSubdomains || path != "/" { return .prefix(name: name) }
        return nil
    }

    /// The most bytes that a name and its value have, as in libcurl and browsers.
    private static let sizeLimit = 4096

    private static func isHost(_ domain: String) -> Bool {
        let bytes = domain.utf8
        guard let first = bytes.first, first != 0x2e, first != 0x23, bytes.count <= 253 else { return false }
        return bytes.allSatisfy { byte in
            FieldSyntax.isAlphanumeric(byte) || byte == 0x2d || byte == 0x2e || byte == 0x5f || byte == 0x3a
        }
    }
}
