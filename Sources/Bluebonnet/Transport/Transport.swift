public import FoundationEssentials

/// Carries requests to servers and responses back; a session has one.
///
/// ``Session`` uses a ``CurlTransport`` unless it is given another transport: the stub for tests in
/// `BluebonnetTesting`, or one of yours, which may well have a ``CurlTransport`` to pass requests on to. A transport
/// sends one request once: interception, redirects, retries and caching happen above it.
public protocol Transport: Sendable {
    /// Starts an exchange and returns at once.
    ///
    /// Called on any thread. The observer's methods are called on a thread of the transport's choice, and the outcome
    /// is reported exactly once in any case; also when this is called after ``shutDown()``, with `.sessionShutDown`.
    ///
    /// - Parameters:
    ///   - request: The request to send; already checked.
    ///   - options: The options of this exchange alone.
    ///   - observer: The receiver of the events. It is retained until it has received the outcome.
    /// - Returns: The handle by which the exchange is cancelled, suspended and resumed.
    func start(
        _ request: HTTPRequest, options: ExchangeOptions, observer: any ExchangeObserver
    ) -> any Exchange

    /// Ends the running exchanges with `.sessionShutDown`, closes the connections and frees the transport's resources.
    ///
    /// Returns when that is done. Calling it twice is allowed.
    func shutDown() async

    /// The executor on which the transport works, if it has one of its own.
    ///
    /// A task that prefers it (`withTaskExecutorPreference`) saves the hops between threads for every request.
    var executor: (any TaskExecutor)? { get }

    /// The cookies that the transport keeps and sends; `nil`, the default, for a transport that does not support
    /// cookies.
    ///
    /// ``Session/cookies`` reads and changes this storage. A transport around another one passes on that of the other.
    /// A cache assumes that a transport without a storage sends cookies, unless the session's policy is `.never`.
    var cookieStorage: (any CookieStorage)? { get }

    /// Sets the manager whose evaluators check servers, from the next exchange on.
    ///
    /// Called once, when a session is made with a manager and a transport. The default does nothing and returns
    /// `false`. The session's requests then fail: a manager that is never asked would not protect them.
    ///
    /// - Parameter manager: The session's manager.
    /// - Returns: Whether it will be asked in each handshake, and no request be sent to a server that it refuses.
    func evaluateServers(using manager: ServerTrustManager) -> Bool
}

extension Transport {
    /// None: the transport keeps no cookies.
    public var cookieStorage: (any CookieStorage)? { nil }

    /// Does nothing: the transport evaluates no servers.
    ///
    /// - Parameter manager: The session's manager.
    /// - Returns: `false`.
    public func evaluateServers(using manager: ServerTrustManager) -> Bool { false }
}

/// Keeps the cookies of a transport, and lets them be seen and changed.
public protocol CookieStorage: Sendable {
    /// Returns the stored cookies, in the order of their coming for each host; expired cookies are left out.
    ///
    /// - Returns: The cookies; an empty list if the session's policy is to keep none.
    /// - Throws: `.sessionShutDown` after ``Transport/shutDown()``.
    func cookies() async throws(RequestError) -> [Cookie]

    /// Changes the stored cookies, all at once.
    ///
    /// - Parameter change: The change. The cookies in it have been checked.
    /// - Throws: `.sessionShutDown` after ``Transport/shutDown()``, `.cookies(.disabled)` if the transport keeps no
    ///   cookies.
    func changeCookies(_ change: CookieChange) async throws(RequestError)
}

/// Describes a change of a session's cookies.
@nonexhaustive
public enum CookieChange: Hashable, Sendable {
    /// Keeps these, in place of those of the same name, domain and path.
    case set([Cookie])
    /// Removes these, whatever their values are.
    case delete([Cookie])
    /// Removes those of a domain and of the hosts below it.
    case deleteDomain(String)
    /// Removes those that last as long as the session.
    case deleteSessionCookies
    /// Removes all.
    case deleteAll
}

/// A request on its way: the handle that cancels, suspends and resumes it.
///
/// All methods return at once, may be called from any thread and any number of times, and do nothing once the exchange
/// has ended.
public protocol Exchange: Sendable {
    /// Ends the exchange; the observer receives `.cancelled` unless the exchange is complete already.
    func cancel()

    /// Stops reading from and writing to the network.
    func suspend()

    /// Resumes the exchange after ``suspend()``.
    func resume()

    /// Delivers the body that was held back after its head, as ``ExchangeOptions/pausesBody`` asks.
    ///
    /// - Parameter receiver: The receiver of the body's pieces; `nil` to have the body collected in the outcome.
    func receiveBody(with receiver: (any BodyReceiver)?)

    /// Delivers more of the body after the receiver returned `.pause`.
    func receiveMore()
}

