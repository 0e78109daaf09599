@_exported public import BluebonnetOtherNames
public import FoundationEssentials

// The first words that people know from other libraries. None is available; the message of each names the right call.

extension Session {
    /// The whole response of a request in memory.
    public typealias _WholeResponse = DataResponse<Data, RequestError>

    // MARK: fetch, axios, httpx, reqwest

    /// Not available; see ``get(_:parameters:headers:timeout:)``.
    @available(
        *, unavailable, message: "use get(_:), post(_:json:), …, or request(_:method:) for a request to configure"
    )
    public nonisolated func fetch(
        _ url: any URLConvertible, method: HTTPMethod = .get, headers: HTTPHeaders = [:], body: Any? = nil,
        redirect: Redirector? = nil, timeout: Duration? = nil
    ) async throws -> _WholeResponse { unavailable() }

    /// Not available; see ``get(_:parameters:headers:timeout:)``.
    @available(
        *, unavailable,
        message: "the labels are parameters:, headers: and timeout: .seconds(5); for all else, use request(_:)"
    )
    public nonisolated func get(
        _ url: any URLConvertible, params: [String: JSONValue] = [:], query: [String: JSONValue] = [:],
        queryItems: [URLQueryItem] = [], auth: HTTPHeader? = nil,
        followRedirects: Bool = true, redirect: Redirector? = nil, interceptor: (any RequestInterceptor)? = nil,
        retry: RetryPolicy? = nil, validateStatus: ((Int) -> Bool)? = nil, timeout: Double? = nil
    ) async throws -> _WholeResponse { unavailable() }

    /// Not available; see ``get(_:parameters:headers:timeout:)``.
    @available(*, unavailable, message: "leave the label out: get(url)")
    public nonisolated func get(url: any URLConvertible) async throws -> _WholeResponse { unavailable() }

    /// Not available; see ``post(_:body:headers:timeout:)``.
    @available(*, unavailable, message: "leave the label out: post(url, json:), post(url, form:) or post(url, body:)")
    public nonisolated func post(
        url: any URLConvertible, json: (any Encodable)? = nil, body: RequestBody? = nil
    ) async throws -> _WholeResponse { unavailable() }

    /// Not available; see ``post(_:json:headers:timeout:)`` and its relatives.
    @available(*, unavailable, message: "use post(_:json:), post(_:form:), or post(_:body: .multipart(form)) for files")
    public nonisolated func post(
        _ url: any URLConvertible, params: [String: JSONValue] = [:], parameters: [String: JSONValue] = [:],
        data: [String: JSONValue] = [:], content: Data = Data(), files: [String: RequestBody] = [:],
        headers: [String: String] = [:], auth: HTTPHeader? = nil,
        timeout: Double? = nil
    ) async throws -> _WholeResponse { unavailable() }

    /// Not available; see ``upload(_:to:method:headers:interceptor:requestModifier:)-(URL,_,_,_,_,_)``.
    @available(*, unavailable, message: "use upload(_:to:method:), whose uploadProgressUpdates() is a sequence")
    public nonisolated func put(
        _ url: any URLConvertible, body: RequestBody, headers: HTTPHeaders? = nil,
        onUploadProgress: (TransferProgress) -> Void
    ) async throws -> _WholeResponse { unavailable() }

    /// Not available; see ``upload(_:to:method:headers:interceptor:requestModifier:)-(URL,_,_,_,_,_)``.
    @available(*, unavailable, message: "use upload(_:to:method:), whose uploadProgressUpdates() is a sequence")
    public nonisolated func put(
        _ url: any URLConvertible, content: RequestBody, onProgress: (TransferProgress) -> Void
    ) async throws -> _WholeResponse { unavailable() }

    /// Not available; see ``download(_:to:)-(_,URL)``.
    @available(*, unavailable, message: "use download(_:to:), whose downloadProgressUpdates() is a sequence")
    public nonisolated func download(
        _ url: any URLConvertible, to file: URL, onProgress: (_OtherName) -> Void
    ) -> _OtherName { unavailable() }

