import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

/// A retry policy before servers that fail.
@Suite(.timeLimit(.minutes(10))) struct RetryWireTests {
    private let sleeps = RecordedSleeps()
    private let policy = RetryPolicy(jitter: .none)

    private func session(_ configure: (inout Session.Configuration) -> Void = { _ in }) -> Session {
        TestHarness.session {
            sleeps.use(in: &$0)
            configure(&$0)
        }
    }

    /// Starts a server that fails a number of times and then works.
    private func server(failing times: Int, by fault: RetryFault) async throws -> LocalServer {
        let counter = Counter()
        let answer: @Sendable (LocalServer.Request) async throws -> LocalServer.Response = { request in
            counter.next() <= times ? fault.response : .text("after \(request.bodyLength) bytes")
        }
        return try await LocalServer { router in
            router.get("/a", answer)
            router.put("/a", answer)
            router.post("/a", answer)
        }
    }

    // MARK: Faults

    @Test(arguments: RetryFault.all, [1, 2, 3])
    func `a server that fails several times`(_ fault: RetryFault, times: Int) async throws {
        let server = try await server(failing: times, by: fault)
        let session = session()
        let request = session.request(server.url("/a")).validate().retry(using: policy)
        let answer = await request.serializingString().response
        if times <= 2 {
            #expect(answer.value == "after 0 bytes", "\(answer)")
        } else {
            #expect(answer.error?.kind == fault.kind, "\(answer)")
            #expect(answer.error?.attempts == 3)
        }
        // Once each, by one layer.
        #expect(server.requestCount == min(times, 2) + 1)
        #expect(request.retryCount == min(times, 2))
        #expect(sleeps.all == Array([Duration.milliseconds(500), .seconds(1)].prefix(min(times, 2))))
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [Timeouts(idle: .milliseconds(200)), Timeouts(total: .milliseconds(200))])
    func `a server that sends nothing`(_ timeouts: Timeouts) async throws {
        let server = try await server(failing: 1, by: .silent)
        let session = session()
        let request = session.request(server.url("/a")).retry(using: policy)
            .adapt { request, state in
                var request = request
                if state.retryCount == 0 { request.timeouts = timeouts }
                return request
            }
        #expect(try await request.serializingString().value == "after 0 bytes")
        #expect(server.requestCount == 2)
        await session.shutdown()
    }

    /// Where nothing is sent that a server could count.
    static let places: [(String, RequestError.Kind)] = [
        ("http://no-such-host.invalid/a", .connection(.nameNotResolved)),
        ("refusing", .connection(.refused)), ("ignoring", .timedOut(.connect)), ("no TLS", .trust(.handshake)),
        ("expired", .trust(.certificateExpired)),
    ]

    @Test(arguments: places, [1, 3])
    func `several failed connections are retried`(
        _ place: (name: String, kind: RequestError.Kind), times: Int
    ) async throws {
        let (place, kind) = place
        let server = try await server(failing: 0, by: .silent)
        let session = session { $0.tls.caFile = try? TestCertificates().authority }
        let url =
            switch place {
            case "refusing": "http://127.0.0.1:\(try DeadPort.refusing())/a"
            case "ignoring": "http://127.0.0.1:\(try DeadPort.ignoring())/a"
            case "no TLS": "https://127.0.0.1:\(server.port)/a"
            case "expired": try TestServers.expiredCertificate.url().absoluteString
            default: place
            }
        let failure = Locked<RequestError.Kind?>(nil)
        let request = session.request(server.url("/a"))
            .adapt { request, state in
                var request = request
                guard state.retryCount < times else { return request }
                request.url = try url.asURL()
                if place == "ignoring" { request.timeouts = Timeouts(connect: .milliseconds(200)) }
                return request
            }
            .retry { _, _, error in
                failure.withLock { $0 = (error as? RequestError)?.kind }
                return .doNotRetry
            }
            .retry(using: policy)
        let answer = await request.serializingString().response
        #expect(answer.value == (times == 1 ? "after 0 bytes" : nil))
        #expect(answer.error?.kind == (times == 1 ? nil : kind))
        #expect(failure.withLock { $0 } == kind)
        #expect(request.retryCount == min(times, 2))
        try await TestHarness.end(session, server)
    }

    @Test func `a proxy whose name does not resolve`() async throws {
        let session = session { $0.proxy = .url("http://no-such-proxy.invalid:1") }
        let request = session.request("http://127.0.0.1/").retry(using: policy)
        let error = await request.serializingString().response.error
        #expect(error?.kind == .connection(.proxyNameNotResolved) && error?.attempts == 3)
        await session.shutdown()
    }

    @Test(arguments: RetryPolicy.defaultRetryableErrorKinds.sorted { "\($0)" < "\($1)" }, [1, 2, 3])
    func `every failure of the policy is retried several times`(_ kind: RequestError.Kind, times: Int) async throws {
        let counter = Counter()
        let transport = StubTransport { _ in
            counter.next() <= times ? .failure(RequestError(kind)) : .text("at last")
        }
        var configuration = Session.Configuration()
        sleeps.use(in: &configuration)
        let session = Session(configuration: configuration, interceptor: policy, transport: transport)
        let request = session.request("http://example.com/a")
        let answer = await request.serializingString().response
        // Connections of HTTP/2 are replaced once.
        let limit = kind == .connection(.http2) ? 1 : 2
        #expect(answer.value == (times <= limit ? "at last" : nil))
        #expect(answer.error?.kind == (times <= limit ? nil : kind))
        #expect(request.retryCount == min(times, limit))
        #expect(counter.value == min(times, limit) + 1)
        await session.shutdown()
    }

    @Test func `a status code without validation is a response`() async throws {
        let server = try await server(failing: 5, by: RetryFault.all[4])
        let session = session()
        let answer = await session.request(server.url("/a")).retry(using: policy).serializingString().response
        #expect(answer.response?.statusCode == 503 && answer.value == "fault")
        #expect(server.requestCount == 1)
        try await TestHarness.end(session, server)
    }

    @Test func `libcurl replaces a dead connection`() async throws {
        let counter = Counter()
        let server = try await LocalServer { router in
            router.get("/a") { _ in counter.next() == 2 ? .script(.close) : .text("ok") }
        }
        let session = session()
        for _ in 1...2 {
            let request = session.request(server.url("/a")).retry(using: policy)
            #expect(try await request.serializingString().value == "ok")
            #expect(request.retryCount == 0)
        }
        #expect(server.requestCount == 3)
        #expect(sleeps.all.isEmpty)
        try await TestHarness.end(session, server)
    }

    // MARK: Bodies and methods

    @Test(arguments: ["data", "file", "replayable sequence", "form"])
    func `a replayable body is sent again`(_ form: String) async throws {
        let server = try await server(failing: 2, by: RetryFault.all[4])
        let session = session()
        let file = FileManager.default.temporaryDirectory.appending(path: "retry-\(UInt64.random(in: 0 ... .max))")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(count: 100_000).write(to: file)
        var multipart = MultipartFormData()
        multipart.append(Data(count: 100_000), withName: "a")
        let body: RequestBody =
            switch form {
            case "data": .data(Data(count: 100_000))
            case "file": .file(file)
            case "replayable sequence": .stream { Pieces(10, of: 10_000) }
            default: .multipart(multipart)
            }
        let request = session.upload(body, to: server.url("/a"), method: .put).validate().retry(using: policy)
        let text = try await request.serializingString().value
        #expect(form == "form" ? text != "after 0 bytes" : text == "after 100000 bytes")
        #expect(Set(server.requests.map(\.bodyLength)).count == 1 && server.requestCount == 3)
        try await TestHarness.end(session, server)
    }

    @Test func `a body that is not replayable is sent once`() async throws {
        let server = try await server(failing: 2, by: RetryFault.all[4])
        let session = session()
        let request = session.upload(Pieces(10, of: 10_000), to: server.url("/a"), method: .put).validate()
            .retry(using: policy)
        let answer = await request.serializingString().response
        // The failure is that of the exchange, not that of the retry that there was not.
        #expect(answer.error?.statusCode == 503)
        #expect(server.requestCount == 1 && request.retryCount == 0)
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [RetryFault.all[4], RetryFault.all[6], RetryFault.all[7]])
    func `a request that is not idempotent is not repeated`(_ fault: RetryFault) async throws {
        let server = try await server(failing: 2, by: fault)
        let session = session()
        let request = session.upload(Data(count: 10), to: server.url("/a"), method: .post).validate()
            .retry(using: policy)
        #expect(await request.serializingString().response.error?.kind == fault.kind)
        #expect(server.requestCount == 1)
        try await TestHarness.end(session, server)
    }

    @Test func `the caller can allow the repetition of a request`() async throws {
        let server = try await server(failing: 1, by: RetryFault.all[6])
        let session = session()
        let request = session.upload(Data(count: 10), to: server.url("/a"), method: .post).validate()
            .retry(using: .retryPolicy(retryableHTTPMethods: [.post], jitter: .none))
        #expect(try await request.serializingString().value == "after 10 bytes")
        try await TestHarness.end(session, server)
    }

    // MARK: Retry-After

    @Test func `Retry-After delays a retry in seconds and as a date`() async throws {
        let counter = Counter()
        let server = try await LocalServer { router in
            router.get("/a") { _ in
                switch counter.next() {
                case 1: .status(503, headers: ["Retry-After": "7"])
                case 2: .status(429, headers: ["Retry-After": "Sun, 06 Nov 1994 08:49:49 GMT"])
                default: .text("ok")
                }
            }
        }
        let session = session()
        var policy = policy
        policy.now = { Date(timeIntervalSince1970: 784_111_777) }
        #expect(
            try await session.request(server.url("/a")).validate().retry(using: policy).serializingString().value
                == "ok")
        #expect(sleeps.all == [.seconds(7), .seconds(12)])
        try await TestHarness.end(session, server)
    }

    @Test func `a long Retry-After prevents retries`() async throws {
        let server = try await LocalServer { router in
            router.get("/a", .status(503, headers: ["Retry-After": "3600"]))
        }
        let session = session()
        let task = session.request(server.url("/a")).validate().retry(using: .retryPolicy).serializingData()
        #expect(await task.response.error?.statusCode == 503)
        #expect(server.requestCount == 1)
        try await TestHarness.end(session, server)
    }

    @Test func `cancelling ends a delay`() async throws {
        let isAsleep = Gate()
        let server = try await server(failing: 1, by: RetryFault.all[4])
        let session = session {
            $0.sleep = { _ in
                isAsleep.open()
                try await ContinuousClock().sleep(for: .seconds(3600))
            }
        }
        let task = session.request(server.url("/a")).validate().retry(using: policy).serializingData()
        await isAsleep.wait()
        task.cancel()
        let error = await task.response.error
        #expect(error?.kind == .cancelled)
        #expect((error?.underlying as? RequestError)?.statusCode == 503)
        #expect(server.requestCount == 1)
        try await TestHarness.end(session, server)
    }

    // MARK: Budget

    @Test func `many failures use up a budget and then add a tenth of requests`() async throws {
        let server = try await server(failing: .max, by: RetryFault.all[4])
        let budget = RetryBudget(ratio: 0.1, reserve: 10)
        var configuration = Session.Configuration()
        configuration.proxy = .none
        sleeps.use(in: &configuration)
        let session = Session(configuration: configuration, interceptor: RetryPolicy(budget: budget))
        func storm(_ count: Int) async {
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<count {
                    if number >= 20 { await group.next() }
                    group.addTask {
                        let answer = await session.request(server.url("/a")).validate().serializingData().response
                        #expect(answer.error?.statusCode == 503)
                    }
                }
            }
        }
        await storm(100)
        // The reserve, and what these earned.
        #expect(server.requestCount <= 100 + 10 + 10)
        #expect(server.requestCount >= 100 + 10)
        #expect(budget.balance(for: HTTPRequest(url: server.url("/"))) == 0)
        let before = server.requestCount
        await storm(300)
        #expect(server.requestCount - before <= 330)
        #expect(server.requestCount - before >= 320)
        try await TestHarness.end(session, server)
    }
}
