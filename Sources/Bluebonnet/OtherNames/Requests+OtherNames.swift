public import BluebonnetOtherNames
public import FoundationEssentials

// What people call on requests and responses of other libraries. None is available; the messages name the right call.

extension DataRequest {
    /// Not available; see ``SerializingTask/value``.
    @available(*, unavailable, message: "name what the body becomes: serializingDecodable(T.self).value, …")
    public nonisolated var value: Data { get async throws { unavailable() } }

    /// Not available; see ``SerializingTask/value``.
    @available(*, unavailable, message: "use serializingDecodable(T.self).value")
    public nonisolated func value<Value: Decodable>(as type: Value.Type) async throws -> Value { unavailable() }

    /// Not available; see ``SerializingTask/value``.
    @available(*, unavailable, message: "use serializingDecodable(T.self).value")
    public nonisolated func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, decoder: any DataDecoder = JSONDecoder()
    ) async throws -> Value { unavailable() }

    /// Not available; see ``SerializingTask/value``.
    @available(*, unavailable, message: "use serializingDecodable(T.self).value")
    public nonisolated func decodable<Value: Decodable>(
        _ type: Value.Type = Value.self, decoder: any DataDecoder = JSONDecoder()
    ) async throws -> Value { unavailable() }

    /// Not available; see ``SerializingTask/value``.
    @available(*, unavailable, message: "use serializingDecodable(T.self).value")
    public nonisolated func decode<Value: Decodable>(as type: Value.Type) async throws -> Value { unavailable() }

    /// Not available; see ``SerializingTask/value``.
    @available(*, unavailable, message: "use serializingDecodable(T.self).value")
    public nonisolated func json<Value: Decodable>(_ type: Value.Type = Value.self) async throws -> Value {
        unavailable()
    }

    /// Not available; see ``SerializingRequest``.
    @available(*, unavailable, message: "use serializingString().value")
    public nonisolated func text() async throws -> String { unavailable() }

    /// Not available; see ``SerializingRequest``.
    @available(*, unavailable, message: "use serializingString().value")
    public nonisolated func string() async throws -> String { unavailable() }

    /// Not available; see ``validate(_:)``.
    @available(*, unavailable, message: "the closure of validate has three parameters: request, response and data")
    public nonisolated func validate(_ isValid: @Sendable (HTTPResponse) -> Bool) -> DataRequest { unavailable() }

    /// Not available; see ``Session/streamRequest(_:method:headers:interceptor:requestModifier:)``.
    @available(*, unavailable, message: "use session.streamRequest(_:).streamTask().lines")
    public nonisolated func lines() -> _OtherName { unavailable() }

    /// Not available; see ``SerializingRequest``.
    @available(*, unavailable, message: "use serializingData().response, which has data, statusCode and headers")
    public nonisolated func dataAndResponse() async throws -> (Data, HTTPResponse) { unavailable() }

    /// Not available; see ``SerializingRequest``.
    @available(*, unavailable, message: "use serializingData().response, or session.send(_:)")
    public nonisolated func response(_ none: Void = ()) async throws -> DataResponse<Data, RequestError> {
        unavailable()
    }

    /// Not available; see ``SerializingRequest``.
    @available(*, unavailable, message: "use serializingData().value")
    public nonisolated func data(_ none: Void = ()) async throws -> Data { unavailable() }

    /// Not available; a request is sent when its result is awaited.
    @available(*, unavailable, message: "use session.send(_:), or a serializing… method, which sends the request")
    public nonisolated func send() async throws -> DataResponse<Data, RequestError> { unavailable() }

    /// Not available; see ``SerializedResponse/statusCode``.
    @available(
        *, unavailable, message: "use serializingData().response, or get(_:), which have statusCode, headers and data"
    )
    public nonisolated var ok: Bool { unavailable() }

    /// Not available; see ``SerializedResponse/statusCode``.
    @available(
        *, unavailable, message: "use serializingData().response, or get(_:), which have statusCode, headers and data"
    )
    public nonisolated var status: _OtherStatus { unavailable() }

    /// Not available; see ``SerializedResponse/statusCode``.
    @available(
        *, unavailable, message: "use serializingData().response, or get(_:), which have statusCode, headers and data"
    )
    public nonisolated var statusCode: Int { unavailable() }

    /// Not available; see ``SerializedResponse/headers``.
    @available(
        *, unavailable, message: "use serializingData().response, or get(_:), which have statusCode, headers and data"
    )
    public nonisolated var headers: HTTPHeaders { unavailable() }

    /// Not available; see ``DataStreamTask``.
    @available(*, unavailable, message: "use session.streamRequest(_:).streamTask().bytes")
    public nonisolated var body: _OtherName { unavailable() }

    /// Not available; see ``DataStreamTask``.
    @available(*, unavailable, message: "use session.streamRequest(_:).streamTask()")
    public nonisolated func stream() async throws -> _OtherName { unavailable() }
}

