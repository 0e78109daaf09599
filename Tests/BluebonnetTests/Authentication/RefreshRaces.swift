import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// A thousand requests meet a token that is of no use any more, all at once.
///
/// A hundred rounds of each outcome on the stub, half of them for each way to expire; they take some 40 seconds.
@Suite(.timeLimit(.minutes(2 * raceMultiplier)), .serialized)
struct RefreshRaces {
    private static let count = 1000
    /// A sanitizer takes about ten times as long, and needs fewer repetitions.
    private static let rounds = (Sanitizer.current == nil ? 20 : 4) * raceMultiplier

    /// How the token turns out to be of no use.
    enum Expiry: CaseIterable {
        /// The token is known to have expired before anything is sent.
        case known
        /// The server refuses it.
        case refused

        var token: Token { Token(number: 1, requiresRefresh: self == .known) }
    }

    @Test(arguments: Expiry.allCases)
    func `one refresh is sent and all requests succeed, 20 times`(_ expiry: Expiry) async throws {
        // Two rounds run at a time, because a single round does not use the whole machine.
        for _ in 1...Self.rounds / 2 {
            async let other: Void = succeedingRound(expiry)
            await succeedingRound(expiry)
            await other
        }
    }

    private func succeedingRound(_ expiry: Expiry) async {
        let authenticator = TokenAuthenticator()
        let interceptor = AuthenticationInterceptor(authenticator: authenticator, credential: expiry.token)
        let session = Session(interceptor: interceptor, transport: TokenFixture.transport(accepting: 2))
        let errors = await TokenFixture.errors(of: Self.count, in: session)
        #expect(errors.count == Self.count)
        #expect(errors.allSatisfy { $0 == nil })
        #expect(authenticator.refreshCount == 1)
        await session.shutdown()
    }

    /// The refresh fails once all wait for it: a later request could start another refresh.
    @Test(arguments: Expiry.allCases)
    func `one refresh fails and a thousand requests fail with it, 20 times`(_ expiry: Expiry) async throws {
        for _ in 1...Self.rounds { try await failingRound(expiry) }
    }

    private func failingRound(_ expiry: Expiry) async throws {
        let waiting = Locked<AuthenticationInterceptor<TokenAuthenticator>?>(nil)
        let authenticator = TokenAuthenticator { _, _ in
            while await waiting.withLock({ $0 })?.waiterCount != Self.count { await Task.yield() }
            throw TestFailure("no token")
        }
        let interceptor = AuthenticationInterceptor(authenticator: authenticator, credential: expiry.token)
        waiting.withLock { $0 = interceptor }
        let session = Session(interceptor: interceptor, transport: TokenFixture.transport(accepting: 2))
        let tasks = (0..<Self.count).map { _ in session.request(TokenFixture.url).validate().serializingString() }
        var kinds: [RequestError.Kind: Int] = [:]
        for task in tasks {
            let error = try #require(await task.response.error)
            kinds[error.kind, default: 0] += 1
            #expect(error.underlying as? TestFailure == TestFailure("no token"))
        }
        // If a refusal starts the refresh, requests that were not sent yet wait first.
        let refusal = RequestError.Kind.retry(original: .validation(.unacceptableStatusCode(401)))
        #expect(kinds[.adaptation, default: 0] + kinds[refusal, default: 0] == Self.count)
        #expect((kinds[refusal] != nil) == (expiry == .refused))
        #expect(authenticator.refreshCount == 1)
        waiting.withLock { $0 = nil }
        await session.shutdown()
    }

    @Test func `requests refused after a failed refresh share its failure, without another refresh`() async throws {
        let gate = Gate()
        let authenticator = TokenAuthenticator { _, _ in throw TestFailure("no token") }
        let transport = StubTransport { request in
            if request.url.path() == "/late" { await gate.wait() }
            return .status(401)
        }
        let session = Session(
            interceptor: AuthenticationInterceptor(authenticator: authenticator, credential: Token(number: 1)),
            transport: transport)
        let tasks = (0..<100).map { _ in
            session.request("http://api.example/late").validate().serializingString()
        }
        _ = try await transport.request(100)
        let first = await session.request(TokenFixture.url).validate().serializingString().response.error
        #expect(first?.underlying as? TestFailure == TestFailure("no token"))
        gate.open()
        for task in tasks {
            #expect(await task.response.error?.underlying as? TestFailure == TestFailure("no token"))
        }
        #expect(authenticator.refreshCount == 1)
        await session.shutdown()
    }

    @Test(arguments: Expiry.allCases)
    func `one refresh over the wire, through the same session`(_ expiry: Expiry) async throws {
        let refreshes = Locked(0)
        let server = try await LocalServer { router in
            router.get("/data") { request in
                request.headers["Authorization"] == "Bearer token-2" ? .text("data") : .status(401)
            }
            router.post("/token") { request in
                refreshes.withLock { $0 += 1 }
                return .text(request.headers["Authorization"] == nil ? "2" : "the refresh was intercepted")
            }
        }
        for _ in 1...3 {
            let authenticator = TokenAuthenticator { [url = server.url("/token")] _, session in
                let text = try await session.request(url, method: .post).validate().serializingString().value
                return Token(number: Int(text) ?? 0)
            }
            let interceptor = AuthenticationInterceptor(authenticator: authenticator, credential: expiry.token)
            var configuration = Session.Configuration()
            configuration.proxy = .none
            configuration.connectionLimits.perHost = 32
            let session = Session(configuration: configuration, interceptor: interceptor)
            let errors = await TokenFixture.errors(
                of: Self.count, in: session, url: server.url("/data").absoluteString)
            #expect(errors.allSatisfy { $0 == nil })
            #expect(authenticator.refreshCount == 1)
            #expect(await interceptor.credential == Token(number: 2))
            await session.shutdown()
        }
        #expect(refreshes.withLock { $0 } == 3)
    }
}
