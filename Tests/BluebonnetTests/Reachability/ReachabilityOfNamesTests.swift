import BluebonnetTesting
import Testing

@testable import Bluebonnet
@testable import BluebonnetReachability

/// Managers for host names in a simulated environment.
@Suite(.timeLimit(.minutes(10))) struct ReachabilityOfNamesTests {
    private let routes = FakeRoutes()
    private let kernel = FakeKernel()
    private let names = FakeNameResolver()
    private static let first = IPAddress(bytes: [10, 0, 0, 1])
    private static let second = IPAddress(bytes: [10, 0, 0, 2])

    private func makeManager(_ destination: ReachabilityDestination = .internet) -> NetworkReachabilityManager {
        NetworkReachabilityManager(destination, routes, kernel, names)
    }

    @Test func `a name is looked up before the first status, and again after each change`() async {
        routes.set(.ethernet)
        let manager = makeManager(.name("example.com"))
        var statuses = manager.statuses.makeAsyncIterator()
        await until { names.waiting == 1 }
        routes.set(.modem, to: Self.second)
        names.answer(.addresses([Self.first]))
        #expect(await statuses.next() == .notReachable)
        kernel.change()
        await until { names.waiting == 1 }
        names.answer(.addresses([Self.first, Self.second]))
        #expect(await statuses.next() == .reachable(.cellular))
        #expect(manager.isReachableOnCellular)
    }

    @Test func `known addresses show a change before the name is looked up`() async {
        routes.set(.ethernet, to: Self.first)
        let manager = makeManager(.name("example.com"))
        var statuses = manager.statuses.makeAsyncIterator()
        await until { names.waiting == 1 }
        names.answer(.addresses([Self.first]))
        #expect(await statuses.next() == .reachable(.ethernetOrWiFi))
        routes.set(.none, to: Self.first)
        kernel.change()
        #expect(await statuses.next() == .notReachable)
        // Without a network, no name server responds. This does not affect the known addresses.
        await until { names.waiting == 1 }
        names.answer(.noAnswer)
        routes.set(.ethernet, to: Self.first)
        kernel.change()
        #expect(await statuses.next() == .reachable(.ethernetOrWiFi))
    }

    @Test func `a change during a lookup repeats the lookup`() async {
        let manager = makeManager(.name("example.com"))
        var statuses = manager.statuses.makeAsyncIterator()
        await until { names.waiting == 1 }
        names.set(.addresses([Self.second]))
        let internet = makeManager()
        var others = internet.statuses.makeAsyncIterator()
        #expect(await others.next() == .notReachable)
        for (path, status) in [
            (NetworkPath.ethernet, Status.reachable(.ethernetOrWiFi)), (.modem, .reachable(.cellular)),
        ] {
            routes.set(path)
            kernel.change()
            // With the second change, all listeners have received the first.
            #expect(await others.next() == status)
        }
        #expect(names.count == 1)
        names.answer(.addresses([Self.first]))
        #expect(await statuses.next() == .notReachable)
        await until { names.count == 2 }
        manager.stopListening()
    }

    @Test(arguments: [NameLookupResult.noSuchName, .noAnswer])
    func `a name that is not found is not reachable and is looked up again without a change`(
        _ answer: NameLookupResult
    ) async {
        routes.set(.ethernet, to: Self.first)
        let manager = makeManager(.name("example.com"))
        var statuses = manager.statuses.makeAsyncIterator()
        await until { names.waiting == 1 }
        names.set(.addresses([Self.first]))
        names.answer(answer)
        #expect(await statuses.next() == .notReachable)
        #expect(await statuses.next() == .reachable(.ethernetOrWiFi))
    }

    @Test func `the status does not wait for a lookup and is the status of the Internet until then`() async {
        let manager = makeManager(.name("example.com"))
        #expect(manager.status == .notReachable)
        routes.set(.modem)
        #expect(manager.status == .reachable(.cellular))
        #expect(names.count == 1)
        routes.set(.ethernet, to: Self.first)
        names.answer(.addresses([Self.first]))
        #expect(manager.status == .reachable(.ethernetOrWiFi))
        #expect(names.count == 1)
    }

    @Test func `names are looked up with the system's resolver`() async {
        func answer(_ name: String) async -> NameLookupResult {
            await withCheckedContinuation { continuation in
                NameResolver.shared.lookUp(name) { continuation.resume(returning: $0) }
            }
        }
        guard case .addresses(let addresses) = await answer("localhost") else {
            Issue.record("localhost was not found")
            return
        }
        #expect(addresses.contains(.loopback4) || addresses.contains(.loopback6))
        #expect(await answer("10.0.0.1") == .addresses([Self.first]))
        #expect(await answer("fe80::1%lo") == .addresses([IPAddress("fe80::1%1")].compactMap(\.self)))
        #expect(await answer("a..b") != .addresses([]))
        let many = await withTaskGroup(of: NameLookupResult.self) { group in
            for _ in 0..<64 { group.addTask { await answer("localhost") } }
            return await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(many.count == 1)
    }
}
