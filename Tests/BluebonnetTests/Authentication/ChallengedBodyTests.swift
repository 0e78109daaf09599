import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

/// Requests with bodies and a challenge: the whole body is sent again, or the request fails.
@Suite(.timeLimit(.minutes(10))) struct ChallengedBodyTests {
    private static let credential = Credential(username: "user", password: "secret")

    private static func server(_ challenge: String) async throws -> LocalServer {
        try await LocalServer { router in
            router.streaming("/a", method: .post, continue: .whenRead) { request, body in
                guard request.headers.contains("Authorization") else {
                    _ = try await body.discard()
                    return .text("out", status: 401, headers: ["WWW-Authenticate": challenge])
                }
                return .text("in \(try await body.discard())")
            }
        }
    }

    @Test(arguments: BodyForm.allCases, ["Basic realm=a", "Digest realm=a, nonce=b, qop=auth"])
    func `a replayable body is sent again`(form: BodyForm, challenge: String) async throws {
        let server = try await Self.server(challenge)
        let directory = try TestDirectory()
        let session = TestHarness.session()
        for size in [1, 3_000_000] {
            let body = try form.body(size, in: directory)
            let request = HTTPRequest(server.url("/a"), method: .post, body: body, credential: Self.credential)
            let answer = await ChallengedKind.data.answer(request, in: session)
            if form == .sequence || form == .measuredSequence {
                #expect(answer.error?.kind == .requestBody(.notReplayable), "\(answer)")
            } else {
                #expect(answer.text == "in \(form.sent(size).count)" && answer.heads == [200], "\(answer)")
            }
        }
        await session.shutdown()
    }

    @Test(arguments: [1_000, 3_000_000])
    func `a body that was not read before the challenge is read once`(size: Int) async throws {
        let server = try await LocalServer { router in
            router.streaming("/a", method: .post, continue: .never) { request, body in
                guard request.headers.contains("Authorization") else {
                    return .text("out", status: 401, headers: ["WWW-Authenticate": "Basic realm=a"])
                }
                return .text("in \(try await body.discard())")
            }
        }
        let session = TestHarness.session { $0.continueTimeout = .seconds(1) }
        let pieces = Pieces(size / 1000, of: 1000)
        let request = HTTPRequest(
            server.url("/a"), method: .post, headers: ["Expect": "100-continue"], body: .stream(pieces),
            credential: Self.credential)
        let answer = await ChallengedKind.data.answer(request, in: session)
        #expect(answer.text == "in \(size)", "\(answer)")
        #expect(pieces.record.begun == 1)
        await session.shutdown()
    }

    @Test(arguments: BodyForm.allCases)
    func `a wrong credential results in the 401 with any body`(form: BodyForm) async throws {
        let server = try await LocalServer { router in
            router.fallback { _ in
                .text("out", status: 401, headers: ["WWW-Authenticate": "Digest realm=a, nonce=b, qop=auth"])
            }
        }
        let directory = try TestDirectory()
        let session = TestHarness.session()
        let body = try form.body(1000, in: directory)
        let request = HTTPRequest(server.url("/a"), method: .put, body: body, credential: Self.credential)
        let answer = await ChallengedKind.stream.answer(request, in: session)
        if form == .sequence || form == .measuredSequence {
            #expect(answer.error?.kind == .requestBody(.notReplayable), "\(answer)")
        } else {
            #expect(answer.status == 401 && answer.text == "out" && answer.error == nil, "\(answer)")
        }
        // Without a credential, there is nothing to be done about it.
        let anonymous = HTTPRequest(
            server.url("/a"), method: .put, body: try form.body(1001, in: directory), credential: nil)
        #expect(await ChallengedKind.stream.answer(anonymous, in: session).status == 401)
        await session.shutdown()
    }
}
