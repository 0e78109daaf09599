import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Testing

/// A thousand requests meet a token that is of no use any more, all at once.
///
/// The rounds on the stub take some seconds together.
@Suite(.timeLimit(.minutes(2)), .serialized)
struct RefreshStormTests {
    private static let count = 1000

    /// How the token turns out to be of no use.
    enum Expiry: CaseIterable {
        /// It says so itself, before anything is sent.
        case known
        /// The server refuses it.
        case refused

        var token: Token { Token(number: 1, requiresRefresh: self == .known) }
    }

    @Test(arguments: Expiry.allCases)
    func `one refresh goes out, and all succeed, 50 times over`(_ expiry: Expiry) async throws {
        for _ in 1...50 {
            let authenticator = TokenAuthenticator()
            let interceptor = AuthenticationInterceptor(authenticator: authenticator, credential: expiry.token)
            let session = Session(interceptor: interceptor, transport: TokenScene.transport(accepting: 2))
            let errors = await TokenScene.errors(of: Self.count, in: session)
            #expect(errors.count == Self.count)
            #expect(errors.allSatisfy { $0 == nil })
            #expect(authenticator.refreshCount == 1)
            await session.shutdown()
        }
    }

    /// The refresh fails once all have the token, or are about to ask for it, as when a server is asked.
    @Test(arguments: Expiry.allCases)
    func `one refresh fails, and a thousand requests with it, 50 times over`(_ expiry: Expiry) async throws {
        for _ in 1...50 { try await failingRound(expiry) }
    }

    private func failingRound(_ expiry: Expiry) async throws {
        let gate = Gate()
        let adapted = Locked(0)
        let authenticator = TokenAuthenticator { _, _ in
            await gate.wait()
            throw TestFailure("no token")
        }
        let interceptor = AuthenticationInterceptor(authenticator: authenticator, credential: expiry.token)
        let count: @Sendable () -> Void = {
            let isLast = adapted.withLock {
                $0 += 1
                return $0 == Self.count
            }
            if isLast { gate.open() }
        }
        // Those that find the token expired are counted when they wait for another, the rest when they have been refused.
        let counter = CountingInterceptor(base: interceptor, isKnown: expiry == .known, count: count)
        let session = Session(interceptor: counter, transport: TokenScene.transport(accepting: 2))
        let tasks = (0..<Self.count).map { _ in session.request(TokenScene.url).validate().serializingString() }
        var kinds: [RequestError.Kind: Int] = [:]
        for task in tasks {
            let error = try #require(await task.response.error)
            kinds[error.kind, default: 0] += 1
            #expect(error.underlying as? TestFailure == TestFailure("no token"))
        }
        let expected: RequestError.Kind =
            expiry == .known ? .adaptation : .retry(original: .validation(.unacceptableStatusCode(401)))
        #expect(kinds == [expected: Self.count])
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
            let errors = await TokenScene.errors(
                of: Self.count, in: session, url: server.url("/data").absoluteString)
            #expect(errors.allSatisfy { $0 == nil })
            #expect(authenticator.refreshCount == 1)
            #expect(await interceptor.credential == Token(number: 2))
            await session.shutdown()
        }
        #expect(refreshes.withLock { $0 } == 3)
    }
}

/// Counts the requests that are about to wait for a refresh.
private struct CountingInterceptor: RequestInterceptor {
    let base: AuthenticationInterceptor<TokenAuthenticator>
    let isKnown: Bool
    let count: @Sendable () -> Void

    @concurrent
    func adapt(_ request: HTTPRequest, using state: RequestAdapterState) async throws -> HTTPRequest {
        // The counted one waits for the actor, in which the refresh that is let go has yet to end.
        async let adapted = base.adapt(request, using: state)
        if isKnown { await settled(state.requestID) }
        return try await adapted
    }

    @concurrent
    func retry(_ request: any Request, for session: Session, dueTo error: any Error) async -> RetryResult {
        if !isKnown { count() }
        return await base.retry(request, for: session, dueTo: error)
    }

    private func settled(_ id: RequestID) async {
        // A turn of the actor, after the one in which the request began to wait.
        _ = await base.credential
        count()
    }
}
