import FoundationEssentials

/// The properties of a request that its caching depends on.
struct CacheRequest: Sendable {
    let method: HTTPMethod
    let url: URL
    let key: CacheKey
    let policy: HTTPRequest.CachePolicy
    let control: CacheControl
    /// Whether the request asks for a range only.
    let isPartial: Bool
    /// Whether the request contains its own condition, so that the response to it must be returned unchanged.
    let isConditional: Bool
    private let fields: HTTPHeaders
    private let defaults: HTTPHeaders
    /// The user of the request, if the `Authorization` field does not identify one.
    private let identity: String?
    /// Whether libcurl may add cookies that are not known here.
    private let hasHiddenCookies: Bool
    /// The session's settings that change the meaning of the URL.
    private let view: String

    /// Collects the properties of a request, including the fields that the session adds.
    init(_ request: HTTPRequest, settings: CachingTransport.Settings) {
        method = request.method
        url = request.url
        key = CacheKey(request.url)
        policy = request.cachePolicy ?? settings.policy
        fields = request.headers
        defaults = request.omitsSessionSecrets ? settings.openHeaders : settings.headers
        let names = ["If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since", "If-Range"]
        isConditional = names.contains { request.headers.contains($0) }
        isPartial = request.headers.contains("Range")
        identity = request.credential.map { "\($0.username):\($0.password)" } ?? request.url.userInfo
        hasHiddenCookies = request.handlesCookies && settings.hasCookies
        view = settings.view
        var control = CacheControl(Self.value("Cache-Control", fields, defaults))
        if control == CacheControl(), !fields.contains("Cache-Control"),
            Self.value("Pragma", fields, defaults)?.lowercased().contains("no-cache") == true
        {
            control.noCache = true
        }
        self.control = control
    }

    /// Whether the response must not come from the network.
    var isForCacheOnly: Bool { policy == .returnCacheDontLoad || control.onlyIfCached }

    /// Whether a stored response may answer the request, or may be validated for it.
    var mayBeAnswered: Bool {
        (method == .get || method == .head) && !isPartial && !isConditional && !control.noStore
            && policy != .reloadIgnoringCache
    }

    /// Whether the request's values for the fields of a variation are known.
    func selects(by varyFields: VaryFields) -> Bool { !varyFields.variesByCookie || !hasHiddenCookies }

    /// Returns a digest of the session's view of the URL and of the request's values for the fields of a variation.
    ///
    /// The values may be secrets, so they are not stored.
    func selector(for varyFields: VaryFields) -> Data {
        var text = view.isEmpty ? "" : "\(view)\u{0}\u{0}"
        for name in varyFields.names {
            let value = Self.value(name, fields, defaults)
            text += "\(name)\u{0}"
            if let value { text += "=\(Self.normalized(value))" }
            // If the request has its own field, no other credential is used.
            if name == "authorization", value == nil, let identity { text += "~\(identity)" }
            text += "\u{0}"
        }
        return Digest.sha256(of: Data(text.utf8))
    }

    private static func value(_ name: String, _ fields: HTTPHeaders, _ defaults: HTTPHeaders) -> String? {
        fields.contains(name) ? fields.value(for: name) : defaults.value(for: name)
    }

    /// Returns a value without insignificant white space around the elements of a list.
    private static func normalized(_ value: String) -> String {
        value.split(separator: ",", omittingEmptySubsequences: false).map { String($0.trimmed) }.joined(separator: ",")
    }
}

/// Identifies the resource of a request: its URL without fragment and user info, in a normalized form.
struct CacheKey: Hashable, Sendable {
    let text: String

    init(_ url: URL) {
        let origin = Origin(of: url)
        let whole = url.absoluteString
        let rest = whole.utf8.dropFirst(URLSyntax(whole.utf8.span).authority.upperBound).prefix { $0 != 0x23 }
        let path = rest.first == 0x2f ? String(Substring(rest)) : "/" + String(Substring(rest))
        text = "\(origin.scheme)://\(origin.host):\(origin.port)\(path)"
    }

    /// The digest that names the files of the key.
    var digest: Data { Digest.sha256(of: Data(text.utf8)) }
}

extension URL {
    /// The user info of the URL, exactly as written.
    var userInfo: String? {
        let whole = absoluteString
        let range = URLSyntax(whole.utf8.span).authority
        let authority = whole.utf8.dropFirst(range.lowerBound).prefix(range.count)
        return authority.lastIndex(of: 0x40).map { String(Substring(authority[..<$0])) }
    }
}

/// The fields of a request that select a response (RFC 9111 §4.1).
struct VaryFields: Equatable, Sendable {
    /// The names in lower case, sorted and without duplicates.
    let names: [String]
    /// Whether the server states that cookies select the response.
    let variesByCookie: Bool

    /// Reads a response's `Vary` field; `nil` if it contains `*`, so that no request can match.
    ///
    /// The names include `Authorization` and `Cookie`, unless the response is `public`. A program may act for several
    /// users, a response for one user must not be sent to another, and servers often omit these names.
    init?(_ headers: HTTPHeaders) {
        var names = Set(
            headers.values(for: "Vary").flatMap { $0.split(separator: ",") }.map { $0.trimmed.lowercased() })
        names.remove("")
        guard !names.contains("*") else { return nil }
        variesByCookie = names.contains("cookie")
        if !CacheControl(headers.value(for: "Cache-Control")).isPublic { names.formUnion(["authorization", "cookie"]) }
        self.names = names.sorted()
    }
}
