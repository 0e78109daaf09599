public import BluebonnetCallbacks
public import Foundation
public import FoundationNetworking

/// The default session, for example for `AF.request(…)`.
public let AF = Session.default

// Safety: no stored property changes after the initializer. The compiler does not check classes that are open.
/// A session with Alamofire's interface.
///
/// A `Bluebonnet.Session` does the work. A running request continues until it has ended, even if the program releases
/// the request and the session.
open class Session: @unchecked Sendable {
    /// A closure that changes a `URLRequest` before its parameters are encoded.
    public typealias RequestModifier = @Sendable (inout URLRequest) throws -> Void

    /// The configuration of a session of `Bluebonnet`.
    public typealias Configuration = Bluebonnet.Session.Configuration

    /// The time at which `URLRequest`s are created.
    public enum RequestSetup: Sendable {
        /// The same as `lazy`, because requests are always created when they start.
        @available(*, deprecated, message: "a URLRequest is created when its request starts, as with lazy")
        case eager
        /// The `URLRequest` is created when the request starts.
        case lazy
    }

    /// The session that `AF` uses; its `base` is the default session of `Bluebonnet`.
    public static let `default` = Session(Bluebonnet.Session.default)

    /// The session of `Bluebonnet` that sends the requests.
    public let base: Bluebonnet.Session
    /// The configuration with which the session was created.
    ///
    /// Changes to the configuration have no effect.
    public private(set) var sessionConfiguration: URLSessionConfiguration = .af.default
    /// The delegate, which has no effect.
    public private(set) var delegate = SessionDelegate()
    /// A queue without an effect, because requests are not created on queues.
    public private(set) var rootQueue = DispatchQueue.global()
    /// A queue without an effect, because requests are not created on queues.
    public private(set) var requestQueue = DispatchQueue.global()
    /// A queue without an effect, because responses are serialized on the global executor.
    public private(set) var serializationQueue = DispatchQueue.global()
    /// The interceptor of all requests.
    public var interceptor: (any RequestInterceptor)? { parts.interceptor }
    /// The manager that assigns trust evaluators to hosts.
    public var serverTrustManager: ServerTrustManager? { parts.serverTrustManager }
    /// The redirect handler, for requests without their own redirect handler.
    public var redirectHandler: (any RedirectHandler)? { parts.redirectHandler }
    /// The cache handler, for requests without their own cache handler.
    public var cachedResponseHandler: (any CachedResponseHandler)? { parts.cachedResponseHandler }
    /// The monitors of all requests.
    public var eventMonitors: [any EventMonitor] { parts.eventMonitors }

    private var parts = Parts()

    /// Whether a request starts when its first response handler is added.
    public var startRequestsImmediately: Bool { base.startRequestsImmediately }

    /// Creates a session.
    ///
    /// - Parameters:
    ///   - configuration: The configuration, which is read once. The session begins with the cookies of the
    ///     configuration's cookie storage. If the configuration has your own `protocolClasses`, every request fails.
    ///   - delegate: Ignored, because libcurl has no delegates.
    ///   - rootQueue: Ignored, because a session has no queues.
    ///   - startRequestsImmediately: Whether a request starts when its first response handler is added.
    ///   - requestSetup: Ignored, because requests are always created when they start.
    ///   - requestQueue: Ignored.
    ///   - serializationQueue: Ignored.
    ///   - interceptor: The interceptor of all requests; none by default.
    ///   - serverTrustManager: The manager that assigns trust evaluators to hosts; none by default. Without an
    ///     evaluator, the system's trusted certificates decide.
    ///   - redirectHandler: The redirect handler; by default, redirects are followed.
    ///   - cachedResponseHandler: The cache handler, which decides whether cacheable responses are stored; by default,
    ///     all cacheable responses are stored.
    ///   - eventMonitors: The monitors of all requests.
    public convenience init(
        configuration: URLSessionConfiguration = URLSessionConfiguration.af.default,
        delegate: SessionDelegate = SessionDelegate(),
        rootQueue: DispatchQueue = DispatchQueue(label: "bluebonnet.session.rootQueue"),
        startRequestsImmediately: Bool = true, requestSetup: RequestSetup = .lazy, requestQueue: DispatchQueue? = nil,
        serializationQueue: DispatchQueue? = nil, interceptor: (any RequestInterceptor)? = nil,
        serverTrustManager: ServerTrustManager? = nil, redirectHandler: (any RedirectHandler)? = nil,
        cachedResponseHandler: (any CachedResponseHandler)? = nil, eventMonitors: [any EventMonitor] = []
    ) {
        let parts = Parts(
            interceptor: interceptor, serverTrustManager: serverTrustManager, redirectHandler: redirectHandler,
            cachedResponseHandler: cachedResponseHandler, eventMonitors: eventMonitors)
        self.init(
            parts.session(
                Configuration(takingCookiesOf: configuration), refusal: StubRefusal(configuration),
                startRequestsImmediately: startRequestsImmediately))
        self.parts = parts
        self.delegate = delegate
        self.rootQueue = rootQueue
        self.requestQueue = requestQueue ?? rootQueue
        self.serializationQueue = serializationQueue ?? rootQueue
        sessionConfiguration = configuration
    }

