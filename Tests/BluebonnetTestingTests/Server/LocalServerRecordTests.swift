import Bluebonnet
import FoundationEssentials
import Testing

@testable import BluebonnetTesting

@Suite(.timeLimit(.minutes(10))) struct LocalServerRecordTests {
    @Test func `A request is recorded as it was sent`() async throws {
        let server = try await LocalServer { $0.post("/a/:b", .ok) }
        let client = try await RawClient.sending(
            "POST /a/%20b?x=1&y=%2B&x=2 HTTP/1.1\r\nHost: h\r\nX-A: 1\r\nx-a: 2\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "2\r\nhi\r\n0\r\nT: v\r\n\r\n", to: server)
        let request = try await server.nextRequest()
        #expect(request.method == .post)
        #expect(request.target == "/a/%20b?x=1&y=%2B&x=2")
        #expect(request.path == "/a/%20b")
        #expect(request.query == "x=1&y=%2B&x=2")
        #expect(request.query.items.map(\.name) == ["x", "y", "x"])
        #expect(request.query.items.map(\.value) == ["1", "+", "2"])
        #expect(request.query["y"] == "+")
        #expect(request.query["z"] == nil)
        #expect(request.httpVersion == .http1_1)
        #expect(request.headers.values(for: "X-A") == ["1", "2"])
        #expect(request.text == "hi")
        #expect(request.bodyLength == 2)
        #expect(request.trailers.value(for: "T") == "v")
        #expect(request.connection == 1)
        #expect(request.sequence == 1)
        #expect("\(request)" == "POST /a/%20b")
        await client.close()
    }

    @Test func `The number of recorded requests and bytes is bounded`() async throws {
        var options = LocalServer.Options()
        options.recordedRequests = 3
        options.recordedBodyBytes = 2
        let server = try await LocalServer(options: options) { router in
            router.post("/:n") { request in .data(request.body) }
        }
        let client = try RawClient(server)
        for number in 1...5 {
            await client.send("POST /\(number) HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nabc\(number)")
            // The route receives the whole body.
            _ = await client.receive(until: "abc\(number)")
        }
        #expect(server.requestCount == 5)
        #expect(server.requests.map(\.path) == ["/3", "/4", "/5"])
        #expect(server.requests.map(\.text) == ["ab", "ab", "ab"])
        #expect(server.requests.map(\.bodyLength) == [4, 4, 4])
        #expect(try await server.request(4).path == "/4")
        await #expect(throws: LocalServer.Failure.notRecorded) { try await server.request(2) }
        #expect(try await server.nextRequest().path == "/3")
        #expect(try await server.nextRequest().path == "/4")
        await client.close()
    }

    @Test func `Waiting for requests works before and after they arrive`() async throws {
        let server = try await LocalServer { $0.get("/:n", .ok) }
        async let first = server.nextRequest()
        async let second = server.nextRequest()
        async let third = server.request(3)
        let client = try RawClient(server)
        for number in 1...3 { await client.send("GET /\(number) HTTP/1.1\r\nHost: h\r\n\r\n") }
        #expect(try await Set([first.path, second.path]) == ["/1", "/2"])
        #expect(try await third.path == "/3")
        #expect(try await server.nextRequest().path == "/3")
        await client.close()
    }

    @Test func `Waiting ends with the task and with the server`() async throws {
        let server = try await LocalServer { _ in }
        let cancelled = Task { try await server.nextRequest() }
        let stopped = Task { try await server.request(1) }
        let connections = Task { try await server.waitForConnections(atLeast: 1) }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        await server.stop()
        await #expect(throws: LocalServer.Failure.stopped) { try await stopped.value }
        await #expect(throws: LocalServer.Failure.stopped) { try await connections.value }
        try await server.waitForOpenConnections(atMost: 0)
    }

    @Test func `URLs of the server keep path and query`() async throws {
        let server = try await LocalServer { _ in }
        #expect(server.url.absoluteString == "http://127.0.0.1:\(server.port)")
        #expect(server.url("/a%20b?c=d").absoluteString == "http://127.0.0.1:\(server.port)/a%20b?c=d")
        #expect(server.url("/a b").absoluteString == "http://127.0.0.1:\(server.port)/a%20b")
    }
}
