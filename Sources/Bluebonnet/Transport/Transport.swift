public import FoundationEssentials

/// A type that sends requests to servers and returns their responses.
///
/// Each ``Session`` has one transport, which is a ``CurlTransport`` by default. For tests, `BluebonnetTesting` contains
/// a transport with prepared responses. You can also write your own transport, which may wrap a ``CurlTransport`` and
/// forward requests to it.
///
/// A transport performs one exchange for each call of ``start(_:options:observer:)``. The session handles interception,
/// redirects, retries with a ``RequestRetrier``, and caching. Within an exchange, a ``CurlTransport`` may send the
/// request several times, for example after an authentication challenge or on a new connection.
public protocol Transport: Sendable {
    /// Starts an exchange and returns immediately.
    ///
    /// The method may be called on any thread. The transport calls the observer on a thread that the transport chooses.
    /// It reports the outcome of each exchange exactly once. After ``shutDown()``, the outcome contains the error
    /// `.sessionShutDown`.
    ///
    /// - Parameters:
    ///   - request: The request to send, which has already been validated.
    ///   - options: The options for this exchange only.
    ///   - observer: The observer, which receives the events. The transport retains the observer until the observer has
    ///     received the outcome.
    /// - Returns: The handle that cancels, suspends and resumes the exchange.
    func start(
        _ request: HTTPRequest, options: ExchangeOptions, observer: any ExchangeObserver
    ) -> any Exchange

    /// Ends the running exchanges with `.sessionShutDown`, closes the connections and frees the transport's resources.
    ///
    /// The method returns when the shutdown is complete. It may be called more than once.
    func shutDown() async

    /// The executor on which the transport runs; `nil` if it has no executor.
    ///
    /// If a task prefers this executor (`withTaskExecutorPreference`), each request needs fewer thread switches.
    var executor: (any TaskExecutor)? { get }

    /// The storage of the cookies that the transport sends and receives; `nil`, the default, if there is no such
    /// storage.
    ///
    /// ``Session/cookies`` reads and changes this storage. A transport that wraps another transport should return the
    /// wrapped transport's storage. If the value is `nil`, a cache still assumes that the transport sends cookies,
    /// unless the session's cookie policy is `.never`.
    var cookieStorage: (any CookieStorage)? { get }

    /// Sets the manager whose evaluators check servers in all later exchanges.
    ///
    /// The method is called once, when you create a session with both a manager and a transport. The default
    /// implementation does nothing and returns `false`. If the method returns `false`, all requests of the session
    /// fail, because the manager's evaluators would never run.
    ///
    /// - Parameter manager: The session's manager.
    /// - Returns: Whether the transport uses the manager. If `true`, the transport calls the manager's evaluators in
    ///   each handshake, and sends no request to a server that they refuse.
    func evaluateServers(using manager: ServerTrustManager) -> Bool

    /// Closes the connections that no exchange uses; see ``Session/renewConnections()``.
    ///
    /// The method returns immediately. The default implementation does nothing. A transport that wraps another
    /// transport should call the wrapped transport's method.
    func renewConnections()

    /// Returns the current numbers of connections and waiting requests; see ``Session/connectionCounts()``.
    ///
    /// The default implementation returns counts of 0.
    ///
    /// - Returns: The counts.
    func connectionCounts() async -> ConnectionCounts
}

/// A transport that needs the time limits of its session.
package protocol LimitedTransport: Transport {
    /// Called when a session is created with the transport.
    func setLimits(_ timeouts: Timeouts)
}

extension Transport {
    /// The transport that sends the requests, which others may wrap.
    var innermost: any Transport {
        (self as? any WrappingTransport)?.inner.innermost ?? self
    }
}

extension Transport {
    /// The default value: `nil`.
    public var cookieStorage: (any CookieStorage)? { nil }

    /// Returns `false`, because a transport does not evaluate servers by default.
    ///
    /// - Parameter manager: The session's manager, which is ignored.
    /// - Returns: `false`.
    public func evaluateServers(using manager: ServerTrustManager) -> Bool { false }

    /// Does nothing.
    public func renewConnections() {}

    /// Returns counts of 0.
    ///
    /// - Returns: The counts.
    public func connectionCounts() async -> ConnectionCounts { ConnectionCounts() }
}

/// A handle that cancels, suspends and resumes a running exchange.
///
/// All methods return immediately. They may be called on any thread, and more than once. After the end of the exchange,
/// they do nothing.
public protocol Exchange: Sendable {
    /// Cancels the exchange; the observer receives `.cancelled`, unless the exchange is already complete.
    func cancel()

    /// Stops reading from and writing to the network until ``resume()`` is called.
    func suspend()

    /// Resumes the exchange after ``suspend()``.
    func resume()