    /// Not available; see ``request(_:method:parameters:encoder:headers:interceptor:requestModifier:)``.
    @available(
        *, unavailable,
        message: "use get(_:parameters:), post(_:json:), post(_:form:); or parameters: and encoder: of request(_:)"
    )
    public nonisolated func request(
        _ url: any URLConvertible, method: HTTPMethod = .get, params: [String: JSONValue] = [:],
        query: [String: JSONValue] = [:], queryItems: [URLQueryItem] = [], json: (any Encodable)? = nil,
        form: [String: String]? = nil, body: RequestBody? = nil, headers: HTTPHeaders? = nil, timeout: Duration? = nil
    ) -> DataRequest { unavailable() }

    /// Not available; see ``request(_:method:parameters:encoder:headers:interceptor:requestModifier:)``.
    @available(*, unavailable, message: "write request(url, method: .get)")
    public nonisolated func request(_ method: HTTPMethod, _ url: any URLConvertible) -> _OtherName { unavailable() }

    /// Not available; see ``init(baseURL:headers:timeouts:interceptors:transport:)``.
    @available(
        *, unavailable, message: "use Session(baseURL:headers:timeouts:interceptors:) or Session(configuration:)"
    )
    public static func builder() -> _SessionBuilder { unavailable() }

    /// Not available; see ``request(_:interceptor:)``.
    @available(*, unavailable, message: "create an HTTPRequest(url:method:headers:body:), and pass it to request(_:)")
    public nonisolated func buildRequest(
        _ method: HTTPMethod, _ url: any URLConvertible, params: [String: JSONValue] = [:]
    ) async throws -> HTTPRequest { unavailable() }

    /// Not available; see ``DataStreamTask``.
    @available(*, unavailable, message: "use streamRequest(_:method:).streamTask(), its bytes or serverSentEvents")
    public nonisolated func stream(_ method: HTTPMethod, _ url: any URLConvertible) async throws -> _OtherName {
        unavailable()
    }

    /// Not available; see ``DataStreamTask``.
    @available(*, unavailable, message: "use streamRequest(_:method:).streamTask(), its bytes or serverSentEvents")
    public nonisolated func stream(_ url: any URLConvertible) async throws -> _OtherName { unavailable() }

    /// Not available; see ``DataStreamTask``.
    @available(*, unavailable, message: "use streamRequest(_:method:).streamTask(), its bytes or serverSentEvents")
    public nonisolated func stream(
        _ method: some Any, _ url: any URLConvertible, _ body: (_OtherName) async throws -> Void
    ) async throws { unavailable() }

    /// Not available; see ``shutdown()``.
    @available(*, unavailable, renamed: "shutdown()")
    public func close() async { unavailable() }

    // MARK: AsyncHTTPClient

    /// Not available; see ``request(_:interceptor:)``.
    @available(
        *, unavailable, message: "use send(_:timeout:) with an HTTPRequest, get(_:) with a URL, or streamRequest(_:)"
    )
    public nonisolated func execute(_ request: some Any, timeout: Duration = .zero, logger: Any? = nil) async throws
        -> _WholeResponse
    { unavailable() }

    /// Not available; see ``request(_:interceptor:)``.
    @available(*, unavailable, message: "use send(_:timeout:), whose limit is a time for each attempt")
    public nonisolated func execute(_ request: some Any, deadline: ContinuousClock.Instant) async throws
        -> _WholeResponse
    { unavailable() }

    // MARK: URLSession

    /// Not available; see ``get(_:parameters:headers:timeout:)``.
    @available(*, unavailable, message: "use get(_:), whose response has data, statusCode and headers")
    public nonisolated func data(from url: any URLConvertible, delegate: Any? = nil) async throws
        -> (Data, HTTPResponse)
    { unavailable() }

    /// Not available; see ``request(_:interceptor:)``.
    @available(
        *, unavailable, message: "use send(_:) with an HTTPRequest; the response has data, statusCode, headers"
    )
    public nonisolated func data(for request: some Any, delegate: Any? = nil) async throws -> (Data, HTTPResponse) {
        unavailable()
    }

