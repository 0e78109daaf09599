public import FoundationEssentials

/// An HTTP request with a method, a URL, header fields, a body and options.
///
/// A request is a value type. Bluebonnet validates a request when the request starts.
public struct HTTPRequest: Sendable {
    /// The method of the request.
    public var method: HTTPMethod {
        get { parts.method }
        set { parts.method = newValue }
    }

    /// The URL of the request, which must be an absolute `http` or `https` URL.
    public var url: URL {
        get { parts.url }
        set { parts.url = newValue }
    }

    /// The header fields of the request, which replace the session's fields of the same name.
    ///
    /// Fields with an empty value are sent. `Content-Length` and `Transfer-Encoding` are ignored, because libcurl sets
    /// these fields. The `Cookie` fields and the session's cookies are sent as one field. `Proxy-Authorization` is sent
    /// only to an HTTP proxy.
    public var headers: HTTPHeaders {
        get { parts.headers }
        set { parts.headers = newValue }
    }

    /// The body of the request, if there is one.
    ///
    /// A GET, HEAD or TRACE request must not have a body.
    public var body: RequestBody? {
        get { parts.body }
        set { parts.body = newValue }
    }

    /// The time limits of this request.
    ///
    /// If the request does not set a limit, the session's limit applies.
    public var timeouts: Timeouts {
        get { ownTimeouts ?? .default }
        set { parts.timeouts = newValue.isUnset ? nil : TimeoutsBox(newValue) }
    }

    /// The time limits of this request, if any limit is set.
    var ownTimeouts: Timeouts? { parts.timeouts?.value }
    /// The same limits without a copy.
    var timeoutsBox: TimeoutsBox? { parts.timeouts }

    /// The preferred HTTP version; `nil`, the default, for the session's setting.
    public var httpVersion: HTTPVersionPreference? {
        get { parts.httpVersion }
        set { parts.httpVersion = newValue }
    }

    /// The credential for the server's authentication challenges; `nil` by default.
    ///
    /// Without a credential, a 401 response is delivered like any other response. Bluebonnet does not use the
    /// credential if the request or the session has an `Authorization` field. Bluebonnet also does not use the
    /// credential after a redirect to another origin. User info in the URL (`user:password@`) is sent with the Basic
    /// scheme, before any challenge.
    public var credential: Credential? {
        get { parts.credential }
        set { parts.credential = newValue }
    }

    /// Whether the request sends the session's cookies and stores cookies from the response; `true` by default.
    public var handlesCookies: Bool {
        get { parts.handlesCookies }
        set { parts.handlesCookies = newValue }
    }

    /// The proxy for this request; `nil`, the default, for the session's setting.
    ///
    /// Redirects of the request use the same proxy. If the credential for an HTTP proxy differs from the session's
    /// credential, the request uses a separate connection.
    public var proxy: Session.Configuration.Proxy? {
        get { parts.proxy }
        set { parts.proxy = newValue }
    }

    /// The priority among the requests on the same HTTP/2 or HTTP/3 connection; `nil`, the default, for no preference.
    ///
    /// Requests that wait because of ``Session/Configuration/requestLimits`` start in the order of their urgency.
    /// Without a priority, the urgency is 3.
    public var priority: HTTPPriority? {
        get { parts.priority }
        set { parts.priority = newValue }
    }

    /// The cache policy of the request; `nil`, the default, for the session's setting.
    public var cachePolicy: CachePolicy? {
        get { parts.cachePolicy }
        set { parts.cachePolicy = newValue }
    }

    /// Whether the request may receive the response to an equal request that is already running; `true` by default.
    ///
    /// The property has an effect only if the session has a ``ResponseCache``. For the conditions, see
    /// ``ResponseCache``.
    public var allowsCollapsing: Bool {
        get { parts.allowsCollapsing }
        set { parts.allowsCollapsing = newValue }
    }

    /// The speed limits for the bodies of this request, in addition to the session's limits; none by default.
    public var speedLimits: SpeedLimits {
        get { parts.speedLimits ?? SpeedLimits() }
        set { parts.speedLimits = newValue.isEmpty ? nil : newValue }
    }

