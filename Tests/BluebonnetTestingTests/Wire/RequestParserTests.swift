import Bluebonnet
import FoundationEssentials
import Testing

@testable import BluebonnetTesting

@Suite struct RequestParserTests {
    /// A whole request as reported by the parser.
    struct Parsed: Equatable, CustomStringConvertible {
        var method = ""
        var target = ""
        var version = HTTPVersion.http1_1
        var fields: [String] = []
        var body = ""
        var trailers: [String] = []
        var keepsAlive = true
        var expectsContinue = false

        var description: String { "\(method) \(target) \(fields) \(body) \(trailers)" }
    }

    /// The result of parsing some input: the requests, and the state afterwards.
    struct Outcome: Equatable {
        var requests: [Parsed] = []
        var status: Int?
        var isInsideBody = false
    }

    static func parse(
        _ input: [UInt8], pieces: Int = .max, headLimit: Int = 1024, bodyLimit: Int = 1024
    ) -> Outcome {
        var parser = RequestParser(maximumHeadBytes: headLimit, maximumBodyBytes: bodyLimit)
        var outcome = Outcome()
        var current: Parsed?
        var rest = input[...]
        repeat {
            let piece = rest.prefix(pieces)
            rest = rest.dropFirst(piece.count)
            parser.append(ArraySlice(Array(piece)))
            events: while true {
                switch parser.next() {
                case .needsBytes: break events
                case .head(let head):
                    current = Parsed(
                        method: head.method.rawValue, target: head.target, version: head.version,
                        fields: head.headers.map { "\($0.name)=\($0.value)" }, keepsAlive: head.keepsAlive,
                        expectsContinue: head.expectsContinue)
                case .body(let bytes): current?.body += String(decoding: bytes, as: UTF8.self)
                case .end(let trailers):
                    current?.trailers = trailers.map { "\($0.name)=\($0.value)" }
                    if let current { outcome.requests.append(current) }
                    current = nil
                case .failed(let failure):
                    outcome.status = failure.status
                    return outcome
                }
            }
        } while !rest.isEmpty
        outcome.isInsideBody = current != nil
        return outcome
    }

    struct Example: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let input: String
        let expected: [Parsed]

