import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Testing

@Suite(.timeLimit(.minutes(10)))
struct AuthenticationInterceptorTests {
    private func error(_ task: DataTask<String>) async -> RequestError? { await task.response.error }

    @Test func `a request receives the credential`() async throws {
        let authenticator = TokenAuthenticator()
        let transport = TokenFixture.transport(accepting: 1)
        let session = Session(
            interceptor: AuthenticationInterceptor(authenticator: authenticator, credential: Token(number: 1)),
            transport: transport)
        #expect(try await session.request(TokenFixture.url).validate().serializingString().value == "data")
        #expect(transport.requests.map { $0.headers["Authorization"] } == ["Bearer token-1"])
        #expect(authenticator.refreshCount == 0)
    }

    @Test func `no request is sent until there is a credential`() async throws {
        let transport = TokenFixture.transport(accepting: 1)
        let interceptor = AuthenticationInterceptor(authenticator: TokenAuthenticator())
        let session = Session(interceptor: interceptor, transport: transport)
        let refused = await error(session.request(TokenFixture.url).validate().serializingString())
        #expect(refused?.kind == .adaptation)
        #expect(refused?.underlying as? AuthenticationError == .missingCredential)
        #expect(transport.requestCount == 0)
        await interceptor.setCredential(Token(number: 7))
        #expect(await interceptor.credential == Token(number: 7))
        #expect(try await session.request(TokenFixture.url).validate().serializingString().value == "data")
    }

    @Test func `a refused credential is refreshed and the request is sent again`() async throws {
        let transport = TokenFixture.transport(accepting: 2)
        let interceptor = AuthenticationInterceptor(
            authenticator: TokenAuthenticator(), credential: Token(number: 1))
        let session = Session(transport: transport)
        let request = session.request(TokenFixture.url, interceptor: interceptor).validate()
        #expect(try await request.serializingString().value == "data")
        #expect(request.retryCount == 1)
        #expect(transport.requests.map { $0.headers["Authorization"] } == ["Bearer token-1", "Bearer token-2"])
        #expect(await interceptor.credential == Token(number: 2))
    }

    @Test func `a 401 without validation is a response like any other`() async throws {
        let authenticator = TokenAuthenticator()
        let session = Session(
            interceptor: AuthenticationInterceptor(authenticator: authenticator, credential: Token(number: 1)),
            transport: TokenFixture.transport(accepting: 2))
        let response = await session.request(TokenFixture.url).serializingData(emptyResponseCodes: [401]).response
        #expect(response.response?.statusCode == 401 && response.error == nil)
        #expect(authenticator.refreshCount == 0)
    }

    @Test func `other failures do not trigger a refresh`() async throws {
        let authenticator = TokenAuthenticator()
        let session = Session(
            interceptor: AuthenticationInterceptor(authenticator: authenticator, credential: Token(number: 1)),
            transport: StubTransport { _ in .status(500) })
        let error = await error(session.request(TokenFixture.url).validate().serializingString())
        #expect(error?.kind == .validation(.unacceptableStatusCode(500)))
        #expect(authenticator.refreshCount == 0)
    }

    @Test func `the number of requests is limited if a server accepts no credential`() async throws {
        let authenticator = TokenAuthenticator()
        let transport = TokenFixture.transport(accepting: .max)
        let interceptor = AuthenticationInterceptor(
            authenticator: authenticator, credential: Token(number: 1),
            refreshWindow: RefreshWindow(interval: .seconds(3600), maximumAttempts: 3))
        let session = Session(interceptor: interceptor, transport: transport)
        let refused = await error(session.request(TokenFixture.url).validate().serializingString())
        #expect(refused?.kind == .retry(original: .validation(.unacceptableStatusCode(401))))
        #expect(refused?.underlying as? AuthenticationError == .excessiveRefresh)
        #expect(authenticator.refreshCount == 3)
        #expect(transport.requestCount == 4)
    }

    /// Finds no request to have its credential, whatever it did to it.
    private struct ForgetfulAuthenticator: Authenticator {
        func apply(_ credential: Token, to request: inout HTTPRequest) {}

        @concurrent
        func refresh(_ credential: Token, for session: Session) async throws -> Token { credential }

        func didRequest(
            _ request: HTTPRequest, with response: HTTPResponse, failDueToAuthenticationError error: any Error
        ) -> Bool { true }

        func isRequest(_ request: HTTPRequest, authenticatedWith credential: Token) -> Bool { false }
    }

    @Test func `retries are limited if an authenticator never recognizes its credential`() async throws {
        let transport = StubTransport { _ in .status(401) }
        let session = Session(
            interceptor: AuthenticationInterceptor(
                authenticator: ForgetfulAuthenticator(), credential: Token(number: 1)),
            transport: transport)
        let refused = await error(session.request(TokenFixture.url).validate().serializingString())
        #expect(refused?.underlying as? AuthenticationError == .excessiveRefresh)
        #expect(transport.requestCount == 6)
    }

