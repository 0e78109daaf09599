import Testing

@testable import Bluebonnet

/// Which lines of a head libcurl may store before a field of the same transfer is stored.
struct FirstFieldTests {
    /// What libcurl does.
    enum Call {
        /// It is about to send the request.
        case request(isHTTP2: Bool = false)
        /// It calls the write callback with bytes of a line.
        case write(String, isFine: Bool = true)
        /// It has stored a line, or several, and calls the header callback.
        case head(String, isComplete: Bool = false, then: FoldedFirstField)
        /// It calls the write callback with bytes of the body.
        case body
    }

    struct Case: CustomTestStringConvertible {
        let testDescription: String
        let calls: [Call]

        init(_ description: String, _ calls: Call...) {
            testDescription = description
            self.calls = calls
        }
    }

    private static let status = "HTTP/1.1 200 OK\r\n"
    private static let hint = "HTTP/1.1 103 Early Hints\r\n"

    @Test(arguments: [
        Case(
            "a field", .request(), .write(status), .head(status, then: .awaited), .write("A: b\r\n"),
            .head("A: b\r\n", then: .stored), .body),
        Case(
            "a space", .request(), .write(status), .head(status, then: .awaited), .write(" A: b\r\n", isFine: false)),
        Case("a tab", .request(), .write(status), .head(status, then: .awaited), .write("\tA", isFine: false)),
        Case(
            "a long line, whose pieces may begin with a space", .request(), .write(status),
            .head(status, then: .awaited), .write("A: b"), .write(" c"), .write("\td\r\n"),
            .head("A: b c\td\r\n", then: .stored)),
        Case(
            "an informational head without fields", .request(), .write(hint), .head(hint, then: .awaited),
            .write("\r\n"), .head("\r\n", then: .awaited), .write(status), .head(status, then: .awaited),
            .write("\tA: b\r\n", isFine: false)),
        Case(
            "a field of an informational head", .request(), .write(hint), .head(hint, then: .awaited),
            .write("A: b\r\n"), .head("A: b\r\n", then: .stored)),
        Case(
            "a status line in lower case", .request(), .write("http/1.1 200 OK\r\n"),
            .head("http/1.1 200 OK\r\n", then: .awaited), .write("\tA: b\r\n", isFine: false)),
        Case(
            "a head without fields, behind which the request is sent again", .request(), .write(status),
            .head(status, then: .awaited), .write("\r\n"), .head("\r\n", isComplete: true, then: .missing), .body,
            .request(),
            .write(status), .head(status, then: .awaited), .write(" A: b\r\n", isFine: false)),
        Case(
            "a head with fields, behind which the request is sent again", .request(), .write(status),
            .head(status, then: .awaited), .write("A: b\r\n"), .head("A: b\r\n", then: .stored), .request(),
            .head(" A: b\r\n", then: .stored)),
        Case(
            "lines that came in while the transfer was paused", .request(), .write(status),
            .head(status, then: .awaited), .write("A: b\r\n\r\n"),
            .head("A: b\r\n\r\n", isComplete: true, then: .stored)),
        Case(
            "the same with a folded line first", .request(), .write(status), .head(status, then: .awaited),
            .write(" A: b\r\nC: d\r\n\r\n", isFine: false)),
        Case("HTTP/2", .request(isHTTP2: true), .head("HTTP/2 200\r\n", then: .pseudo), .body),
        Case(
            "HTTP/2, and then HTTP/1.1", .request(isHTTP2: true), .request(), .write(status),
            .head(status, then: .awaited), .write(" A: b\r\n", isFine: false)),
        Case(
            "a body behind a head that was misread", .request(), .write(String(repeating: "x", count: 60_000)),
            .write(String(repeating: "x", count: 60_000), isFine: false)),
        Case("no bytes", .request(), .write(""), .write(" A: b\r\n", isFine: false)),
    ]) func `a folded line is stored only after a field`(_ example: Case) {
        var field = FoldedFirstField.awaited
        for call in example.calls {
            switch call {
            case .request(let isHTTP2):
                field.requestBegins(isHTTP2: isHTTP2)
            case .write(let text, let isFine):
                #expect(field.isHeadExpected)
                #expect(unsafe Array(text.utf8).withUnsafeBytes { unsafe field.lineBytesReceived($0) == nil } == isFine)
            case .head(let text, let isComplete, let next):
                unsafe Array(text.utf8).withUnsafeBytes { unsafe field.linesStored($0, isHeadComplete: isComplete) }
                #expect(field == next)
            case .body:
                #expect(!field.isHeadExpected)
            }
        }
    }
}
