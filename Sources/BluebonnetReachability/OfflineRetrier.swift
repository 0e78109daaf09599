public import Bluebonnet
import FoundationEssentials

/// Reports whether the machine has a network.
package protocol ConnectivityMonitoring: Sendable {
    /// Whether there is currently a network; `true` if this is not known.
    var isConnected: Bool { get }

    /// Waits until there is a network; returns at once if there is already a network.
    ///
    /// This method runs on the global executor. Any number of tasks can wait at the same time.
    ///
    /// - Throws: `CancellationError` as soon as the calling task is cancelled.
    @concurrent
    func waitUntilConnected() async throws

    /// Returns the monitor to use for a host; the default implementation returns this monitor.
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

/// Retries requests that failed because there was no network, as soon as there is a network again.
///
/// A failed request waits for a network if all of these conditions hold:
///
/// - The error is a failed name lookup, a failed connection or a connect timeout. In these cases, the request was not
///   sent. It is therefore safe to retry the request with any method. The parameter `isOfflineError` of the initializer
///   replaces this condition.
/// - The request has no body, or the body can be sent again.
/// - The request was retried fewer times than `retryLimit`, which is 5 by default.
/// - The monitor reports that there is no network.
///
/// A request waits for at most `maximumWait`, which is 5 seconds by default. If there is still no network, the request
/// fails with its original error. Cancelling the request ends the wait.
///
/// By default, the retrier uses a ``NetworkReachabilityManager`` that checks the route to the Internet. If the host of
/// the URL is an IP address or `localhost`, this manager checks the route to the host instead. A request to a local
/// server that refuses connections therefore does not wait. For a request through a proxy, the manager checks the host
/// of the request and not the proxy.
///
/// After a network returns, name lookups can fail for a moment, although there is already a route. To retry the request
/// in this case too, add a `RetryPolicy` after this retrier: `Interceptor(retriers: [OfflineRetrier(), .retryPolicy])`.
public struct OfflineRetrier: RequestInterceptor {
    /// The monitor of the network.
    package let monitor: any ConnectivityMonitoring

    /// The longest time for which a request waits for a network; 5 seconds by default.
    package let maximumWait: Duration

    /// The maximum number of retries of a request, including retries by other retriers; 5 by default.
    package let retryLimit: UInt

    private let isOfflineError: @Sendable (any Error) -> Bool

    /// The errors that a missing network can cause before the request is sent.
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
    ///   - monitor: The monitor of the network. By default, the monitor checks the route to the Internet. If the host
    ///     of the request is an IP address or `localhost`, the default monitor checks the route to the host.
    ///   - maximumWait: The longest time for which a request waits for a network; 5 seconds by default.
    ///   - retryLimit: The maximum number of retries of a request, including retries by other retriers; 5 by default.
    ///   - isOfflineError: A closure that returns whether a missing network can be the cause of the given error. By
    ///     default, it returns `true` for failed name lookups, failed connections and connect timeouts. The closure
    ///     runs on the global executor.
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

    /// Waits for a network if the request failed because there is no network.
    ///
    /// - Parameters:
    ///   - request: The request that failed.
    ///   - session: The session of the request.
    ///   - error: The error of the request.
    /// - Returns: `.retry` if there is a network again within the maximum wait; otherwise `.doNotRetry`.
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
            group.addTask { (try? await monitor.waitUntilConnected()) != nil }
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