    /// Not available; see ``DataStreamTask``.
    @available(*, unavailable, message: "use streamRequest(_:).streamTask(), and its response, bytes and lines")
    public nonisolated func bytes(from url: any URLConvertible) async throws -> (_OtherName, HTTPResponse) {
        unavailable()
    }

    /// Not available; see ``DataStreamTask``.
    @available(*, unavailable, message: "use streamRequest(_:).streamTask(), and its response, bytes and lines")
    public nonisolated func bytes(for request: some Any) async throws -> (_OtherName, HTTPResponse) { unavailable() }

    /// Not available; see ``eventSource(_:headers:interceptor:)``.
    @available(*, unavailable, message: "use eventSource(_:), a sequence that reconnects")
    public nonisolated func events(for request: some Any) -> _OtherName { unavailable() }

    /// Not available; see ``eventSource(_:headers:interceptor:)``.
    @available(*, unavailable, message: "use eventSource(_:), a sequence that reconnects")
    public nonisolated func events(_ url: any URLConvertible) -> _OtherName { unavailable() }

    /// Not available; see ``download(_:method:headers:interceptor:requestModifier:to:)``.
    @available(*, unavailable, message: "use download(_:to:).serializingURL().value, the URL of the file")
    public nonisolated func download(from url: any URLConvertible) async throws -> (URL, HTTPResponse) { unavailable() }

    /// Not available; see ``download(resumingWith:headers:interceptor:to:)``.
    @available(*, unavailable, renamed: "download(resumingWith:)")
    public nonisolated func download(resumeFrom data: Data) async throws -> (URL, HTTPResponse) { unavailable() }

    /// Not available; see ``upload(_:with:interceptor:)-(URL,_,_)``.
    @available(
        *, unavailable, message: "use upload(_:with:) with a file and an HTTPRequest, and serializingData().response"
    )
    public nonisolated func upload(for request: some Any, fromFile file: URL, delegate: Any? = nil) async throws
        -> (Data, HTTPResponse)
    { unavailable() }

    /// Not available; see ``upload(_:with:interceptor:)-(Data,_,_)``.
    @available(
        *, unavailable, message: "use upload(_:with:) with the bytes and an HTTPRequest, and serializingData().response"
    )
    public nonisolated func upload(for request: some Any, from bytes: Data, delegate: Any? = nil) async throws
        -> (Data, HTTPResponse)
    { unavailable() }

    /// Not available; see ``request(_:interceptor:)``.
    @available(*, unavailable, message: "use send(_:) with an HTTPRequest, or request(_:) and a serializing… method")
    public nonisolated func dataTask(with request: some Any) -> _OtherName { unavailable() }

    /// Not available; see ``download(_:interceptor:to:)``.
    @available(*, unavailable, message: "use download(_:to:).serializingURL().value; this sends the request")
    public nonisolated func downloadTask(with request: some Any, to file: URL? = nil) -> _OtherName { unavailable() }

    /// Not available; see ``upload(_:with:interceptor:)-(URL,_,_)``.
    @available(*, unavailable, message: "use upload(_:with:).serializingData().response; this sends the request")
    public nonisolated func uploadTask(with request: some Any, fromFile file: URL) -> _OtherName { unavailable() }

    /// Not available; see ``webSocket(_:protocols:headers:configuration:interceptor:)``.
    @available(*, unavailable, message: "use webSocket(_:protocols:).webSocketTask()")
    public nonisolated func webSocketTask(with url: any URLConvertible, protocols: [String] = []) -> _OtherName {
        unavailable()
    }

    /// Not available; see ``webSocket(_:protocols:headers:configuration:interceptor:)``.
    @available(*, unavailable, message: "use webSocket(_:protocols:), without the label")
    public nonisolated func webSocket(url: any URLConvertible) -> WebSocketRequest { unavailable() }

