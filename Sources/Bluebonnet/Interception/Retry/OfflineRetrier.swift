/// Tells whether the machine has a network.
public protocol ConnectivityMonitoring: Sendable {
    /// Whether there is a network now, as far as is known.
    var isConnected: Bool { get }

    /// Returns when there is a network, at once if there is one already.
    ///
    /// Runs on the global pool, for any number of callers at once.
    ///
    /// - Throws: `CancellationError` as soon as its task is cancelled.
    @concurrent
    func waitUntilConnected() async throws
}

/// Holds requests that failed without a network until there is one, and tries them again then.
///
/// Only failures count that happen before a request is sent (no name resolved, no connection made), so that it may be
/// one of any method whose body can be sent a second time, and only while the monitor says that there is no network.
/// Each request waits for itself, at most ``maximumWait``; after that the failure stands.
public struct OfflineRetrier: RequestInterceptor {
    /// Who knows whether there is a network.
    public let monitor: any ConnectivityMonitoring

    /// How long a request waits for the network; 5 s by default.
    public let maximumWait: Duration

    /// How often a request may be tried again, other retriers' retries included; 5 by default.
    public let retryLimit: UInt

    private let isOfflineError: @Sendable (any Error) -> Bool

    /// The failures that a missing network may be the cause of, all of them before the request is sent.
    public static let offlineErrorKinds: Set<RequestError.Kind> = [
        .connection(.nameNotResolved), .connection(.proxyNameNotResolved), .connection(.refused), .connection(.failed),
        .timedOut(.connect),
    ]

    /// Creates a retrier.
    ///
    /// - Parameters:
    ///   - monitor: Who knows whether there is a network.
    ///   - maximumWait: How long a request waits for the network.
    ///   - retryLimit: How often a request may be tried again.
    ///   - isOfflineError: Says whether a failure may be that of a missing network; those of ``offlineErrorKinds`` by
    ///     default. Runs on the global pool.
    public init(
        monitor: any ConnectivityMonitoring, maximumWait: Duration = .seconds(5), retryLimit: UInt = 5,
        isOfflineError: @escaping @Sendable (any Error) -> Bool = { error in
            (error as? RequestError).map { OfflineRetrier.offlineErrorKinds.contains($0.kind) } ?? false
        }
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
            request.requests.allSatisfy({ $0.body?.isReplayable ?? true }), !monitor.isConnected
        else { return .doNotRetry }
        return await isConnectedInTime(session.context.sleep) ? .retry : .doNotRetry
    }

    private func isConnectedInTime(_ sleep: @escaping @Sendable (Duration) async throws -> Void) async -> Bool {
        await withTaskGroup(of: Bool.self) { [monitor, maximumWait] group in
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
    ///   - monitor: Who knows whether there is a network.
    ///   - maximumWait: How long a request waits for the network.
    /// - Returns: The retrier.
    public static func offlineRetrier(
        monitor: any ConnectivityMonitoring, maximumWait: Duration = .seconds(5)
    ) -> OfflineRetrier { OfflineRetrier(monitor: monitor, maximumWait: maximumWait) }
}
