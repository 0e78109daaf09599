import Bluebonnet
import FoundationEssentials
import Testing

@testable import BluebonnetTesting

@Suite(.timeLimit(.minutes(10))) struct LocalServerRouteTests {
    private struct Oops: Error {}

    private static func makeServer() async throws -> LocalServer {
        try await LocalServer { router in
            router.get("/users/1") { _ in .json(["name": "Ada"]) }
            router.get("/fixed", .text("always"))
            router.get("/u/:id") { request in .text(request.parameters["id"] ?? "none") }
            router.get("/query") { request in .text(request.query["q"] ?? "none") }
            router.post("/echo") { request in
                LocalServer.Response(headers: request.headers, body: .data(request.body))
            }
            router.post("/json") { request in .json(try request.decode([String: Int].self)) }
            router.get("/throws") { _ in throw Oops() }
            router.get("/moved") { _ in .redirect(to: "/fixed") }
            router.on("/stream") { _ in
                .stream { writer in
                    for number in 0..<3 { try await writer.write("\(number),") }
                    try await writer.write("")
                    try await writer.write(Array("end".utf8))
                }
            }
            router.get("/big") { _ in .data(Data(repeating: 65, count: 8 * 1024 * 1024)) }
        }
    }

    struct Exchange: CustomTestStringConvertible, Sendable {
        let path: String
        var arguments: [String] = []
        let expected: String

        var testDescription: String { ([path] + arguments).joined(separator: " ") }

        init(_ path: String, _ arguments: String..., expected: String) {
            self.path = path
            self.arguments = arguments
            self.expected = expected
        }
    }

    static let exchanges = [
        Exchange("/users/1", expected: #"200 application/json 14 {"name":"Ada"}"#),
        Exchange("/fixed", expected: "200 text/plain; charset=utf-8 6 always"),
        Exchange("/fixed", "--http1.0", expected: "200 text/plain; charset=utf-8 6 always"),
        Exchange("/u/a%20b", expected: "200 text/plain; charset=utf-8 3 a b"),
        Exchange("/query?p=1&q=a+b%21", expected: "200 text/plain; charset=utf-8 4 a b!"),
        Exchange("/echo", "--data", "a=b", expected: "200 application/x-www-form-urlencoded 3 a=b"),
        Exchange(
            "/echo", "--data", "a=b", "--header", "Transfer-Encoding: chunked",
            expected: "200 application/x-www-form-urlencoded 3 a=b"),
        Exchange(
            "/echo", "--data", "a=b", "--header", "Expect: 100-continue",
            expected: "200 application/x-www-form-urlencoded 3 a=b"),
        Exchange("/json", "--data", #"{"n": 1}"#, expected: #"200 application/json 7 {"n":1}"#),
        Exchange("/stream", expected: "200  9 0,1,2,end"),
        Exchange("/stream", "--http1.0", expected: "200  9 0,1,2,end"),
        Exchange("/moved", "--location", expected: "200 text/plain; charset=utf-8 6 always"),
        Exchange("/throws", expected: "500 text/plain; charset=utf-8 7 Oops()\n"),
        Exchange("/nowhere", expected: "404 text/plain; charset=utf-8 31 there is no route for /nowhere\n"),
        Exchange(
            "/fixed", "--request", "DELETE",
            expected: "405 text/plain; charset=utf-8 24 /fixed allows GET, HEAD\n"),
    ]

    @Test(arguments: exchanges) func `The curl command gets the routes' responses`(_ exchange: Exchange) async throws {
        let server = try await Self.makeServer()
        let curl = try await Curl.run(exchange.arguments, server.url(exchange.path).absoluteString)
        #expect(curl.code == 0)
        #expect(curl.summary == exchange.expected)
        await server.stop()
    }

    @Test func `The GET route handles HEAD without a body, and the connection stays usable`() async throws {
        let server = try await Self.makeServer()
        let client = try await RawClient.sending(
            "HEAD /users/1 HTTP/1.1\r\nHost: h\r\n\r\nHEAD /stream HTTP/1.1\r\nHost: h\r\n\r\n"
                + "GET /fixed HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", to: server)
        let (text, end) = await client.receiveAll()
        #expect(end == .closed)
        #expect(
            text == "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 14\r\n\r\n"
                + "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 6\r\n"
                + "Connection: close\r\n\r\nalways")
        await client.close()
    }

    @Test func `A chunked body is framed as in RFC 9112`() async throws {
        let server = try await Self.makeServer()
        let client = try await RawClient.sending(
            "GET /stream HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", to: server)
        let text = await client.receiveAll().text
        #expect(text.hasSuffix("\r\n\r\n2\r\n0,\r\n2\r\n1,\r\n2\r\n2,\r\n3\r\nend\r\n0\r\n\r\n"))
        await client.close()
    }

    @Test func `100 is sent only if it is expected and the route exists`() async throws {
        let server = try await Self.makeServer()
        let head = "HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n"
        let client = try await RawClient.sending("POST /echo \(head)", to: server)
        #expect(await client.receive(until: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
        await client.forget()
        await client.send("x")
        #expect(await client.receive(until: "\r\n\r\nx").hasPrefix("HTTP/1.1 200 OK\r\n"))
        await client.forget()
        // With the body right behind the head, the 100 is left out.
        await client.send("POST /echo \(head)y")
        #expect(await client.receive(until: "\r\n\r\ny").hasPrefix("HTTP/1.1 200 OK\r\n"))
        await client.close()

        let refused = try await RawClient.sending("POST /nowhere \(head)", to: server)
        let (text, end) = await refused.receiveAll()
        #expect(text.hasPrefix("HTTP/1.1 404 Not Found\r\n"))
        #expect(text.contains("Connection: close\r\n"))
        #expect(end == .closed)
        await refused.close()
    }

    @Test func `Pipelined requests are answered in order, on one connection`() async throws {
        let gate = Gate()
        let server = try await LocalServer { router in
            router.get("/slow") { _ in
                await gate.wait()
                return .text("slow")
            }
            router.get("/fast", .text("fast"))
        }
        let client = try await RawClient.sending(
            "GET /slow HTTP/1.1\r\nHost: h\r\n\r\nGET /fast HTTP/1.1\r\nHost: h\r\n\r\n", to: server)
        _ = try await server.request(1)
        gate.open()
        let text = await client.receive(until: "fast")
        let slow = try #require(text.firstRange(of: "slow"))
        let fast = try #require(text.firstRange(of: "fast"))
        #expect(slow.lowerBound < fast.lowerBound)
        #expect(server.connectionCount == 1)
        #expect(server.requests.map(\.connection) == [1, 1])
        #expect(server.requests.map(\.sequence) == [1, 2])
        await client.close()
        try await server.waitForOpenConnections(atMost: 0)
    }

    @Test func `A connection is used for any number of requests`() async throws {
        let server = try await Self.makeServer()
        let client = try RawClient(server)
        for number in 0..<200 {
            await client.send("GET /u/\(number) HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(await client.receive(until: "\r\n\r\n\(number)").hasPrefix("HTTP/1.1 200 OK"))
            await client.forget()
        }
        #expect(server.connectionCount == 1)
        #expect(server.requestCount == 200)
        await client.close()
    }

    @Test(arguments: [
        ("nonsense\r\n\r\n", 400), ("GET / HTTP/3.0\r\n\r\n", 505),
        ("POST / HTTP/1.0\r\nContent-Length: 99\r\n\r\n", 413),
        ("GET / HTTP/1.0\r\nA: \(String(repeating: "x", count: 300))\r\n\r\n", 431),
    ])
    func `An invalid request is refused and ends the connection`(input: String, status: Int) async throws {
        var options = LocalServer.Options()
        options.maximumHeadBytes = 256
        options.maximumBodyBytes = 64
        let server = try await LocalServer(options: options) { $0.get("/", .ok) }
        let client = try await RawClient.sending(input, to: server)
        let (text, end) = await client.receiveAll()
        #expect(text.hasPrefix("HTTP/1.1 \(status) "))
        #expect(end == .closed)
        #expect(server.requestCount == 0)
        await client.close()
    }

    @Test func `A client that closes its sending side receives the response`() async throws {
        let server = try await Self.makeServer()
        let client = try await RawClient.sending("GET /users/1 HTTP/1.1\r\nHost: h\r\n\r\n", to: server)
        await client.closeWriting()
        let (text, end) = await client.receiveAll()
        #expect(text.hasSuffix(#"{"name":"Ada"}"#))
        #expect(end == .closed)
        await client.close()
    }

    @Test func `Large bodies arrive completely in both directions`() async throws {
        let server = try await Self.makeServer()
        let client = try RawClient(server)
        let body = String(repeating: "0123456789abcdef", count: 256 * 1024)
        async let sent: Void = client.send(
            "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)")
        let text = await client.receiveAll().text
        await sent
        #expect(text.hasSuffix("\r\n\r\n" + body))
        let request = try await server.nextRequest()
        #expect(request.bodyLength == body.utf8.count)
        #expect(request.body.count == 1024 * 1024)
        await client.close()

        let curl = try await Curl.run([], server.url("/big").absoluteString)
        #expect(curl.code == 0)
        #expect(curl.output.utf8.count == 8 * 1024 * 1024)
    }

    @Test func `Routes can be replaced while the server runs`() async throws {
        let server = try await LocalServer { $0.get("/", .text("old")) }
        let client = try await RawClient.sending("GET / HTTP/1.1\r\nHost: h\r\n\r\n", to: server)
        _ = await client.receive(until: "old")
        await server.route { $0.get("/", .text("new")) }
        await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(await client.receive(until: "new").contains("new"))
        await client.close()
    }

    @Test func `A value that is not JSON makes the response a 500`() {
        let response = LocalServer.Response.json([Double.nan])
        #expect(response.status == 500)
    }
}