    /// Not available; see ``shutdown()``.
    @available(*, unavailable, message: "use shutdown(within:), which lets requests finish for that time")
    public func finishTasksAndInvalidate() async { unavailable() }

    /// Not available; see ``shutdown()``.
    @available(*, unavailable, message: "use shutdown(), which ends all requests")
    public func invalidateAndCancel() async { unavailable() }

    // MARK: Alamofire

    /// Not available; see ``webSocket(_:protocols:headers:configuration:interceptor:)``.
    @available(*, unavailable, message: "use webSocket(_:protocols:configuration:)")
    public nonisolated func webSocketRequest(_ url: any URLConvertible) -> WebSocketRequest { unavailable() }

    /// Not available; see ``webSocket(_:protocols:headers:configuration:interceptor:)``.
    @available(*, unavailable, message: "use webSocket(_:protocols:configuration:)")
    public nonisolated func webSocketRequest(to url: any URLConvertible) -> WebSocketRequest { unavailable() }

    /// Not available; see ``eventSource(_:headers:interceptor:)``.
    @available(*, unavailable, message: "use eventSource(_:), a sequence that reconnects")
    public nonisolated func eventSourceRequest(
        _ url: any URLConvertible, headers: HTTPHeaders? = nil, lastEventID: String? = nil
    ) -> _OtherName { unavailable() }

    /// Not available; see ``request(_:method:parameters:encoder:headers:interceptor:requestModifier:)``.
    @available(*, unavailable, message: "the label is encoder: with .json, .urlEncodedForm or your own encoder")
    public nonisolated func request<Parameters>(
        _ url: any URLConvertible, method: HTTPMethod = .get, parameters: Parameters?,
        encoding: any ParameterEncoder, headers: HTTPHeaders? = nil
    ) -> DataRequest { unavailable() }

    // MARK: Settings

    /// Not available; see ``init(baseURL:headers:timeouts:interceptors:transport:)``.
    @available(*, unavailable, message: "use timeouts: Timeouts(total: .seconds(10))")
    public init(baseURL: String = "", headers: HTTPHeaders = [:], timeout: Duration) { self.init() }

    /// Not available; see ``init(baseURL:headers:timeouts:interceptors:transport:)``.
    @available(*, unavailable, message: "use timeouts: Timeouts(total: .seconds(10))")
    public init(baseURL: String = "", headers: HTTPHeaders = [:], timeout: Double) { self.init() }

    /// Not available; see ``Configuration/proxy``.
    @available(*, unavailable, message: "set configuration.proxy, and pass the configuration to the session")
    public init(baseURL: String = "", proxy: String) { self.init() }

    /// Not available; see ``Configuration/headers``.
    @available(*, unavailable, message: "set headers: [.authorization(…)], or pass an interceptor to the session")
    public init(baseURL: String = "", auth: HTTPHeader) { self.init() }

    /// Not available; see ``Configuration/tls-swift.property``.
    @available(
        *, unavailable, message: "use serverTrustManager: with a DisabledTrustEvaluator() for the host, in tests"
    )
    public init(baseURL: String = "", verify: Bool) { self.init() }

    /// Not available; see ``init(baseURL:headers:timeouts:interceptors:transport:)``.
    @available(*, unavailable, message: "use timeouts: Timeouts(total: .seconds(10)), after headers:")
    public init(baseURL: String = "", timeout: Duration, headers: HTTPHeaders) { self.init() }

    /// Not available; see ``init(baseURL:headers:timeouts:interceptors:transport:)``.
    @available(*, unavailable, message: "add .authorization(bearerToken:) to headers:, or pass an interceptor")
    public init(baseURL: String = "", headers: HTTPHeaders, auth: HTTPHeader) { self.init() }

    /// Not available; see ``init(baseURL:headers:timeouts:interceptors:transport:)``.
    @available(*, unavailable, message: "use interceptors: [RetryPolicy(retryLimit: 3)]")
    public init(baseURL: String = "", retry: Retry) { self.init() }

