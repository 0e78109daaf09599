import Bluebonnet
import FoundationEssentials
import Testing

@testable import BluebonnetTesting

@Suite(.timeLimit(.minutes(10))) struct LocalServerLifecycleTests {
    private static let get = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"

    @Test func `Stopping closes connections, cancels routes and refuses new connections`() async throws {
        let isRunning = Gate()
        let isCancelled = Gate()
        let server = try await LocalServer { router in
            router.get("/") { _ in
                isRunning.open()
                await Gate().wait()
                isCancelled.open()
                return .ok
            }
        }
        let client = try await RawClient.sending(Self.get, to: server)
        let idle = try RawClient(server)
        try await server.waitForConnections(atLeast: 2)
        await isRunning.wait()
        #expect(server.openConnectionCount == 2)
        await server.stop()
        #expect(server.openConnectionCount == 0)
        await isCancelled.wait()
        #expect(await client.receiveAll().text == "")
        #expect(await idle.receiveAll().text == "")
        // CURLE_COULDNT_CONNECT.
        #expect(try await Curl.run([], server.url.absoluteString).code == 7)
        await server.stop()
        for client in [client, idle] { await client.close() }
    }

    @Test func `A released server stops`() async throws {
        var server: LocalServer? = try await LocalServer { $0.get("/", .ok) }
        let client = try RawClient(try #require(server))
        await client.send(Self.get)
        _ = await client.receive(until: "\r\n\r\n")
        weak let weakServer = server
        server = nil
        #expect(weakServer == nil)
        #expect(await client.receiveAll().end == .closed)
        await client.close()
    }

    @Test func `Routes that refer to their server do not retain it after it was stopped`() async throws {
        weak var weakServer: LocalServer?
        do {
            let server = try await LocalServer { _ in }
            await server.route { $0.get("/self") { _ in .text(server.url.absoluteString) } }
            #expect(try await Curl.run([], server.url("/self").absoluteString).output == server.url.absoluteString)
            weakServer = server
            await server.stop()
        }
        #expect(weakServer == nil)
    }

    @Test func `Closing connections leaves the server running`() async throws {
        let server = try await LocalServer { $0.get("/", .text("x")) }
        let client = try await RawClient.sending(Self.get, to: server)
        _ = await client.receive(until: "x")
        await server.closeConnections()
        #expect(await client.receiveAll().end == .closed)
        let other = try await RawClient.sending(Self.get, to: server)
        _ = await other.receive(until: "x")
        await server.closeConnections(resetting: true)
        #expect(await other.receiveAll().end == .reset)
        #expect(server.connectionCount == 2)
        for client in [client, other] { await client.close() }
    }

    @Test func `A server that stops listening still serves the connections it has`() async throws {
        let server = try await LocalServer { $0.get("/", .text("x")) }
        let client = try RawClient(server)
        try await server.waitForConnections(atLeast: 1)
        await server.stopListening()
        await client.send(Self.get)
        #expect(await client.receive(until: "x").hasSuffix("x"))
        #expect(try await Curl.run([], server.url.absoluteString).code == 7)
        await client.close()
    }

    @Test func `Servers in one process are independent`() async throws {
        try await withThrowingTaskGroup { group in
            for number in 0..<20 {
                group.addTask {
                    let server = try await LocalServer { $0.get("/", .text("\(number)")) }
                    let client = try await RawClient.sending(Self.get, to: server)
                    #expect(await client.receive(until: "\r\n\r\n\(number)").hasSuffix("\(number)"))
                    #expect(server.requestCount == 1)
                    await client.close()
                    await server.stop()
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func `Hundreds of routes wait at the same time while other requests complete`() async throws {
        let gate = Gate()
        let server = try await LocalServer { router in
            router.get("/late") { _ in
                await gate.wait()
                return .text("late")
            }
            router.get("/", .text("now"))
        }
        var clients: [RawClient] = []
        for _ in 0..<300 {
            clients.append(try await RawClient.sending("GET /late HTTP/1.1\r\nHost: h\r\n\r\n", to: server))
        }
        _ = try await server.request(300)
        let other = try await RawClient.sending(Self.get, to: server)
        #expect(await other.receive(until: "now").hasSuffix("now"))
        #expect(server.openConnectionCount == 301)
        gate.open()
        for client in clients { #expect(await client.receive(until: "late").hasSuffix("late")) }
        for client in clients + [other] { await client.close() }
        try await server.waitForOpenConnections(atMost: 0)
    }

    @Test func `Stopping during requests leaves nothing open`() async throws {
        for _ in 0..<50 {
            let server = try await LocalServer { router in
                router.get("/") { _ in .stream { writer in for _ in 0..<10 { try await writer.write("piece") } } }
            }
            await withTaskGroup { group in
                for _ in 0..<8 {
                    group.addTask {
                        guard let client = try? await RawClient.sending(Self.get, to: server) else { return }
                        _ = await client.receive(until: "0\r\n\r\n")
                        await client.close()
                    }
                }
                group.addTask {
                    try? await server.waitForConnections(atLeast: .random(in: 0...8))
                    await server.stop()
                }
            }
            #expect(server.openConnectionCount == 0)
        }
    }

    @Test func `No descriptors or threads are leaked`() async {
        await #expect(processExitsWith: .success) {
            func count(_ directory: String) throws -> Int {
                try FileManager.default.contentsOfDirectory(atPath: "/proc/self/\(directory)").count
            }
            func round() async throws {
                let server = try await LocalServer { router in
                    router.get("/") { _ in .text("x") }
                    router.get("/reset") { _ in .script(.reset) }
                    router.get("/stall") { _ in .script(.stall) }
                }
                let clients = try await withThrowingTaskGroup { group in
                    for number in 0..<40 {
                        group.addTask {
                            let path = ["/", "/reset", "/stall", "/nowhere"][number % 4]
                            return try await RawClient.sending("GET \(path) HTTP/1.1\r\nHost: h\r\n\r\n", to: server)
                        }
                    }
                    return try await group.reduce(into: [RawClient]()) { $0.append($1) }
                }
                _ = try await server.request(40)
                for (number, client) in clients.enumerated() { await client.close(resetting: number % 3 == 0) }
                try await server.waitForOpenConnections(atMost: 0)
                await server.stop()
            }
            for _ in 0..<3 { try await round() }
            let descriptors = try count("fd")
            let threads = try count("task")
            for _ in 0..<30 { try await round() }
            // Threads that are about to end may still be counted.
            #expect(try count("fd") <= descriptors + 40)
            #expect(try count("task") <= threads + 40)
        }
    }

    @Test func `Connections wait while there are no descriptors, and are then accepted`() async {
        await #expect(processExitsWith: .success) {
            let server = try await LocalServer { $0.get("/", .ok) }
            // The first connection has the loop make all the descriptors it needs.
            let first = try Socket.connecting(to: UInt16(server.port))
            try await server.waitForConnections(atLeast: 1)
            let clients = try (0..<5).map { _ in try Socket.unconnected() }
            let limit = DescriptorLimit()
            limit.allow(1)
            for client in clients { client.connect(to: UInt16(server.port)) }
            try await server.waitForConnections(atLeast: 2)
            #expect(server.connectionCount < 6)
            limit.restore()
            try await server.waitForConnections(atLeast: 6)
            for client in clients + [first] { client.close() }
            try await server.waitForOpenConnections(atMost: 0)
        }
    }
}