    /// Creates a session with the configuration of a `URLSession`; the `URLSession` itself is not used.
    ///
    /// - Parameters:
    ///   - session: The `URLSession` whose configuration is read.
    ///   - delegate: Ignored, because libcurl has no delegates.
    ///   - rootQueue: Ignored, because a session has no queues.
    ///   - startRequestsImmediately: Whether a request starts when its first response handler is added.
    ///   - requestSetup: Ignored, because requests are always created when they start.
    ///   - requestQueue: Ignored.
    ///   - serializationQueue: Ignored.
    ///   - interceptor: The interceptor of all requests; none by default.
    ///   - serverTrustManager: The manager that assigns trust evaluators to hosts; none by default. Without an
    ///     evaluator, the system's trusted certificates decide.
    ///   - redirectHandler: The redirect handler; by default, redirects are followed.
    ///   - cachedResponseHandler: The cache handler, which decides whether cacheable responses are stored; by default,
    ///     all cacheable responses are stored.
    ///   - eventMonitors: The monitors of all requests.
    public convenience init(
        session: URLSession, delegate: SessionDelegate, rootQueue: DispatchQueue,
        startRequestsImmediately: Bool = true, requestSetup: RequestSetup = .lazy, requestQueue: DispatchQueue? = nil,
        serializationQueue: DispatchQueue? = nil, interceptor: (any RequestInterceptor)? = nil,
        serverTrustManager: ServerTrustManager? = nil, redirectHandler: (any RedirectHandler)? = nil,
        cachedResponseHandler: (any CachedResponseHandler)? = nil, eventMonitors: [any EventMonitor] = []
    ) {
        self.init(
            configuration: session.configuration, delegate: delegate, rootQueue: rootQueue,
            startRequestsImmediately: startRequestsImmediately, requestSetup: requestSetup, requestQueue: requestQueue,
            serializationQueue: serializationQueue, interceptor: interceptor, serverTrustManager: serverTrustManager,
            redirectHandler: redirectHandler, cachedResponseHandler: cachedResponseHandler,
            eventMonitors: eventMonitors)
    }

