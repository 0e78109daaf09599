import Testing

@testable import Bluebonnet

/// Which lines of a head libcurl may store before a field of the same transfer is stored.
struct FirstFieldGateTests {
    /// What a callback of libcurl's gets.
    enum Call {
        /// The write callback, which gets lines of the head before libcurl stores them.
        case write(String, admitted: Bool = true)
        /// The header callback, after libcurl has stored them.
        case head(String, isComplete: Bool = false, opens: Bool = false)
    }

    struct Case: CustomTestStringConvertible {
        let testDescription: String
        let calls: [Call]

        init(_ description: String, _ calls: Call...) {
            testDescription = description
            self.calls = calls
        }
    }

    @Test(arguments: [
        Case("a field opens it", .write("HTTP/1.1 200 OK\r\n"), .head("HTTP/1.1 200 OK\r\n"),
            .write("A: b\r\n"), .head("A: b\r\n", opens: true)),
        Case("a space", .write("HTTP/1.1 200 OK\r\n"), .head("HTTP/1.1 200 OK\r\n"), .write(" A: b\r\n", admitted: false)),
        Case("a tab", .write("HTTP/1.1 200 OK\r\n"), .head("HTTP/1.1 200 OK\r\n"), .write("\tA", admitted: false)),
        Case("the rest of a long line may begin with a space", .write("HTTP/1.1 200 OK\r\n"),
            .head("HTTP/1.1 200 OK\r\n"), .write("A: b"), .write(" c"), .write("\td\r\n"), .head("A: b c\td\r\n", opens: true)),
        Case("an informational head without fields leaves it closed", .write("HTTP/1.1 103 E\r\n"),
            .head("HTTP/1.1 103 E\r\n"), .write("\r\n"), .head("\r\n"), .write("HTTP/1.1 200 OK\r\n"),
            .head("HTTP/1.1 200 OK\r\n"), .write("\tA: b\r\n", admitted: false)),
        Case("a field of an informational head opens it", .write("HTTP/1.1 103 E\r\n"), .head("HTTP/1.1 103 E\r\n"),
            .write("A: b\r\n"), .head("A: b\r\n", opens: true)),
        Case("a head without fields opens it for the body", .write("HTTP/1.1 200 OK\r\n"), .head("HTTP/1.1 200 OK\r\n"),
            .write("\r\n"), .head("\r\n", isComplete: true, opens: true)),
        Case("lines that came in while the transfer was paused", .write("HTTP/1.1 200 OK\r\n"),
            .head("HTTP/1.1 200 OK\r\n"), .write("A: b\r\n\r\n"), .head("A: b\r\n\r\n", isComplete: true, opens: true)),
        Case("paused, with a folded line first", .write("HTTP/1.1 200 OK\r\n"), .head("HTTP/1.1 200 OK\r\n"),
            .write(" A: b\r\nC: d\r\n\r\n", admitted: false)),
        Case("no bytes", .write(""), .write(" A: b\r\n", admitted: false)),
    ]) func `a folded line comes only behind a field`(_ example: Case) {
        var gate = FirstFieldGate.closed
        for call in example.calls {
            switch call {
            case .write(let text, let isAdmitted):
                #expect(unsafe Array(text.utf8).withUnsafeBytes { unsafe gate.admits($0) } == isAdmitted)
            case .head(let text, let isComplete, let opens):
                let didOpen = unsafe Array(text.utf8).withUnsafeBytes {
                    unsafe gate.opens(after: $0, isComplete: isComplete)
                }
                #expect(didOpen == opens)
                #expect((gate == .open) == opens)
            }
        }
    }
}
