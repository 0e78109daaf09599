public import BluebonnetCallbacks
public import Foundation
public import FoundationNetworking

/// The session that the global requests use, as in `AF.request(…)`.
public let AF = Session.default

// Safety: no stored property changes after the initializer. The compiler does not check classes that are open.
/// A session with Alamofire's interface.
///
/// A `Bluebonnet.Session` does the work. A running request is kept until it has ended,
/// even if the program keeps neither the request nor the session.
open class Session: @unchecked Sendable {
    /// A closure that changes a `URLRequest` before its parameters are encoded.
    public typealias RequestModifier = @Sendable (inout URLRequest) throws -> Void

    /// The configuration of a session of `Bluebonnet`.
    public typealias Configuration = Bluebonnet.Session.Configuration

    /// When `URLRequest`s are created; it has no effect.
    public enum RequestSetup: Sendable {
        /// Together with the request.
        case eager
        /// When the request starts.
        case lazy
    }

    /// The session that `AF` uses; it is also the default session of `Bluebonnet`.
    public static let `default` = Session(Bluebonnet.Session.default)

    /// The session of `Bluebonnet` that makes the requests.
    public let base: Bluebonnet.Session
    /// The configuration with which the session was created.
    ///
    /// Changes to it have no effect.
    public private(set) var sessionConfiguration: URLSessionConfiguration = .af.default
    /// The delegate, which has no effect.
    public private(set) var delegate = SessionDelegate()
    /// A queue, which has no effect: requests are not created on queues.
    public private(set) var rootQueue = DispatchQueue.global()
    /// A queue, which has no effect: requests are not created on queues.
    public private(set) var requestQueue = DispatchQueue.global()
    /// A queue, which has no effect: responses are serialized on the global executor.
    public private(set) var serializationQueue = DispatchQueue.global()
    /// The interceptor of all requests.
    public var interceptor: (any RequestInterceptor)? { parts.interceptor }
    /// The manager that evaluates servers.
    public var serverTrustManager: ServerTrustManager? { parts.serverTrustManager }
    /// The handler of redirects, for requests that have none of their own.
    public var redirectHandler: (any RedirectHandler)? { parts.redirectHandler }
    /// The handler of responses that can be cached, for requests that have none of their own.
    public var cachedResponseHandler: (any CachedResponseHandler)? { parts.cachedResponseHandler }
    /// The monitors of all requests.
    public var eventMonitors: [any EventMonitor] { parts.eventMonitors }

    private var parts = Parts()

    /// Whether a request starts when its first response handler is added.
    public var startRequestsImmediately: Bool { base.startRequestsImmediately }

    /// Creates a session.
    ///
    /// - Parameters:
    ///   - configuration: The configuration, which is read once. The session begins with the cookies of its storage.
    ///     Its `protocolClasses` make every request fail.
    ///   - delegate: Ignored; libcurl has no delegates.
    ///   - rootQueue: Ignored; a session has no queues.
    ///   - startRequestsImmediately: Whether a request starts when its first response handler is added.
    ///   - requestSetup: Ignored; requests are always created when they start.
    ///   - requestQueue: Ignored.
    ///   - serializationQueue: Ignored.
    ///   - interceptor: The interceptor of all requests; none by default.
    ///   - serverTrustManager: The manager that evaluates servers; by default, the system's certificates decide.
    ///   - redirectHandler: The handler of redirects; by default, redirects are followed.
    ///   - cachedResponseHandler: The handler of responses that can be cached; by default, all of them are stored.
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

    /// Creates a session with the configuration of a `URLSession`, which itself is not used.
    ///
    /// - Parameters:
    ///   - session: The `URLSession` whose configuration is read.
    ///   - delegate: Ignored; libcurl has no delegates.
    ///   - rootQueue: Ignored; a session has no queues.
    ///   - startRequestsImmediately: Whether a request starts when its first response handler is added.
    ///   - requestSetup: Ignored; requests are always created when they start.
    ///   - requestQueue: Ignored.
    ///   - serializationQueue: Ignored.
    ///   - interceptor: The interceptor of all requests; none by default.
    ///   - serverTrustManager: The manager that evaluates servers; by default, the system's certificates decide.
    ///   - redirectHandler: The handler of redirects; by default, redirects are followed.
    ///   - cachedResponseHandler: The handler of responses that can be cached; by default, all of them are stored.
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