/// Takes the body of a response piece by piece.
public protocol BodyReceiver: AnyObject, Sendable {
    /// Takes the next bytes of the body, decoded.
    ///
    /// Called on the transport's thread, in order, and never after the outcome was reported. It must return quickly.
    ///
    /// - Parameter bytes: The bytes; never empty.
    /// - Returns: Whether there is room for more. After `.pause`, only bytes that had already come in are delivered
    ///   until ``Exchange/receiveMore()`` is called.
    func receive(_ bytes: Data) -> ReceiveAction
}

/// What the transport does after delivering bytes to a receiver.
public enum ReceiveAction: Hashable, Sendable {
    /// Deliver more bytes as they come in.
    case proceed
    /// Deliver no more bytes for now.
    case pause
    /// Deliver no more bytes at all; the exchange ends with `.cancelled`.
    case stop
}

/// Receives the events of an exchange.
///
/// The methods are called one after the other, on the transport's thread. They must return quickly and not block.
public protocol ExchangeObserver: AnyObject, Sendable {
    /// Called when bytes of the request's body were sent, at most once for each turn of the transport's loop.
    ///
    /// - Parameters:
    ///   - sent: The number of bytes that the transport has taken so far.
    ///   - expected: The total number of bytes, if it is known.
    func exchangeDidSend(_ sent: Int64, ofExpected expected: Int64?)

    /// Called once when the head of the response has come in, if ``ExchangeOptions/pausesBody`` is set, or
    /// ``ExchangeOptions/pausesRedirects`` is set and the response is a redirect.
    ///
    /// It is the final head: informational responses (RFC 9110 §15.2) are not reported.
    ///
    /// The body is held back until ``Exchange/receiveBody(with:)`` is called. The outcome may come at once if there is
    /// no body.
    ///
    /// - Parameter response: The head.
    func exchangeDidReceiveHead(_ response: HTTPResponse)

    /// Called when bytes of the body came in, at most once for each turn of the transport's loop.
    ///
    /// - Parameters:
    ///   - received: The number of bytes of the body that have come in so far, decoded.
    ///   - expected: The total number of bytes, if the response has a length and is not compressed.
    func exchangeDidReceive(_ received: Int64, ofExpected expected: Int64?)

    /// Called exactly once, last.
    ///
    /// - Parameter outcome: How the exchange ended.
    func exchangeDidComplete(_ outcome: ExchangeOutcome)
}

/// The options of a single exchange.
public struct ExchangeOptions: Sendable {
    /// The largest body to collect, decoded, in bytes; `nil` for no limit.
    public var maximumResponseBytes: Int64?

    /// Whether the exchange begins suspended.
    public var startsSuspended: Bool

    /// Whether the body is held back after the head until ``Exchange/receiveBody(with:)`` names its destination.
    public var pausesBody: Bool

    /// Whether the body of a redirect is held back, even if ``pausesBody`` does not ask for it.
    ///
    /// Such a body is seldom wanted, and may be long. A transport that collects it all the same does no harm.
    public var pausesRedirects: Bool

    /// Decides what a cache that is a transport stores of the response; `nil` for the cache's own decision.
    ///
    /// Gets the response that may be stored, and returns what is stored in its place; `nil` for nothing.
    public var willStore: (@Sendable (CachedResponse) async -> CachedResponse?)?

    /// Creates options.
    ///
    /// - Parameters:
    ///   - maximumResponseBytes: The largest body to collect, decoded, in bytes; `nil` for no limit.
    ///   - startsSuspended: Whether the exchange begins suspended.
    ///   - pausesBody: Whether the body is held back until its destination is named.
    ///   - pausesRedirects: Whether the body of a redirect is held back.
    ///   - willStore: Decides what a cache keeps of the response.
    public init(
        maximumResponseBytes: Int64? = nil, startsSuspended: Bool = false, pausesBody: Bool = false,
        pausesRedirects: Bool = false, willStore: (@Sendable (CachedResponse) async -> CachedResponse?)? = nil
    ) {
        self.maximumResponseBytes = maximumResponseBytes
        self.startsSuspended = startsSuspended
        self.pausesBody = pausesBody
        self.pausesRedirects = pausesRedirects
        self.willStore = willStore
    }
}

/// How an exchange ended.
public final class ExchangeOutcome: Sendable {
    /// The head of the response, if one was received.
    public let response: HTTPResponse?

    /// The body as far as it was received; empty when a receiver took it.
    public let body: Data

    /// The reason why the exchange failed; `nil` when the response is complete.
    public let error: RequestError?

    /// The measurements, if the transport measures.
    public let metrics: TransferMetrics?

    /// Where the response came from; the network, unless a cache was before the transport.
    public let source: ResponseSource

    /// Creates an outcome.
    ///
    /// - Parameters:
    ///   - response: The head of the response.
    ///   - body: The body.
    ///   - error: Why the exchange failed.
    ///   - metrics: The measurements.
    ///   - source: Where the response came from.
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
