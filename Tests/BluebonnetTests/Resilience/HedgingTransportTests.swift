import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Testing

/// Hedged requests on the wire; the test ends the delay.
@Suite(.timeLimit(.minutes(10))) struct HedgingTransportTests {
    /// A transport whose delay ends when a function returns.
    private static func hedging(
        _ inner: any Transport = CurlTransport(), extraTries: Int = 1, reserve: UInt = 10,
        delay: @escaping @Sendable () async throws -> Void
    ) -> HedgingTransport {
        var policy = HedgingTransport.Policy(delay: .seconds(1))
        policy.extraTries = extraTries
        policy.budgetRatio = 0
        policy.reserve = reserve
        policy.sleep = { _ in
            try await delay()
            try Task.checkCancellation()
        }
        return HedgingTransport(inner, policy: policy)
    }

    /// A server that answers the request with this number with its number, and no other.
    private static func server(
        answering number: Int, after gate: Gate = Gate(isOpen: true)
    ) async throws -> LocalServer {
        try await LocalServer { router in
            router.on("/a") { request in
                await (request.sequence == number ? gate : Gate()).wait()
                return .text("\(request.sequence)")
            }
        }
    }

    @Test func `the second try answers a request whose first try takes long`() async throws {
        let server = try await Self.server(answering: 2)
        let session = Session(transport: Self.hedging { _ = try await server.request(1) })
        #expect(try await session.request(server.url("/a")).serializingString().value == "2")
        #expect(server.requestCount == 2)
        // The slow try is cancelled, which closes its connection.
        try await server.waitForOpenConnections(atMost: 1)
        await session.shutdown()
    }

    @Test func `the first try can answer while the second is running`() async throws {
        let gate = Gate()
        let server = try await Self.server(answering: 1, after: gate)
        let session = Session(transport: Self.hedging { _ = try await server.request(1) })
        let task = session.request(server.url("/a")).serializingString()
        _ = try await server.request(2)
        gate.open()
        #expect(try await task.value == "1")
        try await server.waitForOpenConnections(atMost: 1)
        await session.shutdown()
    }

    @Test func `a fast response is not hedged, and the delay ends with it`() async throws {
        let server = try await Self.server(answering: 1)
        let never = Gate()
        let session = Session(transport: Self.hedging { await never.wait() })
        #expect(try await session.request(server.url("/a")).serializingString().value == "1")
        while never.waiterCount > 0 { await Task.yield() }
        #expect(server.requestCount == 1)
        await session.shutdown()
    }

    /// Receives the events and the body of an exchange.
    private final class Collector: ExchangeObserver, BodyReceiver {
        let end = Gate()
        private let state = Locked((body: Data(), heads: 0))

        var received: (text: String, heads: Int) {
            state.withLock { (String(decoding: $0.body, as: UTF8.self), $0.heads) }
        }

        func exchangeDidSend(_ sent: Int64, ofExpected expected: Int64?) {}
        func exchangeDidReceiveHead(_ response: HTTPResponse) { state.withLock { $0.heads += 1 } }
        func exchangeDidReceive(_ received: Int64, ofExpected expected: Int64?) {}
        func exchangeDidComplete(_ outcome: ExchangeOutcome) { end.open() }

        func receive(_ bytes: Data) -> ReceiveAction {
            state.withLock { $0.body += bytes }
            return .proceed
        }
    }

    @Test func `a body that is requested at once is the body of the try that answers`() async throws {
        let server = try await Self.server(answering: 2)
        let transport = Self.hedging { _ = try await server.request(1) }
        let collector = Collector()
        let exchange = transport.start(
            HTTPRequest(url: server.url("/a")), options: ExchangeOptions(pausesBody: true), observer: collector)
        exchange.receiveBody(with: collector)
        await collector.end.wait()
        #expect(collector.received == ("2", 1))
        await transport.shutDown()
        await server.stop()
    }

    @Test func `a third try is sent if the policy allows it`() async throws {
        let server = try await Self.server(answering: 3)
        let delays = Counter()
        let transport = Self.hedging(extraTries: 2) { _ = try await server.request(delays.next()) }
        let session = Session(transport: transport)
        #expect(try await session.request(server.url("/a")).serializingString().value == "3")
        try await server.waitForOpenConnections(atMost: 1)
        await session.shutdown()
    }

    @Test func `the head decides for a stream, whose body has the bytes of one try`() async throws {
        let rest = Gate()
        let origin = try await LocalServer { router in
            router.get("/lines") { request in
                if request.sequence == 1 { await Gate().wait() }
                return .stream { writer in
                    try await writer.write(Data("one\n".utf8))
                    await rest.wait()
                    try await writer.write(Data("two\n".utf8))
                }
            }
        }
        let session = Session(transport: Self.hedging { _ = try await origin.request(1) })
        var lines = session.streamRequest(origin.url("/lines")).streamTask().lines.makeAsyncIterator()
        let first = try await lines.next()
        rest.open()
        let (second, end) = (try await lines.next(), try await lines.next())
        #expect(first == "one" && second == "two" && end == nil)
        try await origin.waitForOpenConnections(atMost: 1)
        await session.shutdown()
    }

    @Test func `a POST and a body from a sequence are sent once`() async throws {
        let isDelayed = Counter()
        let transport = StubTransport { _ in .text("ok") }
        let session = Session(transport: Self.hedging(transport) { isDelayed.next() })
        let url = try "http://stub.test/".asURL()
        let pieces = AsyncStream<Data> { $0.finish() }
        let requests = [
            HTTPRequest(url: url, method: .post), HTTPRequest(url: url, method: .patch, body: .data(Data("a".utf8))),
            HTTPRequest(url: url, method: .put, body: .stream(pieces)),
        ]
        for request in requests { #expect(try await session.request(request).serializingString().value == "ok") }
        #expect(isDelayed.value == 0 && transport.requestCount == 3)
        await session.shutdown()
    }

    @Test func `a body in memory is sent again`() async throws {
        let server = try await LocalServer { router in
            router.put("/a") { request in
                if request.sequence == 1 { await Gate().wait() }
                return .text(request.text)
            }
        }
        let session = Session(transport: Self.hedging { _ = try await server.request(1) })
        let upload = session.upload(Data("tea".utf8), to: server.url("/a"), method: .put)
        #expect(try await upload.serializingString().value == "tea")
        #expect(server.requests.map(\.text) == ["tea", "tea"])
        await session.shutdown()
    }

    @Test func `the budget limits the additional tries`() async throws {
        let (delays, stub) = (Counter(), Locked<StubTransport?>(nil))
        let transport = StubTransport { request in
            let stub = stub.withLock { $0 }
            if request.url.path == "/1" { _ = try await stub?.request(2) }
            // There is time for another try after the second delay.
            while request.url.path == "/2", delays.value < 2 { await Task.yield() }
            if request.url.path == "/2" { for _ in 1...1000 { await Task.yield() } }
            return .text("ok")
        }
        stub.withLock { $0 = transport }
        let session = Session(transport: Self.hedging(transport, reserve: 1) { delays.next() })
        for path in ["1", "2"] {
            #expect(try await session.request("http://stub.test/\(path)").serializingString().value == "ok")
        }
        #expect(transport.requestCount == 3)
        await session.shutdown()
        stub.withLock { $0 = nil }
    }

    @Test func `a failure waits for the other try`() async throws {
        let (calls, stub) = (Counter(), Locked<StubTransport?>(nil))
        let transport = StubTransport { _ in
            guard calls.next() == 1 else { return .text("second") }
            // The first try fails after the second has started.
            _ = try await stub.withLock { $0 }?.request(2)
            throw RequestError(.connection(.lost))
        }
        stub.withLock { $0 = transport }
        let session = Session(transport: Self.hedging(transport) {})
        #expect(try await session.request("http://stub.test/").serializingString().value == "second")
        await session.shutdown()
        stub.withLock { $0 = nil }
    }

    @Test func `if all tries fail, the last failure is the outcome`() async throws {
        let (calls, stub) = (Counter(), Locked<StubTransport?>(nil))
        let transport = StubTransport { _ in
            _ = try await stub.withLock { $0 }?.request(2)
            _ = calls.next()
            throw RequestError(.connection(.lost))
        }
        stub.withLock { $0 = transport }
        let session = Session(transport: Self.hedging(transport) {})
        let error = await session.request("http://stub.test/").serializingString().response.error
        #expect(error?.kind == .connection(.lost) && calls.value == 2)
        await session.shutdown()
        stub.withLock { $0 = nil }
    }

    @Test func `cancelling ends both tries`() async throws {
        let server = try await Self.server(answering: 3)
        let session = Session(transport: Self.hedging { _ = try await server.request(1) })
        let request = session.request(server.url("/a"))
        let task = request.serializingString()
        _ = try await server.request(2)
        request.cancel()
        #expect(await task.response.error?.kind == .cancelled)
        try await server.waitForOpenConnections(atMost: 0)
        await session.shutdown()
    }

    @Test func `a shutdown ends both tries`() async throws {
        let server = try await Self.server(answering: 3)
        let transport = Self.hedging { _ = try await server.request(1) }
        let observer = OutcomeObserver()
        _ = transport.start(HTTPRequest(url: server.url("/a")), options: ExchangeOptions(), observer: observer)
        _ = try await server.request(2)
        await transport.shutDown()
        #expect(await observer.outcome.error?.kind == .sessionShutDown)
        try await server.waitForOpenConnections(atMost: 0)
    }

    @Test func `suspending stops both tries, and resuming continues them`() async throws {
        let gate = Gate()
        let server = try await Self.server(answering: 2, after: gate)
        let session = Session(transport: Self.hedging { _ = try await server.request(1) })
        let request = session.request(server.url("/a"))
        let task = request.serializingString()
        _ = try await server.request(2)
        request.suspend()
        gate.open()
        request.resume()
        #expect(try await task.value == "2")
        await session.shutdown()
    }

    @Test func `a cache stores the response of one try`() async throws {
        let server = try await LocalServer { router in
            router.get("/a") { request in
                if request.sequence == 1 { await Gate().wait() }
                return .text("\(request.sequence)", headers: ["Cache-Control": "max-age=60"])
            }
        }
        let stored = Counter()
        let cacher = ResponseCacher(
            behavior: .modify { _, response in
                stored.next()
                return response
            })
        let session = Session(
            cachedResponseHandler: cacher, transport: Self.hedging { _ = try await server.request(1) })
        for _ in 1...2 { #expect(try await session.request(server.url("/a")).serializingString().value == "2") }
        #expect(server.requestCount == 2 && stored.value == 1)
        await session.shutdown()
    }
}
