import Bluebonnet
import FoundationEssentials
import TestSupport
import Testing

@testable import BluebonnetTesting

@Suite(.timeLimit(.minutes(10))) struct LocalServerScriptTests {
    private static let get = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"

    struct Misbehavior: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let script: LocalServer.Script
        let received: String
        var end = RawClient.End.closed

        init(_ name: String, _ steps: LocalServer.Script.Step..., receives received: String, end: RawClient.End) {
            testDescription = name
            script = LocalServer.Script(steps)
            self.received = received
            self.end = end
        }
    }

    static let misbehaviors = [
        Misbehavior("closes before reading", .close, receives: "", end: .closed),
        Misbehavior("does nothing", receives: "", end: .closed),
        Misbehavior("closes after the request", .waitForRequest, .close, receives: "", end: .closed),
        Misbehavior("resets at once", .reset, receives: "", end: .reset),
        Misbehavior("resets after the request", .waitForRequest, .reset, receives: "", end: .reset),
        Misbehavior(
            "resets in the head", .waitForRequest, .text("HTTP/1.1 200"), .reset, receives: "HTTP/1.1 200", end: .reset),
        Misbehavior(
            "resets in the body", .waitForRequest, .text("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"), .reset,
            receives: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", end: .reset),
        Misbehavior(
            "truncates chunks", .waitForRequest, .text("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nabc"),
            receives: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nabc", end: .closed),
        Misbehavior(
            "sends bytes of all kinds", .waitForHead, .bytes([104, 105]), .bytes(Data([33])), .bytes("!"),
            .bytes([]), receives: "hi!!", end: .closed),
        Misbehavior(
            "trickles", .waitForRequest, .drip("abcdef", piece: 4, every: .milliseconds(1)),
            .drip("gh", every: .zero), .text("i"), receives: "abcdefghi", end: .closed),
        Misbehavior(
            "pauses", .waitForRequest, .text("a"), .pause(.milliseconds(2)), .text("b"), .pause(.zero), .reset,
            receives: "ab", end: .reset),
        Misbehavior(
            "counts bytes", .waitForBytes(3), .text("3"), .waitForBytes(0), .waitForBytes(get.utf8.count - 3),
            .text("all"), receives: "3all", end: .closed),
        Misbehavior(
            "half-closes, and then ends", .waitForRequest, .text("bye"), .halfClose, .pause(.milliseconds(1)),
            receives: "bye", end: .closed),
        Misbehavior(
            "continues as an ordinary server", .text("HTTP/1.1 103 Early Hints\r\n\r\n"), .serve,
            receives:
                "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            end: .closed),
        Misbehavior(
            "waits for a condition", .waitForRequest, .wait { await Task.yield() }, .text("done"), receives: "done",
            end: .closed),
    ]

    @Test(arguments: misbehaviors)
    func `A connection runs its script`(_ misbehavior: Misbehavior) async throws {
        let server = try await LocalServer(script: { _ in misbehavior.script }) { router in
            router.get("/", .status(200, headers: ["Connection": "close"]))
        }
        let client = try await RawClient.sending(Self.get, to: server)
        let (text, end) = await client.receiveAll()
        #expect(text == misbehavior.received)
        // If the request arrives after the server has closed, the connection is reset.
        if misbehavior.end == .closed, misbehavior.received.isEmpty {
            #expect([.closed, .reset].contains(end))
        } else {
            #expect(end == misbehavior.end)
        }
        await client.close()
        try await server.waitForOpenConnections(atMost: 0)
    }

    @Test func `Each connection can have its own script`() async throws {
        let server = try await LocalServer.scripted { connection in
            connection == 1
                ? [.waitForRequest, .reset] : [.waitForRequest, .text("HTTP/1.1 204 \(connection)\r\n\r\n")]
        }
        for (number, expected) in [(1, ""), (2, "HTTP/1.1 204 2\r\n\r\n"), (3, "HTTP/1.1 204 3\r\n\r\n")] {
            let client = try await RawClient.sending(Self.get, to: server)
            let (text, end) = await client.receiveAll()
            #expect(text == expected)
            #expect(end == (number == 1 ? .reset : .closed))
            await client.close()
        }
        #expect(server.requests.map(\.connection) == [1, 2, 3])
    }

    @Test func `A route can return a script, and the connection stays usable`() async throws {
        let server = try await LocalServer { router in
            router.get("/") { _ in .script(.text("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"), .serve) }
            router.get("/reset", .script(.text("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhal"), .reset))
        }
        let client = try await RawClient.sending(Self.get, to: server)
        _ = await client.receive(until: "\r\n\r\nx")
        await client.forget()
        await client.send("GET /reset HTTP/1.1\r\nHost: h\r\n\r\n")
        let (text, end) = await client.receiveAll()
        #expect(text.hasSuffix("\r\n\r\nhal"))
        #expect(end == .reset)
        #expect(server.connectionCount == 1)
        await client.close()
    }

    @Test func `A script can read the head first and the body later`() async throws {
        let gate = Gate()
        let server = try await LocalServer.scripted(
            .waitForHead, .text("HTTP/1.1 100 Continue\r\n\r\n"), .wait { await gate.wait() }, .waitForRequest,
            .text("HTTP/1.1 204 No Content\r\n\r\n"), .waitForHead, .reset)
        let client = try await RawClient.sending("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\n", to: server)
        #expect(await client.receive(until: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
        #expect(try await server.request(1).bodyLength == 0)
        await client.send("ab")
        gate.open()
        await client.send("c")
        #expect(await client.receive(until: "204 No Content\r\n\r\n").hasSuffix("204 No Content\r\n\r\n"))
        await client.send("POST /2 HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\n")
        #expect(await client.receiveAll().end == .reset)
        #expect(server.requests.map(\.path) == ["/", "/2"])
        await client.close()
    }

    @Test func `A stalled connection reads nothing, and ends with its client`() async throws {
        let server = try await LocalServer.scripted(.waitForHead, .stall)
        let client = try await RawClient.sending(Self.get, to: server)
        _ = try await server.request(1)
        #expect(server.openConnectionCount == 1)
        await client.close()
        try await server.waitForOpenConnections(atMost: 0)

        // The body is larger than the buffers, so the client cannot send all of it.
        let sender = try RawClient(server)
        let isSent = Gate()
        let sending = Task {
            await sender.send(Array(Self.get.utf8) + [UInt8](repeating: 65, count: 64 * 1024 * 1024))
            isSent.open()
        }
        _ = try await server.request(2)
        #expect(!isSent.isOpen)
        await server.stop()
        await sending.value
        await sender.close()
    }

    @Test func `A script waits until the client closes`() async throws {
        let server = try await LocalServer.scripted(.waitForRequest, .text("a"), .waitForClose, .text("b"))
        let client = try await RawClient.sending(Self.get, to: server)
        #expect(await client.receive(until: "a") == "a")
        await client.send("more, which is ignored")
        await client.closeWriting()
        #expect(await client.receiveAll().text == "ab")
        await client.close()
    }

    @Test func `A script ends when the awaited bytes cannot arrive`() async throws {
        let server = try await LocalServer.scripted(.waitForBytes(1000), .text("never"))
        let client = try await RawClient.sending(Self.get, to: server)
        await client.closeWriting()
        let (text, end) = await client.receiveAll()
        #expect(text == "")
        #expect(end == .closed)
        await client.close()
    }

    @Test func `Sending more than the client reads suspends the script`() async throws {
        let isSent = Gate()
        let count = 48 * 1024 * 1024
        let server = try await LocalServer.scripted(
            .bytes([UInt8](repeating: 65, count: count)), .wait { isSent.open() })
        let client = try RawClient(server)
        _ = await client.receive(atLeast: 1024)
        #expect(!isSent.isOpen)
        #expect(await client.receive(atLeast: count) == count)
        await isSent.wait()
        await client.close()
    }

    @Test func `The curl command reports the faults of a script`() async throws {
        let server = try await LocalServer { router in
            router.get("/truncated", .script(.text("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc")))
            router.get("/garbage", .script(.text("HTTX 1\r\n\r\n")))
            router.get("/empty", .script(.close))
            router.get("/chunks", .script(.text("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")))
        }
        // CURLE_PARTIAL_FILE, CURLE_UNSUPPORTED_PROTOCOL, CURLE_GOT_NOTHING, CURLE_RECV_ERROR.
        for (path, code) in [("/truncated", 18), ("/garbage", 1), ("/empty", 52), ("/chunks", 56)] {
            #expect(try await Curl.run([], server.url(path).absoluteString).code == code, "\(path)")
        }
    }

    @Test func `Connections to an unreachable server are refused or ignored`() async throws {
        let refusing = try UnreachableServer(.refusesConnections)
        #expect(try await Curl.run([], refusing.url.absoluteString).code == 7)
        let ignoring = try UnreachableServer(.ignoresConnections)
        #expect(try await Curl.run(["--connect-timeout", "0.3"], ignoring.url.absoluteString).code == 28)
    }
}