    /// Not available; see ``init(baseURL:headers:timeouts:interceptors:transport:)``.
    @available(*, unavailable, message: "use timeouts: Timeouts(connect:idle:total:)")
    public init(baseURL: String = "", timeout: Timeout) { self.init() }

    /// Not available; see ``init(baseURL:headers:timeouts:interceptors:transport:)``.
    @available(*, unavailable, message: "use interceptors: [RetryPolicy(retryLimit: 3)]")
    public init(baseURL: String = "", retry: RetryPolicy) { self.init() }

    /// Not available; see ``Configuration/connectionLimits-swift.property``.
    @available(*, unavailable, message: "set connectionLimits of a Session.Configuration")
    public init(baseURL: String = "", limits: Limits) { self.init() }

    /// Not available; see ``EventMonitor``.
    @available(*, unavailable, message: "use Session(configuration:eventMonitors:)")
    public init(baseURL: String = "", eventHooks: EventHooks) { self.init() }

    /// Not available; see ``Configuration``.
    @available(*, unavailable, message: "set the options of a Session.Configuration")
    public init(baseURL: String = "", transport: HTTPTransport) { self.init() }

    /// Not available; see ``cookies``.
    @available(*, unavailable, message: "set them afterwards: try await session.cookies.set(…)")
    public init(baseURL: String = "", cookies: [String: String]) { self.init() }

    /// Not available; see ``Configuration``.
    @available(*, unavailable, message: "use Session(configuration:) with a Session.Configuration")
    public init(configuration: SessionConfiguration) { self.init() }

    /// Not available; see ``get(_:parameters:headers:timeout:)``.
    @available(*, unavailable, message: "use get(_:).validate().json(T.self)")
    public nonisolated func get<Value>(_ url: any URLConvertible, as type: Value.Type) async throws -> Value {
        unavailable()
    }

    /// Not available; see ``request(_:method:parameters:encoder:headers:interceptor:requestModifier:)``.
    @available(*, unavailable, message: "the label is encoder:, with .json, .urlEncodedForm or your own encoder")
    public nonisolated func request<Parameters>(
        _ url: any URLConvertible, method: HTTPMethod = .get, parameters: Parameters?, encoding: URLEncoding,
        headers: HTTPHeaders? = nil
    ) -> DataRequest { unavailable() }

    /// Not available; see ``request(_:method:parameters:encoder:headers:interceptor:requestModifier:)``.
    @available(*, unavailable, message: "the label is encoder:, with .json, .urlEncodedForm or your own encoder")
    public nonisolated func request<Parameters>(
        _ url: any URLConvertible, method: HTTPMethod = .get, parameters: Parameters?, encoding: JSONEncoding,
        headers: HTTPHeaders? = nil
    ) -> DataRequest { unavailable() }

    /// Not available; see ``eventSource(_:headers:interceptor:)``.
    @available(*, unavailable, message: "use eventSource(_:), which is a sequence of events")
    public nonisolated func connectSSE(
        _ method: String, _ url: any URLConvertible, _ body: (_OtherName) async throws -> Void
    ) async throws { unavailable() }

    /// Not available; see ``eventSource(_:headers:interceptor:)``.
    @available(*, unavailable, message: "leave the label out: eventSource(url)")
    public nonisolated func eventSource(with url: any URLConvertible) -> EventSource { unavailable() }

    /// Not available; see ``webSocket(_:protocols:headers:configuration:interceptor:)``.
    @available(*, unavailable, message: "use webSocket(_:).webSocketTask(), which sends and has a sequence of messages")
    public nonisolated func connectWebSocket(
        _ url: any URLConvertible, _ body: (_OtherName) async throws -> Void
    ) async throws { unavailable() }

    /// Not available; see ``put(_:body:headers:timeout:)``.
    @available(*, unavailable, message: "use put(_:body: .data(bytes), headers:)")
    public nonisolated func put(_ url: any URLConvertible, content: Data, headers: [String: String] = [:]) async throws
        -> _WholeResponse
    { unavailable() }

