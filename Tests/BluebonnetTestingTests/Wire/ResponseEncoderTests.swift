import Bluebonnet
import FoundationEssentials
import Testing

@testable import BluebonnetTesting

@Suite struct ResponseEncoderTests {
    struct Example: CustomTestStringConvertible, Sendable {
        let testDescription: String
        var response = LocalServer.Response.ok
        var length: Int? = 0
        var method = HTTPMethod.get
        var version = HTTPVersion.http1_1
        var keepsAlive = true
        let head: String
        let framing: ResponseEncoder.Framing
        var staysOpen = true
    }

    static let examples = [
        Example(
            testDescription: "an empty body", head: "HTTP/1.1 200 OK|Content-Length: 0", framing: .length(0)),
        Example(
            testDescription: "a body", response: .status(404, headers: ["A": "b"]), length: 3,
            head: "HTTP/1.1 404 Not Found|A: b|Content-Length: 3", framing: .length(3)),
        Example(
            testDescription: "fields about framing are the server's",
            response: .status(200, headers: ["Content-Length": "99", "transfer-encoding": "gzip", "A": "b"]), length: 3,
            head: "HTTP/1.1 200 OK|A: b|Content-Length: 3", framing: .length(3)),
        Example(
            testDescription: "unknown length", length: nil,
            head: "HTTP/1.1 200 OK|Transfer-Encoding: chunked", framing: .chunked),
        Example(
            testDescription: "unknown length in HTTP/1.0", length: nil, version: .http1_0,
            head: "HTTP/1.1 200 OK|Connection: close", framing: .untilClose, staysOpen: false),
        Example(
            testDescription: "HTTP/1.0 that keeps alive", length: 1, version: .http1_0,
            head: "HTTP/1.1 200 OK|Content-Length: 1|Connection: keep-alive", framing: .length(1)),
        Example(
            testDescription: "the client closes", length: 1, keepsAlive: false,
            head: "HTTP/1.1 200 OK|Content-Length: 1|Connection: close", framing: .length(1), staysOpen: false),
        Example(
            testDescription: "the route closes", response: .status(200, headers: ["connection": "Close"]), length: 1,
            head: "HTTP/1.1 200 OK|Content-Length: 1|Connection: close", framing: .length(1), staysOpen: false),
        Example(
            testDescription: "HEAD", length: 7, method: .head, head: "HTTP/1.1 200 OK|Content-Length: 7",
            framing: .none),
        Example(
            testDescription: "HEAD with a length of the route's",
            response: .status(200, headers: ["Content-Length": "9"]),
            method: .head, head: "HTTP/1.1 200 OK|Content-Length: 9", framing: .none),
        Example(
            testDescription: "HEAD of a stream", length: nil, method: .head,
            head: "HTTP/1.1 200 OK|Transfer-Encoding: chunked", framing: .none),
        Example(
            testDescription: "204 has no body", response: .status(204), length: 7, head: "HTTP/1.1 204 No Content",
            framing: .none),
        Example(
            testDescription: "304 may say the length", response: .status(304, headers: ["Content-Length": "9"]),
            length: 7, head: "HTTP/1.1 304 Not Modified|Content-Length: 9", framing: .none),
        Example(
            testDescription: "a custom reason", response: LocalServer.Response(status: 299, reason: "Fine"),
            head: "HTTP/1.1 299 Fine|Content-Length: 0", framing: .length(0)),
        Example(
            testDescription: "an unknown status", response: .status(799), head: "HTTP/1.1 799 |Content-Length: 0",
            framing: .length(0)),
    ]

    @Test(arguments: examples) func `A response is encoded with its head and framing`(_ example: Example) {
        let encoder = ResponseEncoder(
            example.response, length: example.length,
            to: ResponseEncoder.Context(
                method: example.method, version: example.version, keepsAlive: example.keepsAlive))
        let text = String(decoding: encoder.head, as: UTF8.self)
        #expect(text == example.head.split(separator: "|").joined(separator: "\r\n") + "\r\n\r\n")
        #expect(encoder.framing == example.framing)
        #expect(encoder.keepsAlive == example.staysOpen)
    }

    @Test(arguments: [(1, "1\r\n"), (10, "a\r\n"), (65536, "10000\r\n")])
    func `Chunks have their size in hexadecimal`(length: Int, text: String) {
        #expect(String(decoding: ResponseEncoder.chunkHead(length), as: UTF8.self) == text)
    }
}