    /// Creates a session with a configuration of `Bluebonnet`.
    ///
    /// - Parameters:
    ///   - configuration: The configuration.
    ///   - startRequestsImmediately: Whether a request starts when its first response handler is added.
    ///   - interceptor: The interceptor of all requests; none by default.
    ///   - serverTrustManager: The manager that assigns trust evaluators to hosts; none by default. Without an
    ///     evaluator, the system's trusted certificates decide.
    ///   - redirectHandler: The redirect handler; by default, redirects are followed.
    ///   - cachedResponseHandler: The cache handler, which decides whether cacheable responses are stored; by default,
    ///     all cacheable responses are stored.
    ///   - eventMonitors: The monitors of all requests.
    ///   - transport: The transport that sends the requests, such as a stub in a test; libcurl by default.
    @_disfavoredOverload  // `.default` means Foundation's configuration
    public convenience init(
        configuration: Configuration = .default, startRequestsImmediately: Bool = true,
        interceptor: (any RequestInterceptor)? = nil, serverTrustManager: ServerTrustManager? = nil,
        redirectHandler: (any RedirectHandler)? = nil, cachedResponseHandler: (any CachedResponseHandler)? = nil,
        eventMonitors: [any EventMonitor] = [], transport: (any Transport)? = nil
    ) {
        let parts = Parts(
            interceptor: interceptor, serverTrustManager: serverTrustManager, redirectHandler: redirectHandler,
            cachedResponseHandler: cachedResponseHandler, eventMonitors: eventMonitors)
        self.init(
            parts.session(configuration, startRequestsImmediately: startRequestsImmediately, transport: transport))
        self.parts = parts
    }

    /// Creates a session whose requests are sent by a session of `Bluebonnet`.
    ///
    /// - Parameter base: The session that sends the requests.
    public init(_ base: Bluebonnet.Session) {
        self.base = base
        // An earlier session for the same base is not replaced, because it has the user's handlers.
        guard Self.existing(for: base) == nil else { return }
        Self.known.withLock { $0[ObjectIdentifier(base)] = Entry(self) }
    }

    deinit {
        MonitorBridge.end(of: base, for: parts.eventMonitors)
        Self.known.withLock { known in
            guard known[ObjectIdentifier(base)]?.identity == ObjectIdentifier(self) else { return }
            known[ObjectIdentifier(base)] = nil
        }
    }

    /// Calls a closure with all unfinished requests that have started or that a task awaits.
    ///
    /// - Parameter action: The closure. It is called once, on the global executor.
    @preconcurrency public func withAllRequests(perform action: @escaping @Sendable (Set<Request>) -> Void) {
        base.withAllRequests(perform: { action(Set($0.map(Request.of))) })
    }

    /// Cancels all requests created so far, and calls a closure when all of them have ended.
    ///
    /// - Parameters:
    ///   - queue: The queue on which the closure is called; the main queue by default.
    ///   - completion: The closure, which is called once.
    @preconcurrency public func cancelAllRequests(
        completingOnQueue queue: DispatchQueue = .main, completion: (@Sendable () -> Void)? = nil
    ) {
        base.cancelAllRequests(completingOn: queue) { completion?() }
    }

    /// Cancels all requests created so far; the same as `cancelAllRequests(completingOnQueue:completion:)`.
    ///
    /// - Parameters:
    ///   - queue: The queue on which the closure is called.
    ///   - completion: The closure, which is called once.
    @preconcurrency public func cancelAllRequests(
        completingOn queue: DispatchQueue, completion: @escaping @Sendable () -> Void
    ) { cancelAllRequests(completingOnQueue: queue, completion: completion) }

    // MARK: request

    /// Creates a request that keeps the body of the response in memory.
    ///
    /// - Parameters:
    ///   - convertible: The URL.
    ///   - method: The method; `GET` by default.
    ///   - parameters: The parameters; none by default.
    ///   - encoding: The encoding of the parameters; by default, they are written into the query or the body, depending
    ///     on the method.
    ///   - headers: The header fields; none by default.
    ///   - interceptor: An interceptor of this request; none by default.
    ///   - requestModifier: A closure that changes the request before the parameters are encoded; none by default.
    /// - Returns: The new request. By default, it starts when you add the first response handler.
    @_disfavoredOverload  // prefers the overload with a `ParameterEncoder`
    open func request(
        _ convertible: any URLConvertible, method: HTTPMethod = .get, parameters: Parameters? = nil,
        encoding: any ParameterEncoding = URLEncoding.default, headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil, requestModifier: RequestModifier? = nil
    ) -> DataRequest {
        request(
            Converted.url(
                convertible, method, headers, requestModifier, Converted.encoding(.success(parameters), encoding)),
            interceptor: interceptor)
    }

