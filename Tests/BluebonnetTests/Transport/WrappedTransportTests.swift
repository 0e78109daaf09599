import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Synchronization
import Testing

/// The libcurl transport inside a custom transport, which uses only the public API.
@Suite(.timeLimit(.minutes(10))) struct WrappedTransportTests {
    @Test func `a recorded exchange is replayed without a network`() async throws {
        let recorder = RecordingTransport()
        let server = try await LocalServer { router in
            router.get("/a", .text("first", headers: ["Set-Cookie": "a=1"]))
            router.get("/from", .status(302, headers: ["Location": "/a"]))
            router.post("/echo") { request in .text("\(request.body.count)") }
        }
        let session = Session(transport: recorder)
        #expect(try await session.request(server.url("/a")).serializingString().value == "first")
        #expect(try await session.request(server.url("/from")).serializingString().value == "first")
        let echoed = session.upload(Data("four".utf8), to: server.url("/echo"))
        #expect(try await echoed.serializingString().value == "4")
        #expect(try await session.cookies.all().map(\.name) == ["a"])
        await session.shutdown()
        #expect(recorder.recorded.count == 3, "the last of each kind")

        let count = server.requestCount
        let replaying = Session(transport: ReplayingTransport(recorder.recorded))
        #expect(try await replaying.request(server.url("/from")).serializingString().value == "first")
        #expect(try await replaying.request(server.url("/echo"), method: .post).serializingString().value == "4")
        let unknown = await replaying.request(server.url("/b")).serializingString().response
        #expect(unknown.error?.kind == .connection(.refused))
        #expect(try await replaying.cookies.all().isEmpty)
        #expect(server.requestCount == count)
        await replaying.shutdown()
    }

    @Test func `a stream uses a transport that wraps the libcurl transport`() async throws {
        let server = try await LocalServer { router in router.get("/lines", .text("one\ntwo\n")) }
        let session = Session(transport: RecordingTransport())
        var lines: [String] = []
        for try await line in session.streamRequest(server.url("/lines")).streamTask().lines { lines.append(line) }
        #expect(lines == ["one", "two"])
        await session.shutdown()
    }

    @Test func `the session's cache wraps the transport and calls its handler`() async throws {
        let server = try await LocalServer { router in
            router.get("/a", .text("a", headers: ["Cache-Control": "max-age=60"]))
        }
        let cacher = ResponseCacher(
            behavior: .modify { _, response in
                CachedResponse(response: response.response, data: Data("changed".utf8))
            })
        let session = Session(cachedResponseHandler: cacher, transport: RecordingTransport())
        #expect(try await session.request(server.url("/a")).serializingString().value == "a")
        #expect(try await session.request(server.url("/a")).serializingString().value == "changed")
        #expect(server.requestCount == 1)
        await session.shutdown()
    }

    @Test func `the session's manager evaluates servers for the wrapped transport`() async throws {
        let url = try #require(URL(string: "https://localhost:1"))
        let manager = ServerTrustManager(evaluators: [:])
        let session = Session(serverTrustManager: manager, transport: RecordingTransport())
        let error = await session.request(url).serializingData().response.error
        #expect(error?.kind == .trust(.noRequiredEvaluator(host: "localhost")))
        await session.shutdown()
    }

    @Test func `a transport has one manager, and a session with another manager sends nothing`() async throws {
        let url = try #require(URL(string: "https://localhost:1"))
        let refusing = ServerTrustManager(evaluators: [:])
        let transport = CurlTransport(serverTrustManager: refusing)
        let lax = ServerTrustManager(allHostsMustBeEvaluated: false, evaluators: [:])
        let session = Session(serverTrustManager: lax, transport: transport)
        let error = await session.request(url).serializingData().response.error
        #expect(error?.kind == .trust(.notEvaluated))
        await session.shutdown()
    }

    /// Earlier connections would not have been evaluated.
    @Test func `a manager that is set after the first exchange is refused, and its session sends nothing`()
        async throws
    {
        let server = try await LocalServer { router in router.get("/a", .text("a")) }
        let transport = CurlTransport()
        let first = Session(transport: transport)
        #expect(try await first.request(server.url("/a")).serializingString().value == "a")
        let lax = ServerTrustManager(allHostsMustBeEvaluated: false, evaluators: [:])
        #expect(!transport.evaluateServers(using: lax))
        let late = Session(serverTrustManager: lax, transport: transport)
        let error = await late.request(server.url("/a")).serializingData().response.error
        #expect(error?.kind == .trust(.notEvaluated))
        #expect(server.requestCount == 1)
        await first.shutdown()
        await late.shutdown()
        await server.stop()
    }

    @Test func `the manager that is set before the first exchange is used, and no other manager later`() async throws {
        let url = try #require(URL(string: "https://localhost:1"))
        let transport = CurlTransport()
        #expect(transport.evaluateServers(using: ServerTrustManager(evaluators: [:])))
        #expect(!transport.evaluateServers(using: ServerTrustManager(allHostsMustBeEvaluated: false, evaluators: [:])))
        let session = Session(transport: transport)
        let error = await session.request(url).serializingData().response.error
        #expect(error?.kind == .trust(.noRequiredEvaluator(host: "localhost")))
        await session.shutdown()
    }

    /// In a process of its own, without other threads of that name; they would end at once.
    @Test func `a session that makes no request starts no thread for its manager`() async {
        await #expect(processExitsWith: .success) {
            var sessions: [Session] = []
            for _ in 1...200 {
                var configuration = Session.Configuration()
                configuration.eventLoop = EventLoop(name: "bb-idle")
                let manager = ServerTrustManager(evaluators: [:])
                sessions.append(
                    Session(serverTrustManager: manager, transport: CurlTransport(configuration: configuration)))
                for thread in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task") {
                    let name = try? String(contentsOfFile: "/proc/self/task/\(thread)/comm", encoding: .utf8)
                    precondition(name != "bb-idle\n")
                }
            }
            withExtendedLifetime(sessions) {}
        }
    }

    /// A server whose answer depends on the cookie that it sets.
    private static func cookieServer() async throws -> LocalServer {
        try await LocalServer { router in
            router.get("/a") { request in
                let headers: HTTPHeaders = ["Cache-Control": "max-age=60", "Vary": "Cookie", "Set-Cookie": "user=b"]
                return .text(request.headers["Cookie"] ?? "anonymous", headers: headers)
            }
        }
    }

    /// Responses that depend on cookies are not stored; a transport that reports no cookies may contain one that has
    /// them.
    @Test(arguments: [true, false])
    func `a response that depends on cookies is not stored, whether the transport reports cookies or not`(
        _ tells: Bool
    ) async throws {
        let server = try await Self.cookieServer()
        var configuration = Session.Configuration()
        configuration.cache = ResponseCache()
        let session = Session(configuration: configuration, transport: RecordingTransport(tellsOfCookies: tells))
        #expect(try await session.request(server.url("/a")).serializingString().value == "anonymous")
        #expect(try await session.request(server.url("/a")).serializingString().value == "user=b")
        await session.shutdown()
        // If the session and the transport have no cookies, responses do not depend on cookies.
        configuration.cookies.policy = .never
        let without = Session(configuration: configuration)
        for _ in 1...2 {
            #expect(try await without.request(server.url("/a")).serializingString().value == "anonymous")
        }
        #expect(server.requestCount == 3)
        #expect(try await without.cookies.all().isEmpty)
        await without.shutdown()
        await server.stop()
    }

    /// The configuration of a session may say that there are no cookies, and its transport have some all the same.
    @Test func `a response that depends on the transport's cookies is not stored`() async throws {
        let server = try await Self.cookieServer()
        var configuration = Session.Configuration()
        configuration.cache = ResponseCache()
        configuration.cookies.policy = .never
        let session = Session(configuration: configuration, transport: RecordingTransport())
        #expect(try await session.request(server.url("/a")).serializingString().value == "anonymous")
        #expect(try await session.request(server.url("/a")).serializingString().value == "user=b")
        await session.shutdown()
        await server.stop()
    }

    @Test func `a fault can be injected`() async throws {
        let server = try await LocalServer { router in router.get("/a", .text("a")) }
        let faulty = RecordingTransport(failingFirst: 2)
        let session = Session(
            interceptor: RetryPolicy(retryLimit: 2, exponentialBackoffScale: 0.001), transport: faulty)
        let request = session.request(server.url("/a"))
        #expect(try await request.serializingString().value == "a")
        #expect(request.retryCount == 2)
        await session.shutdown()
    }
}

