// The types of other libraries. None is available; the message of each names ours.
//
// A program or another package may have a type of the same name. The compiler prefers it, because these are not
// available. That is why they need a module of their own: `Request` is a protocol of Bluebonnet.

/// Not available; Bluebonnet's type is `HTTPRequest`.
@available(
    *, unavailable, message: "get(_:), post(_:json:), … need no request; or create an HTTPRequest(url:), for send(_:)"
)
public func Request(url: some Any) -> _OtherName { unavailable() }

/// Not available; Bluebonnet's type is `HTTPRequest`.
@available(
    *, unavailable, message: "get(_:), post(_:json:), … need no request; or create an HTTPRequest(url:), for send(_:)"
)
public func Request(_ url: some Any) -> _OtherName { unavailable() }

/// Not available.
@available(*, unavailable, message: "create a Session.Configuration(), and pass it to Session(configuration:)")
@dynamicMemberLookup
public struct SessionConfiguration {
    /// Not available.
    public init() { unavailable() }
    /// Not available.
    public static var `default`: SessionConfiguration { unavailable() }
    /// Not available.
    public static var ephemeral: SessionConfiguration { unavailable() }
    /// Not available.
    public subscript(dynamicMember name: String) -> _OtherName { unavailable() }
}

/// Not available.
@available(
    *, unavailable,
    message:
        "there are no delegates: use the sequences of a request, a Redirector, a ServerTrustManager or an EventMonitor"
)
public protocol SessionDelegate {}

/// Not available.
@available(
    *, unavailable,
    message:
        "there are no delegates: use the sequences of a request, a Redirector, a ServerTrustManager or an EventMonitor"
)
public protocol SessionTaskDelegate {}

/// Not available.
@available(
    *, unavailable,
    message:
        "there are no delegates: use the sequences of a request, a Redirector, a ServerTrustManager or an EventMonitor"
)
public protocol SessionDataDelegate {}

/// Not available.
@available(*, unavailable, message: "use Timeouts(connect:idle:total:)")
public struct Timeout {
    /// Not available.
    public init(_ total: Duration) { unavailable() }
    /// Not available.
    public init(_ total: Double) { unavailable() }
    /// Not available.
    public init(
        total: Duration = .zero, connect: Duration = .zero, read: Duration = .zero, write: Duration = .zero,
        pool: Duration = .zero
    ) { unavailable() }
    /// Not available.
    public init(connect: Double, read: Double = 0, write: Double = 0, pool: Double = 0) { unavailable() }
    /// Not available.
    public init(
        _ total: Duration, connect: Duration = .zero, read: Duration = .zero, write: Duration = .zero,
        pool: Duration = .zero
    ) { unavailable() }
}

/// Not available.
@available(*, unavailable, message: "set connectionLimits of a Session.Configuration: perHost, total and idle")
public struct Limits {
    /// Not available.
    public init(
        maxConnections: Int = 0, maxKeepAliveConnections: Int = 0, maxKeepaliveConnections: Int = 0,
        keepaliveExpiry: Double = 0
    ) { unavailable() }
    /// Not available.
    public init(maxConnections: Int = 0, maxKeepaliveConnections: Int = 0, keepaliveExpiry: Duration) { unavailable() }
}

/// Not available.
@available(*, unavailable, message: "use an EventMonitor: Session(configuration:eventMonitors:)")
public struct EventHooks {
    /// Not available.
    public init(request: [(_OtherName) -> Void] = [], response: [(_OtherName) -> Void] = []) { unavailable() }
}

/// Not available.
@available(*, unavailable, message: "the options are those of Session.Configuration, and retries are RetryPolicy()")
public struct HTTPTransport {
    /// Not available.
    public init(retries: Int) { unavailable() }
}

/// Not available.
@available(*, unavailable, message: "catch RequestError, and look at its kind")
public enum HTTPError: Error {
    /// Not available.
    case connectTimeout, readTimeout, writeTimeout, timeout, connectionRefused, connectError, status, cancelled
    /// Not available.
    case dnsFailure(String)
    /// Not available.
    public var response: _OtherName? { unavailable() }
}

/// Not available.
@available(*, unavailable, message: "catch RequestError, and look at its kind")
public enum HTTPClientError: Error {
    /// Not available.
    case connectTimeout, readTimeout, writeTimeout, deadlineExceeded, cancelled, remoteConnectionClosed
}

