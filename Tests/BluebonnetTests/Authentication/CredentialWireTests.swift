import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// The requests that contain credentials.
@Suite(.timeLimit(.minutes(10))) struct CredentialWireTests {
    /// A server that challenges every request without a credential, and answers with the user that it accepted.
    private static func server(_ challenge: String = "Basic realm=a") async throws -> LocalServer {
        try await LocalServer { router in
            router.get("/open") { request in .text(request.headers["Authorization"] ?? "anonymous") }
            router.fallback { request in
                guard let field = request.headers["Authorization"] else {
                    return .text("who?", status: 401, headers: ["WWW-Authenticate": challenge])
                }
                return .text(field)
            }
        }
    }

    private static func basic(_ username: String, _ password: String) -> String {
        HTTPHeader.authorization(username: username, password: password).value
    }

    @Test(arguments: [
        Credential.Schemes.basic, .digest, .ntlm, [.basic, .digest, .ntlm], [.basic, .negotiate],
    ])
    func `each scheme waits for a challenge and sends the body at first`(schemes: Credential.Schemes) async throws {
        let server = try await Self.server()
        let session = TestHarness.session()
        let credential = Credential(username: "user", password: "secret", schemes: schemes)
        await server.route { $0.post("/post") { .text($0.text) } }
        let request = HTTPRequest(
            server.url("/post"), method: .post, body: .data(Data("body".utf8)), credential: credential)
        let answer = await ChallengedKind.data.answer(request, in: session)
        guard !Libcurl.schemes.isDisjoint(with: schemes) else {
            // Newer versions are built without NTLM.
            #expect(answer.error?.kind == .authentication(.unsupportedScheme("NTLM")))
            return try await TestHarness.end(session, server)
        }
        #expect(answer.text == "body")
        #expect(server.requestCount == 1)
        #expect(server.requests.first?.headers.contains("Authorization") == false)
        try await TestHarness.end(session, server)
    }

    /// Libcurl takes the name of a scheme within a quoted value for an offer of the scheme.
    @Test(arguments: [#"Bearer realm="x, Basic realm=y""#, #"Bearer realm="x, Digest nonce=y, realm=z""#])
    func `a scheme that is only named in a value is not answered`(challenge: String) async throws {
        let server = try await Self.server(challenge)
        let session = TestHarness.session()
        for method in [HTTPMethod.get, .post] {
            let request = HTTPRequest(
                server.url("/a"), method: method, body: method == .post ? .data(Data("body".utf8)) : nil,
                credential: Credential(username: "user", password: "secret"))
            let response = await session.request(request).serializingString().response
            #expect(response.statusCode == 401 && response.value == "who?")
        }
        #expect(!server.requests.contains { $0.headers.contains("Authorization") })
        try await TestHarness.end(session, server)
    }

    @Test func `a credential does not reach the next request`() async throws {
        let server = try await Self.server()
        let session = TestHarness.session { $0.connectionLimits.total = 1 }
        for number in 0..<3 {
            let credential = Credential(username: "user\(number)", password: "secret")
            let request = HTTPRequest(server.url("/a"), credential: credential)
            #expect(
                await ChallengedKind.data.answer(request, in: session).text == Self.basic("user\(number)", "secret"))
            for path in ["/open", "/a", "/open"] {
                let plain = await session.request(server.url(path)).serializingString().response
                #expect(plain.value == (path == "/a" ? "who?" : "anonymous"))
            }
        }
        try await TestHarness.end(session, server)
    }

    @Test func `user info in the URL is sent at once with Basic and is never shown`() async throws {
        let server = try await Self.server()
        let session = TestHarness.session()
        let url = try #require(URL(string: "http://us%40er:hidden%3Aword@127.0.0.1:\(server.port)/open"))
        let task = session.request(url).serializingString()
        #expect(try await task.value == Self.basic("us@er", "hidden:word"))
        #expect(server.requestCount == 1)
        let shown = "\(task.request) \(await task.response) \(await task.response.debugDescription)"
        #expect(!shown.contains("hidden"), "\(shown)")
        let plain = try await session.request(server.url("/open")).serializingString().value
        #expect(plain == "anonymous")
        try await TestHarness.end(session, server)
    }

    @Test func `a credential takes precedence over the URL's user info`() async throws {
        let server = try await Self.server()
        let session = TestHarness.session()
        let url = try #require(URL(string: "http://other:word@127.0.0.1:\(server.port)/a"))
        let request = HTTPRequest(url, credential: Credential(username: "user", password: "secret"))
        #expect(await ChallengedKind.data.answer(request, in: session).text == Self.basic("user", "secret"))
        #expect(server.requests.map { $0.headers["Authorization"] } == [nil, Self.basic("user", "secret")])
        try await TestHarness.end(session, server)
    }

    @Test func `an Authorization field takes precedence over a credential`() async throws {
        let server = try await Self.server()
        let session = TestHarness.session()
        let request = HTTPRequest(
            server.url("/a"), headers: [.authorization(bearerToken: "token")],
            credential: Credential(username: "user", password: "secret"))
        #expect(await ChallengedKind.data.answer(request, in: session).text == "Bearer token")
        #expect(server.requestCount == 1)
        try await TestHarness.end(session, server)
    }

    @Test func `an invalid credential is refused`() async throws {
        let session = TestHarness.session()
        let request = HTTPRequest(
            try #require(URL(string: "http://127.0.0.1:9/")),
            credential: Credential(username: "user\0hidden", password: "secret"))
        let error = await ChallengedKind.data.answer(request, in: session).error
        #expect(error?.kind == .invalidRequest(.configuration("the credential holds a NUL")))
        await session.shutdown()
    }

    @Test(arguments: ChallengedKind.allCases)
    func `a challenge with a long body does not delay the authenticated request`(kind: ChallengedKind) async throws {
        let server = try await LocalServer { router in
            router.fallback { request in
                guard request.headers.contains("Authorization") else {
                    return .text(
                        String(repeating: "x", count: 200_000), status: 401,
                        headers: ["WWW-Authenticate": "Basic realm=a"])
                }
                return .text("in")
            }
        }
        let session = TestHarness.session()
        let request = HTTPRequest(server.url("/a"), credential: Credential(username: "a", password: "b"))
        let answer = await kind.answer(request, in: session)
        #expect(answer.text == "in" && answer.heads == [200])
        try await TestHarness.end(session, server)
    }

    @Test(arguments: ChallengedKind.allCases)
    func `cancelling between the challenge and the authenticated request`(kind: ChallengedKind) async throws {
        let hasAsked = Gate()
        let server = try await LocalServer { router in
            router.fallback { request in
                guard request.headers.contains("Authorization") else {
                    return .text("out", status: 401, headers: ["WWW-Authenticate": "Basic realm=a"])
                }
                hasAsked.open()
                await Gate().wait()
                return .text("in")
            }
        }
        let session = TestHarness.session()
        let request = HTTPRequest(server.url("/a"), credential: Credential(username: "a", password: "b"))
        async let answer = kind.answer(request, in: session)
        await hasAsked.wait()
        await session.cancelAllRequests()
        let ended = await answer
        #expect(ended.error?.kind == .cancelled)
        #expect(ended.heads.isEmpty)
        await session.shutdown()
    }
}