    /// Whether the request has its own speed limits.
    var hasSpeedLimits: Bool { if case .some = box.parts.speedLimits { true } else { false } }

    /// The values that interceptors, event monitors and the receiver of the response can read; none by default.
    ///
    /// The values are not sent. Redirected requests keep the values.
    public var tags: RequestTags {
        get { parts.tags }
        set { parts.tags = newValue }
    }

    /// Whether the request omits the session's fields with secrets, because a redirect led to another origin.
    package var omitsSessionSecrets: Bool {
        get { parts.omitsSessionSecrets }
        set { parts.omitsSessionSecrets = newValue }
    }

    /// Whether the URL has another origin than the session's base URL, so that the session's secrets are not sent.
    ///
    /// The secrets of the request and of its own interceptor are sent.
    package var isOutsideBase: Bool {
        get { parts.isOutsideBase }
        set { parts.isOutsideBase = newValue }
    }

    /// Whether the request may have a credential of its own interceptor, although it omits the session's secrets.
    var mayHaveOwnCredential: Bool {
        isOutsideBase && credentialVersion != nil && firstPartyURL.map { Origin(of: $0) == Origin(of: url) } ?? true
    }

    /// Whether the body of the response keeps its content codings if the request did not accept all of them.
    ///
    /// A file then has the bytes that were published, whatever the server says about them.
    package var keepsUnacceptedCodings: Bool {
        get { parts.keepsUnacceptedCodings }
        set { parts.keepsUnacceptedCodings = newValue }
    }

    /// Which content codings of the response's body are removed in a session that decodes bodies.
    var removedCodings: RemovedCodings {
        keepsUnacceptedCodings ? .accepted(headers["Accept-Encoding"]) : .all
    }

    /// The number that an ``AuthenticationInterceptor`` gave this request when it added a credential.
    ///
    /// The numbers increase across all interceptors of the process. They show whether the interceptor has replaced its
    /// credential since it added the credential to this request. The value is `nil` if no interceptor added a
    /// credential.
    package var credentialVersion: UInt64? {
        get { parts.credentialVersion }
        set { parts.credentialVersion = newValue }
    }

    /// The URL of the original request, before the first redirect; `nil` if no redirect led to this request.
    package var firstPartyURL: URL? {
        get { parts.firstPartyURL }
        set { parts.firstPartyURL = newValue }
    }

    /// Whether a redirect created this request.
    package var isRedirect: Bool { firstPartyURL != nil }

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - url: The URL of the request.
    ///   - method: The method of the request; GET by default.
    ///   - headers: The header fields; none by default.
    ///   - body: The body of the request; none by default.
    public init(url: URL, method: HTTPMethod = .get, headers: HTTPHeaders = [:], body: RequestBody? = nil) {
        box = Box(Parts(method: method, url: url, headers: headers, body: body))
    }

    /// The parts of the request, which are on the heap because a request is copied about a dozen times and rarely
    /// changed.
    private var box: Box