/// Not available.
@available(
    *, unavailable,
    message: "a request has a DataResponse, its head is an HTTPResponse, and a stub has a StubTransport.Response"
)
@dynamicMemberLookup
public struct Response {
    /// Not available.
    public init(statusCode: Int = 200, headers: [String: String] = [:], json: some Any) { unavailable() }
    /// Not available.
    public init(statusCode: Int = 200, headers: [String: String] = [:], text: String = "") { unavailable() }
    /// Not available.
    public init(_ statusCode: Int = 200, headers: [String: String] = [:], json: some Any) { unavailable() }
    /// Not available.
    public init(_ statusCode: Int = 200, headers: [String: String] = [:], text: String = "") { unavailable() }
    /// Not available.
    public init(status: _OtherStatus, headers: [String: String] = [:], body: _OtherBody) { unavailable() }
    /// Not available.
    public subscript(dynamicMember name: String) -> _OtherName { unavailable() }
}

/// Not available.
@available(*, unavailable, message: "use a MultipartFormData, and pass .multipart(form) as the body")
public typealias MultipartForm = _OtherName

/// Not available.
@available(*, unavailable, message: "use a MultipartFormData, and pass .multipart(form) as the body")
public typealias FormData = _OtherName

/// Not available.
@available(*, unavailable, message: "a session has a CookieStore: session.cookies")
@dynamicMemberLookup
public struct CookieJar {
    /// Not available.
    public init() { unavailable() }
    /// Not available.
    public subscript(dynamicMember name: String) -> _OtherName { unavailable() }
}

/// Not available.
@available(*, unavailable, message: "a session has a CookieStore: session.cookies")
public typealias HTTPCookieJar = _OtherName

/// Not available.
@available(*, unavailable, message: "set proxy of a Session.Configuration, such as .url(url, excluding: hosts)")
public enum Proxy {
    /// Not available.
    public static func all(_ url: String) -> _OtherName { unavailable() }
    /// Not available.
    public static func http(_ url: String) -> _OtherName { unavailable() }
    /// Not available.
    public static func https(_ url: String) -> _OtherName { unavailable() }
    /// Not available.
    public init(_ url: String, auth: (String, String)? = nil) { unavailable() }
}

/// Not available.
@available(*, unavailable, message: "set tls of a Session.Configuration: caFile, clientIdentity, minimumVersion")
@dynamicMemberLookup
public struct TLSConfiguration {
    /// Not available.
    public init() { unavailable() }
    /// Not available.
    public static func makeClientConfiguration() -> TLSConfiguration { unavailable() }
    /// Not available.
    public static func certificates(fromPEMFile path: String) throws -> _OtherName { unavailable() }
    /// Not available.
    public subscript(dynamicMember name: String) -> Any {
        get { unavailable() }
        set { unavailable() }
    }
}

/// Not available.
@available(
    *, unavailable,
    message: "use HTTPRequestConvertible, or import BluebonnetFoundation, which has a URLRequestConvertible"
)
public protocol URLRequestConvertible {}

/// Not available.
@available(
    *, unavailable, message: "use encoder: .urlEncodedForm, or import BluebonnetFoundation, which has a URLEncoding"
)
public struct URLEncoding {
    /// Not available.
    public enum Destination { case methodDependent, queryString, httpBody }
    /// Not available.
    public enum ArrayEncoding { case brackets, noBrackets, indexInBrackets }
    /// Not available.
    public enum BoolEncoding { case numeric, literal }
    /// Not available.
    public init(
        destination: Destination = .methodDependent, arrayEncoding: ArrayEncoding = .brackets,
        boolEncoding: BoolEncoding = .numeric
    ) { unavailable() }
    /// Not available.
    public static var `default`: URLEncoding { unavailable() }
    /// Not available.
    public static var queryString: URLEncoding { unavailable() }
    /// Not available.
    public static var httpBody: URLEncoding { unavailable() }
}

/// Not available.
@available(*, unavailable, message: "use encoder: .json, or import BluebonnetFoundation, which has a JSONEncoding")
public struct JSONEncoding {
    /// Not available.
    public init() { unavailable() }
    /// Not available.
    public static var `default`: JSONEncoding { unavailable() }
}