extension Request {
    /// Not available; see ``downloadProgressUpdates(bufferingPolicy:)``.
    @available(*, unavailable, message: "use downloadProgressUpdates() or uploadProgressUpdates()")
    public nonisolated var progress: StreamOf<TransferProgress> { unavailable() }

    /// Not available; see ``authenticate(using:)``.
    @available(*, unavailable, message: "use authenticate(username:password:)")
    @discardableResult
    public nonisolated func authenticate(with credential: some Any) -> Self { unavailable() }

    /// Not available; see ``retry(using:)``.
    @available(*, unavailable, renamed: "retry(using:)")
    @discardableResult
    public nonisolated func retry(_ retrier: any RequestRetrier) -> Self { unavailable() }

    /// Not available; see ``redirect(using:)``.
    @available(*, unavailable, renamed: "redirect(using:)")
    @discardableResult
    public nonisolated func redirect(_ redirector: Redirector) -> Self { unavailable() }
}

extension RequestBody {
    /// Not available; see ``Session/post(_:form:headers:timeout:)-(_,Value,_,_)``.
    @available(*, unavailable, message: "use post(_:form:)")
    public static func form(_ fields: [String: String]) -> RequestBody { unavailable() }

    /// Not available; see ``data(_:)``.
    @available(*, unavailable, renamed: "data(_:)")
    public static func bytes(_ bytes: some Sequence<UInt8>) -> RequestBody { unavailable() }

    /// Not available; see ``MultipartFormData``.
    @available(*, unavailable, message: "append(_:withName:) to a MultipartFormData, and use .multipart(form)")
    public static func file(_ file: URL, filename: String = "", contentType: String) -> RequestBody { unavailable() }

    /// Not available; see ``Session/post(_:json:headers:timeout:)``.
    @available(*, unavailable, message: "use post(_:json:), put(_:json:) or patch(_:json:)")
    public static func json(_ value: some Encodable) -> RequestBody { unavailable() }

    /// Not available; see ``stream(_:length:)``.
    @available(*, unavailable, message: "leave the length out if it is unknown")
    public static func stream<Bytes: AsyncSequence>(_ bytes: Bytes, length: _UnknownLength) -> RequestBody {
        unavailable()
    }

    /// The length of other libraries' bodies.
    public enum _UnknownLength: Sendable {
        /// Not available.
        case unknown
    }
}

extension MultipartFormData {
    /// Not available; see ``append(_:withName:)-(String,_)``.
    @available(*, unavailable, message: "the label is withName:")
    public mutating func append(_ text: String, name: String) { unavailable() }

    /// Not available; see ``append(_:withName:)-(URL,_)``.
    @available(*, unavailable, message: "the label is withName:")
    public mutating func append(_ file: URL, name: String, fileName: String = "", mimeType: String = "") {
        unavailable()
    }

    /// Not available; see ``append(_:withName:fileName:mimeType:)-(Data,_,_,_)``.
    @available(*, unavailable, message: "the label is withName:")
    public mutating func append(_ bytes: Data, name: String, fileName: String = "", mimeType: String = "") {
        unavailable()
    }
}

extension HTTPHeaders {
    /// Not available; see ``update(name:value:)``.
    @available(*, unavailable, renamed: "update(name:value:)")
    public mutating func replaceOrAdd(name: String, value: String) { unavailable() }

    /// Not available; see ``subscript(_:)-(String)``.
    @available(*, unavailable, message: "use headers[\"Name\"]")
    public func first(name: String) -> String? { unavailable() }
}

extension Certificate {
    /// Not available; see ``init(pem:)``.
    @available(*, unavailable, message: "use init(pem:) with the text, or init(der:) with the bytes")
    public init(pem data: Data) throws { unavailable() }

    /// Not available; see ``init(pem:)``.
    @available(*, unavailable, message: "use init(pem:) with the text, or init(der:) with the bytes")
    public static func fromPEM(_ pem: some Any) throws -> Certificate { unavailable() }
}

