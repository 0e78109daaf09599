import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Testing

/// Responses that no server should send.
///
/// Without ``FramingCheck``, a part of a body with two lengths is the answer to the next request.
@Suite(.timeLimit(.minutes(10))) struct MalformedResponseTests {
    @Test(arguments: [
        "HTTP/1.1 abc OK", "HTTP/1.1 2x0 OK", "HTTP/1.1 20 OK", "HTTP/1.1 2 OK", "HTTP/1.1 1000 OK", "HTTP/1.1 099 OK",
        "HTTP/1.1 000 OK", "HTTP/1.1 -20 OK", "HTTP/1.1 +20 OK", "HTTP/1.1 200OK", "HTTP/1.1  200 OK",
        "HTTP/1.1\t200 OK",
        "HTTP/1.1", "HTTP/1.1 ", "HTTP/", "HTTP", "HTTP/1 200 OK", "HTTP/1.10 200 OK", "HTTP/11 200 OK",
        "HTTP/0.9 200 OK",
        "HTTP/3.7 200 OK", "HTTP/9 200 OK", "HTTP/x.y 200 OK", "HTTP /1.1 200 OK", " HTTP/1.1 200 OK",
        "http/1.1 200 OK",
        "HTP/1.1 200 OK", "HTTPS/1.1 200 OK", "RTSP/1.0 200 OK", "ICY 200 OK", "SIP/2.0 200 OK", "SSH-2.0-OpenSSH_9.2",
        "220 mail.example.com ESMTP", "<html><body>hello</body></html>", "200 OK", "{\"a\": 1}", "\u{1}\u{2}\u{3}",
        "GET / HTTP/1.1", "",
    ])
    func `an invalid status line`(_ line: String) async throws {
        let server = try await TestHarness.server(answering: line + "\r\nContent-Length: 2\r\n\r\nok")
        let session = TestHarness.session()
        let task = session.request(server.url("/a")).serializingString()
        try await TestHarness.expect(
            task, in: session, failsWith: .invalidResponse(.malformed), saying: "the response is malformed")
        #expect(await task.response.value == nil)
        try await TestHarness.end(session, server)
    }

    @Test(arguments: ["", "<html>", "220 mail.example.com ESMTP"])
    func `an error tells that there is no status line`(_ line: String) async throws {
        let server = try await TestHarness.server(answering: line + "\r\nHTTP/1.1 200 OK\r\n\r\n")
        let session = TestHarness.session()
        try await TestHarness.expect(
            session.request(server.url("/a")).serializingString(), in: session, failsWith: .invalidResponse(.malformed),
            saying: "it does not begin with a status line")
        try await TestHarness.end(session, server)
    }

    @Test(
        arguments: [
            ("HTTP/1.1 200", nil), ("HTTP/1.1 200 ", nil), ("HTTP/1.0 200 OK", "OK"), ("HTTP/1.1 200 a  b", "a  b"),
            ("HTTP/1.1 200 gr\u{fc}n", "gr\u{fc}n"),
        ] as [(String, String?)])
    func `an unusual but valid status line`(_ line: String, reason: String?) async throws {
        let server = try await TestHarness.server(answering: line + "\r\nContent-Length: 2\r\n\r\nok")
        let session = TestHarness.session()
        let answer = await session.request(server.url("/a")).serializingString().response
        #expect(answer.value == "ok")
        #expect(answer.response?.statusCode == 200)
        #expect((answer.response?.reasonPhrase ?? "").isEmpty ? reason == nil : answer.response?.reasonPhrase == reason)
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [
        "x\r\nok\r\n0\r\n\r\n", "-2\r\nok\r\n0\r\n\r\n", "+2\r\nok\r\n0\r\n\r\n",
        "\r\nok\r\n0\r\n\r\n", " 2\r\nok\r\n0\r\n\r\n", ";a=b\r\nok\r\n0\r\n\r\n", "fffffffffffffffff\r\nok",
        "11111111111111111111111111111111\r\nok", "ffffffffffffffff\r\nok", "8000000000000000\r\nok",
        "2\r\nokx\r\n0\r\n\r\n",
        "2\r\nok0\r\n\r\n", "1\r\nok\r\n0\r\n\r\n", "2\r\nok\r\nx\r\n\r\n", "\0\r\nok", "G\r\n",
    ])
    func `an invalid chunk`(_ chunks: String) async throws {
        let server = try await TestHarness.server(
            answering: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks)
        let session = TestHarness.session()
        try await TestHarness.expect(
            session.request(server.url("/a")).serializingString(), in: session, failsWith: .invalidResponse(.malformed),
            saying: "the response is malformed")
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [
        "2\r\nok\r\n0\r\n\r\n", "002\r\nok\r\n000\r\n\r\n", "2;a=b;c=\"d\"\r\nok\r\n0;e\r\n\r\n",
        "2 \r\nok\r\n0\r\n\r\n",
        "1\r\no\r\n1\r\nk\r\n0\r\n\r\n", "2\r\nok\r\n0\r\nA: b\r\nC: d\r\n\r\n", "2\nok\n0\n\n",
    ])
    func `unusual but valid chunks`(_ chunks: String) async throws {
        let server = try await TestHarness.server(
            answering: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks)
        let session = TestHarness.session()
        #expect(try await session.request(server.url("/a")).serializingString().value == "ok")
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [
        "Content-Length: abc", "Content-Length: -2", "Content-Length: 2x", "Content-Length: 2, 3",
        "Content-Length: 2\r\nContent-Length: 3", "Content-Length: 3\r\nContent-Length: 2", "Content-Length:",
        "Content-Length: 0x2", "Content-Length: +2", "Content-Length: 2 2", "X-Name: a\0b\r\nContent-Length: 2",
        "X\0: a\r\nContent-Length: 2", "Transfer-Encoding: nonsense", "Transfer-Encoding: chunked, nonsense",
        "transfer-encoding:\tgzipped, chunked", "Transfer-Encoding: chunked;a=b", "Transfer-Encoding: chunked chunked",
        "Content-Length: 99999999999999999999", "Content-Length: 2,", "Content-Length: ,2", "content-length: 2, 2, 3",
        "Content-Length: 2\r\nX-Name: a\r\nCONTENT-LENGTH: 02x", "Content-Length: 9223372036854775808",
        "Transfer-Encoding:\r\n chunked", "Transfer-Encoding : chunked\r\nContent-Length: 2", "Content-Length: 2\r\n 0",
        "Content-Length: 2\r\nContent-Length : 3",
    ])
    func `fields that do not define the end of the message`(_ fields: String) async throws {
        let server = try await TestHarness.server(answering: "HTTP/1.1 200 OK\r\n\(fields)\r\n\r\nok")
        let session = TestHarness.session()
        let error = try #require(
            await session.request(server.url("/a")).serializingString().response.error, "\(fields)")
        #expect(error.kind == .invalidResponse(.malformed), "\(error)")
        #expect(!error.description.contains("content encoding"))
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [
        "Content-Length: 2, 2", "Content-Length: 2\r\ncontent-length: 2", "Content-Length:2", "Content-Length: \t2 \t",
        "Content-Length: 002", "Content-Lengt: x\r\nContent-Length: 2\r\nContent-Lengths: y",
    ])
    func `unusual but unambiguous lengths`(_ fields: String) async throws {
        let server = try await LocalServer.scripted(
            .waitForRequest, .bytes("HTTP/1.1 200 OK\r\n\(fields)\r\n\r\nok"), .stall)
        let session = TestHarness.session()
        #expect(try await session.request(server.url("/a")).serializingString().value == "ok")
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [
        "no colon", ": no name", "X Y: space in the name", "X : space after the name", "X-Name: a\rb",
        "\u{fc}: not ASCII",
        "(X): not a token", "X\u{1}: control",
    ])
    func `an invalid field does not affect other fields`(_ line: String) async throws {
        let server = try await TestHarness.server(
            answering: "HTTP/1.1 200 OK\r\nX-First: 1\r\n\(line)\r\nContent-Length: 2\r\nX-Last: 2\r\n\r\nok")
        let session = TestHarness.session()
        let answer = await session.request(server.url("/a")).serializingString().response
        if let error = answer.error {
            #expect(error.kind == .invalidResponse(.malformed))
        } else {
            #expect(answer.value == "ok")
            #expect(answer.response?.headers["X-First"] == "1")
            #expect(answer.response?.headers["X-Last"] == "2")
            #expect(answer.response?.headers.allSatisfy { !$0.value.contains { $0.isNewline } } == true)
        }
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [
        " X-Name: a", "\tX-Name: a", " ", "\t", " Content-Length: 2", "\tTransfer-Encoding: chunked", "A\rB: 2",
        "A\r: 2", "\r: 2", "A\r",
    ])
    func `a malformed or folded first field is never reported as a fault of the request`(_ line: String) async throws {
        for before in ["", "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n"] {
            let server = try await TestHarness.server(
                answering: before + "HTTP/1.1 200 OK\r\n\(line)\r\nContent-Length: 2\r\n\r\nok")
            let session = TestHarness.session()
            let answer = await session.request(server.url("/a")).serializingString().response
            if line.utf8.first == 0x20 || line.utf8.first == 0x09 || answer.error != nil {
                #expect(answer.error?.kind == .invalidResponse(.malformed), "\(line.debugDescription): \(answer)")
                #expect(answer.error?.detail?.contains("libcurl") != true)
            } else {
                #expect(answer.value == "ok")
                #expect(answer.response?.headers.map(\.name) == ["Content-Length"])
            }
            try await TestHarness.end(session, server)
        }
    }

    @Test func `any number of early hints may precede the response`() async throws {
        let hint = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n"
        let server = try await TestHarness.server(
            answering: String(repeating: hint, count: 50)
                + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Name: a\r\n\r\nok")
        let session = TestHarness.session()
        let answer = await session.request(server.url("/a")).serializingString().response
        #expect(answer.value == "ok")
        #expect(answer.response?.statusCode == 200)
        #expect(answer.response?.headers["Link"] == nil)
        #expect(answer.response?.headers["X-Name"] == "a")
        try await TestHarness.end(session, server)
    }

    @Test func `endless early hints exceed the limit`() async throws {
        let hint = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n"
        let server = try await LocalServer.scripted(
            .waitForRequest, .bytes(String(repeating: hint, count: 100_000)), .stall)
        let session = TestHarness.session()
        let limit = session.configuration.maximumResponseHeadBytes
        try await TestHarness.expect(
            session.request(server.url("/a")).serializingString(), in: session,
            failsWith: .invalidResponse(.headTooLarge(limit: limit)), saying: "larger than \(limit) bytes")
        try await TestHarness.end(session, server)
    }

    @Test(arguments: ["", "nonsense"])
    func `an unrequested switch of protocols fails at once`(bytes: String) async throws {
        let server = try await LocalServer.scripted(
            .waitForRequest,
            .bytes("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n\(bytes)"), .stall)
        let session = TestHarness.session()
        try await TestHarness.expect(
            session.request(server.url("/a")).serializingString(), in: session,
            failsWith: .invalidResponse(.malformed), saying: "switched to another protocol")
        try await TestHarness.end(session, server)
    }

    /// The bytes must not be read as the response to the next request.
    @Test(arguments: ["Content-Length: 5\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n"])
    func `a connection with a 204 that announces a body is not used again`(fields: String) async throws {
        let server = try await LocalServer {
            $0.get("/a") { _ in .script(LocalServer.Script([.bytes("HTTP/1.1 204 No Content\r\n\(fields)"), .serve])) }
            $0.get("/b", .text("right"))
        }
        let session = TestHarness.session()
        #expect(await session.request(server.url("/a")).serializingData().response.response?.statusCode == 204)
        let next = await session.request(server.url("/b")).serializingString().response
        #expect(next.value == "right" && next.metrics?.isReusedConnection == false)
        try await TestHarness.end(session, server)
    }
}
