import BluebonnetTesting
import FoundationEssentials
import Testing

@testable import Bluebonnet

/// What an error's text says, and what of a peer's text never reaches a terminal or a log.
@Suite(.timeLimit(.minutes(10))) struct ErrorTextTests {
    /// Escape, the control sequence introducer of 8 bits, next line, line separator, and two that change the order.
    private static let controls = "\u{1b}\u{9b}\u{85}\u{2028}\u{2029}\u{202e}\u{2066}"

    private static func isClean(_ text: String) -> Bool {
        !text.unicodeScalars.contains { controls.unicodeScalars.contains($0) || $0.value < 0x20 }
    }

    @Test(
        arguments: [
            .redirect(.invalidLocation("a\(controls)b")),
            .validation(.unacceptableContentType("a\(controls)b", acceptable: ["a/b"])),
            .invalidRequest(.configuration("a\(controls)b")), .connection(.failed),
        ] as [RequestError.Kind])
    func `the text of an error is on one line, whatever a peer has sent`(_ kind: RequestError.Kind) throws {
        let url = try #require(URL(string: "http://a.test/%1B"))
        let underlying = PeerError(description: "other\(Self.controls)sign")
        let error = RequestError(kind, detail: "one\(Self.controls)mark", underlying: underlying)
            .during(HTTPRequest(url: url), attempts: 2)
        for text in [error.description, "\(error)", error.errorDescription ?? ""] {
            #expect(Self.isClean(text), "\(text.debugDescription)")
        }
        #expect(["one", "mark", "other", "sign"].allSatisfy(error.description.contains))
    }

    @Test func `the text of an error has a bound`() {
        let names = String(repeating: "a.test, ", count: 4000)
        let underlying = PeerError(description: names)
        let error = RequestError(.trust(.hostMismatch), detail: names, underlying: underlying)
        #expect(error.description.utf8.count < 2200 && error.description.contains("…"))
        #expect(error.detail == names)
        // A character may have any number of marks.
        for text in [String(repeating: "é", count: 600), "a" + String(repeating: "\u{301}", count: 10_000)] {
            let description = RequestError(.connection(.lost), detail: text).description
            #expect(description.utf8.count < 1100 && description.contains("…") && !description.contains("\u{fffd}"))
        }
        let whole = String(repeating: "é", count: 500)
        #expect(RequestError(.connection(.lost), detail: whole).description.contains(whole + ")"))
    }

    private struct PeerError: Error, CustomStringConvertible { let description: String }

    @Test func `controls in a server's fields do not reach the text`() async throws {
        let server = try await LocalServer.scripted { _ in
            let fields = "Content-Type: text/\(Self.controls.dropFirst())x\r\nContent-Length: 1\r\n\r\na"
            return [.waitForRequest, .bytes("HTTP/1.1 200 OK\r\n\(fields)")]
        }
        let session = TestHarness.session()
        let request = session.request(server.url("/")).validate(contentType: ["text/plain"])
        let error = try #require(await request.serializingData().response.error)
        #expect(error.description.contains("text/") && Self.isClean(error.description), "\(error.description)")
        try await TestHarness.end(session, server)
    }
}
