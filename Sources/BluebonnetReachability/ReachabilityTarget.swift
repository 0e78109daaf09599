import Bluebonnet
import CSystem

/// A destination whose reachability is observed.
enum ReachabilityDestination: Hashable, Sendable {
    /// The Internet at large.
    case internet
    /// A host by its addresses.
    case addresses([IPAddress])
    /// A host by its name.
    case name(String)

    /// Parses a host as in a URL; returns `nil` if the text is not a host, for example if it is a whole URL.
    init?(host: String) {
        let name = HostName.pattern(host)
        if let address = IPAddress(host) ?? name.flatMap({ IPAddress($0) }) {
            self = .addresses([address])
            return
        }
        guard let name, !name.hasPrefix("*"), name.utf8.count <= 255 else { return nil }
        // This name needs no lookup (RFC 6761 §6.3).
        let isLocal = name == "localhost" || name.hasSuffix(".localhost")
        self = isLocal ? .addresses([.loopback4, .loopback6]) : .name(name)
    }
}

/// Determines the reachability of a destination, and remembers the addresses of a named destination.
final class ReachabilityTarget: Sendable {
    typealias Status = NetworkReachabilityManager.Status
    /// A function that returns one path for each address.
    typealias PathLookup = @Sendable ([IPAddress]) -> [NetworkPath]
    /// A function that looks up a name, and calls the completion once with the result, on any thread.
    typealias Resolve = @Sendable (_ name: String, _ completion: @escaping @Sendable (NameLookupResult) -> Void) -> Void

    private enum Name {
        case neverLookedUp
        case addresses([IPAddress])
        case failed
    }

    private struct State {
        var name = Name.neverLookedUp
        /// When the latest lookup began, on the monotonic clock.
        var lookedUp = Int64.min
        var didLastLookUpFail = false
    }

    let destination: ReachabilityDestination
    private let paths: PathLookup
    private let resolve: Resolve
    private let state = Locked(State())

    init(
        _ destination: ReachabilityDestination, paths: @escaping PathLookup = NetworkPath.paths,
        resolve: @escaping Resolve = NameResolver.shared.lookUp
    ) {
        self.destination = destination
        self.paths = paths
        self.resolve = resolve
    }

    /// Whether there is a name to look up.
    var hasName: Bool { if case .name = destination { true } else { false } }

    /// Whether the name has been looked up, successfully or not.
    var isLookedUp: Bool {
        state.withLock { if case .neverLookedUp = $0.name { false } else { true } }
    }

    /// Whether the latest lookup failed and must be repeated.
    var didLastLookUpFail: Bool { state.withLock { $0.didLastLookUpFail } }

    /// Returns the current status of the known addresses.
    ///
    /// A name that was never looked up counts as a host on the Internet.
    func status() -> Status {
        switch (destination, state.withLock({ $0.name })) {
        case (.internet, _), (.name, .neverLookedUp): statusOfInternet()
        case (.addresses(let addresses), _), (.name, .addresses(let addresses)): status(of: addresses)
        case (.name, .failed): .notReachable
        }
    }

    private func status(of addresses: [IPAddress]) -> Status {
        Status(of: zip(paths(addresses), addresses).map { path, address in path.status(of: address) })
    }

    private func statusOfInternet() -> Status {
        Status(of: paths(IPAddress.internet).map(\.statusOfInternet))
    }

    /// Looks up the name, and then calls the closure; keeps the known addresses if no name server responds.
    func lookUp(_ completion: @escaping @Sendable () -> Void) {
        guard case .name(let name) = destination else { return completion() }
        state.withLock { $0.lookedUp = MonotonicClock.now() }
        resolve(name) { [self] answer in
            state.withLock { state in
                if case .addresses = answer { state.didLastLookUpFail = false } else { state.didLastLookUpFail = true }
                switch (answer, state.name) {
                case (.addresses(let addresses), _): state.name = .addresses(addresses)
                case (.noAnswer, .addresses): break
                case (.noAnswer, _), (.noSuchName, _): state.name = .failed
                }
            }
            completion()
        }
    }

    /// Looks up the name in the background if the latest lookup is too old.
    ///
    /// This method is for targets without listeners, because only listeners start lookups automatically.
    func lookUpIfDue() {
        guard hasName else { return }
        let isDue = state.withLock { state in
            let age = state.didLastLookUpFail ? Self.failureAge : Self.successAge
            let now = MonotonicClock.now()
            guard state.lookedUp == .min || now - state.lookedUp >= age else { return false }
            state.lookedUp = now
            return true
        }
        if isDue { lookUp {} }
    }

    /// The time for which the result of a lookup is used, in nanoseconds.
    private static let successAge: Int64 = 60_000_000_000
    private static let failureAge: Int64 = 1_000_000_000
}

extension IPAddress {
    /// Whether the address is an IPv6 address.
    var isIPv6: Bool { bytes.count == 16 }

    /// Whether the address is a loopback address (RFC 1122 §3.2.1.3, RFC 4291 §2.5.3).
    var isLoopback: Bool { bytes == Self.loopback6.bytes || !isIPv6 && bytes.first == 127 }

    /// The number of the link in the address; `nil` if the address has no link, 0 if the link does not exist.
    var zoneNumber: UInt32? {
        zone.map { zone in UInt32(zone) ?? NetlinkSocket.number(ofLink: zone) }
    }

    static let loopback4 = IPAddress(bytes: [127, 0, 0, 1])
    static let loopback6 = IPAddress(bytes: [UInt8](repeating: 0, count: 15) + [1])

    /// Two addresses that represent the Internet: the IPv4 and IPv6 addresses of a DNS root server.
    ///
    /// Nothing is sent to these addresses. The kernel is queried for the route to them.
    static let internet = [
        IPAddress(bytes: [198, 41, 0, 4]),
        IPAddress(bytes: [0x20, 0x01, 0x05, 0x03, 0xba, 0x3e, 0, 0, 0, 0, 0, 0, 0, 0x02, 0, 0x30]),
    ]
}
