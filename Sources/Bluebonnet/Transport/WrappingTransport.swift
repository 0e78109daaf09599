/// A transport that wraps another transport.
///
/// A type that conforms to this protocol needs only ``inner`` and ``Transport/start(_:options:observer:)``. The default
/// implementations of all other requirements use the wrapped transport.
public protocol WrappingTransport: Transport {
    /// The wrapped transport.
    var inner: any Transport { get }
}

extension WrappingTransport {
    /// The executor of the wrapped transport.
    public var executor: (any TaskExecutor)? { inner.executor }

    /// The cookie storage of the wrapped transport.
    public var cookieStorage: (any CookieStorage)? { inner.cookieStorage }

    /// Sets the trust manager of the wrapped transport.
    ///
    /// - Parameter manager: The session's trust manager.
    /// - Returns: Whether the wrapped transport uses the manager.
    public func evaluateServers(using manager: ServerTrustManager) -> Bool { inner.evaluateServers(using: manager) }

    /// Closes the unused connections of the wrapped transport.
    public func renewConnections() { inner.renewConnections() }

    /// Returns the connection counts of the wrapped transport.
    ///
    /// - Returns: The connection counts.
    public func connectionCounts() async -> ConnectionCounts { await inner.connectionCounts() }

    /// Shuts down the wrapped transport.
    public func shutDown() async { await inner.shutDown() }
}

/// An event that an observer receives.
enum ExchangeObserverEvent {
    case sentBytes
    case informational
    case head(HTTPResponse)
    case receivedBytes
    case outcome(ExchangeOutcome)
}

/// Forwards the events of an exchange to another observer, if a closure allows it.
///
/// The closure is called once for each event, before the event is forwarded.
final class FilteringObserver: ExchangeObserver {
    private let next: any ExchangeObserver
    private let forwards: @Sendable (ExchangeObserverEvent) -> Bool

    init(_ next: any ExchangeObserver, forwards: @escaping @Sendable (ExchangeObserverEvent) -> Bool) {
        self.next = next
        self.forwards = forwards
    }

    func exchangeDidSend(_ sent: Int64, ofExpected expected: Int64?) {
        if forwards(.sentBytes) { next.exchangeDidSend(sent, ofExpected: expected) }
    }

    func exchangeDidReceiveHead(_ response: HTTPResponse) {
        if forwards(.head(response)) { next.exchangeDidReceiveHead(response) }
    }

    func exchangeDidReceiveInformational(_ response: HTTPResponse) {
        if forwards(.informational) { next.exchangeDidReceiveInformational(response) }
    }

    func exchangeDidReceive(_ received: Int64, ofExpected expected: Int64?) {
        exchangeDidReceive(received, ofExpected: expected, fraction: nil)
    }

    func exchangeDidReceive(_ received: Int64, ofExpected expected: Int64?, fraction: Double?) {
        if forwards(.receivedBytes) { next.exchangeDidReceive(received, ofExpected: expected, fraction: fraction) }
    }

    func exchangeDidComplete(_ outcome: ExchangeOutcome) {
        if forwards(.outcome(outcome)) { next.exchangeDidComplete(outcome) }
    }
}
