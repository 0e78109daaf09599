import Bluebonnet
import Testing

struct ReceivedHeadTests {
    private static func head(_ text: String) -> ReceivedHead? {
        ReceivedHead(bytes: Array(text.utf8))
    }

    @Test(
        arguments: [
            ("HTTP/1.1 200 OK\r\n\r\n", HTTPVersion.http1_1, 200, "OK"),
            ("HTTP/1.0 404 Not Found\r\n", .http1_0, 404, "Not Found"),
            ("HTTP/2 204 \r\n\r\n", .http2, 204, nil),
            ("HTTP/2 204\r\n\r\n", .http2, 204, nil),
            ("HTTP/2.0 301", .http2, 301, nil),
            ("HTTP/1.9 599 x", .http1_1, 599, "x"),
            ("HTTP/1.1 999\n", .http1_1, 999, nil),
            ("HTTP/1.1 100 \r\n", .http1_1, 100, nil),
            ("HTTP/1.1 200 tout \u{e9} bon\n\n", .http1_1, 200, "tout \u{e9} bon"),
        ] as [(String, HTTPVersion, Int, String?)])
    func `a status line is read`(text: String, version: HTTPVersion, code: Int, reason: String?) throws {
        let head = try #require(Self.head(text))
        #expect(head.httpVersion == version)
        #expect(head.statusCode == code)
        #expect(head.reasonPhrase == reason)
        #expect(head.headers.isEmpty)
    }

    @Test(arguments: [
        "", "\r\n", "HTTP/1.1", "HTTP/1.1 ", "HTTP/1.1 20", "HTTP/1.1 20x OK", "HTTP/1.1 2000 OK", "HTTP/1.1 099 x",
        "http/1.1 200 OK", "HTTP/4 200 OK", "HTTP/1 200 OK", "HTTP/1.1  200", "HTTP/1.x 200 OK", "HTTP/1.10 200",
        "HTTP/0.9 200", "ICY 200 OK", "HTTP/1.1 -10 x", "HTTP/1.1 200OK", "HTTP/2.1 200", "<html>not http</html>",
    ])
    func `an invalid status line is refused`(text: String) {
        #expect(Self.head(text) == nil)
    }

    @Test(arguments: ["\r\n", "\n"])
    func `fields are read with either end of line`(end: String) throws {
        let lines = ["HTTP/1.1 200 OK", "A: 1", "b:2", "C:\t 3 \t", "A:  4", "Empty:", "D: x: y", "", ""]
        let head = try #require(Self.head(lines.joined(separator: end)))
        for _ in 1...2 {
            #expect(head.value(for: "a") == "1, 4")
            #expect(head.value(for: "B") == "2")
            #expect(head.value(for: "C") == "3")
            #expect(head.value(for: "D") == "x: y")
            #expect(head.value(for: "Empty") == "")
            #expect(head.value(for: "E") == nil)
            #expect(head.value(for: "") == nil)
            // The second time the fields have been parsed.
            #expect(
                head.headers == ["A": "1", "b": "2", "C": "3", "A": "4", "Empty": "", "D": "x: y"])
        }
    }

    @Test func `the case of names is kept`() throws {
        let head = try #require(Self.head("HTTP/1.1 200 OK\r\nX-mIxEd: a\r\n\r\n"))
        #expect(head.headers.map(\.name) == ["X-mIxEd"])
    }

    @Test(arguments: [
        ("A: 1\r\n 2\r\nB: 3\r\n", "1 2"), ("A: 1\r\n\t \t2 \r\n  3\r\nB: 3\r\n", "1 2 3"),
        ("A:\r\n 1\r\nB: 3\r\n", "1"),
        ("A: 1\n 2\nB: 3\n", "1 2"), ("A: 1\r\n \r\nB: 3\r\n", "1"), ("A: 1\r\n B: 2\r\nB: 3", "1 B: 2"),
    ])
    func `a folded line continues the value before it`(fields: String, expected: String) throws {
        let head = try #require(Self.head("HTTP/1.1 200 OK\r\n" + fields + "\r\n"))
        #expect(head.value(for: "A") == expected)
        #expect(head.headers == ["A": expected, "B": "3"])
    }

    @Test(arguments: ["no colon", ": no name", "bad name: x", " : x", "\u{0}: x", "é: x", ":", "\u{7f}"])
    func `a line that is not a field is skipped`(line: String) throws {
        let head = try #require(Self.head("HTTP/1.1 200 OK\r\nA: 1\r\nB: 2\r\n\(line)\r\nC: 3\r\n\r\n"))
        #expect(head.value(for: "C") == "3")
        #expect(head.headers.map(\.name) == ["A", "B", "C"])
    }

    @Test func `white space before the colon does not hide a field`() throws {
        let head = try #require(Self.head("HTTP/1.1 200 OK\r\nContent-Length : 5\r\n\r\n"))
        #expect(head.value(for: "content-length") == "5")
    }

    @Test func `a head without its end is read as far as it goes`() throws {
        #expect(Self.head("HTTP/1.1 200 OK\r\nA: 1\r\nB: 2")?.headers == ["A": "1", "B": "2"])
        #expect(Self.head("HTTP/1.1 200 OK\r\nA: 1\r\nB")?.headers == ["A": "1"])
        #expect(Self.head("HTTP/1.1 200 OK\r\n\r")?.headers == [])
    }

    @Test func `bytes that are not UTF-8 are ISO-8859-1`() throws {
        let bytes = Array("HTTP/1.1 200 OK\r\nA: caf".utf8) + [0xe9] + Array("\r\nB: café\r\n\r\n".utf8)
        let head = try #require(ReceivedHead(bytes: bytes))
        #expect(head.value(for: "A") == "café")
        #expect(head.value(for: "B") == "café")
    }

    @Test func `a made head has the fields it was given`() {
        let head = ReceivedHead(statusCode: 200, httpVersion: .http2, headers: ["A": "1", "a": "2"])
        #expect(head.value(for: "A") == "1, 2")
        #expect(head.headers.count == 2)
        #expect(head.reasonPhrase == nil)
    }

    @Test(.timeLimit(.minutes(10))) func `many threads can read the fields at the same time`() async throws {
        for _ in 0..<500 {
            let head = try #require(Self.head("HTTP/1.1 200 OK\r\nA: 1\r\nB: 2\r\n\r\n"))
            let sum = await withTaskGroup(of: Int.self) { group in
                for _ in 0..<8 {
                    group.addTask { head.headers.count + (head.value(for: "a") == "1" ? 1 : 0) }
                }
                return await group.reduce(0, +)
            }
            #expect(sum == 24)
        }
    }

    @Test func `no bytes cause a trap`() {
        var generator = SystemRandomNumberGenerator()
        let alphabet = Array("HTP/1.2 05:\r\n\t aA;,\"\0".utf8) + [0xff, 0x80]
        for _ in 0..<20_000 {
            var bytes = Array("HTTP/1.1 200 OK\r\n".utf8)
            for _ in 0..<Int.random(in: 0...40, using: &generator) {
                bytes.append(alphabet[Int.random(in: 0..<alphabet.count, using: &generator)])
            }
            let head = ReceivedHead(bytes: bytes)
            let value = head?.value(for: "a")
            #expect(value == head?.headers.value(for: "a"), "\(bytes)")
            bytes.removeFirst(Int.random(in: 0..<17, using: &generator))
            _ = ReceivedHead(bytes: bytes)?.headers
        }
    }
}
