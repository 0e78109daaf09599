public import FoundationEssentials

/// Sends requests to servers and returns their responses; each session has one transport.
///
/// ``Session`` uses a ``CurlTransport`` unless it is given another transport. That can be the stub for tests in
/// `BluebonnetTesting`, or your own, which may wrap a ``CurlTransport`` and pass requests on to it. A transport sends
/// each request once: interception, redirects, retries and caching happen above it.
public protocol Transport: Sendable {
    /// Starts an exchange and returns at once.
    ///
    /// May be called on any thread. The transport chooses the thread on which it calls the observer. It reports the
    /// outcome exactly once in every case. After ``shutDown()``, the outcome has the error `.sessionShutDown`.
    ///
    /// - Parameters:
    ///   - request: The request to send. It has already been validated.
    ///   - options: The options for this exchange only.
    ///   - observer: The receiver of the events. It is retained until it has received the outcome.
    /// - Returns: The handle that cancels, suspends and resumes the exchange.
    func start(
        _ request: HTTPRequest, options: ExchangeOptions, observer: any ExchangeObserver
    ) -> any Exchange

    /// Ends the running exchanges with `.sessionShutDown`, closes the connections and frees the transport's resources.
    ///
    /// Returns when all of this is done. It may be called more than once.
    func shutDown() async

    /// The executor that the transport runs on; `nil` if it has no executor of its own.
    ///
    /// A task that prefers this executor (`withTaskExecutorPreference`) avoids several thread hops per request.
    var executor: (any TaskExecutor)? { get }

    /// The cookies that the transport stores and sends; `nil`, the default, if the transport does not support cookies.
    ///
    /// ``Session/cookies`` reads and changes this storage. A transport that wraps another one should return the storage
    /// of the wrapped transport. If this is `nil`, a cache still assumes that the transport sends cookies, unless the
    /// session's cookie policy is `.never`.
    var cookieStorage: (any CookieStorage)? { get }

    /// Sets the manager whose evaluators check servers, from the next exchange on.
    ///
    /// Called once, when a session is created with both a manager and a transport. The default implementation does
    /// nothing and returns `false`. In that case all requests of the session fail, because a manager that is never
    /// consulted protects nothing.
    ///
    /// - Parameter manager: The session's manager.
    /// - Returns: `true` if the transport will consult the manager in each handshake, and will send no request to a
    ///   server that the manager's evaluator refuses.
    func evaluateServers(using manager: ServerTrustManager) -> Bool
}

extension Transport {
    /// `nil`: by default, a transport does not support cookies.
    public var cookieStorage: (any CookieStorage)? { nil }

    /// Does nothing: by default, a transport does not evaluate servers.
    ///
    /// - Parameter manager: The session's manager. It is ignored.
    /// - Returns: `false`.
    public func evaluateServers(using manager: ServerTrustManager) -> Bool { false }
}

/// Stores the cookies of a transport, for reading and changing.
public protocol CookieStorage: Sendable {
    /// Returns the stored cookies that have not expired, each host's cookies in the order of their arrival.
    ///
    /// - Returns: The cookies; an empty array if the transport keeps no cookies.
    /// - Throws: `.sessionShutDown` after ``Transport/shutDown()``.
    func cookies() async throws(RequestError) -> [Cookie]

    /// Applies a change to the stored cookies, as a whole.
    ///
    /// - Parameter change: The change to apply. ``CookieStore`` validates its cookies before it calls this method.
    /// - Throws: `.sessionShutDown` after ``Transport/shutDown()``; `.cookies(.disabled)` if the change sets cookies and
    ///   the transport keeps none; another `.cookies` error for a cookie that cannot be stored.
    func changeCookies(_ change: CookieChange) async throws(RequestError)
}

/// A change to a session's cookies.
@nonexhaustive
public enum CookieChange: Hashable, Sendable {
    /// Stores these cookies, in place of cookies with the same name, domain and path.
    case set([Cookie])
    /// Removes these cookies, whatever their stored values are.
    case delete([Cookie])
    /// Removes the cookies of a domain and of its subdomains.
    case deleteDomain(String)
    /// Removes the session cookies, which have no expiry date.
    case deleteSessionCookies
    /// Removes all cookies.
    case deleteAll
}

/// The handle of a running request, which cancels, suspends and resumes it.
///
/// All methods return at once. They may be called from any thread and any number of times. They do nothing once the
/// exchange has ended.
public protocol Exchange: Sendable {
    /// Cancels the exchange; the observer receives `.cancelled` unless the exchange is already complete.
    func cancel()

    /// Stops reading from and writing to the network until ``resume()`` is called.
    func suspend()

    /// Resumes the exchange after ``suspend()``.
    func resume()

    /// Delivers the body that ``ExchangeOptions/pausesBody`` or ``ExchangeOptions/pausesRedirects`` held back after the
    /// head.
    ///
    /// - Parameter receiver: The receiver of the body's pieces; `nil` to collect the body in the outcome.
    func receiveBody(with receiver: (any BodyReceiver)?)

    /// Delivers more of the body after the receiver has returned `.pause`.
    func receiveMore()
}

/// Receives the body of a response piece by piece.
public protocol BodyReceiver: AnyObject, Sendable {
    /// Receives the next bytes of the body, after content decoding.
    ///
    /// Called on the transport's thread, in order, and never after the outcome has been reported. It must return
    /// quickly.
    ///
    /// - Parameter bytes: The next bytes; never empty.
    /// - Returns: Whether to deliver more. After `.pause`, the transport only delivers bytes that it has already
    ///   received, until ``Exchange/receiveMore()`` is called.
    func receive(_ bytes: Data) -> ReceiveAction
}

