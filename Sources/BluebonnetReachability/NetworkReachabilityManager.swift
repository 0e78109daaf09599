public import Bluebonnet

/// Reports whether the machine has a route to a host or to the Internet, and calls a handler after changes.
///
/// The manager queries the kernel (rtnetlink) for the route that packets would take. The kernel notifies the manager
/// when links, addresses, routes or rules change. The manager sends nothing to the host. The status "reachable" means
/// only that packets can leave the machine. The host may still not respond.
///
/// Do not check the status before you send a request. Send the request. If the request fails, use the status to decide
/// on a retry or to explain the failure to the user. ``OfflineRetrier`` retries requests for you.
///
/// ```swift
/// let manager = NetworkReachabilityManager(host: "example.com")
/// manager?.startListening { status in print(status) }
/// ```
///
/// Keep a reference to the manager. When the manager is released, its sequences end and its handler is no longer
/// called. All managers of the process share one thread and one socket. Both exist only while a handler or a sequence
/// is active. The manager needs no privilege. If the system refuses to open the socket, as in some sandboxes, the
/// status is ``Status/unknown``.
///
/// The manager observes the network of the process. A process can have threads in separate network namespaces. The
/// manager then observes the namespace of the thread that is the first to set a handler or to iterate over
/// ``statuses``.
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
        /// A link is a network interface of the machine. A link is detected as mobile if its kind is `wwan` or
        /// `rmnet`, if it is a modem without link-layer frames, or if its name begins with `ww`, `rmnet` or `ccmni`. A
        /// modem on a serial line (`ppp0`), a phone's hotspot and a tunnel through a mobile network are not detected as
        /// mobile.
        public enum ConnectionType: Hashable, Sendable {
            /// Any link that is not detected as mobile, such as a cable, a wireless network, a tunnel or the loopback
            /// interface.
            case ethernetOrWiFi
            /// A mobile network.
            case cellular
        }
    }

    /// The manager for the Internet, shared by the whole process.
    ///
    /// All users of this manager share its handler and its sequences. ``stopListening()`` therefore ends the
    /// observation for all of them. The value is never `nil`. Its type is optional, as in Alamofire.
    public static let `default`: NetworkReachabilityManager? = ofInternet

    static let ofInternet = NetworkReachabilityManager(ReachabilityTarget(.internet))

    /// The monitors of the sequences and of the handler; ``stopListening()`` ends them.
    private let listeners: ReachabilityMonitors
    /// The monitors of the tasks that wait for a network; ``stopListening()`` does not affect them.
    private let waiters: ReachabilityMonitors
    /// The task that calls the handler.
    private let listening = Locked<Task<Void, Never>?>(nil)

    init(_ target: ReachabilityTarget, changeMonitor: NetworkChangeMonitor = .shared) {
        listeners = ReachabilityMonitors(target, changeMonitor: changeMonitor)
        waiters = ReachabilityMonitors(target, changeMonitor: changeMonitor)
    }

    /// Creates a manager that reports whether packets to the Internet would leave the machine.
    ///
    /// Any route to the Internet over IPv4 or IPv6 counts, for example a default route or the routes of a tunnel. The
    /// result is never `nil`.
    public convenience init?() {
        self.init(ReachabilityTarget(.internet))
    }

    /// Creates a manager for a host.
    ///
    /// The manager looks up the host's name with the system's resolver, when listening begins and after each change of
    /// the network. If a lookup fails, the manager repeats the lookup. The host is reachable if at least one of its
    /// addresses is reachable. An IP address and `localhost`, which is the machine itself, need no lookup.
    ///
    /// - Parameter host: The host's name, or its IPv4 or IPv6 address, without a scheme, a port or a path. An IPv6
    ///   address may be in brackets, and may have a zone (`fe80::1%eth0`). The result is `nil` if the text is not a
    ///   host.
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
    /// This property queries the kernel, which takes some microseconds and does not block. If the manager is for a host
    /// name, the property also starts a lookup of the name, but does not wait for the result. While the previous result
    /// is recent, the property starts no lookup. Until the first lookup is complete, the property returns the
    /// reachability of the Internet. In contrast, ``statuses`` and handlers wait for the first lookup. They begin with
    /// the status of the host itself.
    public var status: Status {
        listeners.target.lookUpIfDue()
        return listeners.target.status()
    }

    /// Whether there is currently a route over any type of connection.
    public var isReachable: Bool { if case .reachable = status { true } else { false } }

    /// Whether there is currently a route over a mobile network.
    public var isReachableOnCellular: Bool { status == .reachable(.cellular) }

    /// Whether there is currently a route over a connection other than a mobile network.
    public var isReachableOnEthernetOrWiFi: Bool { status == .reachable(.ethernetOrWiFi) }

    // MARK: Listening

    /// A sequence of statuses, which begins with the current status and continues with each change.
    ///
    /// If several changes follow each other within 50 milliseconds, they are combined into one change. Changes are
    /// combined for at most 500 milliseconds. Any number of tasks can iterate over the statuses. Every iteration begins
    /// with the latest status. The sequence ends when ``stopListening()`` is called or the manager is released.
    public var statuses: StreamOf<Status> { listeners.statuses() }

    /// Calls a handler with the current status, and again whenever the status changes.
    ///
    /// The handler runs on the global executor, one call after the other. The new handler replaces the previous
    /// handler.
    ///
    /// - Parameter handler: The handler of the status. When ``stopListening()`` returns, a call of the handler may
    ///   still be running.
    @_disfavoredOverload  // the overload with a queue is preferred where it exists
    public func startListening(onUpdatePerforming handler: @escaping @Sendable (Status) -> Void) {
        let statuses = listeners.statuses()
        let task = Task {
            for await status in statuses {
                // Statuses that were buffered before the cancellation are dropped.
                guard !Task.isCancelled else { return }
                handler(status)
            }
        }
        listening.withLock { exchange(&$0, with: task) }?.cancel()
    }

    /// Ends all sequences of ``statuses``, and stops calling the handler.
    ///
    /// You can start new sequences and set a new handler later.
    public func stopListening() {
        listening.withLock { $0.take() }?.cancel()
        listeners.end()
    }
}

extension NetworkReachabilityManager: ConnectivityMonitoring {
    /// Whether there is currently a route, or the status is unknown.
    package var isConnected: Bool { status != .notReachable }

    /// Waits until there is a route or the status is unknown.
    ///
    /// ``stopListening()`` has no effect on this method.
    ///
    /// - Throws: `CancellationError` as soon as the calling task is cancelled.
    @concurrent
    package func waitUntilConnected() async throws {
        for await status in waiters.statuses() where status != .notReachable { return }
        throw CancellationError()
    }

    /// Returns a new manager for the host if the host is an IP address or `localhost`; otherwise returns this manager.
    ///
    /// With the new manager, a request to a local server does not wait while the Internet is unreachable. A manager
    /// that was created for a host returns itself for any host.
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
