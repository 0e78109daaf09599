import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// NTLM with a server that verifies the response to its challenge.
@Suite(.enabled(if: Libcurl.schemes.contains(.ntlm), "this libcurl was built without NTLM"), .timeLimit(.minutes(10)))
struct NTLMTests {
    private static let known = Credential(username: "GARDEN\\user", password: "secret")

    private static func request(_ path: String, _ credential: Credential?, body: String? = nil) throws -> HTTPRequest {
        HTTPRequest(
            try TestServers.ntlm.url(path), method: body == nil ? .get : .post,
            body: body.map { .data(Data($0.utf8)) }, credential: credential)
    }

    @Test(arguments: ChallengedKind.allCases, ["GARDEN\\user", "GARDEN/user", "garden\\USER"])
    func `a user is authenticated and the body is sent`(kind: ChallengedKind, name: String) async throws {
        let session = TestHarness.session()
        let credential = Credential(username: name, password: "secret")
        for body in [nil, "body"] {
            let answer = await kind.answer(try Self.request("/a", credential, body: body), in: session)
            #expect(answer.status == 200 && answer.heads == [200], "\(answer)")
            #expect(answer.text.lowercased().hasPrefix("garden\\user \(body ?? "-") "), "\(answer.text)")
        }
        await session.shutdown()
    }

    @Test func `the connection stays authenticated for the same user only`() async throws {
        let session = TestHarness.session()
        let first = await ChallengedKind.data.answer(try Self.request("/a", Self.known), in: session)
        #expect(first.text == "GARDEN\\user - NTLM -")
        // The server sees nothing of NTLM in the second request: it knows the connection.
        let second = await ChallengedKind.data.answer(try Self.request("/b", Self.known), in: session)
        #expect(second.text == "GARDEN\\user - - -", "\(second.text)")
        let nobody = await ChallengedKind.data.answer(try Self.request("/a", nil), in: session)
        #expect(nobody.status == 401, "\(nobody.text)")
        await session.shutdown()
    }

    @Test(arguments: [
        nil, Credential(username: "GARDEN\\user", password: "wrong"), Credential(username: "user", password: "secret"),
        Credential(username: "OTHER\\user", password: "secret"),
        Credential(username: "GARDEN\\other", password: "secret"),
        Credential(username: "GARDEN\\user", password: "secret", schemes: [.basic, .digest]),
    ])
    func `every other user gets the 401`(_ credential: Credential?) async throws {
        let session = TestHarness.session()
        for kind in ChallengedKind.allCases {
            let answer = await kind.answer(try Self.request("/a", credential), in: session)
            #expect(answer.status == 401 && answer.text == "out" && answer.error == nil, "\(answer)")
        }
        await session.shutdown()
    }
}
