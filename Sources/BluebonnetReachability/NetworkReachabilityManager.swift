public import Bluebonnet

/// Reports whether the machine has a route to a host or to the Internet, and when that changes.
///
/// The manager queries the kernel (rtnetlink) for the route that packets would take, and is notified when links,
/// addresses, routes or rules change. Nothing is sent to the host: reachable means that packets can leave the machine,
/// not that the host answers. Therefore, do not check the status before you send a request; send the request. Use the
/// status to retry, which ``OfflineRetrier`` does for you, and to explain a failure to people.
///
/// ```swift
/// let manager = NetworkReachabilityManager(host: "example.com")
/// manager?.startListening { status in print(status) }
/// ```
///
/// Keep a reference to the manager. When it is released, its sequences end and its handler is no longer called. All
/// managers of the process share one thread and one socket, which exist only while a listener is active. No privilege
/// is needed. If the system refuses the socket, as in some sandboxes, the status is ``Status/unknown``.
///
/// The manager observes the network of the process. If threads have separate network namespaces, it observes the
/// network of the thread that starts to listen first.
public final class NetworkReachabilityManager: Sendable {
    /// The reachability of a host or of the Internet.
    public enum Status: Hashable, Sendable {
        /// The kernel cannot be queried.
        case unknown
        /// There is no route.
        case notReachable
        /// Packets can leave the machine, over a connection of this type.
        case reachable(ConnectionType)

        /// The type of connection over which packets leave the machine.
        ///
        /// These links are detected as mobile: links of the kind `wwan` or `rmnet`, modems without link-layer frames,
        /// and links whose name begins with `ww`, `rmnet` or `ccmni`. A modem behind a serial line (`ppp0`), a phone's
        /// hotspot and a tunnel through a mobile network are not detected.
        public enum ConnectionType: Hashable, Sendable {
            /// A cable, a wireless network, a tunnel, the machine itself, or any other link not detected as mobile.
            case ethernetOrWiFi
            /// A mobile network.
            case cellular
        }
    }

    /// The manager for the Internet, shared by the whole process.
    ///
    /// Stopping it stops it for all of its users. It is never `nil`; it is only optional because ``init()`` is
    /// failable.
    public static let `default`: NetworkReachabilityManager? = ofInternet

    static let ofInternet = NetworkReachabilityManager(ReachabilityTarget(.internet))

    /// Serves listeners, which can be stopped.
    private let listeners: ReachabilityMonitors
    /// Serves tasks that wait for a network; stopping the listeners does not affect them.
    private let waiters: ReachabilityMonitors
    /// The task that calls the handler.
    private let listening = Locked<Task<Void, Never>?>(nil)

    init(_ target: ReachabilityTarget, changeMonitor: NetworkChangeMonitor = .shared) {
        listeners = ReachabilityMonitors(target, changeMonitor: changeMonitor)
        waiters = ReachabilityMonitors(target, changeMonitor: changeMonitor)
    }

    /// Creates a manager for the Internet at large, which reports whether packets to the Internet would leave the
    /// machine.
    ///
    /// Any route over IPv4 or IPv6 counts: a default route, two routes for half of the addresses each, as tunnels use,
    /// or a rule. The result is never `nil`.
    public convenience init?() {
        self.init(ReachabilityTarget(.internet))
    }

    /// Creates a manager for a host.
    ///
    /// For an IP address, the manager only queries the kernel. A name is looked up with the system's resolver: when
    /// listening begins, after each change of the network, and repeatedly while it is not found. One reachable address
    /// is enough. `localhost` is the machine itself.
    ///
    /// - Parameter host: The host's name, or its IPv4 or IPv6 address, without a scheme, a port or a path. An IPv6
    ///   address may have brackets and a link (`fe80::1%eth0`). The result is `nil` if the text is not a host.
    public convenience init?(host: String) {
        guard let destination = ReachabilityDestination(host: host) else { return nil }
        self.init(ReachabilityTarget(destination))
    }

    deinit {
        listening.withLock { $0.take() }?.cancel()
        listeners.close()
        waiters.close()
    }

    // MARK: Asking

    /// The current reachability.
    ///
    /// Reading it queries the kernel, which takes some microseconds and does not block. Reading it also starts the
    /// lookup of a host's name, but does not wait for the result. Until the name has been looked up, the status is that
    /// of the Internet at large. ``statuses`` and handlers begin with the status of the host itself.
    public var status: Status {
        listeners.target.lookUpIfDue()
        return listeners.target.status()
    }

    /// Whether there is currently a route, over any type of connection.
    public var isReachable: Bool { if case .reachable = status { true } else { false } }

    /// Whether there is currently a route over a mobile network.
    public var isReachableOnCellular: Bool { status == .reachable(.cellular) }

    /// Whether there is currently a route over a connection other than a mobile network.
    public var isReachableOnEthernetOrWiFi: Bool { status == .reachable(.ethernetOrWiFi) }

    // MARK: Listening

    /// A sequence of statuses: the current status as soon as it is known, and then each change.
    ///
    /// Changes that follow each other within 50 milliseconds are combined, for at most 500 milliseconds. Any number of
    /// tasks may observe; each begins with the latest status. The sequence ends with ``stopListening()`` and when the
    /// manager is released.
    public var statuses: StreamOf<Status> { listeners.statuses() }

    /// Calls a handler with the current status, and again whenever the status changes.
    ///
    /// The handler runs on the global pool, one call after the other. A previous handler is replaced.
    ///
    /// - Parameter handler: The handler of the status. After ``stopListening()`` no new call begins, but one may still
    ///   be running.
    @_disfavoredOverload  // the overload with a queue is preferred where it exists
    public func startListening(onUpdatePerforming handler: @escaping @Sendable (Status) -> Void) {
        let statuses = listeners.statuses()
        let task = Task {
            for await status in statuses {
                // Statuses that were buffered before the stop are dropped.
                guard !Task.isCancelled else { return }
                handler(status)
            }
        }
        listening.withLock { exchange(&$0, with: task) }?.cancel()
    }

    /// Ends all sequences of ``statuses``, and stops calling the handler.
    ///
    /// Sequences and handlers that are added later start a new observation.
    public func stopListening() {
        listening.withLock { $0.take() }?.cancel()
        listeners.end()
    }
}

extension NetworkReachabilityManager: ConnectivityMonitoring {
    /// Whether there is currently a route, or the status is unknown.
    package var isConnected: Bool { status != .notReachable }

    /// Returns when there is a route, or when the status is unknown.
    ///
    /// Listeners, and stopping them, have no effect on this method.
    ///
    /// - Throws: `CancellationError` as soon as its task is cancelled.
    @concurrent
    package func waitUntilConnected() async throws {
        for await status in waiters.statuses() where status != .notReachable { return }
        throw CancellationError()
    }

    /// Returns a manager for the host if the host is an IP address or the machine itself; otherwise this manager.
    ///
    /// Therefore, a request to a server on the local machine or network is not delayed while the Internet is
    /// unreachable.
    ///
    /// - Parameter host: The host of a request's URL.
    /// - Returns: The monitor for the host.
    package func connectivity(toHost host: String) -> any ConnectivityMonitoring {
        guard listeners.target.destination == .internet, let destination = ReachabilityDestination(host: host),
            case .addresses = destination
        else { return self }
        return NetworkReachabilityManager(ReachabilityTarget(destination))
    }
}