    /// Delivers the body after the head, if the body is held back.
    ///
    /// The body is held back by ``ExchangeOptions/pausesBody`` or ``ExchangeOptions/pausesRedirects``.
    ///
    /// - Parameter receiver: The receiver of the body; `nil` to collect the body in the outcome.
    func receiveBody(with receiver: (any BodyReceiver)?)

    /// Delivers more of the body after a receiver has returned `.pause`.
    func receiveMore()

    /// Sends bytes on a connection that was upgraded; see ``ExchangeOptions/upgrade``.
    ///
    /// The bytes of several calls are sent in the order of the calls. The transport keeps all bytes that are not sent
    /// yet, and reports the number of sent bytes with ``ExchangeObserver/exchangeDidSend(_:ofExpected:)``. The default
    /// implementation does nothing. A handle that wraps another handle must call the method of the wrapped handle.
    ///
    /// - Parameter bytes: The bytes to send.
    func send(_ bytes: Data)
}

extension Exchange {
    /// Does nothing, because most exchanges upgrade no connection.
    ///
    /// - Parameter bytes: The bytes, which are ignored.
    public func send(_ bytes: Data) {}
}

/// A type that receives the body of a response piece by piece.
public protocol BodyReceiver: AnyObject, Sendable {
    /// Receives the next bytes of the body, after content decoding.
    ///
    /// The transport makes one call at a time, on a thread that the transport chooses. The transport makes no more
    /// calls after it has reported the outcome. The method must return quickly.
    ///
    /// - Parameter bytes: The next bytes of the body; never empty.
    /// - Returns: Whether to deliver more bytes. After `.pause`, the transport delivers only bytes that it has already
    ///   received, until ``Exchange/receiveMore()`` is called.
    func receive(_ bytes: Data) -> ReceiveAction
}

/// The next step of a transport after a receiver has received bytes.
public enum ReceiveAction: Hashable, Sendable {
    /// Deliver more bytes as they arrive.
    case proceed
    /// Deliver only bytes that were already received, until ``Exchange/receiveMore()`` is called.
    case pause
    /// Deliver no more bytes, and end the exchange with `.cancelled`.
    case stop
}

/// A type that receives the events of an exchange.
///
/// The transport calls one method at a time, on a thread that the transport chooses. The methods must return quickly
/// and must not block.
public protocol ExchangeObserver: AnyObject, Sendable {
    /// Receives the number of sent bytes of the request's body.
    ///
    /// A ``CurlTransport`` calls the method at most once in each turn of its event loop.
    ///
    /// - Parameters:
    ///   - sent: The number of bytes that the transport has taken from the body so far.
    ///   - expected: The total number of bytes; `nil` if it is unknown.
    func exchangeDidSend(_ sent: Int64, ofExpected expected: Int64?)

    /// Receives the head of the response, if the body is held back.
    ///
    /// The body is held back if ``ExchangeOptions/pausesBody`` is `true`. The body of a redirect is also held back if
    /// ``ExchangeOptions/pausesRedirects`` is `true`. To receive the body, call ``Exchange/receiveBody(with:)``. If
    /// there is no body, the outcome may follow immediately.
    ///
    /// The method is called at most once, with the final head. For informational responses, see
    /// ``exchangeDidReceiveInformational(_:)``.
    ///
    /// - Parameter response: The head of the response.
    func exchangeDidReceiveHead(_ response: HTTPResponse)

    /// Receives an informational response, which has a status code below 200 and no body (RFC 9110 §15.2).
    ///
    /// It is called any number of times before the final head or the outcome, but not for 101 (Switching Protocols),
    /// which is final. The default implementation does nothing. An observer that wraps another observer must call the
    /// method of the wrapped observer.
    ///
    /// - Parameter response: The informational response, such as 103 (Early Hints) with its `Link` fields (RFC 8297).
    func exchangeDidReceiveInformational(_ response: HTTPResponse)

    /// Receives the number of received bytes of the response's body.
    ///
    /// A ``CurlTransport`` calls the method at most once in each turn of its event loop.
    ///
    /// - Parameters:
    ///   - received: The number of bytes received so far, after content decoding.
    ///   - expected: The total number of bytes; `nil` if the response has no `Content-Length` or is compressed.
    func exchangeDidReceive(_ received: Int64, ofExpected expected: Int64?)

    /// Receives the number of received bytes of the response's body, and the fraction of a compressed body.
    ///
    /// A ``CurlTransport`` calls this method. The default implementation calls
    /// ``exchangeDidReceive(_:ofExpected:)``. An observer that wraps another observer should call the method of the
    /// wrapped observer.
    ///
    /// - Parameters:
    ///   - received: The number of bytes received so far, after content decoding.
    ///   - expected: The total number of bytes; `nil` if the response has no `Content-Length` or is compressed.
    ///   - fraction: The fraction of the body that has arrived, from 0 to 1, if the response has a `Content-Length` and
    ///     is compressed; otherwise `nil`.
    func exchangeDidReceive(_ received: Int64, ofExpected expected: Int64?, fraction: Double?)