    /// Creates a request that keeps the body of the response in memory.
    ///
    /// - Parameters:
    ///   - convertible: The URL.
    ///   - method: The method; `GET` by default.
    ///   - parameters: The parameters.
    ///   - encoding: The encoding of the parameters; by default, they are written into the query or the body, depending
    ///     on the method.
    ///   - headers: The header fields; none by default.
    ///   - interceptor: An interceptor of this request; none by default.
    ///   - requestModifier: A closure that changes the request before the parameters are encoded; none by default.
    /// - Returns: The new request. By default, it starts when you add the first response handler.
    @_disfavoredOverload  // for parameters whose values are not known to be `Sendable`
    open func request(
        _ convertible: any URLConvertible, method: HTTPMethod = .get, parameters: [String: Any]?,
        encoding: any ParameterEncoding = URLEncoding.default, headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil, requestModifier: RequestModifier? = nil
    ) -> DataRequest {
        let encode = Converted.encoding(ParameterCopy.result(of: parameters), encoding)
        return request(
            Converted.url(convertible, method, headers, requestModifier, encode), interceptor: interceptor)
    }

    /// Creates a request that keeps the body of the response in memory.
    ///
    /// - Parameters:
    ///   - convertible: The URL.
    ///   - method: The method; `GET` by default.
    ///   - parameters: The parameters.
    ///   - encoder: The encoding of the parameters; by default, they are written into the query or the body, depending
    ///     on the method.
    ///   - headers: The header fields; none by default.
    ///   - interceptor: An interceptor of this request; none by default.
    ///   - requestModifier: A closure that changes the request before the parameters are encoded; none by default.
    /// - Returns: The new request. By default, it starts when you add the first response handler.
    open func request<Parameters: Encodable & Sendable>(
        _ convertible: any URLConvertible, method: HTTPMethod = .get, parameters: Parameters?,
        encoder: any ParameterEncoder = URLEncodedFormParameterEncoder.default, headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil, requestModifier: RequestModifier? = nil
    ) -> DataRequest {
        request(
            Converted.url(convertible, method, headers, requestModifier, Converted.encoding(parameters, encoder)),
            interceptor: interceptor)
    }

    /// Creates a request that keeps the body of the response in memory.
    ///
    /// - Parameters:
    ///   - convertible: The request.
    ///   - interceptor: An interceptor of this request; none by default.
    /// - Returns: The new request. By default, it starts when you add the first response handler.
    open func request(
        _ convertible: any URLRequestConvertible, interceptor: (any RequestInterceptor)? = nil
    ) -> DataRequest {
        DataRequest(
            base.request(
                FormByDefault(convertible: convertible), interceptor: interceptor.map(InterceptorBridge.calling)))
    }

    // MARK: download

    /// Creates a request that stores the body of the response in a file.
    ///
    /// - Parameters:
    ///   - convertible: The URL.
    ///   - method: The method; `GET` by default.
    ///   - parameters: The parameters; none by default.
    ///   - encoding: The encoding of the parameters; by default, they are written into the query or the body, depending
    ///     on the method.
    ///   - headers: The header fields; none by default.
    ///   - interceptor: An interceptor of this request; none by default.
    ///   - requestModifier: A closure that changes the request before the parameters are encoded; none by default.
    ///   - destination: The destination of the file; a temporary file by default.
    /// - Returns: The new request. By default, it starts when you add the first response handler.
    @_disfavoredOverload  // prefers the overload with a `ParameterEncoder`
    open func download(
        _ convertible: any URLConvertible, method: HTTPMethod = .get, parameters: Parameters? = nil,
        encoding: any ParameterEncoding = URLEncoding.default, headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil, requestModifier: RequestModifier? = nil,
        to destination: DownloadRequest.Destination? = nil
    ) -> DownloadRequest {
        download(
            Converted.url(
                convertible, method, headers, requestModifier, Converted.encoding(.success(parameters), encoding)),
            interceptor: interceptor, to: destination)
    }

