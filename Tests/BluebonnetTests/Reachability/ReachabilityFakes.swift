import CSystem
import Glibc
import TestSupport

@testable import Bluebonnet
@testable import BluebonnetReachability

typealias Status = NetworkReachabilityManager.Status

/// Routes that a test simulates.
final class FakeRoutes: Sendable {
    private let answers: Locked<[IPAddress: NetworkPath]>
    private let asked = Locked(0)

    init(_ answers: [IPAddress: NetworkPath] = [:]) {
        self.answers = Locked(answers)
    }

    /// The number of questions so far.
    var questions: Int { asked.withLock { $0 } }

    func paths(to addresses: [IPAddress]) -> [NetworkPath] {
        asked.withLock { $0 += 1 }
        return answers.withLock { answers in addresses.map { answers[$0] ?? .none } }
    }

    func set(_ path: NetworkPath, to address: IPAddress) {
        answers.withLock { $0[address] = path }
    }

    /// Sets the way to the Internet at large.
    func set(_ path: NetworkPath) {
        for address in IPAddress.internet { set(path, to: address) }
    }
}

extension NetworkPath {
    static let ethernet = through(NetworkRoute(kind: .sent, link: 2), NetworkLink(number: 2, name: "eth0"))
    static let modem = through(NetworkRoute(kind: .sent, link: 3), NetworkLink(number: 3, name: "wwan0"))
}

/// Names whose addresses a test provides at any time.
final class FakeNameResolver: Sendable {
    private struct State {
        var answer: NameLookupResult?
        var waiting: [@Sendable (NameLookupResult) -> Void] = []
        var count = 0
    }

    private let state: Locked<State>

    /// - Parameter answer: The immediate result; `nil` waits for ``answer(_:)``.
    init(_ answer: NameLookupResult? = nil) {
        state = Locked(State(answer: answer))
    }

    /// How many look-ups there were.
    var count: Int { state.withLock { $0.count } }

    /// How many look-ups wait for an answer.
    var waiting: Int { state.withLock { $0.waiting.count } }

    func lookUp(_ name: String, _ completion: @escaping @Sendable (NameLookupResult) -> Void) {
        let answer = state.withLock { state in
            state.count += 1
            if state.answer == nil { state.waiting.append(completion) }
            return state.answer
        }
        if let answer { completion(answer) }
    }

    /// Completes all waiting lookups.
    func answer(_ answer: NameLookupResult) {
        let waiting = state.withLock { state in
            defer { state.waiting = [] }
            return state.waiting
        }
        for completion in waiting { completion(answer) }
    }

    /// Answers all later lookups.
    func set(_ answer: NameLookupResult?) {
        state.withLock { $0.answer = answer }
    }
}

/// A monitor whose messages a test writes, in the place of the kernel.
final class FakeKernel: Sendable {
    private enum Sockets {
        case good
        case broken
        case none
    }

    private struct State {
        /// The ends to write to.
        var ends: [Int32] = []
        var gives = Sockets.good

        mutating func open() -> NetlinkSocket? {
            switch gives {
            case .none: return nil
            case .broken:
                // Ready to be read, and then no socket.
                let descriptor = bb_eventfd_create()
                bb_eventfd_signal(descriptor)
                return NetlinkSocket(owning: descriptor)
            case .good:
                var pair: [Int32] = [0, 0]
                let type = Int32(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
                guard unsafe socketpair(AF_UNIX, type, 0, &pair) == 0 else { return nil }
                ends.append(pair[1])
                return NetlinkSocket(owning: pair[0])
            }
        }
    }

    private let state: Locked<State>
    let changeMonitor: NetworkChangeMonitor

    init() {
        let state = Locked(State())
        self.state = state
        changeMonitor = NetworkChangeMonitor(retryDelay: .milliseconds(1)) { state.withLock { $0.open() } }
    }

    deinit {
        for end in state.withLock({ $0.ends }) { close(end) }
    }

    /// How many good sockets there were.
    var openings: Int { state.withLock { $0.ends.count } }

    func refuse() {
        state.withLock { $0.gives = .none }
    }

    func giveBrokenOnes() {
        state.withLock { $0.gives = .broken }
    }

    func giveGoodOnes() {
        state.withLock { $0.gives = .good }
    }

    /// Sends bytes to all sockets, including closed sockets.
    func send(_ bytes: [UInt8]) {
        state.withLock { state in
            for end in state.ends { _ = unsafe Glibc.send(end, bytes, bytes.count, Int32(MSG_NOSIGNAL)) }
        }
    }

    /// Sends a message about a change.
    func change() {
        send(NetlinkMessage.question(bb_rtm_new_route, sequence: 0, body: []))
    }
}

/// The values that a handler received.
final class RecordedValues<Element: Sendable>: Sendable {
    private let elements = Locked<[Element]>([])

    var all: [Element] { elements.withLock { $0 } }

    func append(_ element: Element) {
        elements.withLock { $0.append(element) }
    }
}

/// Waits until a condition holds.
func until(_ condition: () -> Bool) async {
    while !condition() { await Task.yield() }
}

extension NetworkReachabilityManager {
    /// A manager in a simulated environment.
    convenience init(
        _ destination: ReachabilityDestination = .internet, _ routes: FakeRoutes, _ kernel: FakeKernel,
        _ names: FakeNameResolver = FakeNameResolver()
    ) {
        self.init(
            ReachabilityTarget(destination, paths: routes.paths, resolve: names.lookUp),
            changeMonitor: kernel.changeMonitor)
    }
}
