import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Synchronization
import Testing

/// The transport with libcurl within one of the user's, which knows of the library what is public.
@Suite(.timeLimit(.minutes(1))) struct WrappedTransportTests {
    @Test func `what was recorded is replayed without a network`() async throws {
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

    @Test func `a stream goes through a transport around the one with libcurl`() async throws {
        let server = try await LocalServer { router in router.get("/lines", .text("one\ntwo\n")) }
        let session = Session(transport: RecordingTransport())
        var lines: [String] = []
        for try await line in session.streamRequest(server.url("/lines")).streamTask().lines { lines.append(line) }
        #expect(lines == ["one", "two"])
        await session.shutdown()
    }

    @Test func `the cache of a session is before the transport, and asks its handler what to store`() async throws {
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

    @Test func `a manager of the session's judges for the transport within`() async throws {
        let url = try #require(URL(string: "https://localhost:1"))
        let manager = ServerTrustManager(evaluators: [:])
        let session = Session(serverTrustManager: manager, transport: RecordingTransport())
        let error = await session.request(url).serializingData().response.error
        #expect(error?.kind == .trust(.noRequiredEvaluator(host: "localhost")))
        await session.shutdown()
    }

    @Test func `a transport has one manager, and a session with another sends nothing`() async throws {
        let url = try #require(URL(string: "https://localhost:1"))
        let refusing = ServerTrustManager(evaluators: [:])
        let transport = CurlTransport(serverTrustManager: refusing)
        let lax = ServerTrustManager(allHostsMustBeEvaluated: false, evaluators: [:])
        let session = Session(serverTrustManager: lax, transport: transport)
        let error = await session.request(url).serializingData().response.error
        #expect(error?.kind == .trust(.notEvaluated))
        await session.shutdown()
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

/// Records outcomes, as a user would, and has the first exchanges fail if asked to.
private final class RecordingTransport: Transport {
    private let inner = CurlTransport()
    private let outcomes = Mutex<[String: ExchangeOutcome]>([:])
    private let failures: Atomic<Int>

    init(failingFirst count: Int = 0) { failures = Atomic(count) }

    var recorded: [String: ExchangeOutcome] { outcomes.withLock(\.self) }
    var executor: (any TaskExecutor)? { inner.executor }
    var cookieStorage: (any CookieStorage)? { inner.cookieStorage }
    func judgeServers(by manager: ServerTrustManager) -> Bool { inner.judgeServers(by: manager) }
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

/// Answers with what was recorded.
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

/// An exchange that is over before anybody can stop it.
private struct Replay: Exchange {
    func cancel() {}
    func suspend() {}
    func resume() {}
    func receiveBody(with receiver: (any BodyReceiver)?) {}
    func receiveMore() {}
}
