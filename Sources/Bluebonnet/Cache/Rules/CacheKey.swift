import FoundationEssentials

/// Names what a request is for: its URL without the fragment and the user, in one spelling of scheme, host and port.
struct CacheKey: Hashable, Sendable {
    let text: String

    init(_ url: URL) {
        let origin = Origin(of: url)
        let whole = url.absoluteString
        let rest = whole.utf8.dropFirst(URLSyntax(whole.utf8.span).authority.upperBound).prefix { $0 != 0x23 }
        let path = rest.first == 0x2f ? String(Substring(rest)) : "/" + String(Substring(rest))
        text = "\(origin.scheme)://\(origin.host):\(origin.port)\(path)"
    }

    /// The digest under which files are kept.
    var digest: Data { Digest.sha256(of: Data(text.utf8)) }
}

extension URL {
    /// The name and the password in the URL, as they stand there.
    var userInfo: String? {
        let whole = absoluteString
        let range = URLSyntax(whole.utf8.span).authority
        let authority = whole.utf8.dropFirst(range.lowerBound).prefix(range.count)
        return authority.lastIndex(of: 0x40).map { String(Substring(authority[..<$0])) }
    }
}
