public import BluebonnetOtherNames
public import FoundationEssentials

// What people set, and what they ask a response for, in other libraries. None is available; see the messages.

extension HTTPHeaders {
    /// Not available; see ``subscript(_:)-(String)``.
    @available(*, unavailable, message: "use headers[\"Name\"]")
    public func get(_ name: String) -> String? { unavailable() }

    /// Not available; see ``subscript(_:)-(String)``.
    @available(*, unavailable, message: "use headers[\"Name\"] != nil")
    public func has(_ name: String) -> Bool { unavailable() }

    /// Not available; see ``subscript(_:)-(String)``.
    @available(*, unavailable, message: "use headers[\"Name\"] = value")
    public mutating func set(_ name: String, _ value: String) { unavailable() }

    /// Not available; see ``subscript(_:)-(String)``.
    @available(*, unavailable, message: "use headers[\"Name\"] = value")
    public mutating func insert(_ name: String, _ value: String) { unavailable() }

    /// Not available; the request is sent.
    @available(*, unavailable, message: "the request was sent; use get(_:headers:) and post(_:json:headers:)")
    public func callAsFunction(_ headers: HTTPHeaders) -> _OtherName { unavailable() }
}

extension CookieStore {
    /// Not available; see ``set(_:)-(Cookie)``.
    @available(*, unavailable, message: "use set(_:) with a Cookie, or set(\"name=value\", for: url)")
    public func set(_ name: String, _ value: String, domain: String = "", path: String = "/") { unavailable() }

    /// Not available; see ``set(_:)-(Cookie)``.
    @available(*, unavailable, renamed: "set(_:)")
    public func setCookie(_ cookie: Cookie) { unavailable() }

    /// Not available; see ``all()``.
    @available(*, unavailable, message: "use cookies(for:), or all()")
    public subscript(name: String) -> String? { unavailable() }
}

extension SerializedResponse {
    /// Not available; the encoding follows from the header.
    @available(*, unavailable, message: "use response?.textEncoding")
    public var encoding: String? { unavailable() }

    /// Not available; see ``HTTPResponse/link(relation:)``.
    @available(*, unavailable, message: "use response?.link(relation: \"next\"), or session.pages(of:from:)")
    public var links: [String: _OtherName] { unavailable() }

    /// Not available; see ``metrics``.
    @available(*, unavailable, renamed: "metrics")
    public var timings: _OtherName { unavailable() }

    /// Not available; see ``CookieStore``.
    @available(*, unavailable, message: "use session.cookies.cookies(for: url)")
    public var cookies: _OtherName { unavailable() }

    /// Not available; see ``url``.
    @available(*, unavailable, message: "compare url with the URL that was requested")
    public var redirected: Bool { unavailable() }

    /// Not available; see ``metrics``.
    @available(*, unavailable, message: "use metrics, or an EventMonitor, which sees each response")
    public var history: [_OtherName] { unavailable() }

    /// Not available; see ``statusCode``.
    @available(*, unavailable, message: "compare statusCode, or use validate()")
    public var isSuccess: Bool { unavailable() }

    /// Not available; see ``statusCode``.
    @available(*, unavailable, message: "compare statusCode")
    public var isRedirect: Bool { unavailable() }
}

extension HTTPResponse {
    /// Not available; see ``SerializedResponse/metrics``.
    @available(*, unavailable, message: "use metrics of the DataResponse: (await task.response).metrics")
    public var metrics: _OtherName? { unavailable() }
}

extension DataRequest {
    /// Not available; see ``Session/request(_:method:headers:interceptor:requestModifier:)``.
    @available(*, unavailable, message: "pass headers: [\"Name\": value], or use adapt { request, _ in … }")
    public nonisolated func setValue(_ value: String?, forHTTPHeaderField name: String) -> Self { unavailable() }

    /// Not available; see ``Session/request(_:method:headers:interceptor:requestModifier:)``.
    @available(*, unavailable, message: "pass headers: [\"Name\": value], or use adapt { request, _ in … }")
    public nonisolated func addValue(_ value: String, forHTTPHeaderField name: String) -> Self { unavailable() }

