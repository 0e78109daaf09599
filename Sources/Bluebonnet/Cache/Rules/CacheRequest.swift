import FoundationEssentials

/// The properties of a request on which its caching depends.
struct CacheRequest: Sendable {
    let method: HTTPMethod
    let url: URL
    let key: CacheKey
    let policy: HTTPRequest.CachePolicy
    let control: CacheControl
    /// The range that the request asks for.
    let range: ByteRange?
    /// Whether the request asks for several ranges, or has a `Range` field that is not understood.
    let hasUnusualRange: Bool
    private let ifRange: String?
    /// Whether the request contains its own condition; the response to such a request is returned unchanged.
    let isConditional: Bool
    private let fields: HTTPHeaders
    private let defaults: HTTPHeaders
    /// The user of the request, in case the `Authorization` field is missing.
    private let identity: String?
    /// The `Host` field of the request, and its other fields with secrets than `Authorization` and `Cookie`.
    private let personal: (host: String?, secrets: String)
    /// Whether the transport may add cookies that are neither in the request's header fields nor in ``cookies``.
    private let hasHiddenCookies: Bool
    /// The session's cookies for the request, and where they are stored; `nil` if the session sends none with it.
    private let cookies: (field: [UInt8], storage: SessionCookies)?
    /// The session's settings that determine the resource of the URL and the coding of its body.
    private let view: String
    let keepsCoding: Bool
    private let removedCodings: RemovedCodings

    /// Collects the properties of a request, including the fields that the session adds.
    init(_ request: HTTPRequest, settings: CacheSettings) {
        method = request.method
        url = request.url
        key = CacheKey(request.url)
        policy = request.cachePolicy ?? settings.policy
        fields = request.headers
        let defaults = request.omitsSessionSecrets ? settings.openHeaders : settings.headers
        self.defaults =
            request.headers.contains("Range") ? HTTPHeaders(defaults.map(request.defaultField)) : defaults
        let names = ["If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since"]
        isConditional = names.contains { request.headers.contains($0) }
        // The field applies to GET only (RFC 9110 §14.2).
        let asked = request.method == .get ? request.headers["Range"] : nil
        range = asked.flatMap(ByteRange.init)
        hasUnusualRange = asked != nil && range == nil
        ifRange = request.headers["If-Range"]
        identity =
            request.credential.map { "credential \($0.username.utf8.count) \($0.username)\($0.password)" }
            ?? request.url.userInfo
        let hasDefaultSecrets = defaults.count != settings.openHeaders.count
        personal = Self.personal(fields, defaults, secretsOf: hasDefaultSecrets ? [fields, defaults] : [fields])
        hasHiddenCookies = request.handlesCookies && settings.hasHiddenCookies
        let url = request.url
        cookies = settings.cookies.flatMap { $0.areUsed(by: request) ? (Self.cookies(for: url, in: $0), $0) : nil }
        view = settings.view
        keepsCoding = settings.keepsCoding
        removedCodings = request.removedCodings
        var control = CacheControl(Self.value("Cache-Control", fields, defaults))
        if control == CacheControl(), !fields.contains("Cache-Control"),
            Self.value("Pragma", fields, defaults)?.lowercased().contains("no-cache") == true
        {
            control.noCache = true
        }
        self.control = control
    }

    /// The directive with which the policy also applies to caches on the way to the server; `nil` if there is none, or
    /// if the request has its own directives.
    var policyDirective: String? {
        guard method == .get || method == .head, Self.value("Cache-Control", fields, defaults) == nil else {
            return nil
        }
        switch policy {
        case .reloadIgnoringCache: return "no-cache"
        case .reloadRevalidating: return "max-age=0"
        case .useProtocolCachePolicy, .returnCacheElseLoad, .returnCacheDontLoad: return nil
        }
    }

    /// Whether the request must not use the network.
    var isForCacheOnly: Bool { policy == .returnCacheDontLoad || control.onlyIfCached }

    /// Whether the body of a response has the codings that it has for other requests.
    ///
    /// A body with the codings that a download did not accept is neither stored nor used.
    func hasUsualCodings(_ headers: HTTPHeaders) -> Bool {
        keepsCoding || removedCodings == .all
            || headers.value(for: "Content-Encoding").map(removedCodings.removes) ?? true
    }

    /// Whether a stored response may be used or validated for the request.
    var mayBeAnswered: Bool {
        (method == .get || method == .head) && !hasUnusualRange && !isConditional && !control.noStore
            && policy != .reloadIgnoringCache
    }

    /// Returns the range that applies to a stored response.
    ///
    /// If the `If-Range` field does not match the response, the range does not apply (RFC 9110 §13.1.5).
    func range(of entry: StoredResponse) -> ByteRange? {
        guard range != nil, [200, 206].contains(entry.response.statusCode) else { return nil }
        return ifRange.map { $0 == ResumeValidator(entry.response)?.fieldValue } ?? true ? range : nil
    }

    /// Whether the request's values of the fields that select a response are known.
    func selects(by varyFields: VaryFields) -> Bool { !varyFields.variesByCookie || !hasHiddenCookies }

    /// Whether the values are still those with which the request was sent.
    ///
    /// The session's cookies may have changed since then, for example by the response itself.
    func wasSelected(by varyFields: VaryFields) -> Bool {
        guard selects(by: varyFields) else { return false }
        guard varyFields.variesByCookie, let cookies else { return true }
        return Self.cookies(for: url, in: cookies.storage) == cookies.field
    }

