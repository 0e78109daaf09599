import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

/// httpbin's challenges, for every kind of request, over HTTP/1.1 and HTTP/2.
@Suite(.timeLimit(.minutes(10))) struct `HTTP authentication` {
    /// Whether and how a request is authenticated.
    enum CredentialCase: CaseIterable, Sendable {
        case right, wrong, none

        func credential(_ schemes: Credential.Schemes = [.basic, .digest, .ntlm]) -> Credential? {
            switch self {
            case .right: Credential(username: "user", password: "pass:word", schemes: schemes)
            case .wrong: Credential(username: "user", password: "other", schemes: schemes)
            case .none: nil
            }
        }
    }

    /// httpbin compares Digest's `uri` with the decoded path: nothing here may need encoding.
    private static let password = "pass:word"

    private static let paths =
        ["/basic-auth/user/\(password)"]
        + ["auth", "auth-int", "unknown"].flatMap { quality in
            ["MD5", "SHA-256"].map { "/digest-auth/\(quality)/user/\(password)/\($0)" }
        }

    @Test(arguments: TestServers.httpbins, ChallengedKind.allCases)
    func `httpbin accepts the right user only`(server: TestServers, kind: ChallengedKind) async throws {
        let session = Session(configuration: .conformance)
        for path in Self.paths {
            for given in CredentialCase.allCases {
                let request = HTTPRequest(try server.url(path), credential: given.credential())
                let answer = await kind.answer(request, in: session)
                #expect(answer.error == nil, "\(path) \(given): \(String(describing: answer.error))")
                #expect(answer.status == (given == .right ? 200 : 401), "\(path) \(given)")
                #expect(answer.text.contains("\"authenticated\": true") == (given == .right), "\(path) \(given)")
                // The challenge is never mistaken for the answer.
                #expect(answer.heads == [given == .right ? 200 : 401], "\(path) \(given)")
            }
        }
        await session.shutdown()
    }

    @Test(arguments: TestServers.httpbins, ChallengedKind.allCases)
    func `SHA-512 fails with an error because libcurl implements it incorrectly`(
        server: TestServers, kind: ChallengedKind
    ) async throws {
        let session = Session(configuration: .conformance)
        let url = try server.url("/digest-auth/auth/user/\(Self.password)/SHA-512")
        for given in CredentialCase.allCases {
            let answer = await kind.answer(HTTPRequest(url, credential: given.credential()), in: session)
            guard given != .none else {
                #expect(answer.status == 401 && answer.error == nil)
                continue
            }
            #expect(answer.error?.kind == .authentication(.unsupportedDigestAlgorithm("SHA-512")))
            #expect(answer.error?.description.contains("SHA-512") == true)
        }
        await session.shutdown()
    }

    @Test(arguments: TestServers.httpbins, ["MD5", "SHA-256"])
    func `a stale nonce of httpbin is replaced`(server: TestServers, algorithm: String) async throws {
        let session = Session(configuration: .conformance)
        // It says in a cookie how often it will take a nonce, and wants that back.
        let url = try server.url("/digest-auth/auth/user/\(Self.password)/\(algorithm)/1")
        for _ in 1...3 {
            let answer = await ChallengedKind.data.answer(
                HTTPRequest(url, credential: CredentialCase.right.credential()), in: session)
            #expect(answer.status == 200 && answer.heads == [200], "\(answer)")
        }
        await session.shutdown()
    }

    @Test(arguments: TestServers.httpbins)
    func `a password with any characters is sent correctly`(server: TestServers) async throws {
        let session = Session(configuration: .conformance)
        let request = HTTPRequest(
            try server.url("/basic-auth/us%20er/pass%20word:%C3%A4"),
            credential: Credential(username: "us er", password: "pass word:ä"))
        #expect(await ChallengedKind.data.answer(request, in: session).status == 200)
        await session.shutdown()
    }

    @Test(arguments: TestServers.httpbins)
    func `no credential is sent without a challenge`(server: TestServers) async throws {
        let session = Session(configuration: .conformance)
        let credential = Credential(username: "user", password: "secret", schemes: .basic)
        let hidden = HTTPRequest(try server.url("/hidden-basic-auth/user/secret"), credential: credential)
        #expect(await ChallengedKind.data.answer(hidden, in: session).status == 404)
        let field = HTTPRequest(
            try server.url("/hidden-basic-auth/user/secret"),
            headers: [.authorization(username: "user", password: "secret")], credential: nil)
        #expect(await ChallengedKind.data.answer(field, in: session).status == 200)
        let echo = HTTPRequest(try server.url("/anything"), credential: credential)
        let answer = await ChallengedKind.data.answer(echo, in: session)
        #expect(answer.status == 200 && !answer.text.contains("Authorization"))
        await session.shutdown()
    }

    @Test(arguments: TestServers.httpbins, ChallengedKind.allCases)
    func `a bearer token is sent as a field`(server: TestServers, kind: ChallengedKind) async throws {
        let session = Session(configuration: .conformance)
        let url = try server.url("/bearer")
        let right = await kind.answer(HTTPRequest(url: url, headers: [.authorization(bearerToken: "abc")]), in: session)
        #expect(right.status == 200 && right.text.contains("abc"))
        // A name and a password do not answer this challenge.
        let user = await kind.answer(HTTPRequest(url, credential: CredentialCase.right.credential()), in: session)
        #expect(user.status == 401 && user.error == nil)
        #expect(await kind.answer(HTTPRequest(url: url), in: session).status == 401)
        await session.shutdown()
    }

    @Test(arguments: TestServers.httpbins)
    func `the methods of a request set its credential`(server: TestServers) async throws {
        let session = Session(configuration: .conformance)
        let url = try server.url("/basic-auth/user/secret")
        let named = session.request(url).authenticate(username: "user", password: "secret").validate()
        #expect(try await named.serializingString().value.contains("true"))
        let credential = Credential(username: "user", password: "secret", schemes: .digest)
        let digest = session.request(url).authenticate(using: credential)
        // Basic alone is offered, and not allowed.
        #expect(await digest.serializingData().response.response?.statusCode == 401)
        await session.shutdown()
    }
}
