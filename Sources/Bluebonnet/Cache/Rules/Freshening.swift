import FoundationEssentials

/// What becomes of a stored response when the server says that it is good still, or shows what it would be now.
enum Freshening {
    /// Whether a 304 is about the response that was asked about (RFC 9111 §4.3.4).
    static func isAbout(_ stored: StoredResponse, _ notModified: HTTPResponse) -> Bool {
        guard let tag = notModified.headers.values(for: "ETag").first, let own = stored.entityTag else { return true }
        return opaque(tag) == opaque(own)
    }

    /// The response with the fields of a 304 or of the answer to a HEAD (§3.2).
    static func freshened(
        _ stored: StoredResponse, by response: HTTPResponse, requestTime: Date, responseTime: Date
    ) -> StoredResponse? {
        let news = response.headers.filter { !isKept($0.name) }
        let names = Set(news.map { $0.name.lowercased() })
        // How old the answer is counts from the new one, which may say nothing of it.
        var fields = stored.response.headers.filter { field in
            let name = field.name.lowercased()
            return !names.contains(name) && name != "age" && name != "date"
        }
        fields += news
        return StoredResponse(
            stored.response.with(HTTPHeaders(fields)), body: stored.body, selector: stored.selector,
            requestTime: requestTime, responseTime: responseTime, storagePolicy: stored.storagePolicy)
    }

    /// Whether the answer to a HEAD is about what is stored, so that it freshens that; else that is outdated (§4.3.5).
    static func isSame(_ stored: StoredResponse, _ head: HTTPResponse) -> Bool {
        for name in ["ETag", "Last-Modified", "Content-Length"] {
            guard let new = head.headers.values(for: name).first else { continue }
            guard let old = stored.response.headers.values(for: name).first else { return false }
            guard name == "ETag" ? opaque(old) == opaque(new) : old == new else { return false }
        }
        return true
    }

    /// A tag without what says that it is weak: weak comparison (RFC 9110 §8.8.3.2).
    private static func opaque(_ tag: String) -> Substring {
        let tag = tag.trimmed
        return tag.hasPrefix("W/") ? tag.dropFirst(2) : tag
    }

    /// Whether a field of the stored response stays as it is: those that tell how that was framed and coded, which
    /// §3.2 excludes; its tag; and its type, which servers are known to get wrong where there is no content.
    private static func isKept(_ name: String) -> Bool {
        let name = name.lowercased()
        return kept.contains(name) || name.hasPrefix("proxy-")
    }

    private static let kept: Set<String> = [
        "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "content-length",
        "content-encoding", "content-range", "content-type", "etag",
    ]
}
