import BluebonnetTesting
import FoundationEssentials
import Testing

@testable import Bluebonnet

/// One fetch for equal requests (RFC 9111 §4).
@Suite(.timeLimit(.minutes(10)))
struct CacheCollapsingTests {
    private static let minute: HTTPHeaders = ["Cache-Control": "max-age=60"]

    /// A transport with a cache, and a server that responds when a gate is open.
    private struct Scene {
        let gate = Gate()
        let stub: StubTransport
        let transport: CachingTransport

        init(
            cache: ResponseCache = ResponseCache(), configuration: Session.Configuration = Session.Configuration(),
            headers: HTTPHeaders = minute, _ answer: StubTransport.Handler? = nil
        ) {
            let gate = gate
            stub = StubTransport { request in
                await gate.wait()
                return try await answer?(request) ?? .text("hello", headers: headers)
            }
            transport = CachingTransport(stub, cache: cache, configuration: configuration)
        }

        func start(
            options: ExchangeOptions = ExchangeOptions(), _ change: (inout HTTPRequest) -> Void = { _ in }
        ) throws -> Started {
            try Self.start(on: transport, options: options, change)
        }

        static func start(
            on transport: CachingTransport, options: ExchangeOptions = ExchangeOptions(),
            _ change: (inout HTTPRequest) -> Void = { _ in }
        ) throws -> Started {
            var request = HTTPRequest(url: try #require(URL(string: "http://stub.test/")))
            change(&request)
            let observer = OutcomeObserver()
            return Started(exchange: transport.start(request, options: options, observer: observer), observer: observer)
        }
    }

    private struct Started {
        let exchange: any Exchange
        let observer: OutcomeObserver
        var outcome: ExchangeOutcome { get async { await observer.outcome } }
    }

    @Test(arguments: [false, true])
    func `1,000 equal requests are one exchange`(isStale: Bool) async throws {
        for _ in 0..<10 {
            let clock = CacheClock()
            let scene = Scene(
                cache: ResponseCache { clock.now }, headers: ["Cache-Control": "max-age=60", "ETag": "\"1\""])
            if isStale {
                scene.gate.open()
                _ = try await scene.start().outcome
                scene.gate.close()
                clock.advance(by: 100)
            }
            let started = try (0..<1000).map { _ in try scene.start() }
            scene.gate.open()
            var sources: [ResponseSource: Int] = [:]
            for one in started {
                let outcome = await one.outcome
                #expect(outcome.error == nil && outcome.body == Data("hello".utf8))
                sources[outcome.source, default: 0] += 1
            }
            #expect(sources == [.network: 1, .cache: 999])
            #expect(scene.stub.requestCount == (isStale ? 2 : 1))
        }
    }

