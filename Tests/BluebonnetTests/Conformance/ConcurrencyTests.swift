import Bluebonnet
import FoundationEssentials
import TestSupport
import Testing

/// Many requests at once, on one connection and on many.
///
/// Without ``CleartextHTTP2Streams``, the second of those by HTTP/2 without TLS fails, or hangs, with libcurl 7.88.
@Suite(.timeLimit(.minutes(10)), .serialized)
struct `Conformance of many requests at once` {
    /// Runs a piece of work many times at once, and returns the results.
    private static func atOnce<Value: Sendable>(
        _ count: Int, _ work: @escaping @Sendable (Int) async throws -> Value
    ) async throws -> [Value] {
        try await withThrowingTaskGroup(of: Value.self) { group in
            for number in 0..<count { group.addTask { try await work(number) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    private static func singleConnection() -> Session {
        var configuration = Session.Configuration.conformance
        configuration.connectionLimits.perHost = 1
        return Session(configuration: configuration)
    }

    /// Expects that all exchanges used one connection, which the first exchange opened.
    private static func expectOneConnection(_ metrics: [TransferMetrics]) {
        #expect(Set(metrics.map(\.localAddress)).count == 1)
        #expect(metrics.allSatisfy { $0.localAddress != nil && $0.remoteAddress != nil })
        let new = metrics.filter { !$0.isReusedConnection }
        #expect(new.count == 1)
        #expect(new.allSatisfy { $0.connect != nil })
        #expect(metrics.filter(\.isReusedConnection).allSatisfy { $0.connect == nil && $0.tlsHandshake == nil })
    }

    @Test func `a thousand requests to httpbin share one HTTP/2 connection`() async throws {
        let session = Self.singleConnection()
        let answers = try await Self.atOnce(1_000) { number in
            let answer = try await TestServers.httpbinHTTP2.answer("/anything/\(number)?n=\(number)", in: session)
            let echo = try answer.json()
            #expect(answer.status == 200)
            #expect(echo["args"]?["n"]?.string == "\(number)")
            #expect(
                try echo["url"]?.string
                    == TestServers.httpbinHTTP2.url("/anything/\(number)?n=\(number)").absoluteString)
            return answer.metrics
        }
        #expect(answers.count == 1_000)
        Self.expectOneConnection(answers)
        await session.shutdown()
    }

    @Test(arguments: [TestServers.nginxTLS, .nghttpd])
    func `a thousand requests for files share one HTTP/2 connection`(server: TestServers) async throws {
        let session = Self.singleConnection()
        let files = [
            ("/small.json", 54), ("/bytes/0", 0), ("/bytes/1", 1), ("/bytes/1024", 1024), ("/bytes/65536", 65_536),
        ]
        let metrics = try await Self.atOnce(1_000) { number in
            let (path, size) = files[number % files.count]
            let answer = try await server.answer("\(path)?\(number)", in: session)
            #expect(answer.status == 200)
            if path.hasPrefix("/bytes") {
                expectSame(answer.body, Data.pattern(count: size))
            } else {
                #expect(try answer.json()["name"] == "Bluebonnet")
            }
            return answer.metrics
        }
        Self.expectOneConnection(metrics)
        await session.shutdown()
    }

    @Test func `a thousand bodies are echoed over one HTTP/2 connection to their senders`() async throws {
        let session = Self.singleConnection()
        let metrics = try await Self.atOnce(1_000) { number in
            let body = Data("\(number):".utf8) + Data(repeating: UInt8(number % 256), count: number * 13)
            let answer = try await TestServers.nghttpd.answer("/echo", method: .post, body: body, in: session)
            expectSame(answer.body, body)
            return answer.metrics
        }
        Self.expectOneConnection(metrics)
        await session.shutdown()
    }

    @Test func `requests wait if the server allows no more streams`() async throws {
        let session = Self.singleConnection()
        // The limit is known from the first answer on; this server does not forgive more streams before.
        let first = try await TestServers.oneStreamHTTP2.answer("/ok", in: session)
        let exchanges = try await Self.atOnce(100) { _ in
            let answer = try await TestServers.oneStreamHTTP2.answer("/ok", in: session)
            return (json: try answer.json(), metrics: answer.metrics)
        }
        Self.expectOneConnection([first.metrics] + exchanges.map(\.metrics))
        #expect(Set(exchanges.map { $0.json["connection"] }).count == 1)
        #expect(Set(exchanges.map { $0.json["stream"] }).count == 100)
        await session.shutdown()
    }

    @Test func `HTTP/1.1 requests run one after the other on one connection`() async throws {
        let session = Self.singleConnection()
        let metrics = try await Self.atOnce(200) { number in
            let answer = try await TestServers.nginx.answer("/bytes/1024?\(number)", in: session)
            expectSame(answer.body, Data.pattern(count: 1024))
            return answer.metrics
        }
        Self.expectOneConnection(metrics)
        await session.shutdown()
    }

    @Test(arguments: [1, 8, 50])
    func `HTTP/2 without TLS has one exchange at a time on a connection`(count: Int) async throws {
        var configuration = Session.Configuration.conformance
        configuration.httpVersion = .http2PriorKnowledge
        let session = Session(configuration: configuration)
        for _ in 1...3 {
            _ = try await Self.atOnce(count) { number in
                let size = [1, 1024, 65_536][number % 3]
                let answer = try await TestServers.nghttpdPriorKnowledge.answer("/bytes/\(size)?\(number)", in: session)
                #expect(answer.status == 200)
                expectSame(answer.body, Data.pattern(count: size))
                let body = Data.pattern(count: number * 100)
                let echo = try await TestServers.nghttpdPriorKnowledge.answer(
                    "/echo", method: .post, body: body, in: session)
                expectSame(echo.body, body)
            }
        }
        await session.shutdown()
    }

    @Test(arguments: [
        (TestServers.httpbinHTTP2, "/get", HTTPVersionPreference.http1_1, HTTPVersion.http1_1),
        (.httpbinHTTP2, "/get", .automatic, .http2), (.httpbinHTTP2, "/get", .http2PriorKnowledge, .http2),
        (.nghttpdPriorKnowledge, "/small.json", .http2PriorKnowledge, .http2),
        (.httpbin, "/get", .automatic, .http1_1), (.httpbin, "/get", .http1_1, .http1_1),
    ])
    func `a request uses its preferred version`(
        server: TestServers, path: String, preference: HTTPVersionPreference, version: HTTPVersion
    ) async throws {
        // The test has its own session, because a connection of another request may be shared with any HTTP version.
        let session = Session(configuration: .conformance)
        var request = HTTPRequest(url: try server.url(path))
        request.httpVersion = preference
        let answer = try await WireResponse(of: session.request(request))
        #expect(answer.head.httpVersion == version)
        #expect(answer.status == 200)
        await session.shutdown()
    }

    @Test func `two thousand requests of all kinds get their own responses`() async throws {
        var configuration = Session.Configuration.conformance
        configuration.connectionLimits.perHost = 64
        let session = Session(configuration: configuration)
        _ = try await Self.atOnce(2_000) { number in
            let server = TestServers.httpbins[number % 2]
            let id = "\(number)-\(UUID().uuidString)"
            let headers: HTTPHeaders = ["X-Id": id]
            switch number / 2 % 6 {
            case 0:
                let answer = try await server.answer("/anything/\(id)?id=\(id)", headers: headers, in: session)
                #expect(try answer.json()["args"]?["id"]?.string == id)
                #expect(try answer.echoedField("X-Id") == id)
            case 1:
                let answer = try await server.answer(
                    "/anything", method: .put, headers: headers, body: Data(id.utf8), in: session)
                #expect(try answer.json()["data"]?.string == id)
                #expect(try answer.echoedField("X-Id") == id)
            case 2:
                let request = session.request(
                    try server.url("/post"), method: .post, parameters: ["id": id], encoder: .json)
                #expect(try await server.answer(request).json()["json"]?["id"]?.string == id)
            case 3:
                let encoded = Data(id.utf8).base64EncodedString()
                #expect(try await server.answer("/base64/\(encoded)", in: session).text == id)
            case 4:
                let answer = try await server.answer("/response-headers?X-Id=\(id)", in: session)
                #expect(answer.head.headers["X-Id"] == id)
            default:
                // httpbin's redirects lead somewhere.
                let request = session.request(try server.url("/status/\(200 + number % 300)"), headers: headers)
                    .redirect(using: .doNotFollow)
                #expect(try await server.answer(request).status == 200 + number % 300)
            }
        }
        await session.shutdown()
    }

    @Test(arguments: [TestServers.nginx, .nginxTLS])
    func `a request has its own metrics`(server: TestServers) async throws {
        let session = Self.singleConnection()
        let first = try await server.answer("/bytes/1024", in: session).metrics
        for size in [65_536, 1024, 1, 1024] {
            let metrics = try await server.answer("/bytes/\(size)", in: session).metrics
            #expect(metrics.isReusedConnection)
            #expect(metrics.localAddress == first.localAddress)
            // The heads are not of exactly the same length: the paths differ, and HTTP/2 compresses.
            #expect((size...size + 600).contains(Int(metrics.bytesReceived)))
            #expect((1...400).contains(metrics.bytesSent))
            #expect(metrics.nameLookup == nil && metrics.connect == nil && metrics.tlsHandshake == nil)
            let (start, byte) = (try #require(metrics.requestStart), try #require(metrics.firstByte))
            #expect(start <= byte && byte <= metrics.total)
        }
        #expect(!first.isReusedConnection && first.connect != nil)
        #expect((first.tlsHandshake != nil) == (server == .nginxTLS))
        await session.shutdown()
    }
}
