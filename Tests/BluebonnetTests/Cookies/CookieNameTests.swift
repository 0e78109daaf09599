import BluebonnetTesting
import FoundationEssentials
import Testing

@testable import Bluebonnet

/// Cookies that break the rules of their name prefix, and the effect on other cookies when one of them is removed.
///
/// Libcurl 7.88.1 does not accept these cookies. Newer versions accept them without ``CookieNames``.
@Suite(.timeLimit(.minutes(1))) struct CookieNameTests {
    @Test(arguments: [
        "__HOST-a=1", "__host-a=1; Path=/", "__SECURE-a=1", "__secure-=1", " \t__sEcure-a=1", "__HOST-", "=1", " =1",
        "=", "=__Host-a",
    ])
    func `an unusual prefix and a missing name are checked again`(_ field: String) {
        #expect(CookieNames.isDoubtful(field) == CookieNames.isGuarded)
    }

    /// To look again costs a walk through all cookies, and sites set such cookies in every response.
    @Test(arguments: [
        "__Host-a=1; Secure; Path=/", " __Secure-a=1", "__utma=1", "__=1", "__HOST=1", "__HOSTa=1", "_=1", "a=__HOST-b",
        "a==1", "a", "", "__Hoſt-a=1",
    ])
    func `other names are not checked again`(_ field: String) {
        #expect(!CookieNames.isDoubtful(field))
    }

    /// To remove a cookie that cannot be replaced in libcurl 8.14.1, all others are set again.
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
            #expect(sent == "d=1; c=\u{FF}\u{C3}\u{FE}; b=caf\u{E9}")
        }
        try await TestHarness.end(session, server)
    }
}