    /// Creates a request that stores the body of the response in a file.
    ///
    /// - Parameters:
    ///   - convertible: The URL.
    ///   - method: The method; `GET` by default.
    ///   - parameters: The parameters.
    ///   - encoding: The encoding of the parameters; by default, they are written into the query or the body, depending
    ///     on the method.
    ///   - headers: The header fields; none by default.
    ///   - interceptor: An interceptor of this request; none by default.
    ///   - requestModifier: A closure that changes the request before the parameters are encoded; none by default.
    ///   - destination: The destination of the file; a temporary file by default.
    /// - Returns: The new request. By default, it starts when you add the first response handler.
    @_disfavoredOverload  // for parameters whose values are not known to be `Sendable`
    open func download(
        _ convertible: any URLConvertible, method: HTTPMethod = .get, parameters: [String: Any]?,
        encoding: any ParameterEncoding = URLEncoding.default, headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil, requestModifier: RequestModifier? = nil,
        to destination: DownloadRequest.Destination? = nil
    ) -> DownloadRequest {
        let encode = Converted.encoding(ParameterCopy.result(of: parameters), encoding)
        return download(
            Converted.url(convertible, method, headers, requestModifier, encode), interceptor: interceptor,
            to: destination)
    }

    /// Creates a request that stores the body of the response in a file.
    ///
    /// - Parameters:
    ///   - convertible: The URL.
    ///   - method: The method; `GET` by default.
    ///   - parameters: The parameters.
    ///   - encoder: The encoding of the parameters; by default, they are written into the query or the body, depending
    ///     on the method.
    ///   - headers: The header fields; none by default.
    ///   - interceptor: An interceptor of this request; none by default.
    ///   - requestModifier: A closure that changes the request before the parameters are encoded; none by default.
    ///   - destination: The destination of the file; a temporary file by default.
    /// - Returns: The new request. By default, it starts when you add the first response handler.
    open func download<Parameters: Encodable & Sendable>(
        _ convertible: any URLConvertible, method: HTTPMethod = .get, parameters: Parameters?,
        encoder: any ParameterEncoder = URLEncodedFormParameterEncoder.default, headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil, requestModifier: RequestModifier? = nil,
        to destination: DownloadRequest.Destination? = nil
    ) -> DownloadRequest {
        download(
            Converted.url(convertible, method, headers, requestModifier, Converted.encoding(parameters, encoder)),
            interceptor: interceptor, to: destination)
    }

    /// Creates a request that stores the body of the response in a file.
    ///
    /// - Parameters:
    ///   - convertible: The request.
    ///   - interceptor: An interceptor of this request; none by default.
    ///   - destination: The destination of the file; a temporary file by default.
    /// - Returns: The new request. By default, it starts when you add the first response handler.
    open func download(
        _ convertible: any URLRequestConvertible, interceptor: (any RequestInterceptor)? = nil,
        to destination: DownloadRequest.Destination? = nil
    ) -> DownloadRequest {
        DownloadRequest(
            base.download(
                FormByDefault(convertible: convertible), interceptor: interceptor.map(InterceptorBridge.calling),
                to: .calling(destination)))
    }

    // MARK: streamRequest

    /// Creates a request that delivers the body of the response in pieces, as they arrive.
    ///
    /// - Parameters:
    ///   - convertible: The URL.
    ///   - method: The method; `GET` by default.
    ///   - parameters: The parameters.
    ///   - encoder: The encoding of the parameters; by default, they are written into the query or the body, depending
    ///     on the method.
    ///   - headers: The header fields; none by default.
    ///   - automaticallyCancelOnStreamError: Whether the request is cancelled when an element of the stream cannot be
    ///     serialized; `false` by default.
    ///   - interceptor: An interceptor of this request; none by default.
    ///   - requestModifier: A closure that changes the request before the parameters are encoded; none by default.
    /// - Returns: The new request. By default, it starts when you add the first handler.
    open func streamRequest<Parameters: Encodable & Sendable>(
        _ convertible: any URLConvertible, method: HTTPMethod = .get, parameters: Parameters?,
        encoder: any ParameterEncoder = URLEncodedFormParameterEncoder.default, headers: HTTPHeaders? = nil,
        automaticallyCancelOnStreamError: Bool = false,
        interceptor: (any RequestInterceptor)? = nil, requestModifier: RequestModifier? = nil
    ) -> DataStreamRequest {
        streamRequest(
            Converted.url(convertible, method, headers, requestModifier, Converted.encoding(parameters, encoder)),
            automaticallyCancelOnStreamError: automaticallyCancelOnStreamError, interceptor: interceptor)
    }