private func key(_ request: HTTPRequest) -> String { "\(request.method) \(request.url)" }

/// Records outcomes, and can make the first exchanges fail.
private final class RecordingTransport: Transport {
    private let inner = CurlTransport()
    private let outcomes = Mutex<[String: ExchangeOutcome]>([:])
    private let failures: Atomic<Int>

    private let tellsOfCookies: Bool

    init(failingFirst count: Int = 0, tellsOfCookies: Bool = true) {
        failures = Atomic(count)
        self.tellsOfCookies = tellsOfCookies
    }

    var recorded: [String: ExchangeOutcome] { outcomes.withLock(\.self) }
    var executor: (any TaskExecutor)? { inner.executor }
    var cookieStorage: (any CookieStorage)? { tellsOfCookies ? inner.cookieStorage : nil }
    func evaluateServers(using manager: ServerTrustManager) -> Bool { inner.evaluateServers(using: manager) }
    func shutDown() async { await inner.shutDown() }

    func start(_ request: HTTPRequest, options: ExchangeOptions, observer: any ExchangeObserver) -> any Exchange {
        if failures.subtract(1, ordering: .relaxed).oldValue > 0 {
            let lost = ExchangeOutcome(response: nil, error: RequestError(.connection(.lost)))
            return ReplayingTransport([key(request): lost]).start(request, options: options, observer: observer)
        }
        let listener = Listener(observer) { outcome in self.outcomes.withLock { $0[key(request)] = outcome } }
        return inner.start(request, options: options, observer: listener)
    }
}