extension DataStreamRequest {
    /// Not available; see ``DataStreamTask/lines``.
    @available(*, unavailable, message: "use streamTask().lines")
    public nonisolated var lines: _OtherName { unavailable() }

    /// Not available; see ``DataStreamTask/bytes``.
    @available(*, unavailable, message: "use streamTask().bytes")
    public nonisolated var bytes: _OtherName { unavailable() }
}

extension ServerSentEvent {
    /// Not available; see ``id``.
    @available(*, unavailable, renamed: "id")
    public var lastEventId: String? { unavailable() }

    /// Not available; see ``event``.
    @available(*, unavailable, renamed: "event")
    public var type: String { unavailable() }
}

extension TransferProgress {
    /// Not available; in Alamofire, `uploadProgress()` and `downloadProgress()` are sequences.
    @available(*, unavailable, message: "the sequences are downloadProgressUpdates() and uploadProgressUpdates()")
    public func callAsFunction() -> StreamOf<TransferProgress> { unavailable() }
    /// Not available.
    @available(*, unavailable, renamed: "completed")
    public var completedUnitCount: Int64 { unavailable() }
    /// Not available.
    @available(*, unavailable, renamed: "total")
    public var totalUnitCount: Int64 { unavailable() }

    /// Not available; see ``completed``.
    @available(*, unavailable, renamed: "completed")
    public var loaded: Int64 { unavailable() }

    /// Not available; see ``completed``.
    @available(*, unavailable, renamed: "completed")
    public var transferredBytes: Int64 { unavailable() }

    /// Not available; see ``completed``.
    @available(*, unavailable, renamed: "completed")
    public var receivedBytes: Int64 { unavailable() }

    /// Not available; see ``total``.
    @available(*, unavailable, renamed: "total")
    public var totalBytes: Int64? { unavailable() }
}

extension SerializedResponse where Source == DataRequest, Success == Data, Failure == RequestError {
    /// Not available; see ``validate()``.
    @available(*, unavailable, renamed: "validate()")
    public func raiseForStatus() throws -> Self { unavailable() }
    /// Not available; see ``validate()``.
    @available(*, unavailable, renamed: "validate()")
    public func errorForStatus() throws -> Self { unavailable() }
    /// Not available; the response is there.
    @available(*, unavailable, message: "get(_:), post(_:json:), … have sent the request; leave send() out")
    public func send() async throws -> Self { unavailable() }
    /// Not available; the request is sent.
    @available(*, unavailable, message: "the request was sent; use get(_:parameters:)")
    public func query(_ parameters: some Any) -> Self { unavailable() }
    /// Not available; the request is sent.
    @available(*, unavailable, message: "the request was sent; use get(_:headers:) and post(_:json:headers:)")
    public func header(_ name: String, _ value: String) -> Self { unavailable() }
    /// Not available; the request is sent.
    @available(*, unavailable, message: "the request was sent; use get(_:headers: [.authorization(bearerToken:)])")
    public func bearerAuth(_ token: String) -> Self { unavailable() }
    /// Not available; the request is sent.
    @available(*, unavailable, message: "the request was sent; use headers: [.authorization(username:password:)]")
    public func basicAuth(username: String, password: String?) -> Self { unavailable() }
    /// Not available; the request is sent.
    @available(*, unavailable, message: "the request was sent; use headers: [.authorization(username:password:)]")
    public func basicAuth(_ username: String, password: String?) -> Self { unavailable() }
    /// Not available; the request is sent.
    @available(*, unavailable, message: "the request was sent; use get(_:timeout:)")
    public func timeout(_ limit: Duration) -> Self { unavailable() }
    /// Not available; the request is sent.
    @available(*, unavailable, message: "the request was sent; use post(_:json:)")
    @_disfavoredOverload
    public func json(_ body: some Encodable) -> Self { unavailable() }
    /// Not available; the request is sent.
    @available(*, unavailable, message: "the request was sent; use post(_:form:)")
    public func form(_ fields: some Any) -> Self { unavailable() }
    /// Not available; the request is sent.
    @available(*, unavailable, message: "the request was sent; use post(_:body:)")
    public func body(_ body: RequestBody) -> Self { unavailable() }
    /// Not available; the request is sent.
    @available(*, unavailable, message: "the request was sent; use post(_:body: .multipart(form))")
    public func multipart(_ form: MultipartFormData) -> Self { unavailable() }
    /// Not available; the request is sent.
    @available(*, unavailable, message: "the request was sent; use upload(_:to:method:).uploadProgressUpdates()")
    public func onUploadProgress(_ report: (Int64, Int64?) -> Void) -> Self { unavailable() }
    /// Not available; the request is sent.
    @available(*, unavailable, message: "the request was sent; use request(_:).downloadProgressUpdates()")
    public func onDownloadProgress(_ report: (Int64, Int64?) -> Void) -> Self { unavailable() }
    /// Not available; the body was received whole.
    @available(*, unavailable, message: "the body was received whole; use streamRequest(_:).streamTask().bytes")
    public func bytesStream() -> _OtherName { unavailable() }
    /// Not available; the body was received whole.
    @available(*, unavailable, message: "the body was received whole; use streamRequest(_:).streamTask().lines")
    public func lines() -> StreamOf<String> { unavailable() }
    /// Not available; see ``Session/eventSource(_:headers:interceptor:)``.
    @available(*, unavailable, message: "the body was received whole; use session.eventSource(_:)")
    public func eventSource() -> StreamOf<String> { unavailable() }
    /// Not available; see ``Session/webSocket(_:protocols:headers:configuration:interceptor:)``.
    @available(*, unavailable, message: "use session.webSocket(_:).webSocketTask()")
    public func upgrade() -> _OtherName { unavailable() }
    /// Not available; see ``data``.
    @available(*, unavailable, message: "use json(_:)")
    public func decode<Value: Decodable>(_ type: Value.Type = Value.self) async throws -> Value { unavailable() }
    /// Not available; see ``json(_:decoder:)``.
    @available(*, unavailable, message: "use json(_:)")
    public func decode<Value: Decodable>(as type: Value.Type) async throws -> Value { unavailable() }
    /// Not available; see ``data``.
    @available(*, unavailable, message: "data is a property of the type Data?, without parentheses")
    public func data(_ none: Void = ()) async throws -> Data { unavailable() }
    /// Not available; see ``data``.
    @available(*, unavailable, renamed: "data")
    public func bytes() async throws -> Data { unavailable() }
    /// Not available; see ``data``.
    @available(*, unavailable, message: "use data, which was received whole; streamRequest(_:) streams")
    public var body: _OtherName { unavailable() }
    /// Not available; see ``data``.
    @available(*, unavailable, renamed: "data")
    public var content: Data { unavailable() }
}

