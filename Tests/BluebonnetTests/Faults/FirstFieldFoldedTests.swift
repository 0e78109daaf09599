import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// Heads whose first field line begins with a space or a tab, on handles that have seen heads before.
///
/// Without ``FoldedFirstField``, libcurl 7.88 reads freed memory then; in processes of their own, since that may end them.
@Suite(.timeLimit(.minutes(10))) struct FirstFieldFoldedTests {
    static let rounds = 20

    @Test func `a folded first field after a redirect does not end the process`() async {
        await #expect(processExitsWith: .success) {
            for round in 0..<Self.rounds {
                let server = try await Self.server(first: "302 Found\r\nLocation: /b", at: round)
                try await Self.expectLife(of: server, requests: ["/a"])
            }
        }
    }

    @Test func `a folded first field after another request does not end the process`() async {
        await #expect(processExitsWith: .success) {
            for round in 0..<Self.rounds {
                let server = try await Self.server(first: "200 OK", at: round)
                try await Self.expectLife(of: server, requests: ["/a", "/b"])
            }
        }
    }

    @Test func `a folded first field in an informational response does not end the process`() async {
        await #expect(processExitsWith: .success) {
            for round in 0..<Self.rounds {
                let server = try await Self.server(
                    first: "200 OK", second: "HTTP/1.1 103 Early Hints\r\n\tLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\n",
                    at: round)
                try await Self.expectLife(of: server, requests: ["/a", "/b"])
            }
        }
    }

    @Test func `a folded field after informational responses does not end the process`() async {
        await #expect(processExitsWith: .success) {
            for round in 0..<Self.rounds {
                for end in ["\r\n", "\r: 2\r\n", "\n"] {
                    let server = try await Self.server(
                        first: "200 OK", second: "HTTP/1.1 103 Early Hints\r\n\(end)HTTP/1.1 200 OK\r\n", at: round)
                    try await Self.expectLife(of: server, requests: ["/a", "/b"])
                }
            }
        }
    }

    @Test(arguments: [
        "http/1.1 200 OK", "Http/1.1 200 OK", "HTTP/2\t103 200", "HTTP/1.1\t200 OK", "HTTP/2 200", "HTTP/3 200 OK",
    ]) func `a folded field after any status line that libcurl accepts does not end the process`(_ line: String)
        async throws
    {
        try await ExitTestInput.pass(line) {
            await #expect(processExitsWith: .success) {
                let line = try ExitTestInput.value(as: String.self)
                for round in 0..<Self.rounds {
                    let server = try await Self.server(first: "200 OK", second: line + "\r\n", at: round)
                    try await Self.expectLife(of: server, requests: ["/a", "/b"])
                }
            }
        }
    }

    @Test func `a folded field over HTTP/1.1 after refused HTTP/2 does not end the process`() async {
        await #expect(processExitsWith: .success) {
            let server = TestServers.misbehavingHTTP2
            let session = try TestHarness.trustingSession {
                $0.timeouts = Timeouts(connect: .seconds(5), idle: .seconds(5))
            }
            for _ in 0..<Self.rounds {
                let before = await session.request(try server.url("/ok")).serializingData().response
                precondition(before.response?.httpVersion == .http2)
                let refused = await session.request(try server.url("/http1-required")).serializingData().response
                precondition(refused.error?.kind == .invalidResponse(.malformed), "\(refused)")
            }
            await session.shutdown()
        }
    }

    @Test(.enabled(if: Libcurl.version < 0x08_01_00, "a newer libcurl sends nothing again behind such a head"))
    func `a folded field in the response to a repeated request does not end the process`()
        async
    {
        await #expect(processExitsWith: .success) {
            for round in 0..<Self.rounds {
                let fields = (0..<round * 3).map { "X-\($0): \(String(repeating: "x", count: $0 * 7))\r\n" }.joined()
                let answers = [
                    "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\(fields)X-Last: 1\r\n\r\n",
                    // Libcurl sends nothing again behind a head of HTTP/1 whose body has no end.
                    "HTTP/2 417 Expectation Failed\r\n\r\n",
                    "HTTP/1.1 200 OK\r\n\tX: y\r\nContent-Length: 2\r\n\r\nok",
                ]
                let server = try await LocalServer.scripted { connection in
                    LocalServer.Script([.waitForHead, .bytes(answers[min(connection, 3) - 1])])
                }
                let session = TestHarness.session {
                    $0.timeouts = Timeouts(connect: .seconds(5), idle: .seconds(5))
                    $0.continueTimeout = .seconds(5)
                }
                _ = await session.request(server.url("/a")).serializingData().response
                let answer = await session.upload(Data(count: 2 << 20), to: server.url("/b")).serializingData().response
                precondition(answer.error?.kind == .invalidResponse(.malformed), "\(answer)")
                precondition(server.connectionCount == 3)
                await session.shutdown()
                await server.stop()
            }
        }
    }

    /// Libcurl speaks HTTP/1.1 to a proxy even if the server is known to speak HTTP/2.
    @Test func `a folded field over HTTP/1.1 through a proxy does not end the process`() async {
        await #expect(processExitsWith: .success) {
            for round in 0..<Self.rounds {
                let fields = (0..<round * 3).map { "X-\($0): \(String(repeating: "x", count: $0 * 7))\r\n" }.joined()
                let answers = [
                    "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\(fields)X-Last: 1\r\n\r\n",
                    "HTTP/1.1 200 OK\r\n\tX: y\r\nContent-Length: 2\r\n\r\nok",
                ]
                // Libcurl before 8.1 has a connection for each request of HTTP/2 without TLS.
                let proxy = try await LocalServer.scripted { connection in
                    connection == 1
                        ? .init([.waitForRequest, .bytes(answers[0]), .waitForRequest, .bytes(answers[1])])
                        : .init([.waitForRequest, .bytes(answers[1])])
                }
                let session = TestHarness.session {
                    $0.proxy = .url("http://127.0.0.1:\(proxy.port)")
                    $0.httpVersion = .http2PriorKnowledge
                    $0.timeouts = Timeouts(connect: .seconds(5), idle: .seconds(5))
                }
                let first = await session.request("http://a.test/").serializingData().response
                precondition(first.response?.httpVersion == .http1_1, "\(first)")
                let second = await session.request("http://a.test/").serializingData().response
                precondition(second.error?.kind == .invalidResponse(.malformed), "\(second)")
                await session.shutdown()
                await proxy.stop()
            }
        }
    }

    @Test func `a long first field whose pieces begin with spaces is read correctly`() async throws {
        let value = "x" + String(repeating: " ", count: 100_000) + "y"
        let server = try await LocalServer.scripted(
            .waitForRequest, .bytes("HTTP/1.1 200 OK\r\nX-Long: \(value)\r\nContent-Length: 2\r\n\r\nok"),
            .waitForRequest, .bytes("HTTP/1.1 200 OK\r\nX-Long: \(value)\r\nContent-Length: 2\r\n\r\nok"), .stall)
        let session = TestHarness.session()
        for _ in 0..<2 {
            let answer = await session.request(server.url("/a")).serializingString().response
            #expect(answer.value == "ok")
            #expect(answer.response?.headers["X-Long"] == value)
        }
        try await TestHarness.end(session, server)
    }

    @Test func `a body without any field is read to the end of the connection`() async throws {
        let session = TestHarness.session()
        for _ in 0..<3 {
            let server = try await TestHarness.server(answering: "HTTP/1.1 200 OK\r\n\r\n\tright")
            #expect(try await session.request(server.url("/a")).serializingString().value == "\tright")
            await server.stop()
        }
        await session.shutdown()
    }

    /// A server whose second answer, on the same connection, has a first field line that looks like a continuation.
    private static func server(
        first: String, second: String = "HTTP/1.1 200 OK\r\n", at round: Int
    ) async throws -> LocalServer {
        let fields = (0..<round * 3).map { "X-\($0): \(String(repeating: "x", count: $0 * 7))\r\n" }.joined()
        let blank = round.isMultiple(of: 2) ? "\t" : " "
        return try await .scripted(
            .waitForRequest, .bytes("HTTP/1.1 \(first)\r\nContent-Length: 0\r\n\(fields)X-Last: 1\r\n\r\n"),
            .waitForRequest, .bytes("\(second)\(blank)X: y\r\nContent-Length: 2\r\n\r\nok"), .stall)
    }

    /// Sends requests on one connection, the last of which must fail, and then a request to a correct server.
    private static func expectLife(of server: LocalServer, requests: [String]) async throws {
        let control = try await LocalServer { $0.get("/", .text("right")) }
        let session = TestHarness.session { $0.timeouts = Timeouts(connect: .seconds(5), idle: .seconds(5)) }
        var last: RequestError.Kind?
        for path in requests { last = await session.request(server.url(path)).serializingString().response.error?.kind }
        precondition(last == .invalidResponse(.malformed), "\(String(describing: last))")
        precondition(server.connectionCount == 1)
        let answer = try await session.request(control.url("/")).serializingString().value
        precondition(answer == "right")
        await session.shutdown()
        await server.stop()
        await control.stop()
    }
}
