import FoundationEssentials
import Testing

@testable import Bluebonnet

/// The parts of a response, and the bytes to send, of a connection on which Bluebonnet speaks HTTP/1.1.
struct ResponseFramingTests {
    /// Returns the head, the body, and whether the response is complete, for bytes that arrive in pieces.
    private func parse(_ text: String, pieces: Int) -> (heads: String, body: String, isComplete: Bool, isBad: Bool) {
        var framing = ResponseFraming()
        var (head, heads, body): ([UInt8], [UInt8], [UInt8]) = ([], [], [])
        let bytes = Array(text.utf8)
        for start in stride(from: 0, to: bytes.count, by: pieces) {
            var rest = Array(bytes[start..<min(start + pieces, bytes.count)])
            while !rest.isEmpty {
                let copy = rest
                let span = copy.span
                let part = framing.part(of: span)
                let count: Int
                switch part {
                case .head(let length, let isEnd):
                    count = length
                    head += rest.prefix(count)
                    framing.consumed(part, of: span)
                    guard isEnd else { break }
                    heads += head
                    let parsed = ReceivedHead(bytes: head)
                    framing.headEnded(parsed.flatMap { $0.statusCode < 200 && $0.statusCode != 101 ? nil : $0 })
                    head = []
                case .body(let length):
                    count = length
                    body += rest.prefix(count)
                    framing.consumed(part, of: span)
                case .skipped(let length):
                    count = length
                    framing.consumed(part, of: span)
                case .end: count = rest.count
                case .malformed: return ("", "", false, true)
                }
                rest = Array(rest.dropFirst(count))
            }
        }
        return (
            String(decoding: heads, as: UTF8.self), String(decoding: body, as: UTF8.self), framing.isComplete, false
        )
    }

    @Test(
        arguments: [1, 2, 7, 1000],
        [
            ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", "abc", "rest", true),
            ("HTTP/1.1 200 OK\nContent-Length: 3\n\n", "abc", "", true),
            ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "", "", true),
            ("HTTP/1.1 204 OK\r\nContent-Length: 3\r\n\r\n", "", "abc", true),
            ("HTTP/1.1 200 OK\r\n\r\n", "until the end", "", false),
            ("HTTP/1.1 101 OK\r\nContent-Length: 3\r\n\r\n", "frames and frames", "", false),
            ("HTTP/1.1 103 Hints\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n", "x", "", true),
        ])
    func `a response has a head, a body and an end`(pieces: Int, row: (String, String, String, Bool)) {
        let parsed = parse(row.0 + row.1 + row.2, pieces: pieces)
        #expect(parsed.heads == row.0)
        #expect(parsed.body == row.1)
        #expect(parsed.isComplete == row.3)
    }

    @Test(
        arguments: [1, 3, 1000],
        [
            ("3\r\nabc\r\n0\r\n\r\n", "abc", true, false),
            ("A;x=\"y\"\r\n0123456789\r\n0;z\r\nT: u\r\n\r\n", "0123456789", true, false),
            ("3\r\nabc\r\n", "abc", false, false), ("g\r\n", "", false, true), ("3\r\nabcd\r\n", "", false, true),
            ("\r\n", "", false, true), ("1111111111111111\r\n", "", false, true),
        ])
    func `chunks are joined`(pieces: Int, row: (String, String, Bool, Bool)) {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        let parsed = parse(head + row.0, pieces: pieces)
        #expect(parsed.isBad == row.3)
        #expect(parsed.body == row.1)
        #expect(parsed.isComplete == row.2)
    }

    @Test func `refused bytes are offered again, and small pieces are joined`() {
        var output = UpgradeOutput()
        output.append(Data([1, 2, 3]))
        output.append(Data([4]))
        #expect(offer(&output, room: 0) == [[1, 2, 3, 4]])
        #expect(output.isRefused)
        output.append(Data([5, 6]))
        #expect(offer(&output, room: 2) == [[1, 2, 3, 4], [3, 4]])
        #expect(offer(&output, room: 100) == [[3, 4], [5, 6]])
        #expect(output.isEmpty)
    }

    @Test func `a failure ends the output`() {
        var output = UpgradeOutput()
        output.append(Data([1]))
        let isUsable = unsafe output.send { _ in nil }
        #expect(!isUsable)
    }

    /// Returns the bytes that the output offers to a connection with room for some of them.
    private func offer(_ output: inout UpgradeOutput, room: Int) -> [[UInt8]] {
        var (offered, room): ([[UInt8]], Int) = ([], room)
        _ = unsafe output.send { bytes in
            unsafe offered.append(Array(bytes))
            let taken = min(room, bytes.count)
            room -= taken
            return taken
        }
        return offered
    }
}
