import Bluebonnet
import BluebonnetTesting
import Foundation
import TestSupport
import Testing

/// Limits for running requests on the wire.
@Suite(.timeLimit(.minutes(10))) struct RequestLimitTests {
    private func session(_ limits: Session.Configuration.RequestLimits) -> Session {
        var configuration = Session.Configuration()
        configuration.requestLimits = limits
        return Session(configuration: configuration)
    }

    /// Requests that are handled at this moment, and the most so far.
    private final class Counter: Sendable {
        private let counts = Locked((now: 0, most: 0, all: 0))
        private let parent: Counter?

        init(parent: Counter? = nil) { self.parent = parent }

        var most: Int { counts.withLock { $0.most } }
        var all: Int { counts.withLock { $0.all } }

        func handle(_ work: () async -> Void) async {
            counts.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1), $0.all + 1) }
            if let parent { await parent.handle(work) } else { await work() }
            counts.withLock { $0.now -= 1 }
        }
    }

    private func server(_ counter: Counter, _ gate: Gate = Gate()) async throws -> LocalServer {
        try await LocalServer { router in
            router.get("/") { request in
                await counter.handle { try? await Task.sleep(for: .milliseconds(5)) }
                return .text(request.query.items.first?.value ?? "none")
            }
            router.get("/moved", .redirect(to: "/"))
            router.get("/first") { _ in
                await gate.wait(); return .text("first")
            }
        }
    }

    /// A server whose `/held` answers when the gate opens, and `/` at once.
    private func heldServer(_ gate: Gate) async throws -> LocalServer {
        try await LocalServer { router in
            router.get("/held") { _ in
                await gate.wait()
                return .ok
            }
            router.get("/") { _ in .ok }
        }
    }

    /// A file is opened when its request runs, so that thousands of requests can wait.
    @Test func `A file that waits is not open, and is sent as it is at its turn`() async throws {
        let (running, gate) = (Gate(), Gate())
        let server = try await LocalServer { router in
            router.get("/held") { _ in
                running.open()
                await gate.wait()
                return .ok
            }
            router.put("/") { .text(String(decoding: $0.body, as: UTF8.self)) }
        }
        let session = session(.init(perHost: 1))
        let folder = try FormFolder()
        for name in ["a", "b", "c", "gone"] { _ = try folder.file(name, Data("old".utf8)) }
        func upload(_ name: String) -> UploadRequest {
            session.upload(folder.url.appending(path: name), to: server.url("/"), method: .put)
        }
        let held = session.request(server.url("/held")).serializingNothing()
        await running.wait()
        let uploads = ["a", "b", "gone"].map { upload($0).serializingString() }
        let (cancelled, suspended) = (upload("c"), upload("c"))
        let ended = cancelled.serializingString()
        let resumed = suspended.serializingString()
        suspended.suspend()
        await session.withAllRequests { #expect($0.count == 6) }
        #expect(try folder.openDescriptors == 0)
        _ = try folder.file("a", Data("longer".utf8))
        try FileManager.default.removeItem(at: folder.url.appending(path: "gone"))
        cancelled.cancel()
        #expect(await ended.response.error?.kind == .cancelled)
        gate.open()
        #expect(try await held.value == ())
        #expect(try await uploads[0].value == "longer")
        #expect(try await uploads[1].value == "old")
        #expect(await uploads[2].response.error?.kind == .requestBody(.fileUnreadable(path: folder.url.path + "/gone")))
        suspended.resume()
        #expect(try await resumed.value == "old")
        #expect(try folder.openDescriptors == 0)
        await session.shutdown()
        await server.stop()
    }

    @Test func `At most as many requests run as the limits say, and all are answered`() async throws {
        let both = Counter()
        let counters = [Counter(parent: both), Counter(parent: both)]
        let servers = [try await server(counters[0]), try await server(counters[1])]
        let session = session(.init(perHost: 3, total: 4))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<200 {
                let path = number % 10 == 0 ? "/moved" : "/?\(number)=\(number)"
                let url = servers[number % 2].url(path)
                group.addTask {
                    let text = try await session.request(url).serializingString().value
                    #expect(text == (number % 10 == 0 ? "none" : "\(number)"))
                }
            }
            try await group.waitForAll()
        }
        #expect(counters.map(\.all) == [100, 100])
        #expect(counters.map(\.most).max() ?? 0 > 1)
        #expect(counters.allSatisfy { $0.most <= 3 })
        #expect(both.most <= 4)
        try await TestHarness.end(session, servers[0])
        await servers[1].stop()
    }

    @Test func `With HTTP 2, too, on one connection`() async throws {
        var configuration = Session.Configuration()
        configuration.tls.caFile = try TestCertificates().authority
        configuration.requestLimits.perHost = 2
        let session = Session(configuration: configuration)
        let url = try TestServers.nginxTLS.url("/bytes/65536")
        var queued = 0
        try await withThrowingTaskGroup(of: TransferMetrics?.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    let response = await session.request(url).serializingData().response
                    _ = try response.result.get()
                    return response.metrics
                }
            }
            for try await metrics in group where metrics?.queue != nil { queued += 1 }
        }
        #expect(queued == 18)
        await session.shutdown()
    }

    @Test func `The most urgent request starts first`() async throws {
        let (counter, gate) = (Counter(), Gate())
        let server = try await server(counter, gate)
        let session = session(.init(total: 1))
        let first = session.request(server.url("/first")).serializingData()
        async let firstResponse = first.response
        _ = try await server.request(1)
        let order: [(name: Int, urgency: Int?)] = [(1, 7), (2, nil), (3, 0), (4, nil), (5, 1)]
        let requests = order.map { entry in
            session.request(server.url("/?n=\(entry.name)")) {
                $0.priority = entry.urgency.map { HTTPPriority(urgency: $0) }
            }
        }
        let tasks = requests.map { $0.serializingString() }
        async let responses: [String?] = {
            var values: [String?] = []
            for task in tasks { values.append(await task.response.value) }
            return values
        }()
        // The requests reach the transport before the first one ends.
        while requests.contains(where: \.requests.isEmpty) { await Task.yield() }
        try await Task.sleep(for: .milliseconds(200))
        gate.open()
        let values = await responses
        #expect(values == ["1", "2", "3", "4", "5"])
        _ = await firstResponse
        let started = server.requests.dropFirst().map { $0.query.items.first?.value }
        #expect(started.count == 5)
        #expect(started.prefix(2) == ["3", "5"])
        // They reach the transport in any order, because their closures run on the global executor.
        #expect(Set(started.dropFirst(2).prefix(2)) == ["2", "4"])
        #expect(started.last == "1")
        try await TestHarness.end(session, server)
    }

    @Test func `The wait has a limit of its own, and counts towards no other`() async throws {
        let gate = Gate()
        let server = try await LocalServer { router in
            router.get("/held") { _ in
                await gate.wait(); return .ok
            }
            router.get("/") { _ in .ok }
        }
        let session = session(.init(perHost: 1))
        async let held = session.request(server.url("/held")).serializingNothing().response
        _ = try await server.request(1)
        let late = session.request(server.url("/")) { $0.timeouts = Timeouts(queue: .milliseconds(100)) }
        let error = await late.serializingNothing().response.error
        #expect(error?.kind == .timedOut(.queue))
        #expect(late.metrics?.queue ?? .zero >= .milliseconds(100))
        #expect(error?.detail?.contains("0.1 seconds, the queue limit") == true, "\(String(describing: error))")
        let patient = session.request(server.url("/")) { $0.timeouts.total = .seconds(2) }.serializingNothing()
        async let response = patient.response
        try await Task.sleep(for: .milliseconds(2500))
        gate.open()
        #expect(await response.error == nil)
        #expect(await response.metrics?.queue != nil)
        #expect(await response.metrics?.total ?? .seconds(9) < .seconds(2))
        _ = await held
        try await TestHarness.end(session, server)
    }

    @Test func `Waiting requests can be suspended, resumed and cancelled`() async throws {
        let gate = Gate()
        let server = try await LocalServer { router in
            router.get("/held") { _ in
                await gate.wait(); return .ok
            }
            router.get("/") { _ in .ok }
        }
        let session = session(.init(total: 1))
        async let held = session.request(server.url("/held")).serializingNothing().response
        _ = try await server.request(1)
        let requests = (0..<3).map { _ in session.request(server.url("/")) }
        let tasks = requests.map { $0.serializingNothing() }
        async let errors: [RequestError?] = {
            var errors: [RequestError?] = []
            for task in tasks { errors.append(await task.response.error) }
            return errors
        }()
        try await Task.sleep(for: .milliseconds(50))
        requests[0].suspend()
        requests[1].cancel()
        try await Task.sleep(for: .milliseconds(50))
        gate.open()
        _ = await held
        // The suspended request lets the other pass.
        _ = try await server.request(2)
        try await Task.sleep(for: .milliseconds(50))
        #expect(server.requestCount == 2)
        requests[0].resume()
        let kinds = await errors.map { $0?.kind }
        #expect(kinds == [nil, .cancelled, nil])
        #expect(server.requestCount == 3)
        try await TestHarness.end(session, server)
    }

    @Test func `A place that a cancelled request waited for is free`() async throws {
        let gate = Gate()
        let server = try await heldServer(gate)
        let session = session(.init(total: 1))
        async let held = session.request(server.url("/held")).serializingNothing().response
        _ = try await server.request(1)
        let waiting = session.request(server.url("/"))
        async let cancelled = waiting.serializingNothing().response
        try await Task.sleep(for: .milliseconds(20))
        waiting.cancel()
        _ = await cancelled
        gate.open()
        _ = await held
        let next = session.request(server.url("/")) { $0.timeouts = Timeouts(queue: .zero) }
        let response = await next.serializingNothing().response
        #expect(response.error == nil)
        #expect(response.metrics?.queue == nil)
        try await TestHarness.end(session, server)
    }

    @Test func `A suspended request does not use up its wait`() async throws {
        let gate = Gate()
        let server = try await heldServer(gate)
        let session = session(.init(total: 1))
        async let held = session.request(server.url("/held")).serializingNothing().response
        _ = try await server.request(1)
        let request = session.request(server.url("/")) { $0.timeouts = Timeouts(queue: .seconds(5)) }
        async let response = request.serializingNothing().response
        // A busy machine may need seconds for this.
        try await Task.sleep(for: .milliseconds(50))
        request.suspend()
        try await Task.sleep(for: .milliseconds(5200))
        request.resume()
        gate.open()
        #expect(await response.error == nil)
        _ = await held
        try await TestHarness.end(session, server)
    }

    @Test func `Shutdown, cancellation and ends race, and each request gets an answer`() async throws {
        let server = try await server(Counter())
        for round in 0..<40 * raceMultiplier {
            let session = session(.init(perHost: 2, total: 3))
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<30 {
                    let request = session.request(server.url("/?n=\(number)"))
                    group.addTask { _ = await request.serializingData().response }
                    if number % 3 == 0 { group.addTask { request.cancel() } }
                    if number % 5 == 0 {
                        group.addTask {
                            request.suspend()
                            request.resume()
                        }
                    }
                }
                if round % 2 == 0 { group.addTask { await session.shutdown(within: .milliseconds(round % 20)) } }
            }
            await session.shutdown()
        }
        await server.stop()
    }

    @Test(arguments: [
        (Session.Configuration.RequestLimits(perHost: 0), "requestLimits.perHost: 0 is less than 1"),
        (.init(perHost: 1, total: -1), "requestLimits.total: -1 is less than 1"),
    ])
    func `A limit below 1 is an error`(limits: Session.Configuration.RequestLimits, text: String) async throws {
        let error = await session(limits).request("http://127.0.0.1:1/").serializingData().response.error
        #expect(error?.kind == .invalidRequest(.configuration(text)))
    }
}
