import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// Faults of HTTP/2, by the origin that `Tests/Support/servers/h2_origin.py` is.
///
/// Without ``ResendPolicy``, a refused stream is repeated five times.
@Suite(.timeLimit(.minutes(10))) struct HTTP2FaultTests {
    /// Libcurl's text for a fault: of 7.88, of versions since HTTP/2 was rewritten for 8.1.0, and of those after
    /// 8.14.1.
    private static func by<Words>(_ first: Words, _ second: Words, _ third: Words? = nil) -> Words {
        Libcurl.version < 0x08_01_00 ? first : Libcurl.version > 0x08_0e_01 ? third ?? second : second
    }

    /// Returns the first value for versions that store the bytes of streams before they report them.
    private static func byStoring<Value>(_ first: Value, else second: Value) -> Value {
        (0x08_01_00..<0x08_07_00).contains(Libcurl.version) ? first : second
    }

    /// Whether nghttp2 leaves a field out that has characters it must not have, instead of resetting the stream.
    private static let dropsFields = Libcurl.version > 0x08_0e_01

    // MARK: Odd but right

    @Test(arguments: [
        ("/trailers", 100), ("/early-hints", 100), ("/many-frames", 10_000), ("/many-frames?count=0", 0),
        ("/empty-frames", 100), ("/pings", 100), ("/continuation", 100), ("/goaway-after", 100),
        ("/goaway-during", 200),
        ("/large-head?bytes=60000", 0),
    ])
    func `an unusual but valid response`(_ path: String, length: Int) async throws {
        let session = try TestHarness.trustingSession()
        for _ in 1...(path == "/goaway-after" ? 1 : 2) {
            let task = session.request(try TestServers.misbehavingHTTP2.url(path)).validate()
                .serializingData(emptyResponseCodes: [200])
            let answer = await task.response
            #expect(answer.value?.count == length, "\(answer)")
            #expect(answer.response?.httpVersion == .http2)
            #expect(answer.response?.statusCode == 200)
            #expect(answer.response?.headers["Link"] == nil)
        }
        await session.shutdown()
    }

    @Test func `trailers are not added to the head`() async throws {
        let session = try TestHarness.trustingSession()
        let answer = await session.request(try TestServers.misbehavingHTTP2.url("/trailers")).serializingData().response
        #expect(answer.response?.headers["Trailer"] == "x-checksum")
        #expect(answer.response?.headers["X-Checksum"] == nil)
        await session.shutdown()
    }

    @Test(arguments: [0, 1, 70_000, 3_000_000])
    func `a body of any size is sent`(_ size: Int) async throws {
        let session = try TestHarness.trustingSession()
        let request = session.request(try TestServers.misbehavingHTTP2.url("/upload"), method: .post) {
            $0.body = .data(Data(count: size))
        }
        #expect(try await request.serializingString().value == "\(size)")
        await session.shutdown()
    }

    @Test func `a response may arrive while the body is sent`() async throws {
        let session = try TestHarness.trustingSession()
        let request = session.request(try TestServers.misbehavingHTTP2.url("/early-response"), method: .post) {
            $0.body = .data(Data(count: 3000))
        }
        #expect(try await request.serializingData().value.count == 100)
        await session.shutdown()
    }

    @Test func `a stream that is refused once is repeated`() async throws {
        let session = try TestHarness.trustingSession()
        let url = try TestServers.misbehavingHTTP2.url("/refused-once?key=\(UUID().uuidString)")
        let answer = await session.request(url).serializingData().response
        #expect(answer.error == nil && answer.response?.statusCode == 200, "\(answer)")
        await session.shutdown()
    }

    @Test func `earlier refused streams do not affect later requests`() async throws {
        let session = try TestHarness.trustingSession()
        for _ in 1...20 {
            let url = try TestServers.misbehavingHTTP2.url("/refused-once?key=\(UUID().uuidString)")
            let answer = await session.request(url).serializingData().response
            #expect(answer.error == nil, "\(answer)")
        }
        await session.shutdown()
    }

    @Test func `a stream that is always refused is sent twice`() async throws {
        struct Counts: Decodable { let requests: Int }
        let session = try TestHarness.trustingSession()
        let key = UUID().uuidString
        let url = try TestServers.misbehavingHTTP2.url("/refused?key=\(key)")
        try await TestHarness.expect(
            session.request(url).serializingData(), in: session, failsWith: .connection(.lost))
        let counts = try TestServers.misbehavingHTTP2.url("/counts?key=\(key)")
        #expect(try await session.request(counts).serializingDecodable(Counts.self).value.requests == 2)
        await session.shutdown()
    }

    @Test func `a request on a connection that goes away is sent on another connection`() async throws {
        let session = try TestHarness.trustingSession()
        for _ in 1...20 {
            let url = try TestServers.misbehavingHTTP2.url("/goaway-after")
            let answer = await session.request(url).serializingData().response
            #expect(answer.error == nil, "\(answer)")
        }
        await session.shutdown()
    }

    // MARK: Wrong

    @Test(arguments: [
        ("/goaway-before", RequestError.Kind.connection(.lost), "the stream was refused, tried 2 times"),
        ("/goaway-before?code=11", .connection(.lost), "the stream was refused, tried 2 times"),
        ("/refused", .connection(.lost), "the connection was lost"),
        ("/reset", .invalidResponse(.http2Stream), "INTERNAL_ERROR"),
        ("/reset?code=8", .invalidResponse(.http2Stream), "CANCEL"),
        ("/reset?code=1", .invalidResponse(.http2Stream), "PROTOCOL_ERROR"),
        (
            "/no-status", byStoring(.invalidResponse(.malformed), else: .invalidResponse(.http2Stream)),
            byStoring("HTTP/0.9", else: by("PROTOCOL_ERROR", "Violation in HTTP messaging rule"))
        ),
        // It says nothing about a body that is not there, but nghttp2 refuses it.
        ("/no-content", .invalidResponse(.http2Stream), by("PROTOCOL_ERROR", "name: [content-length]")),
        ("/bad-status", .invalidResponse(.http2Stream), by("PROTOCOL_ERROR", "name: [:status]")),
        ("/uppercase", .invalidResponse(.http2Stream), by("PROTOCOL_ERROR", "name: [X-Name]")),
        ("/connection-field", .invalidResponse(.http2Stream), by("PROTOCOL_ERROR", "name: [connection]")),
        (
            "/data-first", byStoring(.connection(.lost), else: .connection(.http2)),
            byStoring("Failure when receiving", else: by("the server broke the rules of HTTP/2", "PROTOCOL_ERROR"))
        ),
        (
            "/garbage", byStoring(.connection(.lost), else: .connection(.http2)),
            byStoring("Failure when receiving", else: by("the server broke the rules of HTTP/2", "FRAME_SIZE_ERROR"))
        ),
        ("/closed-before", .connection(.lost), "the connection was lost"),
    ])
    func `a protocol error instead of a response`(_ path: String, kind: RequestError.Kind, words: String) async throws {
        let session = try TestHarness.trustingSession()
        let task = session.request(try TestServers.misbehavingHTTP2.url(path)).serializingData(emptyResponseCodes: [200]
        )
        try await TestHarness.expect(task, in: session, failsWith: kind, saying: words)
        #expect(await task.response.response == nil)
        try await expectToGoOn(session)
    }

    /// GOAWAY permits the stream, so the request may have been processed, and is not sent again.
    ///
    /// Since 8.1.0, libcurl calls it "Error in the HTTP2 framing layer".
    @Test func `the error after GOAWAY says that the connection ended`() async throws {
        let session = try TestHarness.trustingSession()
        let url = try TestServers.misbehavingHTTP2.url("/fate?key=\(UUID().uuidString)&at=all&by=goaway-above")
        let error = try #require(await session.request(url, method: .post).serializingData().response.error)
        #expect(error.kind == .connection(.lost), "\(error)")
        #expect(!error.description.contains("framing layer"), "\(error)")
        await session.shutdown()
    }

    /// The nghttp2 of a newer libcurl leaves the field out, and the response is good without it.
    @Test func `a field with a line break is never a field of the response`() async throws {
        let session = try TestHarness.trustingSession()
        let task = session.request(try TestServers.misbehavingHTTP2.url("/line-break"))
            .serializingData(emptyResponseCodes: [200])
        if Self.dropsFields {
            let answer = await task.response
            #expect(answer.error == nil && answer.response?.statusCode == 200, "\(answer)")
            #expect(answer.response?.headers["x-name"] == nil && answer.response?.headers["two"] == nil)
        } else {
            let error = try await TestHarness.expect(
                task, in: session, failsWith: .invalidResponse(.http2Stream),
                saying: Self.by("PROTOCOL_ERROR", "name: [x-name]"))
            #expect(!error.description.contains("one"), "what the field says may be a secret")
            #expect(await task.response.response == nil)
        }
        try await expectToGoOn(session)
    }

    @Test(arguments: [
        ("/goaway-in-body", RequestError.Kind.invalidResponse(.truncated), "before it was complete"),
        ("/reset-in-body", .invalidResponse(.http2Stream), "INTERNAL_ERROR"),
        (
            "/reset-in-body?code=0", .invalidResponse(.truncated),
            byStoring("100 bytes remaining", else: by("100 bytes remaining", "100 bytes missing"))
        ),
        ("/reset-in-body?code=8", .invalidResponse(.http2Stream), "CANCEL"),
        (
            "/short", .invalidResponse(.http2Stream),
            by("PROTOCOL_ERROR", "PROTOCOL_ERROR", "Violation in HTTP messaging rule")
        ),
        ("/long", .invalidResponse(.http2Stream), by("PROTOCOL_ERROR", "PROTOCOL_ERROR", "Protocol error")),
        ("/closed", .invalidResponse(.truncated), "before it was complete"),
        ("/aborted", .connection(.lost), "reset by peer"),
    ])
    func `a protocol error within the body`(_ path: String, kind: RequestError.Kind, words: String) async throws {
        let session = try TestHarness.trustingSession()
        let task = session.request(try TestServers.misbehavingHTTP2.url(path)).validate().serializingData()
        try await TestHarness.expect(task, in: session, failsWith: kind, saying: words)
        let answer = await task.response
        // Bytes in the same piece as the fault are not delivered.
        #expect(answer.response?.statusCode == 200 || path == "/long" || path == "/aborted")
        #expect((answer.data?.count ?? 0) <= 200)
        try await expectToGoOn(session)
    }

    @Test func `a head that exceeds all limits`() async throws {
        let session = try TestHarness.trustingSession()
        let task = session.request(try TestServers.misbehavingHTTP2.url("/large-head")).serializingData()
        try await TestHarness.expect(
            task, in: session, failsWith: .invalidResponse(.headTooLarge(limit: 128 * 1024)),
            saying: "the head of the response is larger than")
        try await expectToGoOn(session)
    }

    @Test func `a head that exceeds the session's limit`() async throws {
        let session = try TestHarness.trustingSession { $0.maximumResponseHeadBytes = 10_000 }
        let task = session.request(try TestServers.misbehavingHTTP2.url("/large-head?bytes=60000")).serializingData()
        try await TestHarness.expect(task, in: session, failsWith: .invalidResponse(.headTooLarge(limit: 10_000)))
        try await expectToGoOn(session)
    }

    @Test(arguments: ["/stall", "/stall-after-head", "/stall-in-body"])
    func `a server that stalls`(_ path: String) async throws {
        let session = try TestHarness.trustingSession()
        let request = session.request(try TestServers.misbehavingHTTP2.url(path)) {
            $0.timeouts = Timeouts(idle: .milliseconds(200))
        }
        try await TestHarness.expect(
            request.serializingData(), in: session, failsWith: .timedOut(.idle),
            saying: "nothing was sent or received for too long")
        try await expectToGoOn(session)
    }

    /// Libcurl keeps the connection, which may be dead, and would send the next request on it.
    @Test(arguments: [
        ("/stall", Timeouts(idle: .milliseconds(200))), ("/stall-after-head", Timeouts(idle: .milliseconds(200))),
        ("/stall", Timeouts(total: .milliseconds(200))),
    ])
    func `a connection that stalls is not used again, but requests on it continue`(
        _ path: String, _ timeouts: Timeouts
    ) async throws {
        let session = try TestHarness.trustingSession()
        // The next requests share the connection, however slow the machine is.
        _ = try await session.request(try TestServers.misbehavingHTTP2.url("/ok")).serializingData().value
        let echo = session.upload(
            .stream { AsyncStream<Data> { _ in } }, to: try TestServers.misbehavingHTTP2.url("/echo"))
        let other = echo.serializingData()
        for isBeside in [true, false] {
            let stalled = await session.request(try TestServers.misbehavingHTTP2.url(path)) {
                $0.timeouts = timeouts
            }.serializingData().response
            guard case .timedOut = stalled.error?.kind else {
                Issue.record("\(stalled)")
                continue
            }
            let next = await session.request(try TestServers.misbehavingHTTP2.url("/ok")).serializingData().response
            #expect(next.metrics?.isReusedConnection == isBeside, "\(next)")
            if !isBeside { continue }
            #expect(!echo.isFinished)
            echo.cancel()
            #expect(await other.response.error?.kind == .cancelled)
        }
        await session.shutdown()
    }

    /// HAProxy ends its responses to large bodies so.
    ///
    /// Without ``Transfer/isCompleteOnLostConnection(_:)``, the request fails.
    @Test func `a response is whole although its stream is reset`() async throws {
        let session = try TestHarness.trustingSession()
        let url = try TestServers.misbehavingHTTP2.url("/early-response?code=8")
        let answer = await session.request(url, method: .post) {
            $0.body = .data(Data(count: 300_000))
            if !RefusedStreams.areTraced { $0.timeouts = Timeouts(idle: .milliseconds(300)) }
        }.serializingData().response
        // Libcurl 7.88 may drop the head, or wait for the window even when the response is there.
        let kinds: [RequestError.Kind] = RefusedStreams.areTraced ? [] : [.connection(.http2), .timedOut(.idle)]
        #expect(answer.value?.count == 100 || answer.error.map { kinds.contains($0.kind) } == true, "\(answer)")
        try await expectToGoOn(session)
    }

    @Test(arguments: ["/no-window", "/early-response"])
    func `a body that the server refuses`(_ path: String) async throws {
        let session = try TestHarness.trustingSession()
        let request = session.request(try TestServers.misbehavingHTTP2.url(path), method: .post) {
            $0.body = .data(Data(count: 300_000))
            $0.timeouts = Timeouts(idle: .milliseconds(300))
        }
        let answer = await request.serializingData().response
        // Libcurl 7.88 waits for the window even when the response is there.
        #expect(answer.error?.kind == .timedOut(.idle) || answer.value?.count == 100 && path == "/early-response")
        try await expectToGoOn(session)
    }

    @Test(arguments: ["/reset", "/reset-in-body", "/no-status", "/uppercase", "/short"])
    func `a failing stream does not affect other streams`(_ path: String) async throws {
        let session = try TestHarness.trustingSession()
        let slow = try (1...5).map { _ in
            session.request(try TestServers.misbehavingHTTP2.url("/many-frames?count=3000")).serializingData()
        }
        let failing = session.request(try TestServers.misbehavingHTTP2.url(path)).serializingData()
        let isReadAsOld = Self.byStoring(path == "/no-status", else: false)
        #expect(await failing.response.error?.kind == .invalidResponse(isReadAsOld ? .malformed : .http2Stream))
        for task in slow { #expect(await task.response.value?.count == 3000) }
        await session.shutdown()
    }

    @Test func `cancelling a stream does not affect other streams`() async throws {
        let session = try TestHarness.trustingSession()
        let stalled = session.request(try TestServers.misbehavingHTTP2.url("/stall-in-body")).serializingData()
        for await progress in stalled.downloadProgressUpdates() where progress.completed > 0 { stalled.cancel() }
        try await TestHarness.expect(stalled, in: session, failsWith: .cancelled)
        let next = await session.request(try TestServers.misbehavingHTTP2.url("/ok")).serializingJSON().response
        #expect(next.error == nil)
        #expect(next.metrics?.isReusedConnection == true)
        await session.shutdown()
    }

    @Test func `a server without HTTP/2 although prior knowledge is set`() async throws {
        let server = try await LocalServer { router in
            router.get("/a", .ok)
        }
        let session = TestHarness.session { $0.httpVersion = .http2PriorKnowledge }
        let error = try #require(await session.request(server.url("/a")).serializingData().response.error)
        #expect(error.kind == .connection(.http2) || error.kind == .connection(.lost), "\(error)")
        try await TestHarness.end(session, server)
    }

    /// Libcurl 8.13 to 8.15 waits for the first response on a connection before it sends more on it.
    @Test func `a request without a response delays no other one without TLS`() async throws {
        let settings: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0]
        let server = try await LocalServer.scripted(.waitForBytes(24), .bytes(settings), .stall)
        let session = TestHarness.session { $0.httpVersion = .http2PriorKnowledge }
        let requests = (1...3).map { session.upload(Data([1]), to: server.url("/\($0)")) }
        let tasks = requests.map { $0.serializingData() }
        for request in requests {
            var isSent = false
            for await progress in request.uploadProgressUpdates() where progress.completed > 0 {
                isSent = true
                break
            }
            #expect(isSent)
        }
        for task in tasks {
            task.cancel()
            #expect(await task.response.error?.kind == .cancelled)
        }
        try await TestHarness.end(session, server)
    }

    /// With TLS, the handshake negotiates HTTP/2 (RFC 9113 §3.2).
    ///
    /// This server negotiates no version.
    @Test func `prior knowledge is ignored with TLS, where the handshake negotiates the version`() async throws {
        let files = try TestCertificates()
        let session = try TestHarness.trustingSession {
            $0.httpVersion = .http2PriorKnowledge
            $0.tls.clientIdentity = .pem(file: files.client, keyFile: files.clientKey)
        }
        let answer = await session.request(try TestServers.handshakeEnder.url("/")).serializingData().response
        #expect(answer.response?.statusCode == 200, "\(answer)")
        #expect(answer.response?.httpVersion == .http1_0)
        await session.shutdown()
    }

    /// Its frames would be read as part of the other request.
    @Test func `an HTTP/2 request without TLS does not affect HTTP/1.1 connections`() async throws {
        let (begins, begin) = AsyncStream.makeStream(of: Void.self)
        let (other, otherEnds) = AsyncStream.makeStream(of: Void.self)
        let firstScript = LocalServer.Script([
            .waitForRequest, .bytes("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no"),
            .wait {
                begin.finish()
                for await _ in other {}
            },
            .bytes("k"), .waitForClose,
        ])
        let server = try await LocalServer.scripted { connection in
            connection == 1 ? firstScript : LocalServer.Script([.waitForHead, .close])
        }
        let session = TestHarness.session()
        let first = session.request(server.url("/a")).serializingString()
        for await _ in begins {}
        var request = HTTPRequest(url: server.url("/b"))
        request.httpVersion = .http2PriorKnowledge
        #expect(await session.request(request).serializingData().response.error != nil)
        otherEnds.finish()
        #expect(try await first.value == "ok")
        try await TestHarness.end(session, server)
    }

    /// Expects that the session is as good as before.
    private func expectToGoOn(_ session: Session) async throws {
        let answer = await session.request(try TestServers.misbehavingHTTP2.url("/ok")).serializingJSON().response
        #expect(answer.error == nil, "\(answer)")
        await session.shutdown()
    }
}