extension SerializedResponse {
    /// Not available; see ``statusCode``.
    @available(*, unavailable, renamed: "statusCode")
    public var status: _OtherStatus { unavailable() }
    /// Not available; see ``statusCode``.
    @available(*, unavailable, message: "compare statusCode, or use validate()")
    public var ok: Bool { unavailable() }

    /// Not available; see ``response``.
    @available(*, unavailable, message: "use response?.httpVersion")
    public var httpVersion: HTTPVersion { unavailable() }

    /// Not available; see ``metrics``.
    @available(*, unavailable, message: "use metrics?.total")
    public var elapsed: Duration { unavailable() }

    /// Not available; see ``statusCode``.
    @available(*, unavailable, message: "compare statusCode")
    public var isServerError: Bool { unavailable() }

    /// Not available; see ``statusCode``.
    @available(*, unavailable, message: "compare statusCode")
    public var isClientError: Bool { unavailable() }

    /// Not available; see ``statusCode``.
    @available(
        *, unavailable, message: "the phrases of status codes are not part of a response (RFC 9110 §15); use statusCode"
    )
    public var reasonPhrase: String { unavailable() }

    /// Not available; see ``statusCode``.
    @available(
        *, unavailable, message: "the phrases of status codes are not part of a response (RFC 9110 §15); use statusCode"
    )
    public var statusText: String { unavailable() }

    /// Not available; see ``Session``.
    @available(*, unavailable, message: "use session.download(_:to:)")
    public func download(to file: URL, resume: Bool = false) -> _OtherName { unavailable() }
}

extension WebSocketRequest {
    /// Not available; see ``WebSocketTask/send(_:)-(WebSocketMessage)``.
    @available(*, unavailable, message: "use the task that webSocketTask() returns")
    public nonisolated func send(_ text: String) async throws { unavailable() }
    /// Not available; see ``WebSocketTask/send(_:)-(WebSocketMessage)``.
    @available(*, unavailable, message: "use the task that webSocketTask() returns")
    public nonisolated func send(_ message: WebSocketMessage) async throws { unavailable() }
    /// Not available; see ``WebSocketTask/messages``.
    @available(*, unavailable, message: "use the task that webSocketTask() returns")
    public nonisolated var messages: StreamOf<WebSocketMessage> { unavailable() }