    /// Not available; see ``MultipartFormData``.
    @available(*, unavailable, message: "use post(_:body: .multipart(form)), with a MultipartFormData")
    public nonisolated func post(
        _ url: any URLConvertible, data: [String: JSONValue] = [:], files: [String: (String, URL, String)]
    ) async throws -> _WholeResponse { unavailable() }

    /// Not available; see ``SerializedResponse/validate()``.
    @available(*, unavailable, message: "use get(_:).validate(); retries are those of the session")
    public nonisolated func get(
        _ url: any URLConvertible, throwHttpErrors: Bool, retry: RetryPolicy? = nil, signal: Any? = nil
    ) async throws -> _WholeResponse { unavailable() }

    /// Not available; see ``Request/cancel()``.
    @available(*, unavailable, message: "cancel the Swift task that awaits the request")
    public nonisolated func get(_ url: any URLConvertible, signal: Any) async throws -> _WholeResponse { unavailable() }

    /// Not available; see ``Request/redirect(using:)``.
    @available(*, unavailable, message: "use request(_:).redirect(using: Redirector.doNotFollow)")
    public nonisolated func request(_ url: any URLConvertible, redirect: Redirector) -> DataRequest { unavailable() }

    /// Not available; see ``Request/timeouts(_:)``.
    @available(*, unavailable, message: "use request(_:).timeouts(Timeouts(total: .seconds(5)))")
    public nonisolated func request(_ url: any URLConvertible, timeoutInterval: Double) -> DataRequest { unavailable() }

    /// Not available; see ``Session/init(baseURL:headers:timeouts:interceptors:)``.
    @available(*, unavailable, message: "use Session(baseURL:headers:) for each base URL")
    public nonisolated func extend(
        prefixURL: any URLConvertible = "", headers: HTTPHeaders = [:], hooks: Any? = nil
    ) -> Session { unavailable() }

    /// Not available; see ``Session/init(interceptors:)``.
    @available(*, unavailable, message: "pass interceptors to Session(interceptors:)")
    public nonisolated var interceptors: _OtherName { unavailable() }

    /// Not available; see ``Session/Configuration``.
    @available(*, unavailable, message: "sessions have a Session.Configuration, and session.cookies")
    public nonisolated var sessionConfiguration: _OtherName { unavailable() }

    /// Not available; see ``Session``.
    @available(*, unavailable, message: "use upload(_:to:method: .put)")
    public nonisolated func upload(with request: some Any, fromFile file: URL) -> _OtherName { unavailable() }
}

/// What ``Session/builder()`` would return.
@dynamicMemberLookup
public struct _SessionBuilder {
    /// Not available.
    public subscript(dynamicMember name: String) -> _OtherName { unavailable() }
    /// Not available.
    public func connectTimeout(_ limit: Duration) -> _SessionBuilder { unavailable() }
    /// Not available.
    public func readTimeout(_ limit: Duration) -> _SessionBuilder { unavailable() }
    /// Not available.
    public func timeout(_ limit: Duration) -> _SessionBuilder { unavailable() }
    /// Not available.
    public func poolIdleTimeout(_ limit: Duration) -> _SessionBuilder { unavailable() }
    /// Not available.
    public func poolMaxIdlePerHost(_ count: Int) -> _SessionBuilder { unavailable() }
    /// Not available.
    public func redirect(_ redirector: Redirector?) -> _SessionBuilder { unavailable() }
    /// Not available.
    public func retry(_ policy: RetryPolicy) -> _SessionBuilder { unavailable() }
    /// Not available.
    public func userAgent(_ name: String) -> _SessionBuilder { unavailable() }
    /// Not available.
    public func defaultHeaders(_ headers: [String: String]) -> _SessionBuilder { unavailable() }
    /// Not available.
    public func cache(_ cache: Any) -> _SessionBuilder { unavailable() }
    /// Not available.
    public func proxy(_ proxy: Any) -> _SessionBuilder { unavailable() }
    /// Not available.
    public func build() throws -> Session { unavailable() }
}
