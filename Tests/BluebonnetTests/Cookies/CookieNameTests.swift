import BluebonnetTesting
import FoundationEssentials
import Testing

@testable import Bluebonnet

/// Cookies that break the rules of their name prefix, and cookies that are not UTF-8.
@Suite(.timeLimit(.minutes(10))) struct CookieNameTests {
    @Test(arguments: ["__HOST-a=2; Secure; Path=/p", "__HOST-a=1; Path=/", "=1"])
    func `cookies that are not UTF-8 are sent unchanged after a cookie was refused`(_ refused: String) async throws {
        let lines = ["b=caf\u{E9}; Path=/", "c=\u{FF}\u{C3}\u{FE}; Path=/", refused, "d=1; Path=/"]
        let head = ["HTTP/1.1 200 OK", "Content-Length: 0"] + lines.map { "Set-Cookie: \($0)" } + ["", ""]
        // In Latin-1, each character is a byte.
        let bytes = head.joined(separator: "\r\n").unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
        let server = try await LocalServer { router in
            router.get("/set") { _ in .script(.bytes(bytes)) }
            router.fallback { CookieTestSession.answer(to: $0) }
        }
        let session = TestHarness.session()
        _ = try await session.request(server.url("/set")).serializingData(emptyResponseCodes: [200]).value
        for _ in 1...2 {
            let sent = try await session.request(server.url("/sent")).serializingString().value
            #expect(sent == "b=caf\u{E9}; c=\u{FF}\u{C3}\u{FE}; d=1")
        }
        try await TestHarness.end(session, server)
    }
}
