import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

/// Asking the responder that a certificate names.
@Suite(.timeLimit(.minutes(10))) struct OCSPResponderTests {
    /// A responder that answers as `openssl ocsp` does.
    static func responder(_ answers: @escaping LocalServer.Router.Handler) async throws -> LocalServer {
        try await LocalServer { routes in
            routes.post("/", answers)
            routes.post("/real") { RevocationFixture.response(try await RevocationFixture.answer(to: $0.body)) }
        }
    }

    /// A refused server receives no part of the request.
    private static func error(of row: String, _ evaluator: OCSPTrustEvaluator) async throws -> RequestError? {
        try await RevocationFixture.error(of: row, evaluator)
    }

    private static func refusal(_ reason: RequestError.RevocationReason) -> RequestError.Kind {
        .trust(.revocationCheckFailed(reason))
    }

    @Test func `the responder receives one query for many requests`() async throws {
        let server = try await Self.responder {
            RevocationFixture.response(try await RevocationFixture.answer(to: $0.body))
        }
        let asker = try RevocationFixture.asker(server.url)
        let url = try RevocationFiles().address(of: "none")
        let session = try RevocationFixture.session(.ocsp(session: asker))
        let errors = await withTaskGroup(of: RequestError?.self) { group in
            for _ in 1...40 { group.addTask { await session.request(url).serializingData().response.error } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(errors.count == 40 && errors.allSatisfy { $0 == nil })
        let again = session.request(url, headers: ["Connection": "close"])
        #expect(await again.serializingData().response.error == nil)
        #expect(server.requestCount == 1)
        let question = try #require(server.requests.first)
        #expect(question.headers["Content-Type"] == "application/ocsp-request")
        #expect(question.headers["Accept"] == "application/ocsp-response")
        #expect(!question.bodyIsChunked)
        // Another session has its own answers.
        #expect(try await Self.error(of: "none", .ocsp(session: asker)) == nil)
        #expect(server.requestCount == 2)
        await session.shutdown()
        await asker.shutdown()
    }

    @Test func `a staple with any status makes a query unnecessary`() async throws {
        let server = try await Self.responder { _ in .status(500) }
        let asker = try RevocationFixture.asker(server.url)
        #expect(try await Self.error(of: "good", .ocsp(session: asker)) == nil)
        #expect(try await Self.error(of: "revoked", .ocsp(session: asker))?.kind == Self.refusal(.revoked))
        #expect(try await Self.error(of: "must-none", .ocsp(session: asker))?.kind == Self.refusal(.noResponse))
        #expect(server.requestCount == 0)
        await asker.shutdown()
    }

    /// Ways of answering, and why a server is refused for them if the evaluator fails hard; soft, it is accepted.
    enum Fault: String, CaseIterable, Sendable {
        case down, status500, status404, garbage, nothing, tooMuch, endless, tryLater, trailing, noNonce, otherNonce
        case stranger, another, redirectToGet

        var reason: RequestError.RevocationReason {
            switch self {
            case .noNonce, .otherNonce: .replayedResponse
            case .stranger: .untrustedResponse
            default: .noResponse
            }
        }

        /// Whether the answer was read, so that there is no error to report.
        var isAnswer: Bool { [.noNonce, .otherNonce, .stranger, .another].contains(self) }

        func answer(to question: Data, recorded: Data) async throws -> LocalServer.Response {
            let files = try RevocationFiles()
            switch self {
            case .down: return .status(500)
            case .status500: return .status(500)
            case .status404: return .status(404)
            case .garbage: return RevocationFixture.response(Data("<html>good</html>".utf8))
            case .nothing: return RevocationFixture.response(Data())
            case .tooMuch: return RevocationFixture.response(Data(count: 100_000))
            case .endless: return .endless(Data(count: 4096))
            case .tryLater: return RevocationFixture.response(try Data(contentsOf: files.url("garbage.der")))
            case .trailing:
                return RevocationFixture.response(try await RevocationFixture.answer(to: question) + Data([0]))
            case .noNonce: return RevocationFixture.response(try Data(contentsOf: files.url("good.der")))
            case .otherNonce: return RevocationFixture.response(recorded)
            case .stranger:
                return RevocationFixture.response(
                    try await RevocationFixture.answer(to: question, signer: "other-root"))
            case .another: return RevocationFixture.response(try Data(contentsOf: files.url("revoked.der")))
            case .redirectToGet: return .redirect(to: "/real", status: 302)
            }
        }
    }

    @Test(arguments: Fault.allCases)
    func `an invalid OCSP response is ignored with soft failing and refused otherwise`(_ fault: Fault) async throws {
        let recorder = Recorder()
        let server = try await Self.responder { request in
            if fault == .otherNonce, recorder.recorded == nil {
                let answer = try await RevocationFixture.answer(to: request.body)
                recorder.recorded = answer
                return RevocationFixture.response(answer)
            }
            return try await fault.answer(to: request.body, recorded: recorder.recorded ?? Data())
        }
        let asker = try RevocationFixture.asker(server.url)
        if fault == .otherNonce { #expect(try await Self.error(of: "none", .ocsp(session: asker)) == nil) }
        if fault == .down { await server.stop() }
        #expect(try await Self.error(of: "none", .ocsp(failure: .soft, session: asker)) == nil)
        let error = try #require(try await Self.error(of: "none", .ocsp(failure: .hard, session: asker)))
        let expected = fault == .another ? RequestError.RevocationReason.noResponse : fault.reason
        #expect(error.kind == Self.refusal(expected))
        #expect((error.underlying == nil) == fault.isAnswer)
        if fault == .tooMuch || fault == .endless {
            let cause = error.underlying as? RequestError
            #expect(cause?.kind == .invalidResponse(.bodyTooLarge(limit: 65_536)))
        }
        await asker.shutdown()
    }

    private final class Recorder: Sendable {
        private let storage = Locked<Data?>(nil)
        var recorded: Data? {
            get { storage.withLock { $0 } }
            set { storage.withLock { $0 = newValue } }
        }
    }

    @Test(arguments: [OCSPTrustEvaluator.Failure.soft, .hard])
    func `an old OCSP response that says revoked is used`(_ failure: OCSPTrustEvaluator.Failure) async throws {
        let answer = try Data(contentsOf: try RevocationFiles().url("expired-revoked.der"))
        let server = try await Self.responder { _ in RevocationFixture.response(answer) }
        let asker = try RevocationFixture.asker(server.url)
        let error = try await Self.error(of: "none-revoked", .ocsp(failure: failure, session: asker))
        #expect(error?.kind == Self.refusal(.revoked))
        await asker.shutdown()
    }

    @Test func `an OCSP response may omit the nonce, not change it`() async throws {
        let files = try RevocationFiles()
        let recorded = Recorder()
        let server = try await Self.responder { request in
            recorded.recorded = try await RevocationFixture.answer(to: request.body)
            return RevocationFixture.response(try Data(contentsOf: files.url("good.der")))
        }
        let asker = try RevocationFixture.asker(server.url)
        let lax = OCSPTrustEvaluator(requiresNonce: false, session: asker)
        #expect(try await Self.error(of: "none", lax) == nil)
        // Nor is one that is too old.
        for (answer, reason) in [
            (try #require(recorded.recorded), RequestError.RevocationReason.replayedResponse),
            (try Data(contentsOf: files.url("expired.der")), .stale),
            (try Data(contentsOf: files.url("endless.der")), .stale),
        ] {
            await server.route { $0.post("/", RevocationFixture.response(answer)) }
            #expect(try await Self.error(of: "none", lax)?.kind == Self.refusal(reason))
        }
        await asker.shutdown()
    }

    @Test func `a redirect that keeps the query is followed`() async throws {
        let server = try await Self.responder { _ in .redirect(to: "/real", status: 307) }
        let asker = try RevocationFixture.asker(server.url)
        #expect(try await Self.error(of: "none", .ocsp(session: asker)) == nil)
        #expect(try await Self.error(of: "none-revoked", .ocsp(session: asker))?.kind == Self.refusal(.revoked))
        await asker.shutdown()
    }

    @Test func `a session that does not start requests immediately still sends queries`() async throws {
        let server = try await Self.responder {
            RevocationFixture.response(try await RevocationFixture.answer(to: $0.body))
        }
        var configuration = Session.Configuration()
        configuration.proxy = .none
        configuration.dns.connectTo = [":\(try RevocationFiles().responderPort)": "127.0.0.1:\(server.port)"]
        let asker = Session(configuration: configuration, startRequestsImmediately: false)
        #expect(try await Self.error(of: "none", .ocsp(session: asker)) == nil)
        await asker.shutdown()
    }

    @Test func `a responder over https is evaluated by the querying session`() async throws {
        let trusting = try RevocationFixture.asker()
        #expect(try await Self.error(of: "secure", .ocsp(session: trusting)) == nil)
        let wary = try RevocationFixture.asker { $0.tls.caFile = nil }
        #expect(try await Self.error(of: "secure", .ocsp(failure: .soft, session: wary)) == nil)
        let error = try await Self.error(of: "secure", .ocsp(session: wary))
        #expect(error?.kind == Self.refusal(.noResponse))
        #expect((error?.underlying as? RequestError)?.isTrustFailure == true)
        await trusting.shutdown()
        await wary.shutdown()
    }

    /// The certificate names an LDAP responder, which is never queried, and two HTTP responders.
    @Test func `the next responder is queried if a responder does not know the certificate`() async throws {
        let second = try await LocalServer { routes in
            routes.post("/ocsp") { RevocationFixture.response(try await RevocationFixture.answer(to: $0.body)) }
        }
        let down = try UnreachableServer(.refusesConnections)
        let first = try await Self.responder { _ in .status(503) }
        for url in [down.url, first.url] {
            let asker = try RevocationFixture.asker(["first.test:80": url, "second.test:80": second.url])
            #expect(try await Self.error(of: "many", .ocsp(session: asker)) == nil)
            await asker.shutdown()
        }
        #expect(first.requestCount == 1 && second.requestCount == 2)
        // One responder that knows the certificate is enough.
        let knowing = try await Self.responder {
            RevocationFixture.response(try await RevocationFixture.answer(to: $0.body))
        }
        let asker = try RevocationFixture.asker(["first.test:80": knowing.url, "second.test:80": second.url])
        #expect(try await Self.error(of: "many", .ocsp(session: asker)) == nil)
        #expect(knowing.requestCount == 1 && second.requestCount == 2)
        await asker.shutdown()
    }
}