    /// Creates a session with everything that a configuration of `Bluebonnet` offers.
    ///
    /// - Parameters:
    ///   - configuration: The configuration.
    ///   - startRequestsImmediately: Whether a request starts when its first response handler is added.
    ///   - interceptor: The interceptor of all requests; none by default.
    ///   - serverTrustManager: The manager that evaluates servers; by default, the system's certificates decide.
    ///   - redirectHandler: The handler of redirects; by default, redirects are followed.
    ///   - cachedResponseHandler: The handler of responses that can be cached; by default, all of them are stored.
    ///   - eventMonitors: The monitors of all requests.
    ///   - transport: The transport that makes the exchanges, such as a stub in a test; libcurl by default.
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

    /// Creates a session whose requests are made by a session of `Bluebonnet`.
    ///
    /// - Parameter base: The session that makes the requests.
    public init(_ base: Bluebonnet.Session) {
        self.base = base
        // An earlier session for the same base keeps its place: it has the user's handlers.
        guard Self.existing(for: base) == nil else { return }
        Self.known.withLock { $0[ObjectIdentifier(base)] = Weak(session: self, identity: ObjectIdentifier(self)) }
    }

    deinit {
        Self.known.withLock { known in
            guard known[ObjectIdentifier(base)]?.identity == ObjectIdentifier(self) else { return }
            known[ObjectIdentifier(base)] = nil
        }
    }

    /// Does something with all requests that run or have not been started.
    ///
    /// - Parameter action: The closure, which is called once, on an arbitrary thread.
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

    /// Creates a request whose response is kept in memory.
    ///
    /// - Parameters:
    ///   - convertible: The URL.
    ///   - method: The method; `GET` by default.
    ///   - parameters: The parameters; none by default.
    ///   - encoding: How the parameters are encoded; by default, in the query or in the body, depending on the method.
    ///   - headers: The header fields; none by default.
    ///   - interceptor: An interceptor of this request; none by default.
    ///   - requestModifier: A closure that changes the request before the parameters are encoded; none by default.
    /// - Returns: The request, which starts with its first response handler.
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

    /// Creates a request whose response is kept in memory.
    ///
    /// - Parameters:
    ///   - convertible: The URL.
    ///   - method: The method; `GET` by default.
    ///   - parameters: The parameters.
    ///   - encoding: How the parameters are encoded; by default, in the query or in the body, depending on the method.
    ///   - headers: The header fields; none by default.
    ///   - interceptor: An interceptor of this request; none by default.
    ///   - requestModifier: A closure that changes the request before the parameters are encoded; none by default.
    /// - Returns: The request, which starts with its first response handler.
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

    /// Creates a request whose response is kept in memory.
    ///
    /// - Parameters:
    ///   - convertible: The URL.
    ///   - method: The method; `GET` by default.
    ///   - parameters: The parameters.
    ///   - encoder: How the parameters are encoded; by default, in the query or in the body, depending on the method.
    ///   - headers: The header fields; none by default.
    ///   - interceptor: An interceptor of this request; none by default.
    ///   - requestModifier: A closure that changes the request before the parameters are encoded; none by default.
    /// - Returns: The request, which starts with its first response handler.
    open func request<Parameters: Encodable & Sendable>(
        _ convertible: any URLConvertible, method: HTTPMethod = .get, parameters: Parameters?,
        encoder: any ParameterEncoder = URLEncodedFormParameterEncoder.default, headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil, requestModifier: RequestModifier? = nil
    ) -> DataRequest {
        request(
            Converted.url(convertible, method, headers, requestModifier, Converted.encoding(parameters, encoder)),
            interceptor: interceptor)
    }

    /// Creates a request whose response is kept in memory.
    ///
    /// - Parameters:
    ///   - convertible: The request.
    ///   - interceptor: An interceptor of this request; none by default.
    /// - Returns: The request, which starts with its first response handler.
    open func request(
        _ convertible: any URLRequestConvertible, interceptor: (any RequestInterceptor)? = nil
    ) -> DataRequest {
        DataRequest(
            base.request(
                FormByDefault(convertible: convertible), interceptor: interceptor.map(InterceptorBridge.calling)))
    }

    // MARK: download

    /// Creates a request whose response is stored in a file.
    ///
    /// - Parameters:
    ///   - convertible: The URL.
    ///   - method: The method; `GET` by default.
    ///   - parameters: The parameters; none by default.
    ///   - encoding: How the parameters are encoded; by default, in the query or in the body, depending on the method.
    ///   - headers: The header fields; none by default.
    ///   - interceptor: An interceptor of this request; none by default.
    ///   - requestModifier: A closure that changes the request before the parameters are encoded; none by default.
    ///   - destination: Where the file is put; in the temporary directory by default.
    /// - Returns: The request, which starts with its first response handler.
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