    /// The cookies for a URL, which may be sent over TLS although its scheme is `http` (RFC 6797 §8.3).
    private static func cookies(for url: URL, in storage: SessionCookies) -> [UInt8] {
        let field = storage.field(for: url)
        guard url.scheme?.lowercased() == "http", var secure = URLComponents(url: url, resolvingAgainstBaseURL: true)
        else { return field }
        secure.scheme = "https"
        return field + (secure.url.map(storage.field) ?? [])
    }

    /// Returns bytes that identify the request's values of the fields that select a response.
    ///
    /// The values may be secrets, so only their digest is stored. It also includes the settings that determine the
    /// resource of the URL and the coding of its body. If the request has none of the fields, the bytes are their
    /// names.
    func selector(for varyFields: VaryFields) -> Data {
        var hasValues = !view.isEmpty
        var text = hasValues ? "\(view)\u{0}\u{0}" : ""
        for name in varyFields.names {
            text += name
            text += "\u{0}"
            if let value = Self.value(name, fields, defaults) {
                hasValues = true
                text += "=\(Self.normalized(value, of: name))"
            } else if name == "authorization", let identity {
                // If the request has its own `Authorization` field, no other credential is used.
                hasValues = true
                text += "~\(identity)"
            }
            if name == "cookie", varyFields.variesByCookie, let cookies, !cookies.field.isEmpty {
                hasValues = true
                text += "+\(String(decoding: cookies.field, as: UTF8.self))"
            }
            text += "\u{0}"
        }
        if let host = personal.host {
            hasValues = true
            text += "host\u{0}=\(host)\u{0}"
        }
        if !varyFields.isPublic, !personal.secrets.isEmpty {
            hasValues = true
            text += personal.secrets
        }
        return hasValues ? Digest.sha256(of: Data(text.utf8)) : Data(text.utf8)
    }

    /// Returns the fields that select a response although no response names them.
    ///
    /// With its own `Host` field, a request has another resource than its URL. A response to a key or a token may be
    /// for one user, like a response to `Authorization`.
    private static func personal(
        _ fields: HTTPHeaders, _ defaults: HTTPHeaders, secretsOf lists: [HTTPHeaders]
    ) -> (host: String?, secrets: String) {
        var secrets: Set<String> = []
        for field in lists.joined() where HTTPHeader.isSensitive(name: field.name) {
            let name = field.name.lowercased()
            guard name != "authorization", name != "cookie" else { continue }
            secrets.insert("\(name)\u{0}=\(value(name, fields, defaults) ?? "")\u{0}")
        }
        return (value("Host", fields, defaults), secrets.sorted().joined())
    }

    private static func value(_ name: String, _ fields: HTTPHeaders, _ defaults: HTTPHeaders) -> String? {
        fields.contains(name) ? fields.value(for: name) : defaults.value(for: name)
    }

    /// Returns a list without the optional white space around its elements.
    ///
    /// For the fields of content negotiation, the order, the case, and the form of the weights do not matter.
    private static func normalized(_ value: String, of name: String) -> String {
        guard name != "authorization", name != "cookie", !value.contains("\"") else { return value }
        let elements = value.split(separator: ",", omittingEmptySubsequences: false).map { String($0.trimmed) }
        guard ["accept", "accept-encoding", "accept-language"].contains(name) else {
            return elements.joined(separator: ",")
        }
        return elements.filter { !$0.isEmpty }.map(preference).sorted().joined(separator: ",")
    }

    /// Returns a preference in lower case, with its weight in the shortest form (RFC 9110 §12.4.2).
    private static func preference(_ text: String) -> String {
        let parts = text.split(separator: ";").map(\.trimmed)
        let parameters = parts.dropFirst().compactMap { parameter -> String? in
            let pair = parameter.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(\.trimmed)
            let name = pair[0].lowercased()
            guard pair.count > 1 else { return name }
            guard name == "q", let weight = Double(pair[1]) else { return "\(name)=\(pair[1])" }
            return weight == 1 ? nil : "q=\(weight)"
        }
        return ([parts.first?.lowercased() ?? ""] + parameters).joined(separator: ";")
    }
}

/// Identifies the resource of a request by its normalized URL, without fragment and user info.
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
    /// Whether the `Vary` field contains `Cookie`.
    let variesByCookie: Bool
    /// Whether the response is for all users, whatever secrets their requests have.
    let isPublic: Bool

    /// Parses a response's `Vary` field; returns `nil` if no request can match, because it contains `*` or cannot be
    /// parsed.
    ///
    /// Unless the response is `public`, the names include `Authorization` and `Cookie`, and the request's other fields
    /// with secrets select a response, too. A response for one user must
    /// not be used for another user, and servers often omit these names.
    init?(_ headers: HTTPHeaders, _ control: CacheControl) {
        var names = Set(
            headers.values(for: "Vary").flatMap { $0.split(separator: ",") }.map { $0.trimmed.lowercased() })
        names.remove("")
        guard !names.contains("*"), names.allSatisfy({ $0.utf8.allSatisfy(FieldSyntax.isTokenByte) }) else {
            return nil
        }
        variesByCookie = names.contains("cookie")
        isPublic = control.isPublic
        if !isPublic { names.formUnion(["authorization", "cookie"]) }
        self.names = names.sorted()
    }
}