    @Test func `a response that is not stored goes to one request, and the others ask together`() async throws {
        let scene = Scene(headers: ["Cache-Control": "no-store"])
        let started = try (0..<100).map { _ in try scene.start() }
        #expect(scene.stub.requestCount == 1)
        scene.gate.open()
        for one in started { #expect(await one.outcome.source == .network) }
        #expect(scene.stub.requestCount == 100)
        // After that, none of them waits for another.
        scene.gate.close()
        for _ in 0..<3 { _ = try scene.start() }
        #expect(scene.stub.requestCount == 103)
        await scene.transport.shutDown()
    }

    @Test func `a leader that is cancelled hands on`() async throws {
        let scene = Scene()
        let started = try (0..<10).map { _ in try scene.start() }
        started[0].exchange.cancel()
        #expect(await started[0].outcome.error?.kind == .cancelled)
        _ = try await scene.stub.request(2)
        scene.gate.open()
        for one in started[1...] { #expect(await one.outcome.body == Data("hello".utf8)) }
        #expect(scene.stub.requestCount == 2)
    }

    @Test func `after a failure of the leader, the others ask together`() async throws {
        let (first, others, count) = (Gate(), Gate(), Locked(0))
        let scene = Scene { _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            await (number == 1 ? first : others).wait()
            return .failure(RequestError(.connection(.refused)))
        }
        defer { others.open() }
        let started = try (0..<5).map { _ in try scene.start() }
        scene.gate.open()
        first.open()
        // The others wait for each other: if one asked after the other, the fifth request would not come.
        _ = try await scene.stub.request(5)
        others.open()
        for one in started { #expect(await one.outcome.error?.kind == .connection(.refused)) }
        #expect(scene.stub.requestCount == 5)
    }

    /// A transport whose first response arrives although its exchange was cancelled.
    private final class LateTransport: Transport {
        private struct Running: Exchange {
            func cancel() {}
            func suspend() {}
            func resume() {}
            func receiveBody(with receiver: (any BodyReceiver)?) {}
            func receiveMore() {}
        }

        let executor: (any TaskExecutor)? = nil
        let observers = Locked<[any ExchangeObserver]>([])

        func start(
            _ request: HTTPRequest, options: ExchangeOptions, observer: any ExchangeObserver
        ) -> any Exchange {
            let isFirst = observers.withLock { observers in
                observers.append(observer)
                return observers.count == 1
            }
            if !isFirst { Task { self.respond(to: observer) } }
            return Running()
        }

        func shutDown() async {}

        func respond(to observer: any ExchangeObserver) {
            let url = URL(filePath: "/")
            let response = HTTPResponse(url: url, statusCode: 200, headers: ["Cache-Control": "max-age=60"])
            observer.exchangeDidComplete(ExchangeOutcome(response: response, body: Data("hello".utf8)))
        }
    }

    @Test func `a leader whose response arrives after its cancellation hands on`() async throws {
        let late = LateTransport()
        let transport = CachingTransport(late, cache: ResponseCache(), configuration: Session.Configuration())
        let started = try (0..<10).map { _ in try Scene.start(on: transport) }
        started[0].exchange.cancel()
        late.respond(to: late.observers.withLock { $0[0] })
        for one in started { #expect(await one.outcome.body == Data("hello".utf8)) }
        #expect(late.observers.withLock { $0.count } == 2)
    }

    @Test func `after a timeout of the leader, the others ask together`() async throws {
        let (first, second) = (Gate(), Gate())
        let count = Locked(0)
        let scene = Scene { _ in
            if count.withLock({ count in
                count += 1
                return count == 1
            }) {
                await first.wait()
                return .failure(RequestError(.timedOut(.idle)))
            }
            await second.wait()
            return .text("hello")
        }
        scene.gate.open()
        let started = try (0..<5).map { _ in try scene.start() }
        first.open()
        _ = try await scene.stub.request(5)
        second.open()
        #expect(await started[0].outcome.error?.kind == .timedOut(.idle))
        for one in started[1...] { #expect(await one.outcome.body == Data("hello".utf8)) }
    }

    @Test func `equal requests that are answered by a file are hits`() async throws {
        let directory = try TestDirectory()
        let scene = CacheTestSession(memoryCapacity: 0, directory: directory.url) { _ in
            .text("hello", headers: Self.minute)
        }
        _ = await scene.answer()
        scene.clock.advance(by: 1)
        let tasks = (0..<50).map { _ in scene.session.request(scene.url()).serializingData() }
        for task in tasks { #expect(await task.response.cacheStatus?.description == "Bluebonnet; hit; ttl=59") }
        #expect(scene.transport.requestCount == 1)
    }

    @Test func `a suspended leader holds no follower`() async throws {
        let scene = Scene()
        let started = try (0..<10).map { _ in try scene.start() }
        started[0].exchange.suspend()
        scene.gate.open()
        for one in started[1...] { #expect(await one.outcome.error == nil) }
        started[0].exchange.resume()
        #expect(await started[0].outcome.error == nil)
        #expect(scene.stub.requestCount == 2)
    }

    @Test func `a follower that is suspended, cancelled or late ends alone`() async throws {
        let scene = Scene()
        let leader = try scene.start()
        let (cancelled, suspended) = (try scene.start(), try scene.start())
        let late = try scene.start { $0.timeouts.total = .milliseconds(20) }
        let follower = try scene.start { $0.timeouts.total = .milliseconds(20) }
        cancelled.exchange.cancel()
        suspended.exchange.suspend()
        #expect(await cancelled.outcome.error?.kind == .cancelled)
        // The stub has no limits, so only the follower ends here.
        #expect(await follower.outcome.error?.kind == .timedOut(.total))
        scene.gate.open()
        for one in [leader, late] { #expect(await one.outcome.error == nil) }
        suspended.exchange.resume()
        #expect(await suspended.outcome.source == .cache)
    }

    @Test func `some requests ask for themselves`() async throws {
        let scene = Scene()
        _ = try scene.start()
        let alone: [(inout HTTPRequest) -> Void] = [
            { $0.allowsCollapsing = false }, { $0.headers = ["Cache-Control": "no-cache"] },
            { $0.headers = ["Cache-Control": "max-age=0"] }, { $0.speedLimits.download = 1000 },
            { $0.cachePolicy = .reloadIgnoringCache }, { $0.cachePolicy = .reloadRevalidating },
            { $0.headers = ["Accept": "text/plain"] }, { $0.method = .head },
        ]
        for (index, change) in alone.enumerated() {
            _ = try scene.start(change)
            #expect(scene.stub.requestCount == index + 2)
        }
        _ = try scene.start(options: ExchangeOptions(pausesBody: true))
        #expect(scene.stub.requestCount == alone.count + 2)
        await scene.transport.shutDown()
    }

    @Test func `a shutdown ends leaders and followers`() async throws {
        let scene = Scene()
        let started = try (0..<10).map { _ in try scene.start() }
        await scene.transport.shutDown()
        for one in started { #expect(await one.outcome.error?.kind == .sessionShutDown) }
        #expect(scene.stub.requestCount == 1)
    }
}