private final class Listener: ExchangeObserver {
    private let next: any ExchangeObserver
    private let note: @Sendable (ExchangeOutcome) -> Void

    init(_ next: any ExchangeObserver, note: @escaping @Sendable (ExchangeOutcome) -> Void) {
        self.next = next
        self.note = note
    }

    func exchangeDidSend(_ sent: Int64, ofExpected expected: Int64?) {
        next.exchangeDidSend(sent, ofExpected: expected)
    }

    func exchangeDidReceiveHead(_ response: HTTPResponse) { next.exchangeDidReceiveHead(response) }

    func exchangeDidReceive(_ received: Int64, ofExpected expected: Int64?) {
        next.exchangeDidReceive(received, ofExpected: expected)
    }

    func exchangeDidComplete(_ outcome: ExchangeOutcome) {
        note(outcome)
        next.exchangeDidComplete(outcome)
    }
}

/// Returns the recorded outcomes.
private struct ReplayingTransport: Transport {
    private let outcomes: [String: ExchangeOutcome]

    init(_ outcomes: [String: ExchangeOutcome]) { self.outcomes = outcomes }

    var executor: (any TaskExecutor)? { nil }
    func shutDown() async {}

    func start(_ request: HTTPRequest, options: ExchangeOptions, observer: any ExchangeObserver) -> any Exchange {
        let refused = ExchangeOutcome(response: nil, error: RequestError(.connection(.refused)))
        let outcome = outcomes[key(request)] ?? refused
        Task { observer.exchangeDidComplete(outcome) }
        return Replay()
    }
}

/// An exchange that is over before it can be stopped.
private struct Replay: Exchange {
    func cancel() {}
    func suspend() {}
    func resume() {}
    func receiveBody(with receiver: (any BodyReceiver)?) {}
    func receiveMore() {}
}