    /// Not available; see ``Session/request(_:method:headers:interceptor:requestModifier:)``.
    @available(*, unavailable, message: "pass headers: [\"Name\": value], or use adapt { request, _ in … }")
    public nonisolated func headers(_ headers: HTTPHeaders) -> Self { unavailable() }

    /// Not available; see ``Session/post(_:body:headers:timeout:)``.
    @available(*, unavailable, message: "use post(_:json:), post(_:form:), post(_:body:), or upload(_:to:)")
    public nonisolated func body(_ body: RequestBody) -> Self { unavailable() }

    /// Not available; see ``DataStreamTask``.
    @available(*, unavailable, message: "use session.streamRequest(_:).streamTask().bytes, or its lines")
    public nonisolated func bytes() async throws -> (_OtherName, HTTPResponse) { unavailable() }

    /// Not available; see ``Session/pages(of:from:parameters:headers:decoder:interceptor:next:)``.
    @available(*, unavailable, message: "use session.pages(of:from:), which follows Link fields")
    public nonisolated func pages<Page>(of type: Page.Type, next: _Next = .linkHeader) -> AsyncStream<Page> {
        unavailable()
    }

    /// What ``pages(of:next:)`` would take.
    public enum _Next {
        /// Not available.
        case linkHeader
    }

    /// Not available; see ``RetryPolicy``.
    @available(*, unavailable, message: "use retry(using:) with a RetryPolicy(retryLimit: 3), or retry(3)")
    public nonisolated func retry(_ policy: RetryPolicy) -> Self { unavailable() }

    /// Not available; see ``Request/timeouts(_:)``.
    @available(*, unavailable, message: "use timeouts { $0.total = .seconds(5) }")
    public nonisolated func timeout(_ limit: Duration) -> Self { unavailable() }

    /// Not available; see ``Session/eventSource(_:headers:interceptor:)``.
    @available(*, unavailable, message: "use session.eventSource(_:), or streamTask().serverSentEvents of a stream")
    public nonisolated var serverSentEvents: _OtherName { unavailable() }
}

extension Session {
    /// Not available; see ``init(configuration:interceptor:startRequestsImmediately:transport:)``.
    @available(
        *, unavailable,
        message: """
            set proxy, tls, timeouts, redirects and connectionLimits of a Session.Configuration, and pass it to \
            Session(configuration:)
            """
    )
    @_disfavoredOverload
    public init(
        baseURL: String = "", headers: HTTPHeaders = [:], params: [String: JSONValue] = [:], timeout: Duration = .zero,
        followRedirects: Bool = true, limits: Limits? = nil, proxy: String = "", verify: _OtherVerification = .default,
        cert: ClientCertificate? = nil, tls: TLSOptions? = nil, http2: Bool = true, retry: RetryPolicy? = nil,
        cookies: [String: String] = [:]
    ) { self.init() }

    /// Not available; see ``Configuration/proxy``.
    @available(*, unavailable, message: "set proxy and tls of a Session.Configuration")
    public init(dispatcher: ProxyAgent) { self.init() }

    /// Not available; see ``init(configuration:interceptor:startRequestsImmediately:transport:)``.
    @available(*, unavailable, message: "import BluebonnetTesting, and pass a StubTransport")
    public init(transport: MockTransport) { self.init() }

    /// Not available; see ``eventSource(_:headers:interceptor:)``.
    @available(*, unavailable, message: "use eventSource(_:), which is a sequence of events")
    public nonisolated func connectSSE(_ url: any URLConvertible) -> _OtherName { unavailable() }

    /// Not available; see ``webSocket(_:protocols:headers:configuration:interceptor:)``.
    @available(*, unavailable, message: "use webSocket(_:).webSocketTask(), which sends and has a sequence of messages")
    public nonisolated func connectWebSocket(_ url: any URLConvertible) async throws -> _OtherName { unavailable() }

    /// Not available; see ``webSocket(_:protocols:headers:configuration:interceptor:)``.
    @available(*, unavailable, message: "use webSocket(_:configuration:).webSocketTask()")
    public nonisolated func webSocketRequest(
        to url: any URLConvertible, configuration: _OtherSettings
    ) -> _OtherName { unavailable() }