/// Not available.
@available(*, unavailable, message: "the parameters are a [String: JSONValue], or a value of your own Encodable type")
public typealias Parameters = [String: Any]

/// Not available.
@available(*, unavailable, message: "the metrics of a response are TransferMetrics")
public typealias RequestMetrics = _OtherName

/// Not available.
@available(*, unavailable, message: "set tls.clientIdentity of a Session.Configuration")
public struct Identity {
    /// Not available.
    public init(pem: some Any) { unavailable() }
    /// Not available.
    public static func fromPEM(_ pem: some Any) throws -> Identity { unavailable() }
}

/// Not available.
@available(*, unavailable, renamed: "RequestError")
@dynamicMemberLookup
public enum BluebonnetError: Error {
    /// Not available.
    case timeout, timedOut, connectionRefused, cancelled, invalidURL, noConnection
    /// Not available.
    case dnsFailure(String)
    /// Not available.
    case statusCode(Int)
    /// Not available.
    public subscript<Value>(dynamicMember name: String) -> Value { unavailable() }
}

/// Not available.
@available(*, unavailable, message: "use StubTransport.Response: .json(value, status: 200), .text(text), .status(404)")
@dynamicMemberLookup
public struct StubResponse {
    /// Not available.
    public init(_ statusCode: Int = 200, json: some Any) { unavailable() }
    /// Not available.
    public init(_ statusCode: Int = 200, text: String) { unavailable() }
    /// Not available.
    public init(statusCode: Int = 200, headers: [String: String] = [:], body: some Any) { unavailable() }
    /// Not available.
    public subscript(dynamicMember name: String) -> _OtherName { unavailable() }
}

/// Not available.
@available(*, unavailable, message: "use RetryPolicy(retryLimit:)")
public struct Retry {
    /// Not available.
    public init(
        total: Int, backoffFactor: Double = 0, statusForcelist: [Int] = [], allowedMethods: [_OtherName] = [],
        respectRetryAfter: Bool = true
    ) { unavailable() }
}

/// Not available.
@available(*, unavailable, message: "set tls of a Session.Configuration: caFile, clientIdentity, minimumVersion")
public struct TLSOptions {
    /// Not available.
    public init(ca: some Any, cert: some Any, key: some Any) { unavailable() }
    /// Not available.
    public init(ca: some Any, rejectUnauthorized: Bool = true) { unavailable() }
    /// Not available.
    public init(rejectUnauthorized: Bool) { unavailable() }
}

/// Not available.
@available(*, unavailable, message: "set tls.clientIdentity of a Session.Configuration")
public struct ClientCertificate {
    /// Not available.
    public init(certFile: String, keyFile: String, password: String? = nil) { unavailable() }
    /// Not available.
    public init(_ certFile: String, _ keyFile: String) { unavailable() }
}

/// Not available.
@available(*, unavailable, message: "catch RequestError, and look at its kind")
public struct NetworkError: Error {
    /// Not available.
    public var code: String { unavailable() }
}

/// Not available.
@available(*, unavailable, message: "catch RequestError, and look at its kind")
public struct TransportError: Error {
    /// Not available.
    public var code: String { unavailable() }
}

/// Not available.
@available(
    *, unavailable,
    message: "use headers: [.authorization(username:password:)], or request(_:).authenticate(username:password:)"
)
public struct BasicAuth {
    /// Not available.
    public init(username: String, password: String) { unavailable() }
    /// Not available.
    public init(_ username: String, _ password: String) { unavailable() }
}

/// Not available.
@available(*, unavailable, message: "import BluebonnetTesting, and use StubTransport")
public struct MockTransport {
    /// Not available.
    public init() { unavailable() }
    /// Not available.
    public init(_ answer: (_OtherName) async throws -> _OtherName) { unavailable() }
    /// Not available.
    public init(_ answer: (_OtherName) async throws -> Response) { unavailable() }
    /// Not available.
    public func intercept(_ options: Any...) -> _OtherName { unavailable() }
}

/// Not available.
@available(*, unavailable, message: "import BluebonnetTesting, and use LocalServer { router in … }")
public struct MockServer {
    /// Not available.
    public static func start() async throws -> _OtherName { unavailable() }
    /// Not available.
    public init() { unavailable() }
}

