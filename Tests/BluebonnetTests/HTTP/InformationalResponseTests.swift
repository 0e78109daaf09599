import BluebonnetTesting
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@testable import Bluebonnet

/// Responses with status codes below 200 (RFC 9110 §15.2, RFC 8297).
@Suite(.timeLimit(.minutes(10))) struct InformationalResponseTests {
    private static let hints = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n"
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    private static func codes(_ sequence: StreamOf<HTTPResponse>) async -> [Int] {
        var codes: [Int] = []
        for await response in sequence { codes.append(response.statusCode) }
        return codes
    }

    @Test(
        arguments: [
            ([hints + ok], [103]), ([hints, ok], [103]), ([hints + hints, hints, ok], [103, 103, 103]),
            (["HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n", hints + ok], [100, 102, 103]),
            ([ok], []), (["HTTP/1.0 103 Early\n\n", ok], [103]),
            (["HTTP/1.1 103 Early Hints\r\nLink: </a>", "\r\n\r\nHTTP/1", ".1 200 OK\r\n\r\nok"], [103]),
        ] as [([String], [Int])])
    func `informational responses arrive before the response, in their order`(
        _ pieces: [String], expected: [Int]
    ) async throws {
        let steps = pieces.flatMap { [LocalServer.Script.Step.text($0), .pause(.milliseconds(20))] }
        let server = try await LocalServer.scripted { _ in .init([.waitForRequest] + steps + [.close]) }
        let session = TestHarness.session()
        let request = session.request(server.url)
        let sequence = request.informationalResponses(bufferingPolicy: .unbounded)
        #expect(try await request.serializingString().value == "ok")
        #expect(await Self.codes(sequence) == expected)
        // A later loop has the last one.
        #expect(await Self.codes(request.informationalResponses()) == Array(expected.suffix(1)))
        try await TestHarness.end(session, server)
    }

    @Test func `the links of early hints are there while the response is awaited`() async throws {
        let mayAnswer = Gate()
        let server = try await LocalServer.scripted(
            .waitForRequest, .text(Self.hints), .wait { await mayAnswer.wait() }, .text(Self.ok))
        let session = TestHarness.session()
        let request = session.request(server.url("/page"))
        let text = Task { try await request.serializingString().value }
        for await response in request.informationalResponses() {
            #expect(response.statusCode == 103 && response.links.first?.target == server.url("/a.css"))
            mayAnswer.open()
        }
        #expect(try await text.value == "ok")
        try await TestHarness.end(session, server)
    }

    @Test func `a switch of protocols is no informational response`() async throws {
        let server = try await WebSocketFixture.server(WebSocketFixture.close(1000))
        let session = TestHarness.session()
        let task = WebSocketFixture.request(session, server).webSocketTask()
        let (_, error) = await WebSocketFixture.messages(task)
        #expect(error == nil)
        #expect(await Self.codes(task.request.informationalResponses()) == [])
        try await TestHarness.end(session, server)
    }

    @Test func `transports that wrap others forward informational responses`() async throws {
        let server = try await LocalServer.scripted(.waitForRequest, .text(Self.hints + Self.ok))
        var configuration = Session.Configuration()
        configuration.cache = ResponseCache()
        let session = Session(configuration: configuration, transport: HARRecorder(configuration: configuration))
        let request = session.request(server.url)
        _ = await request.serializingString().response
        #expect(await Self.codes(request.informationalResponses()) == [103])
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [HTTPVersion.http1_1, .http2])
    func `the early hints of Node's servers are read`(_ version: HTTPVersion) async throws {
        let script = """
            const [module] = process.argv.slice(1)
            const server = require(module).createServer((request, response) => {
              response.writeEarlyHints({ link: '</a.css>; rel=preload' })
              response.end('ok')
            })
            server.listen(0, '127.0.0.1', () => console.log(server.address().port))
            """
        let program = try LineOutputProgram(command: ["node", "-e", script, version == .http2 ? "http2" : "http"])
        defer { program.send(SIGKILL) }
        var lines = program.lines.makeAsyncIterator()
        let port = try #require(await lines.next())
        let session = TestHarness.session()
        var message = try HTTPRequest(url: "http://127.0.0.1:\(port)/")
        message.httpVersion = version == .http2 ? .http2PriorKnowledge : .http1_1
        let request = session.request(message)
        let answer = await request.serializingString().response
        #expect(answer.value == "ok" && answer.response?.httpVersion == version)
        var links: [String] = []
        for await response in request.informationalResponses() { links += response.links.map(\.target.path) }
        #expect(links == ["/a.css"])
        await session.shutdown()
    }

    @Test func `a flood of informational responses keeps few of them`() async throws {
        let server = try await LocalServer.scripted(
            .waitForRequest, .text(String(repeating: Self.hints, count: 2000)), .text(Self.ok))
        let session = TestHarness.session()
        let request = session.request(server.url)
        let (few, all) = (request.informationalResponses(), request.informationalResponses(bufferingPolicy: .unbounded))
        #expect(try await request.serializingString().value == "ok")
        #expect(await Self.codes(few).count == 16)
        #expect(await Self.codes(all).count == 1000)
        try await TestHarness.end(session, server)
    }
}