    /// Not available; see ``webSocketTask(automaticallyClosing:)``.
    @available(*, unavailable, message: "use webSocketTask()")
    public nonisolated func connect() async throws -> WebSocketTask { unavailable() }
}

extension RequestError {
    /// Not available; see ``kind-swift.property``.
    @available(*, unavailable, message: "use isConnectionFailure")
    public var isConnect: Bool { unavailable() }
    /// Not available; see ``kind-swift.property``.
    @available(*, unavailable, message: "use if case .serialization = error.kind")
    public var isDecode: Bool { unavailable() }
    /// Not available; see ``statusCode``.
    @available(*, unavailable, renamed: "statusCode")
    public var responseCode: Int? { unavailable() }
    /// Not available; see ``statusCode``.
    @available(*, unavailable, renamed: "statusCode")
    public var status: _OtherStatus { unavailable() }
    /// Not available; see ``isCancellation``.
    @available(*, unavailable, message: "use isCancellation")
    public var isExplicitlyCancelledError: Bool { unavailable() }
}

extension HTTPRequest {
    /// Not available; see ``method``.
    @available(*, unavailable, message: "set method, such as .post")
    public var httpMethod: String? {
        get { unavailable() }
        set { unavailable() }
    }
    /// Not available; see ``body``.
    @available(*, unavailable, message: "set body, such as .data(bytes)")
    public var httpBody: Data? {
        get { unavailable() }
        set { unavailable() }
    }
    /// Not available; see ``timeouts``.
    @available(*, unavailable, message: "set timeouts.total or timeouts.idle, such as .seconds(5)")
    public var timeoutInterval: Double {
        get { unavailable() }
        set { unavailable() }
    }
    /// Not available; see ``headers``.
    @available(*, unavailable, message: "use headers[\"Name\"] = value")
    public mutating func setValue(_ value: String?, forHTTPHeaderField name: String) { unavailable() }
    /// Not available; see ``headers``.
    @available(*, unavailable, message: "use headers.add(name:value:)")
    public mutating func addValue(_ value: String, forHTTPHeaderField name: String) { unavailable() }
    /// Not available; see ``HTTPHeader/authorization(bearerToken:)``.
    @available(*, unavailable, message: "use headers.update(.authorization(bearerToken:))")
    public mutating func setBearerAuth(token: String) { unavailable() }
    /// Not available; see ``HTTPHeader/authorization(username:password:)``.
    @available(*, unavailable, message: "use headers.update(.authorization(username:password:))")
    public mutating func setBasicAuth(username: String, password: String) { unavailable() }
}

extension HTTPResponse {
    /// Not available; see ``headers``.
    @available(*, unavailable, message: "use headers[\"Name\"]")
    public func value(forHTTPHeaderField name: String) -> String? { unavailable() }
    /// Not available; see ``headers``.
    @available(*, unavailable, renamed: "headers")
    public var allHeaderFields: [String: String] { unavailable() }
    /// Not available; see ``statusCode``.
    @available(*, unavailable, renamed: "statusCode")
    public var status: _OtherStatus { unavailable() }
}

extension HTTPHeader {
    /// Not available; see ``authorization(username:password:)``.
    @available(*, unavailable, renamed: "authorization(username:password:)")
    public static func basic(username: String, password: String) -> HTTPHeader { unavailable() }
    /// Not available; see ``authorization(bearerToken:)``.
    @available(*, unavailable, renamed: "authorization(bearerToken:)")
    public static func bearer(_ token: String) -> HTTPHeader { unavailable() }
}

extension Redirector {
    /// Not available; see ``RedirectHandler/doNotFollow``.
    @available(*, unavailable, renamed: "doNotFollow")
    public static var manual: Redirector { unavailable() }
    /// Not available; see ``RedirectHandler/doNotFollow``.
    @available(*, unavailable, renamed: "doNotFollow")
    public static var disallow: Redirector { unavailable() }

    /// Not available; see ``Session/Configuration/redirectLimits``.
    @available(*, unavailable, message: "set redirectLimits of a Session.Configuration")
    public static func limited(_ count: Int) -> Redirector { unavailable() }