    /// Whether two requests share their storage; a separate request with equal parts is not identical.
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
        var timeouts: TimeoutsBox?
        var httpVersion: HTTPVersionPreference?
        var credential: Credential?
        var handlesCookies = true
        var allowsCollapsing = true
        var proxy: Session.Configuration.Proxy?
        var priority: HTTPPriority?
        var cachePolicy: CachePolicy?
        var omitsSessionSecrets = false
        var isOutsideBase = false
        var keepsUnacceptedCodings = false
        var credentialVersion: UInt64?
        var firstPartyURL: URL?
        var speedLimits: SpeedLimits?
        var tags = RequestTags()
    }

    private final class Box: Sendable {
        let parts: Parts
        let hasBody: Bool
        /// See ``HTTPRequest/isPlain``.
        let isPlain: Bool

        init(_ parts: Parts) {
            // Comparing an optional with `nil` may copy it (180 instructions for a credential).
            hasBody = if case .some = parts.body { true } else { false }
            let hasCredential = if case .some = parts.credential { true } else { false }
            isPlain =
                !hasBody && !hasCredential && parts.headers.isEmpty && parts.handlesCookies && parts.proxy == nil
                && parts.priority == nil && !parts.omitsSessionSecrets
            self.parts = parts
        }
    }

    /// Creates a request with a value that can be converted to a URL.
    ///
    /// - Parameters:
    ///   - url: The value to convert to the URL of the request, such as a string.
    ///   - method: The method of the request; GET by default.
    ///   - headers: The header fields; none by default.
    ///   - body: The body of the request; none by default.
    /// - Throws: `.invalidURL` if the value is not a URL. If ``URLConvertible/asURL()`` throws a ``RequestError``, the
    ///   initializer throws this error unchanged. Any other error becomes the underlying error of
    ///   `.invalidRequest(.conversion)`.
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

    /// Whether the transport only has to set the method, the URL, the timeouts and the HTTP version of the request.
    package var isPlain: Bool { box.isPlain }

    /// Whether the request has a body.
    package var hasBody: Bool { box.hasBody }

    /// Checks the URL, the method and the fields, and checks that a GET, HEAD or TRACE request has no body.
    package func validate() throws(RequestError) {
        try url.checkRequestable()
        guard method.isValid else { throw RequestError(.invalidRequest(.method(method.rawValue))) }
        guard !hasBody || (method != .get && method != .head && method != .trace) else {
            throw RequestError(.invalidRequest(.bodyDataInGETRequest))
        }
        if let (name, value) = parts.speedLimits?.firstInvalid {
            let message = "\(name): \(value) is not a valid number of bytes per second"
            throw RequestError(.invalidRequest(.configuration(message)))
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
            "cachePolicy": cachePolicy as Any, "allowsCollapsing": allowsCollapsing,
        ]
    }
}

/// The method of a request, such as GET or POST (RFC 9110 §9).
///
/// Method names are case-sensitive. Any token is a valid name. This type has constants for the common methods.
public struct HTTPMethod: RawRepresentable, Hashable, Sendable {
    /// The CONNECT method, which establishes a tunnel through a proxy.
    public static let connect = HTTPMethod(rawValue: "CONNECT")
    /// The DELETE method, which deletes the resource.
    public static let delete = HTTPMethod(rawValue: "DELETE")
    /// The GET method, which fetches a representation of the resource.
    public static let get = HTTPMethod(rawValue: "GET")
    /// The HEAD method, which fetches the response to a GET request without the body.
    public static let head = HTTPMethod(rawValue: "HEAD")
    /// The OPTIONS method, which fetches the communication options of the resource.
    public static let options = HTTPMethod(rawValue: "OPTIONS")
    /// The PATCH method, which modifies a part of the resource (RFC 5789).
    public static let patch = HTTPMethod(rawValue: "PATCH")
    /// The POST method, which sends data for the resource to process.
    public static let post = HTTPMethod(rawValue: "POST")
    /// The PUT method, which creates or replaces the resource.
    public static let put = HTTPMethod(rawValue: "PUT")
    /// The QUERY method, which sends a query in the body and is safe and idempotent.
    public static let query = HTTPMethod(rawValue: "QUERY")
    /// The TRACE method, which returns the request as the server received it.
    public static let trace = HTTPMethod(rawValue: "TRACE")

    /// The name of the method.
    public let rawValue: String

    /// Creates a method.
    ///
    /// - Parameter rawValue: The name of the method. If the name is not a token, the request fails when it starts.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// Whether the method is a token (RFC 9110 §5.6.2).
    package var isValid: Bool { rawValue.utf8.isToken }

    /// Whether several identical requests have the same effect as a single request (RFC 9110 §9.2.2); `false` for
    /// unknown methods.
    package var isIdempotent: Bool {
        switch self {
        case .get, .head, .put, .delete, .options, .trace, .query: true
        default: false
        }
    }
}

extension HTTPMethod: Described {
    /// The name of the method.
    package var text: String { rawValue }
}

