import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// Sessions with several event loops on the wire.
@Suite(.timeLimit(.minutes(10))) struct EventLoopsTests {
    private func session(
        loops: Int = 4, manager: ServerTrustManager? = nil,
        _ configure: (inout Session.Configuration) -> Void = { _ in }
    ) -> (Session, CurlTransport) {
        var configuration = Session.Configuration()
        configuration.eventLoops = .init(loops)
        configuration.proxy = .none
        configure(&configuration)
        let transport = CurlTransport(configuration: configuration, serverTrustManager: manager)
        return (Session(configuration: configuration, transport: transport), transport)
    }

    private func usedLoops(_ transport: CurlTransport) -> [Int] {
        (0..<64).filter { transport.group.engine(ofLoop: $0) != nil }
    }

    @Test func `requests use all loops, and each is answered`() async throws {
        let server = try await LocalServer { $0.get("/:n") { .text($0.parameters["n"] ?? "") } }
        let (session, transport) = session()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<400 {
                group.addTask {
                    let text = try await session.request(server.url("/\(number)")).serializingString().value
                    #expect(text == "\(number)")
                }
            }
            try await group.waitForAll()
        }
        #expect(usedLoops(transport) == [0, 1, 2, 3])
        await session.shutdown()
        #expect(usedLoops(transport).isEmpty)
        await server.stop()
    }

    @Test func `requests one after another use one connection`() async throws {
        let server = try await LocalServer { $0.get("/") { _ in .ok } }
        let (session, transport) = session()
        for _ in 0..<50 { _ = try await session.request(server.url).serializingData(emptyResponseCodes: [200]).value }
        #expect(server.connectionCount == 1)
        #expect(usedLoops(transport).count == 1)
        session.renewConnections()
        try await server.waitForOpenConnections(atMost: 0)
        await session.shutdown()
        await server.stop()
    }

    /// The numbers of running requests and of connections, as a server sees them.
    private final class Counter: Sendable {
        private let state = Locked((running: 0, most: 0, connections: Set<Int>()))

        var most: Int { state.withLock { $0.most } }
        var connections: Int { state.withLock { $0.connections.count } }

        func handle(_ connection: Int) async {
            state.withLock {
                $0.running += 1
                $0.most = max($0.most, $0.running)
                $0.connections.insert(connection)
            }
            await Task.yield()
            state.withLock { $0.running -= 1 }
        }
    }

    @Test func `limits for connections hold for all loops together`() async throws {
        let counters = (0..<50).map { _ in Counter() }
        let all = Counter()
        let server = try await LocalServer { router in
            router.fallback { request in
                let host = Int(request.headers["Host"]?.split(separator: ".").first?.dropFirst() ?? "") ?? 0
                await counters[host].handle(request.connection)
                await all.handle(request.connection)
                return .ok
            }
        }
        let (session, _) = session {
            $0.connectionLimits.perHost = 4
            $0.connectionLimits.total = 200
            for host in 0..<50 { $0.dns.overrides["h\(host).test:\(server.port)"] = ["127.0.0.1"] }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<10_000 {
                group.addTask {
                    let url = "http://h\(number % 50).test:\(server.port)/"
                    _ = try await session.request(url).serializingData(emptyResponseCodes: [200]).value
                }
            }
            try await group.waitForAll()
        }
        // Each host's connections stay open, so that the server has seen all of them.
        for counter in counters {
            #expect(counter.connections <= 4)
            #expect(counter.most <= 4)
        }
        #expect(counters.contains { $0.connections == 4 })
        #expect(all.connections <= 200)
        await session.shutdown()
        await server.stop()
    }

    @Test(arguments: [1, 4])
    func `a limit for all connections is reached and not exceeded by all loops together`(loops: Int) async throws {
        let gate = Gate()
        let server = try await LocalServer { router in
            router.fallback { _ in
                await gate.wait()
                return .ok
            }
        }
        let (session, transport) = session(loops: loops) {
            $0.connectionLimits.total = 10
            for host in 0..<20 { $0.dns.overrides["h\(host).test:\(server.port)"] = ["127.0.0.1"] }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<200 {
                group.addTask {
                    let url = "http://h\(number % 20).test:\(server.port)/"
                    _ = try await session.request(url).serializingData(emptyResponseCodes: [200]).value
                }
            }
            try await server.waitForConnections(atLeast: 10)
            // Time in which the others would arrive.
            try await Task.sleep(for: .milliseconds(200))
            #expect(server.openConnectionCount == 10)
            #expect(server.connectionCount == 10)
            gate.open()
            try await group.waitForAll()
        }
        #expect(usedLoops(transport).count == loops)
        await session.shutdown()
        await server.stop()
    }

    @Test func `limits for requests hold for all loops together, and no request waits indefinitely`() async throws {
        let counter = Counter()
        let server = try await LocalServer { router in
            router.fallback { request in
                // The server may still handle a request that the client has cancelled.
                let number = Int(request.path.dropFirst()) ?? 0
                if !number.isMultiple(of: 5) { await counter.handle(request.connection) }
                return .ok
            }
        }
        let (session, transport) = session { $0.requestLimits = .init(total: 5) }
        let count = 2000
        let outcomes = await withTaskGroup(of: Bool?.self, returning: [Bool?].self) { group in
            for number in 0..<count {
                group.addTask {
                    let request = session.request(server.url("/\(number)"))
                    let task = request.serializingData(emptyResponseCodes: [200])
                    if number % 7 == 0 {
                        request.suspend()
                        await Task.yield()
                        request.resume()
                    }
                    if number % 5 == 0 { request.cancel() }
                    let response = await task.response
                    return response.error.map { $0.isCancellation ? false : nil } ?? true
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.count == count)
        #expect(!outcomes.contains(nil))
        #expect(outcomes.count { $0 == true } >= count * 4 / 5)
        #expect(counter.most <= 5)
        #expect(usedLoops(transport).count == 4)
        // Nothing is left that would count.
        let more = try await session.request(server.url).serializingData(emptyResponseCodes: [200]).value
        #expect(more.isEmpty)
        await session.shutdown()
        await server.stop()
    }

    @Test func `a cookie is sent with the next request, on whatever loop it runs`() async throws {
        let gate = Gate()
        let server = try await LocalServer { router in
            router.get("/held") { _ in
                await gate.wait()
                return .ok
            }
            router.get("/next") { request in
                let number = Int(request.headers["Cookie"]?.split(separator: "=").last ?? "0") ?? -1
                return .text("\(number)", headers: ["Set-Cookie": "n=\(number + 1); Path=/next"])
            }
        }
        let (session, transport) = session()
        let values = try await withThrowingTaskGroup(of: Void.self) { group in
            var values: [String] = []
            for number in 0..<40 {
                // A request that is held makes its loop busy, and takes its connection.
                group.addTask {
                    _ = try await session.request(server.url("/held")).serializingData(emptyResponseCodes: [200]).value
                }
                while server.requests.count(where: { $0.path == "/held" }) <= number {
                    try await Task.sleep(for: .milliseconds(1))
                }
                values.append(try await session.request(server.url("/next")).serializingString().value)
            }
            gate.open()
            try await group.waitForAll()
            return values
        }
        #expect(values == (0..<40).map(String.init))
        #expect(usedLoops(transport) == [0, 1, 2, 3])
        #expect(try await session.cookies.all().map(\.value) == ["40"])
        await session.shutdown()
        await #expect(throws: RequestError.self) { try await session.cookies.all() }
        await server.stop()
    }

    @Test func `a host that requires TLS on one loop requires it on all`() async throws {
        let port = try #require(try TestServers.tls1_3.url().port)
        let authority = try TestCertificates().authority
        let (session, transport) = session {
            $0.hsts = .memory
            $0.tls.caFile = authority
            $0.httpVersion = .http1_1
            $0.dns.connectTo = [":443": "127.0.0.1:\(port)"]
        }
        _ = try await session.request("https://named.test/hsts").serializingString().value
        let secure = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<40 {
                group.addTask {
                    let response = await session.request("http://named.test/port").serializingString().response
                    return response.response?.url.scheme == "https"
                }
            }
            return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(secure == 40)
        #expect(usedLoops(transport) == [0, 1, 2, 3])
        await session.shutdown()
    }

    @Test func `a server is evaluated once, and not once for each loop`() async throws {
        let calls = Locked(0)
        let evaluator = AsyncClosureTrustEvaluator { _, _ in
            calls.withLock { $0 += 1 }
            try? await Task.sleep(for: .milliseconds(50))
        }
        let manager = ServerTrustManager(evaluators: ["127.0.0.1": evaluator])
        let authority = try TestCertificates().authority
        let (session, transport) = session(manager: manager) {
            $0.tls.caFile = authority
            $0.httpVersion = .http1_1
        }
        let url = try TestServers.tls1_3.url("/port")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<40 { group.addTask { _ = try await session.request(url).serializingString().value } }
            try await group.waitForAll()
        }
        #expect(calls.withLock { $0 } == 1)
        #expect(usedLoops(transport) == [0, 1, 2, 3])
        await session.shutdown()
    }

    @Test func `shutdown answers the requests of all loops`() async throws {
        let gate = Gate()
        let server = try await LocalServer { router in
            router.fallback { _ in
                await gate.wait()
                return .ok
            }
        }
        let (session, transport) = session { $0.requestLimits = .init(total: 30) }
        let kinds = await withTaskGroup(of: RequestError.Kind?.self) { group in
            for _ in 0..<100 {
                group.addTask { await session.request(server.url).serializingData().response.error?.kind }
            }
            while server.requestCount < 30 { try? await Task.sleep(for: .milliseconds(1)) }
            await transport.shutDown()
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(kinds.count == 100)
        #expect(kinds.allSatisfy { $0 == .sessionShutDown })
        gate.open()
        await session.shutdown()
        await server.stop()
    }

    /// Receives the outcome of an exchange.
    private final class Observer: ExchangeObserver {
        let end = Gate()
        func exchangeDidSend(_ sent: Int64, ofExpected expected: Int64?) {}
        func exchangeDidReceiveHead(_ response: HTTPResponse) {}
        func exchangeDidReceive(_ received: Int64, ofExpected expected: Int64?) {}
        func exchangeDidComplete(_ outcome: ExchangeOutcome) { end.open() }
    }

    @Test(arguments: [1, 4])
    func `a transport that is shut down directly after a start keeps nothing`(loops: Int) async throws {
        let directory = try TestDirectory()
        try directory.write("body", to: "file")
        let server = try await LocalServer { $0.fallback { _ in .ok } }
        weak var engine: TransferEngine?
        do {
            var configuration = Session.Configuration()
            configuration.eventLoops = .init(loops)
            let transport = CurlTransport(configuration: configuration)
            engine = transport.engines[0]
            let observers = (0..<8).map { _ in Observer() }
            for observer in observers {
                let request = HTTPRequest(url: server.url, method: .put, body: .file(directory.url("file")))
                _ = transport.start(request, options: ExchangeOptions(), observer: observer)
            }
            await transport.shutDown()
            for observer in observers { await observer.end.wait() }
        }
        while engine != nil { try await Task.sleep(for: .milliseconds(1)) }
        await server.stop()
    }

    @Test func `a cookie in a trailer is not stored, and a folded field is one cookie`() async throws {
        let head = "HTTP/1.1 200 OK\r\nSet-Cookie: a=1;\r\n Path=/p\r\nTransfer-Encoding: chunked\r\n\r\n"
        let server = try await LocalServer.scripted(
            .waitForRequest, .bytes(Array((head + "1\r\nx\r\n0\r\nSet-Cookie: t=1\r\n\r\n").utf8)))
        let (session, _) = session(loops: 1)
        #expect(try await session.request(server.url).serializingString().value == "x")
        #expect(try await session.cookies.all().map { [$0.name, $0.path] } == [["a", "/p"]])
        await session.shutdown()
        await server.stop()
    }
}
