import Bluebonnet
import FoundationEssentials
import Testing

@testable import BluebonnetTesting

@Suite(.timeLimit(.minutes(10))) struct StubTransportTests {
    private struct Oops: Error {}

    private static func request(
        _ path: String = "/", method: HTTPMethod = .get, host: String = "example.com"
    ) throws -> HTTPRequest {
        HTTPRequest(url: try #require(URL(string: "https://\(host)\(path)")), method: method)
    }

    private static func outcome(
        of request: HTTPRequest, on transport: StubTransport, options: ExchangeOptions = ExchangeOptions()
    ) async throws -> ExchangeOutcome {
        let observer = RecordingObserver()
        _ = transport.start(request, options: options, observer: observer)
        return try await observer.outcome
    }

    /// The answer, as status and body, or as the error's kind.
    private static func answer(
        _ path: String, method: HTTPMethod = .get, host: String = "example.com", on transport: StubTransport
    ) async throws -> String {
        let outcome = try await outcome(of: request(path, method: method, host: host), on: transport)
        if let error = outcome.error { return "\(error.kind)" }
        return "\(outcome.response?.statusCode ?? 0) \(String(decoding: outcome.body, as: UTF8.self))"
    }

    // MARK: Answers

    @Test func `A closure's response arrives with all of its properties`() async throws {
        let transport = StubTransport { request in
            .json(["name": "Ada"], status: 201, headers: ["X-Path": request.url.path()])
        }
        let observer = RecordingObserver()
        _ = transport.start(try Self.request("/users"), options: ExchangeOptions(), observer: observer)
        let outcome = try await observer.outcome
        #expect(outcome.error == nil)
        #expect(outcome.response?.statusCode == 201)
        #expect(outcome.response?.url.absoluteString == "https://example.com/users")
        #expect(outcome.response?.headers.value(for: "X-Path") == "/users")
        #expect(outcome.response?.mimeType == "application/json")
        #expect(String(decoding: outcome.body, as: UTF8.self) == #"{"name":"Ada"}"#)
        #expect(outcome.metrics?.bytesReceived == 14)
        #expect(observer.received == [14])
        #expect(transport.requests.map(\.url.absoluteString) == ["https://example.com/users"])
        #expect(transport.requestCount == 1)
    }

    @Test func `Failures arrive unchanged, and other errors as the underlying error of a failure`() async throws {
        let transport = StubTransport { request in
            switch request.url.path() {
            case "/failure": .failure(RequestError(.timedOut(.idle)))
            case "/throws": throw RequestError(.connection(.lost))
            case "/cancels": throw CancellationError()
            default: throw Oops()
            }
        }
        #expect(try await Self.outcome(of: Self.request("/failure"), on: transport).error?.kind == .timedOut(.idle))
        #expect(try await Self.outcome(of: Self.request("/throws"), on: transport).error?.kind == .connection(.lost))
        #expect(try await Self.outcome(of: Self.request("/cancels"), on: transport).error?.kind == .cancelled)
        let other = try await Self.outcome(of: Self.request("/other"), on: transport).error
        #expect(other?.kind == .connection(.failed))
        #expect(other?.underlying is Oops)
    }

    @Test func `The stub is found by method and path, on any host or one host`() async throws {
        let transport = StubTransport { _ in .text("else") }
        transport.stub(.get, "/a", .text("a"))
        transport.stub(.post, "/a", .status(204))
        transport.stub(nil, "/u/:id/*", .text("pattern"))
        transport.stub(.get, "https://other.com/a", .text("other"))
        transport.stub(.get, "/closure") { request in .text(request.url.query() ?? "") }
        for (method, host, path, expected) in [
            (.get, "example.com", "/a", "200 a"), (.get, "example.com", "/a?x=1", "200 a"),
            (.post, "example.com", "/a", "204 "), (.put, "example.com", "/a", "200 else"),
            (.delete, "example.com", "/u/7/x", "200 pattern"), (.get, "other.com", "/a?b", "200 other"),
            (.post, "other.com", "/a", "204 "), (.get, "example.com", "/closure?q", "200 q"),
            (.get, "example.com", "/b", "200 else"),
        ] as [(HTTPMethod, String, String, String)] {
            #expect(try await Self.answer(path, method: method, host: host, on: transport) == expected)
        }
    }

    @Test func `Several responses are returned in order, and the last response is repeated`() async throws {
        let transport = StubTransport()
        transport.stub(.get, "/a", .status(503), .failure(RequestError(.connection(.lost))), .ok)
        var answers: [String] = []
        for _ in 0..<4 { answers.append(try await Self.answer("/a", on: transport)) }
        #expect(answers == ["503 ", "\(RequestError.Kind.connection(.lost))", "200 ", "200 "])
        transport.stub(.get, "/a", .status(418))
        #expect(try await Self.answer("/a", on: transport) == "418 ")
    }

    @Test func `A request without a stub fails with an error that names the request`() async throws {
        let transport = StubTransport()
        transport.stub(.get, "/none")
        let error = try await Self.outcome(of: Self.request("/a?token=x"), on: transport).error
        #expect(error?.kind == .connection(.refused))
        #expect(error?.detail?.contains("GET https://example.com/a") == true)
        #expect(error?.detail?.contains("=x") == false)
        #expect(try await Self.outcome(of: Self.request("/none"), on: transport).error?.kind == .connection(.refused))
    }

    @Test func `A body that exceeds the limit fails, and a body of the limit's size does not`() async throws {
        let transport = StubTransport { _ in .text("12345") }
        let over = try await Self.outcome(
            of: Self.request(), on: transport, options: ExchangeOptions(maximumResponseBytes: 4))
        #expect(over.error?.kind == .invalidResponse(.bodyTooLarge(limit: 4)))
        #expect(over.response?.statusCode == 200)
        #expect(over.body.count == 4)
        let exact = try await Self.outcome(
            of: Self.request(), on: transport, options: ExchangeOptions(maximumResponseBytes: 5))
        #expect(exact.error == nil)
    }

    @Test func `The clock measures delays`() async throws {
        let clock = ManualClock()
        let transport = StubTransport(clock: clock) { _ in .delayed(.seconds(60), .delayed(.seconds(60), .ok)) }
        let observer = RecordingObserver()
        _ = transport.start(try Self.request(), options: ExchangeOptions(), observer: observer)
        while clock.sleeperCount == 0 { await Task.yield() }
        clock.advance(by: .seconds(60))
        while clock.sleeperCount == 0 { await Task.yield() }
        #expect(observer.outcomeCount == 0)
        clock.advance(by: .seconds(60))
        #expect(try await observer.outcome.response?.statusCode == 200)
    }

    // MARK: Control

    @Test func `Cancelling ends an exchange at once, even if its closure does not return`() async throws {
        let gate = Gate()
        let isReturned = Gate()
        let transport = StubTransport { _ in
            // Deaf to cancellation.
            await Task { await gate.wait() }.value
            isReturned.open()
            return .ok
        }
        let observer = RecordingObserver()
        let exchange = transport.start(try Self.request(), options: ExchangeOptions(), observer: observer)
        exchange.cancel()
        #expect(try await observer.outcome.error?.kind == .cancelled)
        exchange.cancel()
        exchange.resume()
        gate.open()
        await isReturned.wait()
        #expect(observer.outcomeCount == 1)
    }

    @Test func `Cancelling cancels the closure's task and responses that never arrive`() async throws {
        let isCancelled = Gate()
        let transport = StubTransport { _ in
            await Gate().wait()
            if Task.isCancelled { isCancelled.open() }
            return .ok
        }
        transport.stub(.get, "/never", .never)
        for path in ["/", "/never"] {
            let observer = RecordingObserver()
            let exchange = transport.start(try Self.request(path), options: ExchangeOptions(), observer: observer)
            exchange.cancel()
            #expect(try await observer.outcome.error?.kind == .cancelled)
        }
        await isCancelled.wait()
        try await transport.waitUntilIdle()
    }

    @Test func `A suspended exchange delivers its outcome after it is resumed`() async throws {
        let gate = Gate()
        let transport = StubTransport { _ in
            await gate.wait()
            return .ok
        }
        let observer = RecordingObserver()
        let exchange = transport.start(try Self.request(), options: ExchangeOptions(), observer: observer)
        exchange.suspend()
        gate.open()
        let other = try await Self.outcome(of: Self.request(), on: transport)
        #expect(other.error == nil)
        #expect(observer.outcomeCount == 0)
        exchange.resume()
        #expect(try await observer.outcome.response?.statusCode == 200)
    }

    @Test func `An exchange that starts suspended receives its response after it is resumed`() async throws {
        let isCalled = Gate()
        let transport = StubTransport { request in
            if request.url.path() == "/suspended" { isCalled.open() }
            return .ok
        }
        let observer = RecordingObserver()
        let exchange = transport.start(
            try Self.request("/suspended"), options: ExchangeOptions(startsSuspended: true), observer: observer)
        _ = try await Self.outcome(of: Self.request(), on: transport)
        #expect(!isCalled.isOpen)
        #expect(observer.outcomeCount == 0)
        exchange.resume()
        #expect(try await observer.outcome.response?.statusCode == 200)
        #expect(isCalled.isOpen)

        let cancelled = RecordingObserver()
        transport.start(
            try Self.request("/suspended"), options: ExchangeOptions(startsSuspended: true), observer: cancelled
        ).cancel()
        #expect(try await cancelled.outcome.error?.kind == .cancelled)
    }

    @Test func `Shutting down ends running, waiting, suspended and later exchanges`() async throws {
        let transport = StubTransport { _ in .ok }
        transport.stub(.get, "/never", .never)
        let running = RecordingObserver()
        let waiting = RecordingObserver()
        let held = RecordingObserver()
        _ = transport.start(try Self.request("/never"), options: ExchangeOptions(), observer: running)
        let suspended = ExchangeOptions(startsSuspended: true)
        _ = transport.start(try Self.request(), options: suspended, observer: waiting)
        let exchange = transport.start(try Self.request(), options: suspended, observer: held)
        exchange.resume()
        exchange.suspend()
        #expect(transport.runningCount >= 2)
        await transport.shutDown()
        // The observers got the outcome before it returned.
        #expect(running.outcomeCount == 1)
        #expect(try await running.outcome.error?.kind == .sessionShutDown)
        #expect(waiting.outcomeCount == 1)
        #expect(held.outcomeCount == 1)
        #expect(transport.runningCount == 0)
        let late = try await Self.outcome(of: Self.request(), on: transport)
        #expect(late.error?.kind == .sessionShutDown)
        let lateSuspended = try await Self.outcome(of: Self.request(), on: transport, options: suspended)
        #expect(lateSuspended.error?.kind == .sessionShutDown)
        await transport.shutDown()
    }

    @Test func `Waiting for a request works before and after it is started`() async throws {
        let transport = StubTransport { _ in .ok }
        async let second = transport.request(2)
        _ = try await Self.outcome(of: Self.request("/1"), on: transport)
        _ = try await Self.outcome(of: Self.request("/2"), on: transport)
        #expect(try await second.url.path() == "/2")
        #expect(try await transport.request(1).url.path() == "/1")
        let third = Task { try await transport.request(3) }
        await transport.shutDown()
        await #expect(throws: RequestError.self) { try await third.value }
    }

    // MARK: Races

    @Test func `An exchange ends once in every race`() async throws {
        let request = try Self.request()
        let transport = StubTransport { _ in
            await Task.yield()
            return .text("body")
        }
        for _ in 0..<10_000 {
            let observer = RecordingObserver()
            let exchange = transport.start(request, options: ExchangeOptions(), observer: observer)
            await withTaskGroup { group in
                group.addTask { exchange.cancel() }
                group.addTask {
                    exchange.suspend()
                    exchange.resume()
                }
            }
            _ = try await observer.outcome
            #expect(observer.outcomeCount == 1)
            #expect(observer.violations == 0)
        }
        try await transport.waitUntilIdle()
    }

    @Test func `Shutting down while exchanges start and end gives each an outcome`() async throws {
        let request = try Self.request()
        for _ in 0..<500 {
            let transport = StubTransport { _ in
                await Task.yield()
                return .text("body")
            }
            let observers = (0..<8).map { _ in RecordingObserver() }
            await withTaskGroup { group in
                for (number, observer) in observers.enumerated() {
                    group.addTask {
                        let exchange = transport.start(
                            request, options: ExchangeOptions(startsSuspended: number % 3 == 0), observer: observer)
                        if number % 2 == 0 { exchange.resume() }
                        if number % 4 == 1 { exchange.cancel() }
                    }
                }
                group.addTask { await transport.shutDown() }
            }
            for observer in observers {
                let kind = try await observer.outcome.error?.kind
                #expect([nil, .sessionShutDown, .cancelled].contains(kind))
                #expect(observer.outcomeCount == 1)
                #expect(observer.violations == 0)
            }
            try await transport.waitUntilIdle()
        }
    }
}