/// The transport's next step after it has delivered bytes to a receiver.
public enum ReceiveAction: Hashable, Sendable {
    /// Deliver more bytes as they arrive.
    case proceed
    /// Deliver no more bytes until ``Exchange/receiveMore()`` is called.
    case pause
    /// Deliver no more bytes at all; the exchange ends with `.cancelled`.
    case stop
}

/// Receives the events of an exchange.
///
/// The methods are called one at a time, on the transport's thread. They must return quickly and must not block.
public protocol ExchangeObserver: AnyObject, Sendable {
    /// Called when bytes of the request's body have been sent, at most once per turn of the transport's loop.
    ///
    /// - Parameters:
    ///   - sent: The number of bytes that the transport has accepted so far.
    ///   - expected: The total number of bytes; `nil` if it is unknown.
    func exchangeDidSend(_ sent: Int64, ofExpected expected: Int64?)

    /// Called once when the head of the response has arrived, if the body is held back.
    ///
    /// That is the case if ``ExchangeOptions/pausesBody`` is set, or if ``ExchangeOptions/pausesRedirects`` is set and
    /// the response is a redirect. The body is held back until ``Exchange/receiveBody(with:)`` is called. If there is
    /// no body, the outcome may follow at once.
    ///
    /// This is always the final head: informational responses (RFC 9110 §15.2) are not reported.
    ///
    /// - Parameter response: The head of the response.
    func exchangeDidReceiveHead(_ response: HTTPResponse)

    /// Called when bytes of the response's body have arrived, at most once per turn of the transport's loop.
    ///
    /// - Parameters:
    ///   - received: The number of bytes received so far, after content decoding.
    ///   - expected: The total number of bytes; `nil` if the response states no length or is compressed.
    func exchangeDidReceive(_ received: Int64, ofExpected expected: Int64?)

    /// Called exactly once, as the last event.
    ///
    /// - Parameter outcome: The response, or the error with which the exchange ended.
    func exchangeDidComplete(_ outcome: ExchangeOutcome)
}

/// Options for a single exchange.
public struct ExchangeOptions: Sendable {
    /// The maximum size of the body in bytes, after content decoding; `nil` for no limit.
    ///
    /// A larger body ends the exchange with `.invalidResponse(.bodyTooLarge(limit:))`.
    public var maximumResponseBytes: Int64?

    /// Whether the exchange starts suspended.
    public var startsSuspended: Bool

    /// Whether the body is held back after the head until ``Exchange/receiveBody(with:)`` is called.
    public var pausesBody: Bool

    /// Whether the body of a redirect is held back, even if ``pausesBody`` is not set.
    ///
    /// Such a body is rarely needed and may be long. A transport may ignore this option and collect the body.
    public var pausesRedirects: Bool

    /// Whether the whole body is collected in memory, even if it is held back after the head.
    package var collectsBody: Bool

    /// Decides how a cache stores the response; `nil` for the cache's own decision.
    ///
    /// Only caches call this closure. It receives the response about to be stored and returns the response to store
    /// instead, or `nil` to store nothing.
    public var willStore: (@Sendable (CachedResponse) async -> CachedResponse?)?

    /// Creates options for an exchange.
    ///
    /// - Parameters:
    ///   - maximumResponseBytes: The maximum size of the body in bytes, after content decoding; `nil`, the default, for
    ///     no limit.
    ///   - startsSuspended: Whether the exchange starts suspended; `false` by default.
    ///   - pausesBody: Whether the body is held back until ``Exchange/receiveBody(with:)`` is called; `false` by
    ///     default.
    ///   - pausesRedirects: Whether the body of a redirect is held back; `false` by default.
    ///   - willStore: The closure that decides how a cache stores the response; `nil` by default.
    public init(
        maximumResponseBytes: Int64? = nil, startsSuspended: Bool = false, pausesBody: Bool = false,
        pausesRedirects: Bool = false, willStore: (@Sendable (CachedResponse) async -> CachedResponse?)? = nil
    ) {
        self.maximumResponseBytes = maximumResponseBytes
        self.startsSuspended = startsSuspended
        self.pausesBody = pausesBody
        self.pausesRedirects = pausesRedirects
        collectsBody = !pausesBody
        self.willStore = willStore
    }
}

/// The result of an exchange: the response, or the error with which the exchange ended.
public final class ExchangeOutcome: Sendable {
    /// The head of the response; `nil` if none was received.
    public let response: HTTPResponse?

    /// The bytes of the body that were received and collected; empty if a receiver took them.
    public let body: Data

    /// The error with which the exchange failed; `nil` if the response is complete.
    public let error: RequestError?

    /// The metrics of the exchange; `nil` if the transport does not measure.
    public let metrics: TransferMetrics?

    /// The source of the response; `.network` unless the response involved a cache.
    public let source: ResponseSource

    /// Creates an outcome.
    ///
    /// - Parameters:
    ///   - response: The head of the response; `nil` if none was received.
    ///   - body: The collected body; empty by default.
    ///   - error: The error with which the exchange failed; `nil`, the default, if the response is complete.
    ///   - metrics: The metrics of the exchange; `nil` by default.
    ///   - source: The source of the response; `.network` by default.
    public init(
        response: HTTPResponse?, body: Data = Data(), error: RequestError? = nil, metrics: TransferMetrics? = nil,
        source: ResponseSource = .network
    ) {
        self.response = response
        self.body = body
        self.error = error
        self.metrics = metrics
        self.source = source
    }
}
