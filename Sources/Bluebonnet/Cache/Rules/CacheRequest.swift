import FoundationEssentials

/// The properties of a request that its caching depends on.
struct CacheRequest: Sendable {
    let method: HTTPMethod
    let url: URL
    let key: CacheKey
    let policy: HTTPRequest.CachePolicy
    let control: CacheControl
    /// Whether only a part is asked for.
    let isPartial: Bool
    /// Whether the request has a condition of the user's, so that the answer to it is the user's, too.
    let isConditional: Bool
    private let fields: HTTPHeaders
    private let defaults: HTTPHeaders
    /// The user of the request, where the field `Authorization` does not name one.
    private let identity: String?
    /// Whether libcurl may send cookies that are not known here.
    private let hasHiddenCookies: Bool
    /// The session's settings that change the meaning of the URL.
    private let view: String

    /// Looks at a request, and at the fields that the session adds.
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

    /// Whether a stored response may answer the request, or be validated for it.
    var mayBeAnswered: Bool {
        (method == .get || method == .head) && !isPartial && !isConditional && !control.noStore
            && policy != .reloadIgnoringCache
    }

    /// Whether the request's values of the fields that `Vary` names are known.
    func selects(by varyFields: VaryFields) -> Bool { !varyFields.variesByCookie || !hasHiddenCookies }

    /// Returns a digest of the request's values of the fields that `Vary` names, and of its session's view of the URL.
    ///
    /// The values themselves may be secrets, and are not kept.
    func selector(for varyFields: VaryFields) -> Data {
        var text = view.isEmpty ? "" : "\(view)\u{0}\u{0}"
        for name in varyFields.names {
            let value = Self.value(name, fields, defaults)
            text += "\(name)\u{0}"
            if let value { text += "=\(Self.normalized(value))" }
            // A field of the request's own leaves nothing to others.
            if name == "authorization", value == nil, let identity { text += "~\(identity)" }
            text += "\u{0}"
        }
        return Digest.sha256(of: Data(text.utf8))
    }

    private static func value(_ name: String, _ fields: HTTPHeaders, _ defaults: HTTPHeaders) -> String? {
        fields.contains(name) ? fields.value(for: name) : defaults.value(for: name)
    }

    /// A value without white space that means nothing: around the elements of a list.
    private static func normalized(_ value: String) -> String {
        value.split(separator: ",", omittingEmptySubsequences: false).map { String($0.trimmed) }.joined(separator: ",")
    }
}

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

/// The fields of a request that have chosen a response (RFC 9111 §4.1).
struct VaryFields: Equatable, Sendable {
    /// The names in lower case, sorted, each once.
    let names: [String]
    /// Whether the server says that cookies choose the response.
    let variesByCookie: Bool

    /// Reads a response's `Vary`; `nil` when no request can match: it holds a `*`.
    ///
    /// `Authorization` and `Cookie` are among the names unless the response says `public`: a program may act for
    /// several users, a response for one user is not for another, and servers forget to state that.
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
