import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Testing

/// The short forms of servers, scripts and stubs.
@Suite(.timeLimit(.minutes(10))) struct ShortFormTests {
    @Test func `a server answers with responses in order, and with a closure`() async throws {
        let server = try await LocalServer(answering: .status(503), .text("b"))
        let codes = [
            try await Session.default.get(server.url).statusCode,
            try await Session.default.post("\(server.url)/x").statusCode,
            try await Session.default.get(server.url).statusCode,
        ]
        #expect(codes == [503, 200, 200])
        await server.stop()
        let empty = try await LocalServer(answering: { .text($0.path) })
        #expect(try await Session.default.get("\(empty.url)/a/b").text() == "/a/b")
        await empty.stop()
        let none = try await LocalServer()
        #expect(try await Session.default.get(none.url).statusCode == 404)
        await none.stop()
    }

    @Test func `a script sends a head and a body`() async throws {
        let server = try await LocalServer(
            answering: .script(
                .head(404, ["Content-Length": "4", "X-A": "1"]), .body("no"), .body("ne"), .waitForClose))
        let response = try await Session.default.get(server.url)
        #expect(response.statusCode == 404 && response.headers["X-A"] == "1")
        #expect(response.response?.reasonPhrase == "Not Found")
        #expect(try response.text() == "none")
        await server.stop()
    }

    /// The delay, the limits of the request and the session, and what ends the request, after which time.
    @Test(
        arguments: [
            (10, 5, nil, RequestError.Kind.timedOut(.total), 5), (4, 5, nil, nil, 4), (700, nil, nil, nil, 700),
            (10, nil, 3, .timedOut(.total), 3), (10, 20, 3, nil, 10),
        ] as [(Int, Int?, Int?, RequestError.Kind?, Int)])
    func `a delay ends at a time limit, by the clock of the transport`(
        delay: Int, own: Int?, session limit: Int?, kind: RequestError.Kind?, time: Int
    ) async throws {
        let clock = ManualClock()
        let stub = StubTransport(clock: clock) { _ in .text("late").delayed(by: .seconds(delay)) }
        let session = Session(
            baseURL: "http://a.test", timeouts: Timeouts(total: limit.map { .seconds($0) }), transport: stub)
        let task = Task { try await session.get("x", timeout: own.map { .seconds($0) }) }
        while clock.sleeperCount == 0 { try await Task.sleep(for: .milliseconds(1)) }
        clock.advance(by: .seconds(time) - .milliseconds(1))
        #expect(clock.sleeperCount == 1)
        clock.advance(by: .milliseconds(1))
        let result = await task.result
        #expect((result.failure as? RequestError)?.kind == kind)
    }

    @Test func `delays in delays and no response end at the limit, behind another transport as well`() async throws {
        for response in [StubTransport.Response.ok.delayed(by: .seconds(3)).delayed(by: .seconds(3)), .never] {
            let clock = ManualClock()
            let stub = Wrapping(inner: StubTransport(clock: clock) { _ in response })
            let session = Session(baseURL: "http://a.test", timeouts: Timeouts(total: .seconds(5)), transport: stub)
            let task = Task { try await session.get("x") }
            for seconds in [3, 2] {
                while clock.sleeperCount == 0 { try await Task.sleep(for: .milliseconds(1)) }
                clock.advance(by: .seconds(seconds))
            }
            let result = await task.result
            #expect((result.failure as? RequestError)?.kind == .timedOut(.total))
        }
    }

    private struct Wrapping: WrappingTransport {
        let inner: any Transport

        func start(_ request: HTTPRequest, options: ExchangeOptions, observer: any ExchangeObserver) -> any Exchange {
            inner.start(request, options: options, observer: observer)
        }
    }

    @Test func `failures have short names`() async throws {
        let stub = StubTransport()
        stub.stub(.get, "/", .timeout, .failure(.connection(.refused)), .ok)
        let session = Session(transport: stub)
        var kinds: [RequestError.Kind?] = []
        for _ in 0..<3 {
            do throws(RequestError) {
                _ = try await session.get("http://a.test/")
                kinds.append(nil)
            } catch {
                kinds.append(error.kind)
            }
        }
        #expect(kinds == [.timedOut(.total), .connection(.refused), nil])
    }
}

extension Result {
    fileprivate var failure: (any Error)? { if case .failure(let error) = self { error } else { nil } }
}
