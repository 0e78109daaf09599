import BluebonnetTesting
import Testing

@testable import Bluebonnet
@testable import BluebonnetReachability

/// Managers in a simulated environment: the tests provide routes, names and the kernel's messages.
@Suite(.timeLimit(.minutes(10))) struct NetworkReachabilityManagerTests {
    private let routes = FakeRoutes()
    private let kernel = FakeKernel()
    private let names = FakeNameResolver()
    private static let first = IPAddress(bytes: [10, 0, 0, 1])
    private static let second = IPAddress(bytes: [10, 0, 0, 2])

    private func makeManager(_ destination: ReachabilityDestination = .internet) -> NetworkReachabilityManager {
        NetworkReachabilityManager(destination, routes, kernel, names)
    }

    @Test func `without a listener, the status is queried on each access`() {
        let manager = makeManager()
        #expect(manager.status == .notReachable && !manager.isReachable && !manager.isConnected)
        routes.set(.ethernet)
        #expect(manager.isReachable && manager.isReachableOnEthernetOrWiFi && !manager.isReachableOnCellular)
        routes.set(.modem)
        #expect(manager.isReachable && !manager.isReachableOnEthernetOrWiFi && manager.isReachableOnCellular)
        routes.set(.unknown)
        #expect(manager.status == .unknown && !manager.isReachable && manager.isConnected)
        #expect(kernel.openings == 0)
    }

    @Test func `an observer receives the current status and each change`() async {
        let manager = makeManager()
        var statuses = manager.statuses.makeAsyncIterator()
        #expect(await statuses.next() == .notReachable)
        for (path, status) in [
            (NetworkPath.ethernet, Status.reachable(.ethernetOrWiFi)), (.modem, .reachable(.cellular)),
            (.unknown, .unknown), (.none, .notReachable),
        ] {
            await unchangedChange()
            routes.set(path)
            kernel.change()
            #expect(await statuses.next() == status)
        }
        manager.stopListening()
        #expect(await statuses.next() == nil)
    }

    /// Simulates a change of the network without an effect, and waits until it was processed.
    private func unchangedChange() async {
        let questions = routes.questions
        kernel.change()
        await until { routes.questions > questions }
    }

    @Test func `messages without a change are ignored, but unreadable messages are not`() async {
        let manager = makeManager()
        var statuses = manager.statuses.makeAsyncIterator()
        #expect(await statuses.next() == .notReachable)
        kernel.send(NetlinkMessage.question(3, sequence: 0, body: [0, 0, 0, 0]))
        let questions = routes.questions
        routes.set(.modem)
        kernel.send([1, 2, 3])
        #expect(await statuses.next() == .reachable(.cellular))
        #expect(routes.questions == questions + 1)
    }

    @Test func `the status is queried only a few times during a burst of changes`() async {
        let manager = makeManager()
        var statuses = manager.statuses.makeAsyncIterator()
        _ = await statuses.next()
        let questions = routes.questions
        for _ in 0..<200 { kernel.change() }
        routes.set(.ethernet)
        kernel.change()
        #expect(await statuses.next() == .reachable(.ethernetOrWiFi))
        #expect(routes.questions - questions < 20)
    }

    @Test func `each observer begins with the latest status`() async {
        routes.set(.ethernet)
        let manager = makeManager()
        var first = manager.statuses.makeAsyncIterator()
        #expect(await first.next() == .reachable(.ethernetOrWiFi))
        for _ in 0..<3 {
            var another = manager.statuses.makeAsyncIterator()
            #expect(await another.next() == .reachable(.ethernetOrWiFi))
        }
        #expect(kernel.openings == 1)
    }

    @Test func `iterating over a sequence again starts to listen again`() async {
        routes.set(.ethernet)
        let manager = makeManager()
        let statuses = manager.statuses
        for _ in 0..<3 {
            for await status in statuses {
                #expect(status == .reachable(.ethernetOrWiFi))
                break
            }
            await until { kernel.changeMonitor.listenerCount == 0 }
        }
        manager.stopListening()
        for await status in statuses {
            #expect(status == .reachable(.ethernetOrWiFi))
            break
        }
    }

    @Test func `sequences end when the manager is released, even if they are read later`() async {
        var manager: NetworkReachabilityManager? = makeManager()
        let begun = manager?.statuses
        var iterator = begun?.makeAsyncIterator()
        #expect(await iterator?.next() == .notReachable)
        manager = nil
        #expect(await iterator?.next() == nil)
        var late = begun?.makeAsyncIterator()
        #expect(await late?.next() == nil)
        #expect(kernel.changeMonitor.listenerCount == 0)
    }

    @Test func `listening ends when the last observer leaves`() async {
        let manager = makeManager()
        let unread = manager.statuses
        #expect(kernel.changeMonitor.listenerCount == 0)
        let begun = unread.makeAsyncIterator()
        for await _ in manager.statuses { break }
        #expect(kernel.changeMonitor.listenerCount == 1)
        withExtendedLifetime(begun) {}
        let task = Task { for await _ in manager.statuses {} }
        task.cancel()
        await task.value
        await until { kernel.changeMonitor.listenerCount <= 1 }
    }

    // MARK: Handlers

    @Test func `a handler is called in order and not after it was stopped`() async {
        let manager = makeManager()
        let heard = RecordedValues<Status>()
        manager.startListening { status in heard.append(status) }
        await until { heard.all == [.notReachable] }
        routes.set(.ethernet)
        kernel.change()
        await until { heard.all == [.notReachable, .reachable(.ethernetOrWiFi)] }
        manager.stopListening()
        #expect(kernel.changeMonitor.listenerCount == 0)
        routes.set(.modem)
        kernel.change()
        let late = RecordedValues<Status>()
        manager.startListening { status in late.append(status) }
        await until { late.all == [.reachable(.cellular)] }
        #expect(heard.all.count == 2)
        manager.stopListening()
    }

    @Test func `a second handler replaces the first handler`() async {
        let manager = makeManager()
        let heard = RecordedValues<Int>()
        manager.startListening { _ in heard.append(1) }
        await until { heard.all == [1] }
        manager.startListening { _ in heard.append(2) }
        await until { heard.all == [1, 2] }
        routes.set(.ethernet)
        kernel.change()
        await until { heard.all == [1, 2, 2] }
        manager.stopListening()
    }

    @Test func `a handler does not retain the manager and ends with it`() async {
        var manager: NetworkReachabilityManager? = makeManager()
        weak let reference = manager
        let gate = Gate()
        manager?.startListening { _ in gate.open() }
        await gate.wait()
        manager = nil
        #expect(reference == nil)
        await until { kernel.changeMonitor.listenerCount == 0 }
    }

    // MARK: Without netlink

    @Test func `without sockets, the status is unknown, also in a sequence`() async {
        kernel.refuse()
        routes.set(.unknown)
        let manager = makeManager()
        var statuses = manager.statuses.makeAsyncIterator()
        #expect(await statuses.next() == .unknown)
        #expect(!manager.isReachable)
        manager.stopListening()
        #expect(await statuses.next() == nil)
    }

    @Test func `a refused or failed socket is opened again and the status is queried each time`() async {
        kernel.refuse()
        let manager = makeManager()
        var statuses = manager.statuses.makeAsyncIterator()
        #expect(await statuses.next() == .notReachable)
        routes.set(.ethernet)
        #expect(await statuses.next() == .reachable(.ethernetOrWiFi))
        kernel.giveBrokenOnes()
        routes.set(.modem)
        #expect(await statuses.next() == .reachable(.cellular))
        kernel.giveGoodOnes()
        await until { kernel.openings == 1 }
        routes.set(.none)
        kernel.change()
        #expect(await statuses.next() == .notReachable)
        manager.stopListening()
        #expect(await statuses.next() == nil)
    }

    // MARK: Waiting

    @Test func `a task that waits for a network resumes although a listener was stopped`() async throws {
        let manager = makeManager()
        let waiting = Task { try await manager.waitUntilConnected() }
        await until { kernel.changeMonitor.listenerCount == 1 }
        manager.stopListening()
        routes.set(.modem)
        kernel.change()
        try await waiting.value
        await until { kernel.changeMonitor.listenerCount == 0 }
    }

    @Test func `cancelling ends the wait at once`() async {
        let manager = makeManager()
        let waiting = Task { try await manager.waitUntilConnected() }
        await until { kernel.changeMonitor.listenerCount == 1 }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        await until { kernel.changeMonitor.listenerCount == 0 }
    }

    @Test(arguments: [
        ("127.0.0.1", true), ("localhost", true), ("[::1]", true), ("10.0.0.1", true), ("example.com", false),
        ("", false),
    ])
    func `an address has its own manager, a name uses the Internet's`(_ host: String, _ isOther: Bool) throws {
        let manager = makeManager()
        let monitor = try #require(manager.connectivity(toHost: host) as? NetworkReachabilityManager)
        #expect((monitor !== manager) == isOther)
    }
}