/// The preferred HTTP version of a request.
@nonexhaustive
public enum HTTPVersionPreference: Hashable, Sendable {
    /// HTTP/2 if the TLS handshake negotiates it (ALPN), and HTTP/1.1 otherwise.
    case automatic
    /// HTTP/1.1 only.
    case http1_1
    /// HTTP/2 without negotiation for `http` URLs (RFC 9113 §3.3).
    ///
    /// For `https` URLs, this case has the same effect as ``automatic``, because the TLS handshake negotiates HTTP/2
    /// (RFC 9113 §3.2).
    case http2PriorKnowledge
    /// HTTP/3 (RFC 9114) if a QUIC connection can be made, and otherwise the same as ``automatic``.
    ///
    /// Libcurl opens a QUIC connection first. If this connection fails or is slow, libcurl also opens a TCP connection,
    /// and uses the connection that is ready first. For `http` URLs, through a proxy and with a Unix domain socket,
    /// this case has the same effect as ``automatic``.
    ///
    /// The installed libcurl must support HTTP/3. Otherwise, the request fails with `.invalidRequest(.configuration)`.
    case http3
    /// HTTP/3 only (RFC 9114), for `https` URLs.
    ///
    /// The request fails with `.connection` or `.timedOut(.connect)` if no QUIC connection can be made. It fails with
    /// `.invalidRequest(.configuration)` in these cases:
    ///
    /// - The URL is not an `https` URL.
    /// - The request or its session has a proxy for `https` URLs, even if the proxy excludes the host of the request.
    /// - The session has a Unix domain socket.
    /// - The installed libcurl does not support HTTP/3.
    case http3Only
}

/// The time limits for the stages of a request; a limit of `nil` means no limit.
///
/// If a request does not set a limit, the session's limit applies. If the session does not set the limit either, the
/// default applies.
///
/// ```swift
/// session.request(url) { $0.timeouts.idle = .seconds(5) }
/// ```
public struct Timeouts: Hashable, Sendable {
    private var ownQueue: Duration??
    private var ownPool: Duration??
    private var ownConnect: Duration??
    private var ownIdle: Duration??
    private var ownTotal: Duration??
    /// The limit for silence until the head of an event stream has arrived, if there is no ``idle`` limit.
    package var idleBeforeEvents: Duration?

    /// The limit for the time that a request waits for other requests to end; `nil`, the default, for no limit.
    ///
    /// A request waits while ``Session/Configuration/requestLimits`` do not allow it to start. The waiting time counts
    /// towards no other limit.
    public var queue: Duration? {
        get { ownQueue ?? nil }
        set { ownQueue = .some(newValue) }
    }

    /// The limit for the time that a request waits for a connection; `nil`, the default, for no limit of its own.
    ///
    /// A request waits while ``Session/Configuration/connectionLimits`` do not allow another connection. The waiting
    /// time counts towards ``total``, but not towards ``connect``. With `nil`, a request fails with
    /// `.timedOut(.pool)` when no request that it waits for has sent or received bytes, or has ended, for as long as
    /// ``idle`` allows.
    public var pool: Duration? {
        get { ownPool ?? nil }
        set { ownPool = .some(newValue) }
    }

    /// The limit for name lookup, connecting and the TLS handshake together; 30 seconds by default.
    public var connect: Duration? {
        get { ownConnect ?? .seconds(30) }
        set { ownConnect = .some(newValue) }
    }

    /// The limit for a period in which no bytes are sent or received; 60 seconds by default.
    ///
    /// The timeout can occur late, by up to one eighth of the limit. Time does not count in these cases:
    /// - The request is suspended.
    /// - Bluebonnet waits for your code to read the response body.
    /// - Bluebonnet waits for the next bytes of the request body.
    /// - The request waits because of ``SpeedLimits``.
    public var idle: Duration? {
        get { ownIdle ?? .seconds(60) }
        set { ownIdle = .some(newValue) }
    }

    /// The limit for one exchange, from its start to the last byte of the response body.
    ///
    /// An exchange is one request and its response. Each redirect and each retry is a separate exchange with its own
    /// limit. The delays between exchanges do not count. To limit the duration of a whole request, cancel the task that
    /// awaits the request.
    ///
    /// If you do not set the limit, and the bodies of the request and of the response are both in memory, the limit is
    /// 10 minutes. A slow server then cannot delay a request indefinitely. Streams, downloads, and uploads of files,
    /// sequences or multipart forms have no limit by default. The time also counts while the request is suspended.
    public var total: Duration? {
        get { ownTotal ?? nil }
        set { ownTotal = .some(newValue) }
    }