    /// Receives the outcome of the exchange, exactly once and as the last event.
    ///
    /// - Parameter outcome: The response, or the error with which the exchange failed.
    func exchangeDidComplete(_ outcome: ExchangeOutcome)
}

extension ExchangeObserver {
    /// Does nothing.
    ///
    /// - Parameter response: The informational response, which is ignored.
    public func exchangeDidReceiveInformational(_ response: HTTPResponse) {}

    /// Calls ``exchangeDidReceive(_:ofExpected:)``.
    ///
    /// - Parameters:
    ///   - received: The number of bytes received so far.
    ///   - expected: The total number of bytes; `nil` if it is unknown.
    ///   - fraction: The fraction of a compressed body, which is ignored.
    public func exchangeDidReceive(_ received: Int64, ofExpected expected: Int64?, fraction: Double?) {
        exchangeDidReceive(received, ofExpected: expected)
    }
}

/// Options for a single exchange.
public struct ExchangeOptions: Sendable {
    /// The maximum size of the body in bytes, after content decoding; `nil` for no limit.
    ///
    /// A larger body ends the exchange with `.invalidResponse(.bodyTooLarge(limit:))`.
    public var maximumResponseBytes: Int64?

    /// Whether the exchange starts suspended.
    public var startsSuspended: Bool

    /// Whether the body is held back until ``Exchange/receiveBody(with:)`` is called.
    public var pausesBody: Bool

    /// Whether the body of a redirect is held back, even if ``pausesBody`` is `false`.
    ///
    /// The body of a redirect is rarely needed, and may be long. A transport may ignore this option and collect the
    /// body.
    public var pausesRedirects: Bool

    /// The settings for an exchange that asks the server for another protocol (RFC 9110 §7.8); `nil`, the default, for
    /// an ordinary exchange.
    ///
    /// The request has the fields for the upgrade, such as `Upgrade` and `Connection`. The transport sends the request
    /// with HTTP/1.1 on a connection that no other exchange uses. If there is a proxy, the connection goes through a
    /// tunnel. If the server responds with 101 (Switching Protocols), everything that the server sends after the head
    /// is the body of the response, and ``Exchange/send(_:)`` sends bytes to the server. The exchange ends when the
    /// server closes the connection. A response with any other status code is handled as in an ordinary exchange.
    ///
    /// A transport need not support upgrades. If it does not, the exchange has an ordinary response, or fails.
    public var upgrade: Upgrade?

    /// The settings for an exchange that asks the server for another protocol.
    public struct Upgrade: Hashable, Sendable {
        /// The limit for a period without bytes in either direction after the upgrade; `nil`, the default, for no
        /// limit.
        ///
        /// Until the head of the response has arrived, the request's own limits apply.
        public var idleTimeout: Duration?

        /// Creates the settings.
        ///
        /// - Parameter idleTimeout: The limit for a period without bytes after the upgrade; `nil` by default.
        public init(idleTimeout: Duration? = nil) { self.idleTimeout = idleTimeout }
    }

    /// Whether the whole body is collected in memory, even if it is held back after the head.
    package var collectsBody: Bool

    /// Decides whether and how a cache stores the response; `nil` for the cache's own decision.
    ///
    /// Only caches call this closure. The closure receives the response that would be stored, and returns the response
    /// to store. If the closure returns `nil`, nothing is stored.
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

    /// The collected bytes of the body; empty if a receiver received the body.
    public let body: Data

    /// The error with which the exchange failed; `nil` if the response is complete.
    public let error: RequestError?

    /// The metrics of the exchange; `nil` if the transport does not measure them.
    public let metrics: TransferMetrics?

    /// The source of the response; `.network` if it did not come from a cache.
    public let source: ResponseSource

    /// The way in which the session's cache handled the request; `nil` if the session has no cache.
    public let cacheStatus: CacheStatus?

    /// Creates an outcome.
    ///
    /// - Parameters:
    ///   - response: The head of the response; `nil` if none was received.
    ///   - body: The collected body; empty by default.
    ///   - error: The error with which the exchange failed; `nil`, the default, if the response is complete.
    ///   - metrics: The metrics of the exchange; `nil` by default.
    ///   - source: The source of the response; `.network` by default.
    ///   - cacheStatus: The way in which a cache handled the request; `nil` by default.
    public init(
        response: HTTPResponse?, body: Data = Data(), error: RequestError? = nil, metrics: TransferMetrics? = nil,
        source: ResponseSource = .network, cacheStatus: CacheStatus? = nil
    ) {
        self.response = response
        self.body = body
        self.error = error
        self.metrics = metrics
        self.source = source
        self.cacheStatus = cacheStatus
    }

    /// Returns the same outcome with the status of a cache.
    func with(_ status: CacheStatus?) -> ExchangeOutcome {
        ExchangeOutcome(
            response: response, body: body, error: error, metrics: metrics, source: source, cacheStatus: status)
    }
}