    /// Creates a request whose response is stored in a file.
    ///
    /// - Parameters:
    ///   - convertible: The URL.
    ///   - method: The method; `GET` by default.
    ///   - parameters: The parameters.
    ///   - encoding: How the parameters are encoded; by default, in the query or in the body, depending on the method.
    ///   - headers: The header fields; none by default.
    ///   - interceptor: An interceptor of this request; none by default.
    ///   - requestModifier: A closure that changes the request before the parameters are encoded; none by default.
    ///   - destination: Where the file is put; in the temporary directory by default.
    /// - Returns: The request, which starts with its first response handler.
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

    /// Creates a request whose response is stored in a file.
    ///
    /// - Parameters:
    ///   - convertible: The URL.
    ///   - method: The method; `GET` by default.
    ///   - parameters: The parameters.
    ///   - encoder: How the parameters are encoded; by default, in the query or in the body, depending on the method.
    ///   - headers: The header fields; none by default.
    ///   - interceptor: An interceptor of this request; none by default.
    ///   - requestModifier: A closure that changes the request before the parameters are encoded; none by default.
    ///   - destination: Where the file is put; in the temporary directory by default.
    /// - Returns: The request, which starts with its first response handler.
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

    /// Creates a request whose response is stored in a file.
    ///
    /// - Parameters:
    ///   - convertible: The request.
    ///   - interceptor: An interceptor of this request; none by default.
    ///   - destination: Where the file is put; in the temporary directory by default.
    /// - Returns: The request, which starts with its first response handler.
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

    /// Creates a request whose response is handed on piece by piece.
    ///
    /// - Parameters:
    ///   - convertible: The URL.
    ///   - method: The method; `GET` by default.
    ///   - parameters: The parameters.
    ///   - encoder: How the parameters are encoded; by default, in the query or in the body, depending on the method.
    ///   - headers: The header fields; none by default.
    ///   - automaticallyCancelOnStreamError: Whether the request is cancelled when an element can't be serialized;
    ///     `false` by default.
    ///   - interceptor: An interceptor of this request; none by default.
    ///   - requestModifier: A closure that changes the request before the parameters are encoded; none by default.
    /// - Returns: The request, which starts with its first handler.
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

    /// Creates a request whose response is handed on piece by piece.
    ///
    /// - Parameters:
    ///   - convertible: The URL.
    ///   - method: The method; `GET` by default.
    ///   - headers: The header fields; none by default.
    ///   - automaticallyCancelOnStreamError: Whether the request is cancelled when an element can't be serialized;
    ///     `false` by default.
    ///   - interceptor: An interceptor of this request; none by default.
    ///   - requestModifier: A closure that changes the request before the parameters are encoded; none by default.
    /// - Returns: The request, which starts with its first handler.
    open func streamRequest(
        _ convertible: any URLConvertible, method: HTTPMethod = .get, headers: HTTPHeaders? = nil,
        automaticallyCancelOnStreamError: Bool = false,
        interceptor: (any RequestInterceptor)? = nil, requestModifier: RequestModifier? = nil
    ) -> DataStreamRequest {
        streamRequest(
            Converted.url(convertible, method, headers, requestModifier),
            automaticallyCancelOnStreamError: automaticallyCancelOnStreamError, interceptor: interceptor)
    }

    /// Creates a request whose response is handed on piece by piece.
    ///
    /// - Parameters:
    ///   - convertible: The request.
    ///   - automaticallyCancelOnStreamError: Whether the request is cancelled when an element can't be serialized;
    ///     `false` by default.
    ///   - interceptor: An interceptor of this request; none by default.
    /// - Returns: The request, which starts with its first handler.
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

    /// Creates a request that continues a download.
    ///
    /// - Parameters:
    ///   - data: The resume data of the earlier download.
    ///   - interceptor: An interceptor of this request; none by default.
    ///   - destination: Where the file is put; in the temporary directory by default.
    /// - Returns: The request, which starts with its first response handler.
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

    private struct Weak: Sendable {
        weak let session: Session?
        /// Identifies the session without retaining it: the last release must not happen under the lock.
        let identity: ObjectIdentifier
    }

    private static let known = Locked<[ObjectIdentifier: Weak]>([:])

    /// Returns the session that was created for a session of `Bluebonnet`.
    static func of(_ base: Bluebonnet.Session) -> Session { existing(for: base) ?? Session(base) }

    /// The session leaves the closure, because its deinitializer takes the same lock.
    private static func existing(for base: Bluebonnet.Session) -> Session? {
        known.withLock { known in
            // Swift 6.3.1 miscompiles `?.session`, because the property is a weak constant.
            guard let entry = known[ObjectIdentifier(base)] else { return nil }
            return entry.session
        }
    }
}
