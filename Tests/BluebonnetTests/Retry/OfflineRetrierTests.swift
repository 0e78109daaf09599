import Bluebonnet
import BluebonnetReachability
import BluebonnetTesting
import FoundationEssentials
import Testing

@Suite(.timeLimit(.minutes(10))) struct OfflineRetrierTests {
    /// A network that a test switches on.
    private final class Network: ConnectivityMonitoring {
        private let isOn: Locked<Bool>
        let isWaitedFor = Gate()
        private let gate = Gate()

        init(isOn: Bool) {
            self.isOn = Locked(isOn)
        }

        var isConnected: Bool { isOn.withLock { $0 } }

        func waitUntilConnected() async throws {
            isWaitedFor.open()
            await gate.wait()
            try Task.checkCancellation()
        }

        func switchOn() {
            isOn.withLock { $0 = true }
            gate.open()
        }
    }

    private func session(
        _ transport: StubTransport, _ retrier: OfflineRetrier,
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await ContinuousClock().sleep(for: $0) }
    ) -> Session {
        var configuration = Session.Configuration()
        configuration.sleep = sleep
        return Session(configuration: configuration, interceptor: retrier, transport: transport)
    }

    private func transport(_ kind: RequestError.Kind) -> StubTransport {
        let transport = StubTransport()
        transport.stub(nil, "/a", .failure(RequestError(kind)), .text("ok"))
        return transport
    }

    @Test(arguments: [HTTPMethod.get, .post])
    func `a request that failed without a network is retried when it returns`(_ method: HTTPMethod) async throws {
        let network = Network(isOn: false)
        let transport = transport(.connection(.nameNotResolved))
        let session = session(transport, OfflineRetrier(monitor: network, maximumWait: .seconds(3600)))
        let task = session.request("http://example.com/a", method: method).serializingString()
        await network.isWaitedFor.wait()
        #expect(transport.requests.count == 1)
        network.switchOn()
        #expect(try await task.value == "ok")
        await session.shutdown()
    }

    @Test func `a request that failed with a network is not retried`() async throws {
        let transport = transport(.connection(.refused))
        let session = session(transport, OfflineRetrier(monitor: Network(isOn: true)))
        let answer = await session.request("http://example.com/a").serializingString().response
        #expect(answer.error?.kind == .connection(.refused))
        #expect(transport.requests.count == 1)
        await session.shutdown()
    }

    @Test(arguments: [RequestError.Kind.connection(.lost), .timedOut(.idle), .invalidResponse(.malformed)])
    func `a request that may have been sent does not wait`(_ kind: RequestError.Kind) async throws {
        let session = session(transport(kind), OfflineRetrier(monitor: Network(isOn: false)))
        #expect(await session.request("http://example.com/a").serializingString().response.error?.kind == kind)
        await session.shutdown()
    }

    @Test func `no request waits for longer than the maximum`() async throws {
        let asked = Locked<[Duration]>([])
        let retrier = OfflineRetrier(monitor: Network(isOn: false), maximumWait: .seconds(7))
        let session = session(transport(.connection(.refused)), retrier) { duration in
            asked.withLock { $0.append(duration) }
        }
        let answer = await session.request("http://example.com/a").serializingString().response
        #expect(answer.error?.kind == .connection(.refused))
        #expect(asked.withLock { $0 } == [.seconds(7)])
        await session.shutdown()
    }

    @Test func `the monitor is queried for the request's host`() async throws {
        final class Networks: ConnectivityMonitoring {
            let hosts = Locked<[String]>([])
            let local = Network(isOn: true)
            var isConnected: Bool { false }
            func waitUntilConnected() async throws { throw CancellationError() }

            func connectivity(toHost host: String) -> any ConnectivityMonitoring {
                hosts.withLock { $0.append(host) }
                return host == "192.168.0.7" ? local : self
            }
        }
        let networks = Networks()
        for host in ["192.168.0.7", "example.com", "[::1]"] {
            let transport = transport(.connection(.refused))
            let session = session(transport, OfflineRetrier(monitor: networks))
            let answer = await session.request("http://\(host):81/a").serializingString().response
            #expect(answer.error?.kind == .connection(.refused))
            await session.shutdown()
        }
        #expect(networks.hosts.withLock { $0 } == ["192.168.0.7", "example.com", "::1"])
    }

    @Test func `cancelling ends the wait at once`() async throws {
        let network = Network(isOn: false)
        let session = session(
            transport(.connection(.refused)), OfflineRetrier(monitor: network, maximumWait: .seconds(3600)))
        let request = session.request("http://example.com/a")
        async let answer = request.serializingString(automaticallyCancelling: false).response
        await network.isWaitedFor.wait()
        request.cancel()
        #expect(await answer.error?.isCancellation == true)
        network.switchOn()
        await session.shutdown()
    }

    @Test(arguments: ["127.0.0.1", "localhost", "[::1]"])
    func `without a monitor, the kernel is queried and the machine itself is reachable`(_ host: String) async throws {
        let transport = transport(.connection(.refused))
        let session = session(transport, OfflineRetrier(maximumWait: .seconds(3600)))
        let answer = await session.request("http://\(host)/a").serializingString().response
        #expect(answer.error?.kind == .connection(.refused))
        #expect(transport.requests.count == 1)
        await session.shutdown()
    }
}
