public import FoundationEssentials

/// Describes a request: what to send, where and how.
///
/// A value, which may be changed until the request is started; it is checked then.
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

    /// The content of the request; a GET, HEAD or TRACE request must not have any.
    public var body: RequestBody? {
        get { parts.body }
        set { parts.body = newValue }
    }

    /// The limits for this request; a field that is not set is the session's.
    public var timeouts: Timeouts {
        get { parts.timeouts ?? .default }
        set { parts.timeouts = newValue.isUnset ? nil : newValue }
    }

    /// The limits for this request, if it has any of its own.
    var ownTimeouts: Timeouts? { parts.timeouts }

    /// The version of HTTP to use; `nil` for the session's choice.
    public var httpVersion: HTTPVersionPreference? {
        get { parts.httpVersion }
        set { parts.httpVersion = newValue }
    }

    /// The credential that answers the server's challenges; `nil`, the default, leaves a 401 as the response.
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
    /// Requests that follow a redirect use the same proxy. A request whose credential for an HTTP proxy differs from
    /// the session's uses a separate connection.
    public var proxy: Session.Configuration.Proxy? {
        get { parts.proxy }
        set { parts.proxy = newValue }
    }

    /// How the request is served beside others on the same HTTP/2 connection; `nil` for no preference.
    public var priority: HTTPPriority? {
        get { parts.priority }
        set { parts.priority = newValue }
    }

    /// How the request uses the session's response cache; `nil` for the session's choice.
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
    package var credentialVersion: UInt64? {
        get { parts.credentialVersion }
        set { parts.credentialVersion = newValue }
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

    /// Whether another request is this very one, unchanged; a separate request with the same parts is not.
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
        var credentialVersion: UInt64?
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

extension HTTPRequest: SecretKeeping {
    /// The method and the URL without its secrets.
    package var text: String { "\(method.rawValue) \(url.redactedDescription)" }

    package var shownParts: KeyValuePairs<String, Any> {
        [
            "method": method.rawValue, "url": url.redactedDescription, "headers": headers, "body": body as Any,
            "timeouts": timeouts as Any, "httpVersion": httpVersion as Any, "credential": credential as Any,
            "handlesCookies": handlesCookies, "proxy": proxy as Any, "priority": priority as Any,
            "cachePolicy": cachePolicy as Any,
        ]
    }
}

/// Names what a request asks of a resource (RFC 9110 §9).
///
/// Methods are case-sensitive. Any token is a method; the well-known ones are here as constants.
public struct HTTPMethod: RawRepresentable, Hashable, Sendable {
    /// Asks a proxy for a tunnel.
    public static let connect = HTTPMethod(rawValue: "CONNECT")
    /// Removes the resource.
    public static let delete = HTTPMethod(rawValue: "DELETE")
    /// Fetches a representation.
    public static let get = HTTPMethod(rawValue: "GET")
    /// Fetches what a GET would, without the body.
    public static let head = HTTPMethod(rawValue: "HEAD")
    /// Asks what the resource can do.
    public static let options = HTTPMethod(rawValue: "OPTIONS")
    /// Changes a part of the resource (RFC 5789).
    public static let patch = HTTPMethod(rawValue: "PATCH")
    /// Hands the resource something to process.
    public static let post = HTTPMethod(rawValue: "POST")
    /// Replaces the resource.
    public static let put = HTTPMethod(rawValue: "PUT")
    /// Fetches what the body asks for, safely and idempotently.
    public static let query = HTTPMethod(rawValue: "QUERY")
    /// Asks for the request as the server received it.
    public static let trace = HTTPMethod(rawValue: "TRACE")

    /// The method as it is sent.
    public let rawValue: String

    /// Creates a method.
    ///
    /// - Parameter rawValue: The method as it is sent; what is not a token is refused when a request is started.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// Whether the method is a token (RFC 9110 §5.6.2).
    package var isValid: Bool { rawValue.utf8.isToken }

    /// Whether doing it twice is like doing it once (RFC 9110 §9.2.2); unknown methods are taken not to be.
    package var isIdempotent: Bool {
        switch self {
        case .get, .head, .put, .delete, .options, .trace, .query: true
        default: false
        }
    }
}

extension HTTPMethod: Described {
    /// The method as it is sent.
    package var text: String { rawValue }
}

/// Says which version of HTTP a request should be sent in.
@nonexhaustive
public enum HTTPVersionPreference: Hashable, Sendable {
    /// HTTP/2 where TLS negotiates it (ALPN), HTTP/1.1 otherwise.
    case automatic
    /// HTTP/1.1 only.
    case http1_1
    /// HTTP/2 without asking, where there is no TLS (RFC 9113 §3.3).
    ///
    /// With TLS, it is the same as ``automatic``: the handshake says whether the server speaks HTTP/2 (§3.2).
    case http2PriorKnowledge
}

/// Says how a request is served beside others on the same HTTP/2 connection; servers may ignore it.
///
/// It is sent in both ways that exist: in the field `Priority` (RFC 9218), unless the request has such a field already
/// or the priority is the default; and over HTTP/2 as the weight of the stream (RFC 7540 §5.3.2, which RFC 9113 has
/// given up, and libcurl after 8.14.1).
public struct HTTPPriority: Hashable, Sendable {
    /// How urgent the response is: 0, the most, to 7; without a priority it is 3.
    public let urgency: Int

    /// Whether the response is of use while it comes in, so that it may share the connection with others as urgent.
    public let isIncremental: Bool

    /// The share of the connection in proportion to that of other requests: 1 to 256; HTTP/2's own default is 16.
    package let weight: Int

    /// Creates a priority as RFC 9218 has it, with the weight that fits.
    ///
    /// - Parameters:
    ///   - urgency: How urgent the response is; brought into the range of 0 to 7.
    ///   - isIncremental: Whether the response is of use while it comes in.
    public init(urgency: Int, isIncremental: Bool = false) {
        self.urgency = min(7, max(0, urgency))
        self.isIncremental = isIncremental
        weight = Self.weights[self.urgency]
    }

    /// Creates a priority of a weight, with the urgency that fits: from 1 for 256 to 5 for less than 4.
    ///
    /// - Parameter weight: The share; brought into the range of 1 to 256.
    package init(weight: Int) {
        let weight = min(256, max(1, weight))
        self.weight = weight
        urgency = Self.weights.dropFirst().firstIndex { $0 <= weight } ?? 3
        isIncremental = false
    }

    /// Before others: the urgency 1, the weight 256.
    public static var high: HTTPPriority { HTTPPriority(urgency: 1) }
    /// As others: the urgency 3, the weight 16.
    public static var normal: HTTPPriority { HTTPPriority(urgency: 3) }
    /// After others: the urgency 5, the weight 1.
    public static var low: HTTPPriority { HTTPPriority(urgency: 5) }

    /// The weights of the urgencies 0 to 7.
    private static let weights = [256, 256, 64, 16, 4, 1, 1, 1]

    /// The value of the field `Priority`, in which defaults are left out; `nil` when nothing else is left.
    var fieldValue: String? {
        let parts = (urgency == 3 ? [] : ["u=\(urgency)"]) + (isIncremental ? ["i"] : [])
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }
}

/// Limits how long the stages of a request may take; `nil` means no limit.
///
/// Each field counts for itself: one that a request does not set is the session's, and one that neither sets has its
/// default.
///
/// ```swift
/// session.request(url) { $0.timeouts.idle = .seconds(5) }
/// ```
public struct Timeouts: Hashable, Sendable {
    private var ownPool: Duration??
    private var ownConnect: Duration??
    private var ownIdle: Duration??
    private var ownTotal: Duration??

    /// The limit for waiting until ``Session/Configuration/connectionLimits`` allow a connection; none by default.
    ///
    /// The wait counts for ``total``, not for ``connect``.
    public var pool: Duration? {
        get { ownPool ?? nil }
        set { ownPool = .some(newValue) }
    }

    /// The limit for name lookup, connecting and TLS together; 30 seconds by default.
    public var connect: Duration? {
        get { ownConnect ?? .seconds(30) }
        set { ownConnect = .some(newValue) }
    }

    /// The longest time in which nothing is sent or received, to an eighth of itself; suspension does not count.
    ///
    /// 60 seconds by default.
    public var idle: Duration? {
        get { ownIdle ?? .seconds(60) }
        set { ownIdle = .some(newValue) }
    }

    /// The limit for one exchange as a whole, from its start to the last byte of the body; suspension counts.
    ///
    /// Where it is not set, an exchange whose bodies are both in memory may take 10 minutes, so that a server which
    /// trickles does not hold a request indefinitely. Streams, downloads, and uploads from files and sequences have no
    /// limit then.
    ///
    /// Each redirect and each retry is an exchange of its own: a request may take as many times as long, and the waits
    /// between. To bound a request as a whole, cancel the task that awaits it.
    public var total: Duration? {
        get { ownTotal ?? nil }
        set { ownTotal = .some(newValue) }
    }

    /// Stands for a field that is not set.
    @usableFromInline static let unset: Duration? = .nanoseconds(-1)

    /// Creates limits; what is left out is not set.
    ///
    /// - Parameters:
    ///   - pool: The limit for waiting until a connection is allowed; `nil` for none.
    ///   - connect: The limit for name lookup, connecting and TLS together; `nil` for none.
    ///   - idle: The longest time in which nothing is sent or received; `nil` for any.
    ///   - total: The limit for the exchange as a whole; `nil` for none.
    public init(
        pool: Duration? = Timeouts.unset, connect: Duration? = Timeouts.unset, idle: Duration? = Timeouts.unset,
        total: Duration? = Timeouts.unset
    ) {
        if pool != Self.unset { self.pool = pool }
        if connect != Self.unset { self.connect = connect }
        if idle != Self.unset { self.idle = idle }
        if total != Self.unset { self.total = total }
    }

    /// 30 seconds to connect, 60 seconds idle, 10 minutes in total for bodies in memory.
    public static let `default` = Timeouts()

    /// Whether no field is set.
    var isUnset: Bool { self == .default }

    /// The limit for an exchange as a whole, with the default for bodies in memory.
    func total(isInMemory: Bool) -> Duration? { ownTotal ?? (isInMemory ? .seconds(600) : nil) }

    /// These limits, with another's in the place of those that are not set.
    func filled(from other: Timeouts) -> Timeouts {
        var timeouts = self
        timeouts.ownPool = ownPool ?? other.ownPool
        timeouts.ownConnect = ownConnect ?? other.ownConnect
        timeouts.ownIdle = ownIdle ?? other.ownIdle
        timeouts.ownTotal = ownTotal ?? other.ownTotal
        return timeouts
    }
}
