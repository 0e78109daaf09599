import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet
@testable import BluebonnetReachability

/// Concurrent starts, stops and changes, with a simulated kernel and with the real kernel.
@Suite(.timeLimit(.minutes(5 * raceMultiplier)), .serialized) struct ReachabilityRaces {
    private static let iterations = Sanitizer.current == nil ? 10_000 : 2_000

    @Test func `starting and stopping at the same time leaves no listener and no waiting task`() async throws {
        let routes = FakeRoutes()
        let kernel = FakeKernel()
        routes.set(.ethernet)
        let manager = NetworkReachabilityManager(.internet, routes, kernel)
        try await race(groups: Self.iterations / 50, of: 50) { iteration in
            switch iteration % 5 {
            case 0:
                // Ended by leaving the loop, or by the tasks that stop the manager.
                for await status in manager.statuses {
                    #expect(status == .reachable(.ethernetOrWiFi))
                    break
                }
            case 1: manager.startListening { #expect($0 == .reachable(.ethernetOrWiFi)) }
            case 2:
                await dawdle(iteration)
                manager.stopListening()
            case 3:
                let task = Task { for await _ in manager.statuses {} }
                await dawdle(iteration)
                task.cancel()
                await task.value
            default: try await manager.waitUntilConnected()
            }
        }
        manager.stopListening()
        await until { kernel.changeMonitor.listenerCount == 0 }
    }

    @Test func `releasing a manager while the network changes ends all of its sequences`() async throws {
        let routes = FakeRoutes()
        let kernel = FakeKernel()
        let changes = Task {
            var isThere = false
            while !Task.isCancelled {
                isThere.toggle()
                routes.set(isThere ? .ethernet : .none)
                kernel.change()
                await Task.yield()
            }
        }
        let keeper = NetworkReachabilityManager(.internet, routes, kernel)
        keeper.startListening { _ in }
        try await race(groups: Self.iterations / 50, of: 50) { iteration in
            var manager: NetworkReachabilityManager? = NetworkReachabilityManager(.internet, routes, kernel)
            let statuses = manager?.statuses
            let observer = Task {
                var latest: Status?
                for await status in statuses ?? .ended {
                    #expect(status != latest)
                    latest = status
                }
            }
            manager?.startListening { _ in }
            await dawdle(iteration)
            manager = nil
            await observer.value
        }
        changes.cancel()
        await changes.value
        keeper.stopListening()
        await until { kernel.changeMonitor.listenerCount == 0 }
    }

    @Test func `the last observed status is the final status`() async throws {
        let routes = FakeRoutes()
        let kernel = FakeKernel()
        let manager = NetworkReachabilityManager(.internet, routes, kernel)
        let paths: [NetworkPath] = [.none, .ethernet, .modem, .unknown]
        let heard = RecordedValues<Status>()
        manager.startListening { heard.append($0) }
        for round in 0..<(Sanitizer.current == nil ? 60 : 20) * raceMultiplier {
            for number in 0..<20 {
                routes.set(paths[(round + number) % 4])
                kernel.change()
                await dawdle(number)
            }
            for (path, status) in [(NetworkPath.modem, Status.reachable(.cellular)), (.none, .notReachable)] {
                routes.set(path)
                kernel.change()
                await until { heard.all.last == status }
            }
        }
        manager.stopListening()
        #expect(zip(heard.all, heard.all.dropFirst()).allSatisfy { $0 != $1 })
    }

    @Test func `lookups that complete during the end resume no task twice`() async throws {
        let routes = FakeRoutes()
        let kernel = FakeKernel()
        let names = FakeNameResolver()
        let address = IPAddress(bytes: [10, 0, 0, 1])
        routes.set(.modem, to: address)
        let answers = Task {
            while !Task.isCancelled {
                names.answer(.addresses([address]))
                await Task.yield()
            }
        }
        try await race(groups: Self.iterations / 50, of: 50) { iteration in
            var manager: NetworkReachabilityManager? = NetworkReachabilityManager(
                .name("example.com"), routes, kernel, names)
            let statuses = manager?.statuses
            let observer = Task {
                for await status in statuses ?? .ended { #expect(status == .reachable(.cellular)) }
            }
            if iteration % 7 == 0 { kernel.change() }
            if iteration % 3 == 0 { _ = manager?.status }
            await dawdle(iteration)
            manager = nil
            await observer.value
        }
        answers.cancel()
        await answers.value
        await until { kernel.changeMonitor.listenerCount == 0 }
    }

    @Test func `listening to the real kernel can start and stop any number of times`() async throws {
        let localhost = try #require(NetworkReachabilityManager(host: "localhost"))
        try await race(groups: Self.iterations / 100, of: 50) { iteration in
            let manager = iteration % 2 == 0 ? localhost : NetworkReachabilityManager(host: "127.0.0.1")
            for await status in manager?.statuses ?? .ended {
                #expect(status == .reachable(.ethernetOrWiFi))
                break
            }
            if iteration % 5 == 0 { localhost.startListening { _ in } }
            if iteration % 11 == 0 { localhost.stopListening() }
        }
        localhost.stopListening()
    }

    @Test func `cancelling a request that waits for the network ends it once`() async throws {
        let routes = FakeRoutes()
        let kernel = FakeKernel()
        let monitor = NetworkReachabilityManager(.internet, routes, kernel)
        let transport = StubTransport()
        transport.stub(nil, "/a", .failure(RequestError(.connection(.nameNotResolved))))
        let session = Session(
            interceptor: OfflineRetrier(monitor: monitor, maximumWait: .seconds(3600)), transport: transport)
        try await race(groups: Self.iterations / 100, of: 50) { iteration in
            let request = session.request("http://example.com/a")
            async let answer = request.serializingString(automaticallyCancelling: false).response
            await dawdle(iteration)
            request.cancel()
            #expect(await answer.error?.isCancellation == true)
        }
        await session.shutdown()
        await until { kernel.changeMonitor.listenerCount == 0 }
    }
}

extension StreamOf<Status> {
    fileprivate static var ended: StreamOf<Status> { Broadcast<Status>().stream(bufferingPolicy: .latest) }
}