    /// Not available; see ``put(_:body:headers:timeout:)``.
    @available(*, unavailable, message: "use put(_:body: .file(url)), or upload(_:to:method: .put)")
    public nonisolated func put(_ url: any URLConvertible, content: RequestBody) async throws -> _WholeResponse {
        unavailable()
    }

    /// Not available; see ``get(_:parameters:headers:timeout:)``.
    @available(*, unavailable, message: "the label is parameters:")
    public nonisolated func get(
        _ url: any URLConvertible, searchParams: [String: JSONValue], headers: HTTPHeaders = [:]
    ) async throws -> _WholeResponse { unavailable() }

    /// Not available; see ``ResponseCache``.
    @available(*, unavailable, message: "set cachePolicy of an HTTPRequest, for send(_:); the cache is the session's")
    public nonisolated func get(_ url: any URLConvertible, cache: _OtherSettings) async throws -> _WholeResponse {
        unavailable()
    }

    /// Not available; see ``pages(of:from:parameters:headers:decoder:interceptor:next:)``.
    @available(*, unavailable, message: "use pages(of:from:parameters:), which follows Link fields")
    public nonisolated func paginate<Item>(
        _ url: any URLConvertible, of type: Item.Type, searchParams: [String: JSONValue] = [:]
    ) -> _OtherName { unavailable() }

    /// Not available; see ``download(resumingWith:headers:interceptor:to:)``.
    @available(
        *, unavailable,
        message: "use download(_:to:) with a URL(filePath:), and download(resumingWith:); downloadProgressUpdates()"
    )
    public nonisolated func download(
        _ url: any URLConvertible, to file: some Any, resume: Bool = false,
        onDownloadProgress: (_OtherName) -> Void = { _ in }
    ) -> _OtherName { unavailable() }

    /// Not available; see ``upload(_:to:method:headers:interceptor:requestModifier:)-(URL,_,_,_,_,_)``.
    @available(*, unavailable, message: "use upload(_:to:method:).serializingData().response")
    public nonisolated func upload(
        to url: any URLConvertible, method: HTTPMethod = .post, fromFile file: URL
    ) async throws -> (Data, HTTPResponse) { unavailable() }

    /// Not available; see ``init(interceptors:)``.
    @available(*, unavailable, message: "pass interceptors: to the session, and eventMonitors: to observe it")
    public nonisolated func extend(hooks: Hooks) -> Session { unavailable() }

    /// Not available; see ``eventSource(_:headers:interceptor:)``.
    @available(*, unavailable, message: "use eventSource(_:), a sequence that reconnects")
    public nonisolated func sse(_ url: any URLConvertible) -> _OtherName { unavailable() }

    /// Not available; see ``get(_:parameters:headers:timeout:)``.
    @available(*, unavailable, message: "use headers: [.authorization(username:password:)]")
    public nonisolated func get(_ url: any URLConvertible, auth: BasicAuth) async throws -> _WholeResponse {
        unavailable()
    }

    /// Not available; see ``put(_:body:headers:timeout:)``.
    @available(*, unavailable, message: "use put(_:body: .file(url), headers:)")
    public nonisolated func put(
        _ url: any URLConvertible, content: RequestBody, headers: HTTPHeaders
    ) async throws -> _WholeResponse { unavailable() }

    /// Not available; see ``RetryPolicy``.
    @available(*, unavailable, message: "use Session(interceptor: RetryPolicy(retryLimit: 3))")
    public init(retries: RetryPolicy) { self.init() }
}

/// Whether certificates are checked, in other libraries.
public struct _OtherVerification: ExpressibleByBooleanLiteral {
    /// Not available.
    public init(booleanLiteral value: Bool) { unavailable() }
    /// Not available.
    public static var `default`: _OtherVerification { unavailable() }
    /// Not available.
    public static func caFile(_ path: String) -> _OtherVerification { unavailable() }
}

/// Settings of other libraries.
public struct _OtherSettings {
    /// Not available.
    public static var noStore: _OtherSettings { unavailable() }
    /// Not available.
    public static var reload: _OtherSettings { unavailable() }
    /// Not available.
    public static func pingInterval(_ seconds: Double) -> _OtherSettings { unavailable() }
}

