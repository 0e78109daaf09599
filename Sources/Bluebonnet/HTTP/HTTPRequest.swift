public import FoundationEssentials

/// Describes a request: what is to be sent where, and how.
///
/// A value that anybody may change until it is started; it is checked then.
public struct HTTPRequest: Sendable {
    /// What is asked of the resource.
    public var method: HTTPMethod {
        get { parts.method }
        set { parts.method = newValue }
    }

    /// Where the request goes: an absolute `http` or `https` URL.
    public var url: URL {
        get { parts.url }
        set { parts.url = newValue }
    }

    /// The fields to send, beside those that the session adds and in place of those of the same names.
    ///
    /// A field with an empty value is sent with an empty value. `Content-Length` and `Transfer-Encoding` are left out:
    /// they are libcurl's to set.
    public var headers: HTTPHeaders {
        get { parts.headers }
        set { parts.headers = newValue }
    }

    /// What is sent after the head; a GET, HEAD or TRACE must have none.
    public var body: RequestBody? {
        get { parts.body }
        set { parts.body = newValue }
    }

    /// The limits for this request; `nil` for those of the session.
    public var timeouts: Timeouts? {
        get { parts.timeouts }
        set { parts.timeouts = newValue }
    }

    /// The version of HTTP to use; `nil` for the session's choice.
    public var httpVersion: HTTPVersionPreference? {
        get { parts.httpVersion }
        set { parts.httpVersion = newValue }
    }

    /// With what the challenges of the server are answered; `nil`, the default, leaves a 401 as the response.
    ///
    /// It stays with the origin of the request: a redirect to another one drops it. A request that has an `Authorization`
    /// field does without it. User info in the URL is another thing: that is sent with Basic, without being asked for.
    public var credential: Credential? {
        get { parts.credential }
        set { parts.credential = newValue }
    }

    /// Whether the session's cookies are sent, and those of the response kept; `true` by default.
    public var handlesCookies: Bool {
        get { parts.handlesCookies }
        set { parts.handlesCookies = newValue }
    }

    /// Through which proxy this request goes; `nil` for the session's choice.
    ///
    /// What a redirect leads to is requested through the same. Where an HTTP proxy is told who is there, in another way
    /// than the session's requests tell it, the request makes a connection of its own.
    public var proxy: Session.Configuration.Proxy? {
        get { parts.proxy }
        set { parts.proxy = newValue }
    }

    /// How the request is served beside others on the same HTTP/2 connection; `nil` for no preference.
    public var priority: HTTPPriority? {
        get { parts.priority }
        set { parts.priority = newValue }
    }

    /// What the session's response cache may do for this request; `nil` for the session's choice.
    public var cachePolicy: CachePolicy? {
        get { parts.cachePolicy }
        set { parts.cachePolicy = newValue }
    }

    /// Whether those of the session's fields are left out that carry secrets: a redirect has left their origin.
    package var omitsSessionSecrets: Bool {
        get { parts.omitsSessionSecrets }
        set { parts.omitsSessionSecrets = newValue }
    }

    /// When a credential was applied by an ``AuthenticationInterceptor``, as such interceptors count.
    package var credentialTick: UInt64? {
        get { parts.credentialTick }
        set { parts.credentialTick = newValue }
    }

    /// The URL of the first request, from which redirects have led to this one; `nil` for a first request.
    package var firstPartyURL: URL? {
        get { parts.firstPartyURL }
        set { parts.firstPartyURL = newValue }
    }

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - url: Where the request goes.
    ///   - method: What is asked; GET by default.
    ///   - headers: The fields to send.
    ///   - body: What is sent after the head.
    public init(url: URL, method: HTTPMethod = .get, headers: HTTPHeaders = [:], body: RequestBody? = nil) {
        box = Box(Parts(method: method, url: url, headers: headers, body: body))
    }

    /// All of the request, on the heap: a request is handed on a dozen times, and changed rarely.
    private var box: Box

    /// Whether another request is this very one, unchanged; one that was made anew with the same parts is not.
    func isIdentical(to other: HTTPRequest) -> Bool { box === other.box }

    private var parts: Parts {
        get { box.parts }
        set { box = Box(newValue) }
    }

    private struct Parts {
        var method: HTTPMethod
        var url: URL
        var headers: HTTPHeaders
        var body: RequestBody?
        var timeouts: Timeouts?
        var httpVersion: HTTPVersionPreference?
        var credential: Credential?
        var handlesCookies = true
        var proxy: Session.Configuration.Proxy?
        var priority: HTTPPriority?
        var cachePolicy: CachePolicy?
        var omitsSessionSecrets = false
        var credentialTick: UInt64?
        var firstPartyURL: URL?
    }

    private final class Box: Sendable {
        let parts: Parts
        let hasBody: Bool
        /// See ``HTTPRequest/isPlain``.
        let isPlain: Bool

        init(_ parts: Parts) {
            hasBody = parts.body != nil
            isPlain =
                !hasBody && parts.headers.isEmpty && parts.credential == nil && parts.handlesCookies
                && parts.proxy == nil && parts.priority == nil && !parts.omitsSessionSecrets
            self.parts = parts
        }
    }

    /// Creates a request to what can be converted to a URL.
    ///
    /// - Parameters:
    ///   - url: Where the request goes.
    ///   - method: What is asked; GET by default.
    ///   - headers: The fields to send.
    ///   - body: What is sent after the head.
    /// - Throws: `.invalidURL` when there is no URL in it, or `.invalidRequest(.conversion)` around another error.
    public init(
        url: any URLConvertible, method: HTTPMethod = .get, headers: HTTPHeaders = [:], body: RequestBody? = nil
    ) throws(RequestError) {
        let converted: URL
        do {
            converted = try url.asURL()
        } catch {
            throw error as? RequestError ?? RequestError(.invalidRequest(.conversion), underlying: error)
        }
        self.init(url: converted, method: method, headers: headers, body: body)
    }

    /// Whether nothing but the method, the URL, the timeouts and the version differs from what all requests have.
    package var isPlain: Bool { box.isPlain }

    /// Whether there is something to be sent after the head.
    package var hasBody: Bool { box.hasBody }

    /// Checks that the request can be sent: URL, method and fields, and that a GET, HEAD or TRACE has no body.
    package func validate() throws(RequestError) {
        try url.checkRequestable()
        guard method.isValid else { throw RequestError(.invalidRequest(.method(method.rawValue))) }
        guard !hasBody || (method != .get && method != .head && method != .trace) else {
            throw RequestError(.invalidRequest(.bodyDataInGETRequest))
        }
        try headers.validate()
    }
}

extension HTTPRequest: CustomStringConvertible, CustomReflectable {
    /// The method and the URL without its secrets.
    public var description: String { "\(method.rawValue) \(url.redactedDescription)" }

    /// A mirror without secrets: of the body, its length alone.
    public var customMirror: Mirror {
        let children: KeyValuePairs<String, Any> = [
            "method": method.rawValue, "url": url.redactedDescription, "headers": headers, "body": body as Any,
            "timeouts": timeouts as Any, "httpVersion": httpVersion as Any, "credential": credential as Any,
            "handlesCookies": handlesCookies, "proxy": proxy as Any, "priority": priority as Any,
            "cachePolicy": cachePolicy as Any,
        ]
        return Mirror(self, children: children, displayStyle: .struct)
    }
}