    /// Creates a request that delivers the body of the response in pieces, as they arrive.
    ///
    /// - Parameters:
    ///   - convertible: The URL.
    ///   - method: The method; `GET` by default.
    ///   - headers: The header fields; none by default.
    ///   - automaticallyCancelOnStreamError: Whether the request is cancelled when an element of the stream cannot be
    ///     serialized; `false` by default.
    ///   - interceptor: An interceptor of this request; none by default.
    ///   - requestModifier: A closure that changes the request, which already has its method and header fields; none by
    ///     default.
    /// - Returns: The new request. By default, it starts when you add the first handler.
    open func streamRequest(
        _ convertible: any URLConvertible, method: HTTPMethod = .get, headers: HTTPHeaders? = nil,
        automaticallyCancelOnStreamError: Bool = false,
        interceptor: (any RequestInterceptor)? = nil, requestModifier: RequestModifier? = nil
    ) -> DataStreamRequest {
        streamRequest(
            Converted.url(convertible, method, headers, requestModifier),
            automaticallyCancelOnStreamError: automaticallyCancelOnStreamError, interceptor: interceptor)
    }

    /// Creates a request that delivers the body of the response in pieces, as they arrive.
    ///
    /// - Parameters:
    ///   - convertible: The request.
    ///   - automaticallyCancelOnStreamError: Whether the request is cancelled when an element of the stream cannot be
    ///     serialized; `false` by default.
    ///   - interceptor: An interceptor of this request; none by default.
    /// - Returns: The new request. By default, it starts when you add the first handler.
    open func streamRequest(
        _ convertible: any URLRequestConvertible, automaticallyCancelOnStreamError: Bool = false,
        interceptor: (any RequestInterceptor)? = nil
    ) -> DataStreamRequest {
        DataStreamRequest(
            base.streamRequest(
                FormByDefault(convertible: convertible),
                automaticallyCancelOnStreamError: automaticallyCancelOnStreamError,
                interceptor: interceptor.map(InterceptorBridge.calling)))
    }

    /// Creates a request that resumes a download.
    ///
    /// - Parameters:
    ///   - data: The resume data of the earlier download.
    ///   - interceptor: An interceptor of this request; none by default.
    ///   - destination: The destination of the file; a temporary file by default.
    /// - Returns: The new request. By default, it starts when you add the first response handler.
    open func download(
        resumingWith data: Data, interceptor: (any RequestInterceptor)? = nil,
        to destination: DownloadRequest.Destination? = nil
    ) -> DownloadRequest {
        DownloadRequest(
            base.download(
                resumingWith: data, interceptor: interceptor.map(InterceptorBridge.calling),
                to: .calling(destination)))
    }

    // MARK: Sessions by base

    // A class: Swift 6.3.1 miscompiles optional chains into structures with a weak constant.
    private final class Entry: Sendable {
        weak let session: Session?
        /// Identifies the session without retaining it: the last release must not happen under the lock.
        let identity: ObjectIdentifier

        init(_ session: Session) {
            self.session = session
            identity = ObjectIdentifier(session)
        }
    }

    private static let known = Locked<[ObjectIdentifier: Entry]>([:])

    /// Returns the session that was created for a session of `Bluebonnet`.
    static func of(_ base: Bluebonnet.Session) -> Session { existing(for: base) ?? Session(base) }

    /// Returns the session for a session of `Bluebonnet`; the session is released outside the lock, because its
    /// deinitializer takes the same lock.
    private static func existing(for base: Bluebonnet.Session) -> Session? {
        known.withLock { $0[ObjectIdentifier(base)]?.session }
    }
}
