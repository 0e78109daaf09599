public import Bluebonnet
import FoundationEssentials

/// Reports whether the machine has a network.
package protocol ConnectivityMonitoring: Sendable {
    /// Whether there is currently a network, as far as is known.
    var isConnected: Bool { get }

    /// Returns when there is a network; returns at once if there already is one.
    ///
    /// Runs on the global pool, for any number of callers at the same time.
    ///
    /// - Throws: `CancellationError` as soon as its task is cancelled.
    @concurrent
    func waitUntilConnected() async throws

    /// Returns the monitor for a certain host; this monitor by default.
    ///
    /// - Parameter host: The host of a request's URL, without percent-encoding.
    /// - Returns: The monitor to query for this host.
    func connectivity(toHost host: String) -> any ConnectivityMonitoring
}

extension ConnectivityMonitoring {
    /// Returns this monitor for any host.
    ///
    /// - Parameter host: The host of a request's URL.
    /// - Returns: This monitor.
    package func connectivity(toHost host: String) -> any ConnectivityMonitoring { self }
}

/// Retries requests that failed without a network, as soon as there is a network again.
///
/// A request waits if all of these conditions are met:
///
/// - The failure occurred before the request was sent: the name was not resolved, or no connection was made. Therefore,
///   the request can have any method.
/// - The body, if there is one, can be sent again.
/// - The monitor reports that there is no network.
///
/// Each request waits at most `maximumWait`, which is 5 seconds by default; then it fails with its error. Cancelling
/// the request ends the wait.
///
/// By default, ``NetworkReachabilityManager`` queries the kernel for the route to the Internet at large. If the host of
/// the URL is an IP address or `localhost`, it queries the route to that host. Therefore, a request does not wait for a
/// server on the machine itself that refuses connections. For requests through a proxy, the host of the request counts,
/// not the proxy.
///
/// Names may become resolvable a moment later than routes. Add a `RetryPolicy` after this retrier to retry the request
/// in that case: `Interceptor(retriers: [OfflineRetrier(), .retryPolicy])`.
public struct OfflineRetrier: RequestInterceptor {
    /// The monitor of the network.
    package let monitor: any ConnectivityMonitoring

    /// How long a request waits for the network; 5 seconds by default.
    package let maximumWait: Duration

    /// The maximum number of retries of a request, including those of other retriers; 5 by default.
    package let retryLimit: UInt

    private let isOfflineError: @Sendable (any Error) -> Bool

    /// The failures that a missing network can cause, all of which occur before the request is sent.
    package static let offlineErrorKinds: Set<RequestError.Kind> = [
        .connection(.nameNotResolved), .connection(.proxyNameNotResolved), .connection(.refused), .connection(.failed),
        .timedOut(.connect),
    ]

    @usableFromInline static let isOfflineErrorKind: @Sendable (any Error) -> Bool = { error in
        (error as? RequestError).map { offlineErrorKinds.contains($0.kind) } ?? false
    }

    /// Creates a retrier.
    ///
    /// - Parameters:
    ///   - monitor: The monitor of the network; by default, it observes the route to the Internet at large. A
    ///     monitor of the Internet uses the route to the request's host instead, if the host is an IP address or
    ///     `localhost`.
    ///   - maximumWait: How long a request waits for the network; 5 seconds by default.
    ///   - retryLimit: The maximum number of retries of a request, including those of other retriers; 5 by default.
    ///   - isOfflineError: A closure that returns whether a missing network can cause an error. By default, these are
    ///     failed name lookups, failed connections and connect timeouts. It runs on the global pool.
    public init(
        monitor: NetworkReachabilityManager? = nil, maximumWait: Duration = .seconds(5), retryLimit: UInt = 5,
        isOfflineError: @escaping @Sendable (any Error) -> Bool = OfflineRetrier.isOfflineErrorKind
    ) {
        self.init(
            monitor: (monitor ?? .ofInternet) as any ConnectivityMonitoring, maximumWait: maximumWait,
            retryLimit: retryLimit, isOfflineError: isOfflineError)
    }

    /// Creates a retrier with any kind of monitor.
    package init(
        monitor: any ConnectivityMonitoring, maximumWait: Duration = .seconds(5), retryLimit: UInt = 5,
        isOfflineError: @escaping @Sendable (any Error) -> Bool = OfflineRetrier.isOfflineErrorKind
    ) {
        self.monitor = monitor
        self.maximumWait = maximumWait
        self.retryLimit = retryLimit
        self.isOfflineError = isOfflineError
    }

    /// Waits for a network if there is none.
    ///
    /// - Parameters:
    ///   - request: The request that failed.
    ///   - session: The session of the request.
    ///   - error: The error of the request.
    /// - Returns: `.retry` if there is a network again in time; otherwise `.doNotRetry`.
    @concurrent
    public func retry(_ request: any Request, for session: Session, dueTo error: any Error) async -> RetryResult {
        guard isOfflineError(error), UInt(request.retryCount) < retryLimit,
            request.requests.allSatisfy({ $0.body?.isReplayable ?? true })
        else { return .doNotRetry }
        let host = request.requests.last?.url.host(percentEncoded: false)
        let monitor = host.map { self.monitor.connectivity(toHost: $0) } ?? self.monitor
        guard !monitor.isConnected else { return .doNotRetry }
        return await isConnectedInTime(monitor, session.sleep) ? .retry : .doNotRetry
    }

    private func isConnectedInTime(
        _ monitor: any ConnectivityMonitoring, _ sleep: @escaping @Sendable (Duration) async throws -> Void
    ) async -> Bool {
        await withTaskGroup(of: Bool.self) { [maximumWait] group in
            group.addTask {
                do {
                    try await monitor.waitUntilConnected()
                    return true
                } catch {
                    return false
                }
            }
            group.addTask {
                try? await sleep(maximumWait)
                return false
            }
            let isConnected = await group.next() ?? false
            group.cancelAll()
            return isConnected
        }
    }
}

extension RequestRetrier where Self == OfflineRetrier {
    /// Creates a retrier that waits for a network.
    ///
    /// - Parameters:
    ///   - monitor: The monitor of the network; by default, it observes the route to the Internet at large.
    ///   - maximumWait: How long a request waits for the network; 5 seconds by default.
    /// - Returns: The new retrier.
    package static func offlineRetrier(
        monitor: (any ConnectivityMonitoring)? = nil, maximumWait: Duration = .seconds(5)
    ) -> OfflineRetrier {
        OfflineRetrier(monitor: monitor ?? NetworkReachabilityManager.ofInternet, maximumWait: maximumWait)
    }
}