        init(_ name: String, _ input: String, _ expected: Parsed...) {
            testDescription = name
            self.input = input
            self.expected = expected
        }
    }

    static let host = "Host: h\r\n"

    static let wellFormed = [
        Example("a GET", "GET / HTTP/1.1\r\n\(host)\r\n", Parsed(method: "GET", target: "/", fields: ["Host=h"])),
        Example(
            "an empty line before the request", "\r\nGET / HTTP/1.1\r\n\(host)\r\n",
            Parsed(method: "GET", target: "/", fields: ["Host=h"])),
        Example(
            "white space around a value", "GET / HTTP/1.1\r\nHost: \t h \t\r\nA:\r\nB:b\r\n\r\n",
            Parsed(method: "GET", target: "/", fields: ["Host=h", "A=", "B=b"])),
        Example(
            "repeated fields in order", "GET / HTTP/1.1\r\n\(host)A: 1\r\nB: 2\r\na: 3\r\n\r\n",
            Parsed(method: "GET", target: "/", fields: ["Host=h", "A=1", "B=2", "a=3"])),
        Example(
            "a custom method and an absolute target", "PURGE http://h/x?y HTTP/1.1\r\n\(host)\r\n",
            Parsed(method: "PURGE", target: "http://h/x?y", fields: ["Host=h"])),
        Example(
            "Connection: close", "GET / HTTP/1.1\r\n\(host)Connection: X, Close\r\n\r\n",
            Parsed(method: "GET", target: "/", fields: ["Host=h", "Connection=X, Close"], keepsAlive: false)),
        Example(
            "HTTP/1.0 without a Host", "GET / HTTP/1.0\r\n\r\n",
            Parsed(method: "GET", target: "/", version: .http1_0, keepsAlive: false)),
        Example(
            "HTTP/1.0 that keeps alive", "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n",
            Parsed(method: "GET", target: "/", version: .http1_0, fields: ["Connection=Keep-Alive"])),
        Example(
            "a body with a length", "POST / HTTP/1.1\r\n\(host)Content-Length: 3\r\n\r\nabc",
            Parsed(method: "POST", target: "/", fields: ["Host=h", "Content-Length=3"], body: "abc")),
        Example(
            "an empty body", "POST / HTTP/1.1\r\n\(host)Content-Length: 0\r\n\r\n",
            Parsed(method: "POST", target: "/", fields: ["Host=h", "Content-Length=0"])),
        Example(
            "the same length twice", "POST / HTTP/1.1\r\n\(host)Content-Length: 1\r\nContent-Length: 1\r\n\r\nx",
            Parsed(
                method: "POST", target: "/", fields: ["Host=h", "Content-Length=1", "Content-Length=1"], body: "x")),
        Example(
            "a chunked body, with an extension and trailers",
            "POST / HTTP/1.1\r\n\(host)Transfer-Encoding: Chunked\r\n\r\n3;a=b\r\nabc\r\n0A \r\n0123456789\r\n0\r\nT: 1\r\n\r\n",
            Parsed(
                method: "POST", target: "/", fields: ["Host=h", "Transfer-Encoding=Chunked"], body: "abc0123456789",
                trailers: ["T=1"])),
        Example(
            "an expectation", "PUT / HTTP/1.1\r\n\(host)Expect: 100-Continue\r\nContent-Length: 1\r\n\r\nx",
            Parsed(
                method: "PUT", target: "/", fields: ["Host=h", "Expect=100-Continue", "Content-Length=1"], body: "x",
                expectsContinue: true)),
        Example(
            "an expectation in HTTP/1.0, which has none",
            "PUT / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx",
            Parsed(
                method: "PUT", target: "/", version: .http1_0, fields: ["Expect=100-continue", "Content-Length=1"],
                body: "x", keepsAlive: false)),
        Example(
            "requests one after the other",
            "GET /1 HTTP/1.1\r\n\(host)\r\nPOST /2 HTTP/1.1\r\n\(host)Content-Length: 2\r\n\r\nab\r\nGET /3 HTTP/1.1\r\n\(host)\r\n",
            Parsed(method: "GET", target: "/1", fields: ["Host=h"]),
            Parsed(method: "POST", target: "/2", fields: ["Host=h", "Content-Length=2"], body: "ab"),
            Parsed(method: "GET", target: "/3", fields: ["Host=h"])),
        Example(
            "a value in UTF-8", "GET / HTTP/1.1\r\n\(host)A: é\r\n\r\n",
            Parsed(method: "GET", target: "/", fields: ["Host=h", "A=é"])),
    ]

    @Test(arguments: wellFormed, [1, 2, 3, 7, Int.max])
    func `Requests are parsed, wherever the pieces end`(_ example: Example, pieces: Int) {
        let outcome = Self.parse(Array(example.input.utf8), pieces: pieces)
        #expect(outcome == Outcome(requests: example.expected))
    }

    @Test func `A value that is not UTF-8 is read as ISO-8859-1`() {
        let input = Array("GET / HTTP/1.1\r\n\(Self.host)A: ".utf8) + [0xE9] + Array("\r\n\r\n".utf8)
        #expect(Self.parse(input).requests.first?.fields == ["Host=h", "A=é"])
    }

    static let malformed: [(String, Int)] = [
        ("GET / HTTP/1.1\n\(host)\r\n", 400),
        ("\n\n", 400),
        ("GET /\r\n\r\n", 400),
        ("GET  HTTP/1.1\r\n\(host)\r\n", 400),
        ("GET / / HTTP/1.1\r\n\(host)\r\n", 400),
        ("G=T / HTTP/1.1\r\n\(host)\r\n", 400),
        (" GET / HTTP/1.1\r\n\(host)\r\n", 400),
        ("GET /\u{7F} HTTP/1.1\r\n\(host)\r\n", 400),
        ("GET /é HTTP/1.1\r\n\(host)\r\n", 400),
        ("GET / HTTP/1.1 \r\n\(host)\r\n", 400),
        ("GET / http/1.1\r\n\(host)\r\n", 400),
        ("GET / HTTP/2.0\r\n\(host)\r\n", 505),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
        ("GET / HTTP/1.1\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\n\(host)\(host)\r\n", 400),
        ("GET / HTTP/1.1\r\n\(host)A b: c\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\n\(host)A : c\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\n\(host): c\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\n\(host)A\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\n\(host)A: b\r\n c\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\n\(host)A: \u{0}\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\n\(host)A: b\rc\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\n\(host)Content-Length: x\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\n\(host)Content-Length: -1\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\n\(host)Content-Length: +1\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\n\(host)Content-Length: 1, 1\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\n\(host)Content-Length: 99999999999999999999\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\n\(host)Content-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\n\(host)Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        ("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\n\(host)Transfer-Encoding: gzip, chunked\r\n\r\n", 501),
        ("POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 501),
        ("GET / HTTP/1.1\r\n\(host)Expect: the-unexpected\r\n\r\n", 417),
        ("POST / HTTP/1.1\r\n\(host)Content-Length: 1025\r\n\r\n", 413),
        ("POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\nx\r\n", 400),
        ("POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\n1x\r\n", 400),
        ("POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\n-1\r\n", 400),
        ("POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\n401\r\n", 413),
        ("POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF\r\n", 400),
        ("POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n", 400),
        ("POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\n0\r\nT\r\n\r\n", 400),
        ("GET /" + String(repeating: "x", count: 1024) + " HTTP/1.1\r\n\(host)\r\n", 414),
        ("GET / HTTP/1.1\r\n\(host)A: " + String(repeating: "x", count: 1024) + "\r\n\r\n", 431),
        ("GET / HTTP/1.1\r\n\(host)" + String(repeating: "A: x\r\n", count: 200), 431),
    ]

    @Test(arguments: malformed, [1, Int.max])
    func `A malformed or too large request fails with a status`(_ example: (String, Int), pieces: Int) {
        let outcome = Self.parse(Array(example.0.utf8), pieces: pieces)
        #expect(outcome.status == example.1)
        #expect(outcome.requests.isEmpty)
    }

    @Test func `A failure is permanent`() {
        var parser = RequestParser()
        parser.append(ArraySlice("nonsense\r\n\r\n".utf8))
        let first = parser.next()
        parser.append(ArraySlice("GET / HTTP/1.0\r\n\r\n".utf8))
        #expect(parser.next() == first)
    }

    @Test func `An incomplete body has no end`() {
        let input = "POST / HTTP/1.1\r\n\(Self.host)Content-Length: 3\r\n\r\nab"
        #expect(Self.parse(Array(input.utf8)) == Outcome(isInsideBody: true))
    }

    @Test func `Raw bytes can be read between requests`() {
        var parser = RequestParser()
        parser.append(ArraySlice("rawGET / HTTP/1.0\r\n\r\n".utf8))
        #expect(Array(parser.takeRawBytes(3)) == Array("raw".utf8))
        guard case .head(let head) = parser.next() else {
            Issue.record("there is no head")
            return
        }
        #expect(head.target == "/")
        #expect(parser.bufferedCount == 0)
        #expect(parser.takeRawBytes(.max).isEmpty)
        #expect(parser.takeRawBytes(-1).isEmpty)
    }

    @Test func `Random bytes never trap, and random pieces have the same result`() {
        var random = SystemRandomNumberGenerator()
        let alphabet = Array(
            "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0;\t".utf8)
        for _ in 0..<3000 {
            var input = Array(Self.wellFormed[Int.random(in: 0..<Self.wellFormed.count, using: &random)].input.utf8)
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                let position = Int.random(in: 0..<input.count, using: &random)
                input[position] = alphabet.randomElement(using: &random) ?? 0
            }
            let whole = Self.parse(input)
            let cut = Self.parse(input, pieces: Int.random(in: 1...9, using: &random))
            #expect(whole == cut, "\(String(decoding: input, as: UTF8.self))")
        }
    }
}