    /// A placeholder for a limit that is not set.
    @usableFromInline static let unset: Duration? = .nanoseconds(-1)

    /// Creates time limits.
    ///
    /// A limit that you omit keeps its default. For a request, the default is the limit of the session. For a session,
    /// it is the limit in ``default``.
    ///
    /// - Parameters:
    ///   - queue: The limit for the time that a request waits for other requests to end; `nil` for no limit.
    ///   - pool: The limit for the time that a request waits for a connection; `nil` for no limit.
    ///   - connect: The limit for name lookup, connecting and the TLS handshake together; `nil` for no limit.
    ///   - idle: The limit for a period in which no bytes are sent or received; `nil` for no limit.
    ///   - total: The limit for one exchange; `nil` for no limit.
    public init(
        queue: Duration? = Timeouts.unset, pool: Duration? = Timeouts.unset, connect: Duration? = Timeouts.unset,
        idle: Duration? = Timeouts.unset, total: Duration? = Timeouts.unset
    ) {
        if queue != Self.unset { self.queue = queue }
        if pool != Self.unset { self.pool = pool }
        if connect != Self.unset { self.connect = connect }
        if idle != Self.unset { self.idle = idle }
        if total != Self.unset { self.total = total }
    }

    /// The default limits: 30 seconds to connect, 60 seconds idle, and 10 minutes in total for bodies in memory.
    public static let `default` = Timeouts()

    /// Whether no limit is set.
    var isUnset: Bool { self == .default }

    /// Whether ``idle`` was set, perhaps to no limit.
    var hasOwnIdle: Bool { ownIdle != nil }

    /// The limits for silence and for a whole exchange, if they were set.
    package var ownLimits: (idle: Duration?, total: Duration?) { (ownIdle ?? nil, ownTotal ?? nil) }

    /// The limit for a whole exchange, with the default limit for bodies in memory.
    func total(isInMemory: Bool) -> Duration? { ownTotal ?? (isInMemory ? .seconds(600) : nil) }

    /// Returns these limits, but with the `connect` and `idle` limits of another value.
    package func connectingAndIdling(like other: Timeouts) -> Timeouts {
        var timeouts = self
        (timeouts.ownConnect, timeouts.ownIdle) = (other.ownConnect, other.ownIdle)
        return timeouts
    }

    /// These limits, completed with the limits of another value.
    package func filled(from other: Timeouts) -> Timeouts {
        var timeouts = self
        timeouts.ownQueue = ownQueue ?? other.ownQueue
        timeouts.ownPool = ownPool ?? other.ownPool
        timeouts.ownConnect = ownConnect ?? other.ownConnect
        timeouts.ownIdle = ownIdle ?? other.ownIdle
        timeouts.ownTotal = ownTotal ?? other.ownTotal
        timeouts.idleBeforeEvents = idleBeforeEvents ?? other.idleBeforeEvents
        return timeouts
    }
}

/// Time limits on the heap, because most requests have no time limits.
final class TimeoutsBox: Sendable, Equatable {
    let value: Timeouts

    init(_ value: Timeouts) {
        self.value = value
    }

    static func == (one: TimeoutsBox, other: TimeoutsBox) -> Bool {
        one === other || one.value == other.value
    }
}

extension HTTPRequest {
    /// Returns a default field as it is sent with the request.
    ///
    /// A request for a part of the content accepts no codings, because a part of a coded content cannot be decoded.
    func defaultField(_ field: HTTPHeader) -> HTTPHeader {
        field == .defaultAcceptEncoding && headers.contains("Range") ? .acceptEncoding("identity") : field
    }

    /// Whether a default field is sent with the request; the secrets of the session are not sent to another origin.
    func takesDefault(_ field: HTTPHeader) -> Bool {
        !headers.contains(field.name) && !(omitsSessionSecrets && HTTPHeader.isSensitive(name: field.name))
    }
}
