public import FoundationEssentials

/// Carries requests to servers and responses back; a session has one.
///
/// ``Session`` uses libcurl unless it is given another transport, such as the stub for tests in `BluebonnetTesting`.
/// A transport sends one request once: interception, redirects, retries and caching happen above it.
public protocol Transport: Sendable {
    /// Starts an exchange and returns at once.
    ///
    /// Called on any thread. The observer is told what happens, on a thread of the transport's choice, and learns the
    /// outcome exactly once, whatever happens; also when it is called after ``shutDown()``, with `.sessionShutDown`.
    ///
    /// - Parameters:
    ///   - request: What to send; already checked.
    ///   - options: What holds for this exchange alone.
    ///   - observer: Who is told. It is kept until it has been told the outcome.
    /// - Returns: The handle by which the exchange is cancelled, suspended and resumed.
    func start(
        _ request: HTTPRequest, options: ExchangeOptions, observer: any ExchangeObserver
    ) -> any Exchange

    /// Ends what is still running with `.sessionShutDown`, closes the connections and frees what the transport holds.
    ///
    /// Returns when that is done. Calling it twice is allowed.
    func shutDown() async

    /// The executor on which the transport works, if it has one of its own.
    ///
    /// A task that prefers it (`withTaskExecutorPreference`) saves the hops between threads for every request.
    var executor: (any TaskExecutor)? { get }
}

/// A request on its way: the handle with which it can be stopped or held.
///
/// All methods return at once, may be called from any thread and any number of times, and do nothing once the exchange
/// has ended.
public protocol Exchange: Sendable {
    /// Ends the exchange; the observer is told `.cancelled` unless the exchange is complete already.
    func cancel()

    /// Stops reading from and writing to the network.
    func suspend()

    /// Goes on after ``suspend()``.
    func resume()
}

/// Is told what happens in an exchange.
///
/// The methods are called one after the other, on the transport's thread. They must return quickly and not block.
public protocol ExchangeObserver: AnyObject, Sendable {
    /// Called when bytes of the body came in, at most once for each turn of the transport's loop.
    ///
    /// - Parameters:
    ///   - received: How many bytes of the body are there by now, decoded.
    ///   - expected: How many there will be, if the response says so and is not compressed.
    func exchangeDidReceive(_ received: Int64, ofExpected expected: Int64?)

    /// Called exactly once, last.
    ///
    /// - Parameter outcome: How the exchange ended.
    func exchangeDidComplete(_ outcome: ExchangeOutcome)
}

/// What holds for a single exchange.
public struct ExchangeOptions: Sendable {
    /// The largest body to collect, decoded, in bytes; `nil` for no limit.
    public var maximumResponseBytes: Int64?

    /// Whether the exchange begins suspended.
    public var startsSuspended: Bool

    /// Creates options.
    ///
    /// - Parameters:
    ///   - maximumResponseBytes: The largest body to collect, decoded, in bytes; `nil` for no limit.
    ///   - startsSuspended: Whether the exchange begins suspended.
    public init(maximumResponseBytes: Int64? = nil, startsSuspended: Bool = false) {
        self.maximumResponseBytes = maximumResponseBytes
        self.startsSuspended = startsSuspended
    }
}

/// How an exchange ended.
public final class ExchangeOutcome: Sendable {
    /// The head of the response, if one was received.
    public let response: HTTPResponse?

    /// The body as far as it was received.
    public let body: Data

    /// Why the exchange failed; `nil` when the response is complete.
    public let error: RequestError?

    /// What was measured, if the transport measures.
    public let metrics: TransferMetrics?

    /// Creates an outcome.
    ///
    /// - Parameters:
    ///   - response: The head of the response.
    ///   - body: The body.
    ///   - error: Why the exchange failed.
    ///   - metrics: What was measured.
    public init(
        response: HTTPResponse?, body: Data = Data(), error: RequestError? = nil, metrics: TransferMetrics? = nil
    ) {
        self.response = response
        self.body = body
        self.error = error
        self.metrics = metrics
    }
}