extension RetryPolicy {
    /// Not available; see ``RetryPolicy``.
    @available(*, unavailable, message: "use RetryPolicy(retryLimit:), whose delays grow exponentially by default")
    public init(
        limit: UInt, methods: [HTTPMethod], statusCodes: [Int] = [], backoff: _Backoff = .exponential(),
        backoffLimit: Duration = .zero
    ) { unavailable() }

    /// Not available; see ``RetryPolicy``.
    @available(*, unavailable, message: "use RetryPolicy(retryLimit:), whose delays grow exponentially by default")
    public init(
        maxAttempts: UInt = 0, maxRetries: UInt = 0, attempts: UInt = 0, backoff: _Backoff = .exponential(),
        backoffFactor: Double = 0, statusCodes: Set<Int> = []
    ) { unavailable() }
}

extension Certificate {
    /// Not available; see ``all(inFile:)``.
    @available(*, unavailable, message: "use Certificate.all(inFile:), or set tls.caFile of a Session.Configuration")
    public static func fromPEM(file: String) throws -> Certificate { unavailable() }
}

extension DownloadRequest.Destination {
    /// Not available; see ``file(_:options:)``.
    @available(*, unavailable, message: "use .file(url, options:), .directory(url), or .custom { … }")
    public init(_ choose: (URL, HTTPResponse) -> (URL, DownloadRequest.Options)) { unavailable() }
}

extension Session.Configuration.TLS.Version {
    /// Not available; see ``v1_2``.
    @available(*, unavailable, renamed: "v1_2")
    public static var tls12: Self { unavailable() }
    /// Not available; see ``v1_3``.
    @available(*, unavailable, renamed: "v1_3")
    public static var tls13: Self { unavailable() }
}

extension _SessionBuilder {
    /// Not available.
    public func minTLSVersion(_ version: Session.Configuration.TLS.Version?) -> _SessionBuilder { unavailable() }
    /// Not available.
    public func addRootCertificate(_ certificate: Any) -> _SessionBuilder { unavailable() }
    /// Not available.
    public func transport(_ transport: Any) -> _SessionBuilder { unavailable() }
}

extension EventSource {
    /// Not available; the sequence ends with its loop.
    @available(*, unavailable, message: "leave the loop with break, or cancel its task")
    public func close() { unavailable() }
}

extension TransferProgress {
    /// Not available; see ``fractionCompleted``.
    @available(*, unavailable, message: "use fractionCompleted, from 0 to 1")
    public var percent: Double { unavailable() }
}

extension WebSocketRequest {
    /// Not available; see ``WebSocketTask``.
    @available(*, unavailable, message: "use the task that webSocketTask() returns: send(_:), and its messages")
    public nonisolated func sendText(_ text: String) async throws { unavailable() }
}

extension DataStreamTask {
    /// Not available; see ``serverSentEvents``.
    @available(*, unavailable, renamed: "serverSentEvents")
    public var events: _OtherName { unavailable() }
}

extension WebSocketMessage {
    /// Not available; see ``text(_:)``.
    @available(*, unavailable, renamed: "text(_:)")
    public static func string(_ text: String) -> WebSocketMessage { unavailable() }

    /// Not available; see ``binary(_:)``.
    @available(*, unavailable, renamed: "binary(_:)")
    public static func data(_ bytes: Data) -> WebSocketMessage { unavailable() }
}

extension Request {
    /// Not available; see ``downloadProgressUpdates(bufferingPolicy:)``.
    @available(
        *, unavailable, message: "use downloadProgressUpdates(), a sequence; import BluebonnetCallbacks for a closure"
    )
    @discardableResult
    public nonisolated func downloadProgress(_ report: (TransferProgress) -> Void) -> Self { unavailable() }

    /// Not available; see ``uploadProgressUpdates(bufferingPolicy:)``.
    @available(
        *, unavailable, message: "use uploadProgressUpdates(), a sequence; import BluebonnetCallbacks for a closure"
    )
    @discardableResult
    public nonisolated func uploadProgress(_ report: (TransferProgress) -> Void) -> Self { unavailable() }
}