    @Test func `the next request after a failed refresh starts a new refresh`() async throws {
        let attempts = Locked(0)
        let authenticator = TokenAuthenticator { token, _ in
            let isFirst = attempts.withLock {
                $0 += 1
                return $0 == 1
            }
            if isFirst { throw TestFailure("not now") }
            return Token(number: token.number + 1)
        }
        let session = Session(
            interceptor: AuthenticationInterceptor(authenticator: authenticator, credential: Token(number: 1)),
            transport: TokenFixture.transport(accepting: 2))
        let first = await error(session.request(TokenFixture.url).validate().serializingString())
        #expect(first?.underlying as? TestFailure == TestFailure("not now"))
        #expect(try await session.request(TokenFixture.url).validate().serializingString().value == "data")
        #expect(authenticator.refreshCount == 2)
    }

    /// Begins a refresh that ends when the gate is opened.
    private func held(_ gate: Gate, begun: Gate) -> TokenAuthenticator {
        TokenAuthenticator { token, _ in
            begun.open()
            await gate.wait()
            try Task.checkCancellation()
            return Token(number: token.number + 1)
        }
    }

    @Test func `a request during a refresh waits and is sent once`() async throws {
        let (gate, begun) = (Gate(), Gate())
        let transport = TokenFixture.transport(accepting: 2)
        let session = Session(
            interceptor: AuthenticationInterceptor(
                authenticator: held(gate, begun: begun), credential: Token(number: 1)),
            transport: transport)
        let first = session.request(TokenFixture.url).validate().serializingString()
        await begun.wait()
        let second = session.request(TokenFixture.url).validate().serializingString()
        gate.open()
        #expect(try await first.value == "data")
        #expect(try await second.value == "data")
        #expect(transport.requestCount == 3)
        #expect(second.request.retryCount == 0)
    }

    @Test func `setting a credential resumes the waiting requests and discards the refresh`() async throws {
        let (gate, begun) = (Gate(), Gate())
        let interceptor = AuthenticationInterceptor(
            authenticator: held(gate, begun: begun), credential: Token(number: 1, requiresRefresh: true))
        let session = Session(interceptor: interceptor, transport: TokenFixture.transport(accepting: 2))
        let task = session.request(TokenFixture.url).validate().serializingString()
        await begun.wait()
        await interceptor.setCredential(Token(number: 9))
        #expect(try await task.value == "data")
        gate.open()
        #expect(try await session.request(TokenFixture.url).validate().serializingString().value == "data")
        #expect(await interceptor.credential == Token(number: 9))
    }

    @Test func `a 401 from another origin does not trigger a refresh`() async throws {
        let authenticator = TokenAuthenticator()
        let transport = StubTransport { request in
            if request.url.host() == "api.example" {
                return .response(status: 302, headers: ["Location": "http://other.example/"])
            }
            return .status(request.headers["Authorization"] == nil ? 401 : 200)
        }
        let session = Session(
            interceptor: AuthenticationInterceptor(authenticator: authenticator, credential: Token(number: 1)),
            transport: transport)
        let refused = await error(session.request(TokenFixture.url).validate().serializingString())
        #expect(refused?.kind == .validation(.unacceptableStatusCode(401)))
        #expect(authenticator.refreshCount == 0)
        #expect(transport.requestCount == 2)
    }

    // MARK: Cancellation

    @Test(arguments: [0, 1, 2], [true, false])
    func `cancelling a waiting request ends it before the others`(_ index: Int, isKnown: Bool) async throws {
        let (gate, begun) = (Gate(), Gate())
        let authenticator = held(gate, begun: begun)
        let session = Session(
            interceptor: AuthenticationInterceptor(
                authenticator: authenticator, credential: Token(number: 1, requiresRefresh: isKnown)),
            transport: TokenFixture.transport(accepting: 2))
        let tasks = (0..<3).map { _ in session.request(TokenFixture.url).validate().serializingString() }
        await begun.wait()
        tasks[index].cancel()
        #expect(await error(tasks[index])?.kind == .cancelled)
        gate.open()
        for (number, task) in tasks.enumerated() where number != index {
            #expect(try await task.value == "data")
        }
        #expect(authenticator.refreshCount == 1)
        await session.shutdown()
    }

    @Test func `the next request uses a credential whose waiting requests were cancelled`() async throws {
        let (gate, begun) = (Gate(), Gate())
        let authenticator = held(gate, begun: begun)
        let session = Session(
            interceptor: AuthenticationInterceptor(
                authenticator: authenticator, credential: Token(number: 1, requiresRefresh: true)),
            transport: TokenFixture.transport(accepting: 2))
        let task = session.request(TokenFixture.url).validate().serializingString()
        await begun.wait()
        await session.cancelAllRequests()
        #expect(await error(task)?.kind == .cancelled)
        gate.open()
        #expect(try await session.request(TokenFixture.url).validate().serializingString().value == "data")
        #expect(authenticator.refreshCount == 1)
    }

    @Test func `a refresh that never ends does not delay cancelled requests`() async throws {
        let (gate, begun) = (Gate(), Gate())
        defer { gate.open() }
        let session = Session(
            interceptor: AuthenticationInterceptor(
                authenticator: held(gate, begun: begun), credential: Token(number: 1, requiresRefresh: true)),
            transport: TokenFixture.transport(accepting: 2))
        let tasks = (0..<100).map { _ in session.request(TokenFixture.url).validate().serializingString() }
        await begun.wait()
        await session.cancelAllRequests()
        for task in tasks { #expect(await error(task)?.kind == .cancelled) }
    }
}