    /// Not available; see ``Session/Configuration/redirectLimits``.
    @available(*, unavailable, message: "set redirectLimits of a Session.Configuration")
    public static func follow(max: Int, allowCycles: Bool = false) -> Redirector { unavailable() }
}

extension Session.Configuration {
    /// Not available; see ``timeouts``.
    @available(*, unavailable, message: "set timeouts.idle, such as .seconds(10)")
    public var timeoutIntervalForRequest: Double {
        get { unavailable() }
        set { unavailable() }
    }
    /// Not available; see ``timeouts``.
    @available(*, unavailable, message: "set timeouts.total, such as .seconds(60)")
    public var timeoutIntervalForResource: Double {
        get { unavailable() }
        set { unavailable() }
    }
    /// Not available; see ``timeouts``.
    @available(*, unavailable, message: "set timeouts: connect, idle and total")
    public var timeout: Timeouts {
        get { unavailable() }
        set { unavailable() }
    }
    /// Not available; see ``headers``.
    @available(*, unavailable, renamed: "headers")
    public var httpAdditionalHeaders: [String: String]? {
        get { unavailable() }
        set { unavailable() }
    }
    /// Not available; see ``headers``.
    @available(*, unavailable, renamed: "headers")
    public var defaultHeaders: HTTPHeaders {
        get { unavailable() }
        set { unavailable() }
    }
    /// Not available; see ``cookies-swift.property``.
    @available(*, unavailable, message: "set cookies")
    public var httpCookieStorage: _OtherName? {
        get { unavailable() }
        set { unavailable() }
    }
    /// Not available; see ``cache``.
    @available(*, unavailable, message: "set cache to a ResponseCache")
    public var urlCache: _OtherName? {
        get { unavailable() }
        set { unavailable() }
    }
    /// Not available; see ``connectionLimits-swift.property``.
    @available(*, unavailable, message: "set connectionLimits.perHost")
    public var httpMaximumConnectionsPerHost: Int {
        get { unavailable() }
        set { unavailable() }
    }
    /// Not available; see ``connectionLimits-swift.property``.
    @available(*, unavailable, message: "set connectionLimits: perHost, total and idle")
    public var connectionPool: _ConnectionPool {
        get { unavailable() }
        set { unavailable() }
    }

    /// What ``connectionPool`` would have.
    public struct _ConnectionPool {
        /// Not available.
        public init(idleTimeout: Duration = .zero, concurrentHTTP1ConnectionsPerHostSoftLimit: Int = 0) {
            unavailable()
        }
        /// Not available.
        public var idleTimeout: Duration
        /// Not available.
        public var concurrentHTTP1ConnectionsPerHostSoftLimit: Int
    }
    /// Not available; see ``RetryPolicy``.
    @available(*, unavailable, message: "pass interceptor: RetryPolicy() to the session")
    public var retry: RetryPolicy {
        get { unavailable() }
        set { unavailable() }
    }
    /// Not available; see ``RetryPolicy``.
    @available(*, unavailable, message: "pass interceptor: RetryPolicy() to the session")
    public var retryPolicy: RetryPolicy {
        get { unavailable() }
        set { unavailable() }
    }

    /// Not available; see ``RedirectHandler``.
    @available(*, unavailable, message: "pass redirectHandler: Redirector.doNotFollow to the session")
    public var redirectConfiguration: Redirector {
        get { unavailable() }
        set { unavailable() }
    }
    /// Not available; see ``tls-swift.property``.
    @available(*, unavailable, message: "set tls: caFile, clientIdentity, minimumVersion")
    public var tlsConfiguration: TLSConfiguration? {
        get { unavailable() }
        set { unavailable() }
    }

    /// Not available; the properties are set one by one.
    @available(
        *, unavailable, message: "set timeouts, proxy and tls of a Configuration(); redirectHandler: is the session's"
    )
    public init(
        timeout: Timeouts = Timeouts(), redirectConfiguration: Redirector? = nil, proxy: Proxy? = nil,
        tlsConfiguration: TLSConfiguration? = nil
    ) { unavailable() }

    /// Not available; see ``init()``.
    @available(*, unavailable, message: "write Session.Configuration(), which stores nothing in files")
    public static var ephemeral: Session.Configuration { unavailable() }
}

extension Session.Configuration.Proxy {
    /// Not available; see ``url(_:excluding:)``.
    @available(*, unavailable, message: "use .url(\"http://user:password@proxy.example:3128\")")
    public static func server(host: String, port: Int, authorization: HTTPHeader? = nil) -> Self { unavailable() }