/// Not available.
@available(*, unavailable, message: "append(_:withName:fileName:mimeType:) to a MultipartFormData")
public struct Part {
    /// Not available.
    public static func bytes(_ bytes: some Any) -> _OtherName { unavailable() }
    /// Not available.
    public static func text(_ text: String) -> _OtherName { unavailable() }
    /// Not available.
    public static func file(_ file: some Any) -> _OtherName { unavailable() }
}

/// Not available.
@available(
    *, unavailable,
    message: "set cache of a Session.Configuration to a ResponseCache(memoryCapacity:diskCapacity:directory:)"
)
public struct HTTPCache {
    /// Not available.
    public init(_ options: Any...) { unavailable() }
    /// Not available.
    public init(mode: Mode = .default, storage: Storage) { unavailable() }
    /// Not available.
    public enum Mode { case `default`, noStore, reload, forceCache, onlyIfCached }
    /// Not available.
    public enum Storage {
        case memory
        /// Not available.
        case disk(Any)
    }
}

/// Not available.
@available(*, unavailable, message: "conform to RequestInterceptor: adapt(_:using:) and retry(_:for:dueTo:)")
public protocol Middleware {}

/// Not available.
@available(*, unavailable, message: "conform to RequestInterceptor: adapt(_:using:) and retry(_:for:dueTo:)")
public struct Next {}

/// Not available.
@available(*, unavailable, message: "conform to RequestInterceptor, or to EventMonitor")
public struct Hooks {
    /// Not available.
    public init(_ hooks: Any...) { unavailable() }
    /// Not available.
    public init(
        beforeRequest: [(_OtherName) -> Void] = [], beforeRetry: [(_OtherName) -> Void] = [],
        afterResponse: [(_OtherName, _OtherName) async throws -> _OtherName] = []
    ) { unavailable() }
    /// Not available.
    public init(
        beforeRequest: [(_OtherName) -> Void] = [], afterResponse: [(_OtherName, _OtherName) -> Void]
    ) { unavailable() }
}

/// Not available.
@available(*, unavailable, message: "cancel the Swift task that awaits the request, or call cancel() of the request")
public final class AbortController {
    /// Not available.
    public init() { unavailable() }
    /// Not available.
    public func abort() { unavailable() }
    /// Not available.
    public var signal: _OtherName { unavailable() }
}

/// Not available.
@available(*, unavailable, message: "set proxy of a Session.Configuration")
public struct ProxyAgent {
    /// Not available.
    public init(uri: String, connections: Int = 0, tls: TLSOptions? = nil) { unavailable() }
    /// Not available.
    public init(_ uri: String) { unavailable() }
}

/// Not available.
@available(
    *, unavailable,
    message: "use HTTPRequest(url:); Foundation's type needs FoundationNetworking and BluebonnetFoundation"
)
public struct URLRequest {
    /// Not available.
    public init(url: some Any, timeoutInterval: Double = 0) { unavailable() }
    /// Not available.
    public init(url: some Any, cachePolicy: Any, timeoutInterval: Double = 0) { unavailable() }
}

/// Not available.
@available(*, unavailable, message: "use request(_:).authenticate(username:password:)")
public struct URLCredential {
    /// Not available.
    public init(user: String, password: String, persistence: Persistence) { unavailable() }
    /// Not available.
    public enum Persistence { case none, forSession, permanent }
}

/// Not available.
@available(*, unavailable, message: "use a Session.Configuration()")
public struct URLSessionConfiguration {
    /// Not available.
    public static var `default`: _OtherName { unavailable() }
    /// Not available.
    public static var ephemeral: _OtherName { unavailable() }
}

/// Not available.
@available(*, unavailable, message: "use Cookie, and session.cookies.set(_:for:)")
public struct HTTPCookie {
    /// Not available.
    public init?(properties: [Key: Any]) { unavailable() }
    /// Not available.
    public enum Key { case name, value, domain, path, expires, secure, maximumAge, originURL }
    /// Not available.
    public var name: String { unavailable() }
    /// Not available.
    public var value: String { unavailable() }
}

/// Not available.
@available(*, unavailable, message: "a request is DataRequest, DownloadRequest, DataStreamRequest or WebSocketRequest")
public struct SessionTask {}

/// Not available.
@available(*, unavailable, message: "the metrics of a response are TransferMetrics")
public typealias TaskMetrics = _OtherName

/// Not available.
@available(*, unavailable, renamed: "RequestError")
public enum BBError: Error {}
