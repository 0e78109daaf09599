public import Bluebonnet

/// Tells whether the machine has a way to a host, or to the Internet, and when that changes.
///
/// It asks the kernel which way packets would take, by rtnetlink, and is notified when links, addresses, routes or
/// rules change. Nothing is sent to the host: reachable means that packets can leave, not that the host answers. So do
/// not ask before you send a request; send it. Use the statuses to try again, for which there is ``OfflineRetrier``,
/// and to tell people why something failed.
///
/// ```swift
/// let manager = NetworkReachabilityManager(host: "example.com")
/// manager?.startListening { status in print(status) }
/// ```
///
/// Keep the manager: its sequences end, and its handler is called no longer, when it is released. All managers of the
/// process share one thread and one socket, which exist only while a listener is active. It needs no privilege. Where
/// the system refuses such sockets, as in some sandboxes, the status is ``Status/unknown``.
///
/// The network is that of the process, or of the thread that begins to listen first where threads have namespaces of
/// their own.
public final class NetworkReachabilityManager: Sendable {
    /// Whether there is a way.
    public enum Status: Hashable, Sendable {
        /// The kernel cannot be asked.
        case unknown
        /// There is no way.
        case notReachable
        /// Packets can leave, over a connection of this kind.
        case reachable(ConnectionType)

        /// The kind of the connection that packets leave by.
        ///
        /// Mobile is what can be seen to be: a link of the kind `wwan` or `rmnet`, a modem without frames around its
        /// packets, a name that begins with `ww`, `rmnet` or `ccmni`. A modem behind a serial line (`ppp0`), a telephone's
        /// hotspot, and a tunnel through a mobile network look like others.
        public enum ConnectionType: Hashable, Sendable {
            /// A cable, a wireless network, a tunnel, the machine itself: whatever is not seen to be mobile.
            case ethernetOrWiFi
            /// A mobile network.
            case cellular
        }
    }

    /// The manager for the Internet, shared by the whole process; stopping it stops it for every user.
    ///
    /// Never `nil`; optional since ``init()`` is.
    public static let `default`: NetworkReachabilityManager? = ofInternet

    static let ofInternet = NetworkReachabilityManager(ReachabilityTarget(.internet))

    /// For listeners, which may be stopped.
    private let listeners: ReachabilityMonitors
    /// For tasks that wait for a network, which stopping the listeners does not affect.
    private let waiters: ReachabilityMonitors
    /// The task that calls the handler.
    private let listening = Locked<Task<Void, Never>?>(nil)

    init(_ target: ReachabilityTarget, changeMonitor: NetworkChangeMonitor = .shared) {
        listeners = ReachabilityMonitors(target, changeMonitor: changeMonitor)
        waiters = ReachabilityMonitors(target, changeMonitor: changeMonitor)
    }

    /// Creates a manager for the Internet at large: whether packets to somewhere on it would leave the machine.
    ///
    /// Any way counts: a default route, two halves of one, as tunnels have them, a rule; by IPv4 or by IPv6. Never `nil`.
    public convenience init?() {
        self.init(ReachabilityTarget(.internet))
    }

    /// Creates a manager for a host.
    ///
    /// An address needs no more than the kernel's answer. A name is looked up, as the system does it, when listening
    /// begins, after each change of the network, and repeatedly while it is not found; one reachable address is enough.
    /// `localhost` is the machine itself.
    ///
    /// - Parameter host: The host's name, or its address of IPv4 or of IPv6, the latter with or without brackets and with
    ///   or without a link (`fe80::1%eth0`). No scheme, port or path: `nil` if the text is not a host.
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

    /// Whether there is a way now; the kernel is asked, which takes some microseconds and does not block.
    ///
    /// The name of a host is not waited for: until it has been looked up, which asking begins, the status is that of the
    /// Internet at large. ``statuses`` and handlers begin with the status of the host itself.
    public var status: Status {
        listeners.target.lookUpIfDue()
        return listeners.target.status()
    }

    /// Whether there is a way now, over whatever connection.
    public var isReachable: Bool { if case .reachable = status { true } else { false } }

    /// Whether there is a way now, over a mobile network.
    public var isReachableOnCellular: Bool { status == .reachable(.cellular) }

    /// Whether there is a way now, over anything but a mobile network.
    public var isReachableOnEthernetOrWiFi: Bool { status == .reachable(.ethernetOrWiFi) }

    // MARK: Listening

    /// A sequence of statuses: the present one, as soon as it is known, and then each that differs from the one before.
    ///
    /// Changes within a twentieth of a second are combined. Any number of tasks may observe; each begins with the
    /// latest status. The sequence ends with ``stopListening()`` and with the manager.
    public var statuses: StreamOf<Status> { listeners.statuses() }

    /// Calls a handler with the present status, and with each that differs from the one before.
    ///
    /// Runs the handler on the global pool, one call after the other. A handler that was given before is replaced.
    ///
    /// - Parameter handler: Called with the status. After ``stopListening()`` no call begins, but one may be under way.
    @_disfavoredOverload  // the overload with a queue is preferred where it exists
    public func startListening(onUpdatePerforming handler: @escaping @Sendable (Status) -> Void) {
        let statuses = listeners.statuses()
        let task = Task {
            for await status in statuses {
                // What was waiting when it was stopped is not of interest any longer.
                guard !Task.isCancelled else { return }
                handler(status)
            }
        }
        listening.withLock { exchange(&$0, with: task) }?.cancel()
    }

    /// Ends all sequences of ``statuses``, and calls the handler no longer.
    ///
    /// Sequences that are requested later, and handlers that are set later, start again.
    public func stopListening() {
        listening.withLock { $0.take() }?.cancel()
        listeners.end()
    }
}

extension NetworkReachabilityManager: ConnectivityMonitoring {
    /// Whether there is a way now, or it is not known that there is none.
    package var isConnected: Bool { status != .notReachable }

    /// Returns when there is a way, or when it is not known that there is none.
    ///
    /// This does not depend on listeners, or on their being stopped.
    ///
    /// - Throws: `CancellationError` as soon as its task is cancelled.
    @concurrent
    package func waitUntilConnected() async throws {
        for await status in waiters.statuses() where status != .notReachable { return }
        throw CancellationError()
    }

    /// Returns a manager for the host if that is an address, or the machine itself; this one for any other.
    ///
    /// So a request to a server on the local machine or network is not held while there is no Internet.
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