    /// Not available; see ``url(_:excluding:)``.
    @available(*, unavailable, message: "use .url(\"http://user:password@proxy.example:3128\")")
    public static func http(host: String, port: Int, username: String = "", password: String = "") -> Self {
        unavailable()
    }
}

extension Timeouts {
    /// Not available; see ``idle``.
    @available(
        *, unavailable, message: "the limits are queue:, pool:, connect:, idle: (for reading and writing) and total:"
    )
    public init(connect: Duration = .zero, read: Duration, write: Duration = .zero, pool: Duration = .zero) {
        unavailable()
    }
}

extension RetryPolicy {
    /// Not available; see ``RetryPolicy``.
    @available(*, unavailable, message: "use RetryPolicy(retryLimit:), whose delays grow exponentially by default")
    public static func exponentialBackoff(
        maxAttempts: UInt = 0, maxRetries: UInt = 0, retries: UInt = 0, delay: Duration = .zero,
        initialDelay: Duration = .zero, minInterval: Duration = .zero, maxInterval: Duration = .zero,
        base: Duration = .zero, max: Duration = .zero, maxDelay: Duration = .zero, statusCodes: Set<Int> = []
    ) -> RetryPolicy { unavailable() }

    /// What ``init(limit:backoff:statusCodes:)`` would take.
    public struct _Backoff {
        /// Not available.
        public static func exponential(
            base: Duration = .zero, initial: Duration = .zero, factor: Double = 2, max: Duration = .zero
        ) -> _Backoff { unavailable() }
        /// Not available.
        public static func constant(_ delay: Duration) -> _Backoff { unavailable() }
    }

    /// Not available; see ``RetryPolicy``.
    @available(*, unavailable, message: "use RetryPolicy(retryLimit:), whose delays grow exponentially by default")
    public init(limit: UInt, backoff: _Backoff = .exponential(), statusCodes: Set<Int> = []) { unavailable() }

    /// Not available; see ``RetryPolicy``.
    @available(*, unavailable, message: "use RetryPolicy(retryLimit:), whose delays grow exponentially by default")
    public static func exponential(
        retries: UInt = 0, delay: Duration = .zero, baseDelay: Duration = .zero, statusCodes: Set<Int> = []
    ) -> RetryPolicy { unavailable() }
}

extension HTTPMethod {
    /// Not available; see ``get``.
    @available(*, unavailable, renamed: "get")
    public static var GET: HTTPMethod { unavailable() }
    /// Not available; see ``head``.
    @available(*, unavailable, renamed: "head")
    public static var HEAD: HTTPMethod { unavailable() }
    /// Not available; see ``post``.
    @available(*, unavailable, renamed: "post")
    public static var POST: HTTPMethod { unavailable() }
    /// Not available; see ``put``.
    @available(*, unavailable, renamed: "put")
    public static var PUT: HTTPMethod { unavailable() }
    /// Not available; see ``patch``.
    @available(*, unavailable, renamed: "patch")
    public static var PATCH: HTTPMethod { unavailable() }
    /// Not available; see ``delete``.
    @available(*, unavailable, renamed: "delete")
    public static var DELETE: HTTPMethod { unavailable() }
    /// Not available; see ``options``.
    @available(*, unavailable, renamed: "options")
    public static var OPTIONS: HTTPMethod { unavailable() }
}

extension DownloadRequest {
    /// Not available; see ``serializingURL(automaticallyCancelling:)``.
    @available(*, unavailable, message: "use serializingURL()")
    public nonisolated func serializingDownloadedFileURL() -> DownloadTask<URL> { unavailable() }
}

extension ResponseCache {
    /// Not available; see ``init(memoryCapacity:diskCapacity:directory:)``.
    @available(*, unavailable, message: "use ResponseCache(memoryCapacity:)")
    public static func memory(maxBytes: Int) -> ResponseCache { unavailable() }

    /// Not available; see ``init(memoryCapacity:diskCapacity:directory:)``.
    @available(*, unavailable, message: "use ResponseCache(directory:)")
    public static func disk(_ directory: URL) -> ResponseCache { unavailable() }
}

extension TransferMetrics {
    /// Not available; see ``total``.
    @available(*, unavailable, message: "use total")
    public var taskInterval: _OtherName { unavailable() }
}
