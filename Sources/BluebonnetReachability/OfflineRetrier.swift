public import Bluebonnet
import FoundationEssentials

/// Tells whether the machine has a network.
package protocol ConnectivityMonitoring: Sendable {
    /// Whether there is a network now, as far as is known.
    var isConnected: Bool { get }

    /// Returns when there is a network, at once if there is one already.
    ///
    /// Runs on the global pool, for any number of callers at once.
    ///
    /// - Throws: `CancellationError` as soon as its task is cancelled.
    @concurrent
    func waitUntilConnected() async throws

    /// Returns who knows about a certain host.
    ///
    /// - Parameter host: The host of a request's URL, as it stands there.
    /// - Returns: The monitor to ask about it; this one, unless said otherwise.
    func connectivity(toHost host: String) -> any ConnectivityMonitoring
}

extension ConnectivityMonitoring {
    /// Returns this monitor, whatever the host.
    ///
    /// - Parameter host: The host of a request's URL.
    /// - Returns: This monitor.
    package func connectivity(toHost host: String) -> any ConnectivityMonitoring { self }
}

/// Holds requests that failed without a network until there is one, and tries them again then.
///
/// Only failures count that happen before a request is sent (no name resolved, no connection made), so that it may be
/// one of any method whose body can be sent a second time, and only while the monitor says that there is no network.
/// Each request waits for itself, at most as long as `maximumWait`; after that the failure stands. Cancelling it ends the wait.
///
/// Without a monitor of your own, the kernel is asked for the way to the Internet at large
/// (``NetworkReachabilityManager``), or to the host if its URL has an address: a server on the machine itself that
/// refuses is not waited for. For requests through a proxy, the host of the request counts.
///
/// Names may be found a moment later than routes. Have a `RetryPolicy` come after this one, which tries the request once
/// more then: `Interceptor(retriers: [OfflineRetrier(), .retryPolicy])`.
public struct OfflineRetrier: RequestInterceptor {
    /// The monitor of the network.
    package let monitor: any ConnectivityMonitoring

    /// How long a request waits for the network; 5 s by default.
    package let maximumWait: Duration

    /// How often a request may be tried again, other retriers' retries included; 5 by default.
    package let retryLimit: UInt

    private let isOfflineError: @Sendable (any Error) -> Bool

    /// The failures that a missing network may be the cause of, all of them before the request is sent.
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
    ///   - monitor: Knows whether there is a network; by default the way to the Internet at large is asked for.
    ///   - maximumWait: How long a request waits for the network.
    ///   - retryLimit: How often a request may be tried again.
    ///   - isOfflineError: Says whether a failure may be that of a missing network; by default the failures of name
    ///     resolution and connecting may be. Runs on the global pool.
    public init(
        monitor: NetworkReachabilityManager? = nil, maximumWait: Duration = .seconds(5), retryLimit: UInt = 5,
        isOfflineError: @escaping @Sendable (any Error) -> Bool = OfflineRetrier.isOfflineErrorKind
    ) {
        self.init(
            monitor: (monitor ?? .ofInternet) as any ConnectivityMonitoring, maximumWait: maximumWait,
            retryLimit: retryLimit, isOfflineError: isOfflineError)
    }

    /// Creates a retrier that asks any monitor.
    package init(
        monitor: any ConnectivityMonitoring, maximumWait: Duration = .seconds(5), retryLimit: UInt = 5,
        isOfflineError: @escaping @Sendable (any Error) -> Bool = OfflineRetrier.isOfflineErrorKind
    ) {
        self.monitor = monitor
        self.maximumWait = maximumWait
        self.retryLimit = retryLimit
        self.isOfflineError = isOfflineError
    }

    /// Waits for the network if it is missing.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - session: Its session.
    ///   - error: Why it failed.
    /// - Returns: `.retry` when there is a network again, or else `.doNotRetry`.
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
    /// A retrier that waits for a network.
    ///
    /// - Parameters:
    ///   - monitor: Who knows whether there is a network; the kernel is asked by default.
    ///   - maximumWait: How long a request waits for the network.
    /// - Returns: The retrier.
    package static func offlineRetrier(
        monitor: (any ConnectivityMonitoring)? = nil, maximumWait: Duration = .seconds(5)
    ) -> OfflineRetrier {
        OfflineRetrier(monitor: monitor ?? NetworkReachabilityManager.ofInternet, maximumWait: maximumWait)
    }
}
