import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// Whether a request is sent again: by what ended it, where it was then, its method, its body and its connection.
///
/// The server counts the requests that it has received, those that it may have processed, and the sums of their bodies.
/// Without ``RefusedStreams``, a POST that was refused on a kept connection fails, and before libcurl 8.3.0 also
/// without ``RefusalMark``. Without ``ResendPolicy``, a POST on
/// a new connection is processed twice, and one without a body on any connection.
@Suite(.timeLimit(.minutes(10))) struct SentOnceTests {
    enum End: String, CaseIterable, Sendable {
        case goAwayBelow = "goaway-below"
        case goAwayError = "goaway-error"
        case goAwayHTTP1 = "goaway-http1"
        case refused
        case http1
        case reset
        case goAwayAbove = "goaway-above"
        case closeNotify = "close-notify"
        case fin
        case rst

        /// Whether the server closes the connection.
        var closes: Bool { self != .refused && self != .http1 && self != .reset }

        /// Whether the server says that it has not processed the request.
        var isRefusal: Bool { [.goAwayBelow, .goAwayError, .goAwayHTTP1, .refused, .http1].contains(self) }
    }

    private typealias Cell = SentOnce.Cell<End>
    private typealias Outcome = SentOnce.Outcome

    /// The possible outcomes of a cell.
    private static func outcomes(of cell: Cell) -> Set<Outcome> {
        // A part of the response has arrived.
        if cell.moment == .head || cell.end == .reset { return [.failed] }
        if cell.end.isRefusal {
            // How much of the body was read by then depends on the race of both sides.
            let outcomes: Set<Outcome> =
                cell.body == .oneShot
                ? cell.moment == .opened ? [.sentAgain, .notReplayable] : [.notReplayable] : [.sentAgain]
            // No version reads a GOAWAY if the connection is closed while it sends; earlier ones send for longer.
            let isSending = cell.moment == .opened || (cell.moment == .part && !RefusedStreams.areTraced)
            let isRace = isSending && cell.body != .none && cell.end.closes
            return isRace ? outcomes.union([.failed]) : outcomes
        }
        guard cell.method != .post else { return [.failed] }
        let again: Set<Outcome> = cell.body == .oneShot ? [.failed, .sentAgain] : [.sentAgain]
        return cell.place == .new ? again.union([.failed]) : again
    }

    @Test(arguments: End.allCases)
    func `a request is sent again exactly if it was not processed, or may be repeated`(_ end: End) async throws {
        let directory = try TestDirectory()
        let file = directory.url.appending(path: "body")
        try SentOnce.bytes.write(to: file)
        for cell in SentOnce.cells(end) { try await check(cell, file) }
    }

    private func counts(of key: String, in session: Session) async throws -> SentOnce.Counts {
        try await session.request(try TestServers.misbehavingHTTP2.url("/counts?key=\(key)"))
            .serializingDecodable(SentOnce.Counts.self).value
    }

    private func check(_ cell: Cell, _ file: URL) async throws {
        let session = try TestHarness.trustingSession { $0.eventLoops = 1 }
        let key = UUID().uuidString
        let server = TestServers.misbehavingHTTP2
        if cell.place != .new { _ = try await session.request(try server.url("/ok")).serializingData().value }
        // The other request on the connection ends when the test has seen enough.
        let other =
            cell.place == .shared
            ? session.streamRequest(try server.url("/echo"), method: .put) {
                $0.body = .stream { AsyncStream<Data> { _ in } }
            } : nil
        if let other { _ = try await other.streamTask().response }
        let url = try server.url("/fate?key=\(key)&at=\(cell.moment.rawValue)&by=\(cell.end.rawValue)")
        let body = SentOnce.requestBody(cell.body, file)
        let answer = await session.request(url, method: cell.method) { $0.body = body }.validate()
            .serializingString().response
        other?.cancel()
        let counting = try TestHarness.trustingSession()
        let counts = try await counts(of: key, in: counting)
        await counting.shutdown()
        SentOnce.judge(answer, counts, in: cell, isRefusal: cell.end.isRefusal, expecting: Self.outcomes(of: cell))
        await session.shutdown()
    }

    /// With libcurl before 8.3.0, a mark of the first sending stays in the handle.
    @Test(arguments: [End.goAwayBelow, .refused], [End.fin, .rst, .closeNotify])
    func `what was refused once, and then may have been processed, is not sent again`(
        _ end: End, then: End
    ) async throws {
        let server = TestServers.misbehavingHTTP2
        for count in [1, 4] {
            let session = try TestHarness.trustingSession { $0.eventLoops = 1 }
            _ = try await session.request(try server.url("/ok")).serializingData().value
            // Streams stay open on the connection, so that the refused requests notice their refusal.
            let other = session.streamRequest(try server.url("/echo"), method: .put) {
                $0.body = .stream { AsyncStream<Data> { _ in } }
            }
            _ = try await other.streamTask().response
            let keys = (0..<count).map { _ in UUID().uuidString }
            let tasks = try keys.map { key in
                session.request(
                    try server.url("/fate?key=\(key)&at=all&by=\(end.rawValue)&then=\(then.rawValue)"), method: .post
                ) { $0.body = .data(SentOnce.bytes) }.validate().serializingString(automaticallyCancelling: false)
            }
            for task in tasks { task.resume() }
            for (key, task) in zip(keys, tasks) {
                let answer = await task.response
                let counts = try await counts(of: key, in: try TestHarness.trustingSession())
                #expect(counts.processed <= 1, "\(count): \(answer), \(counts)")
                // A connection may have ended before a request was refused on it.
                #expect(counts.requests <= 2 + (count > 1 ? 2 : 0), "\(count): \(counts)")
                #expect(answer.error?.isSafeToRetry != true || counts.processed == 0, "\(answer), \(counts)")
                if count == 1 { #expect(answer.error?.kind == .connection(.lost) && counts.requests == 2, "\(answer)") }
            }
            other.cancel()
            await session.shutdown()
        }
    }

    // MARK: HTTP/1.1

    @Test(arguments: [true, false], [HTTPMethod.get, .put, .post])
    func `with HTTP/1_1, only what may be repeated is sent again, and only on a kept connection`(
        isReset: Bool, method: HTTPMethod
    ) async throws {
        let directory = try TestDirectory()
        let file = directory.url.appending(path: "body")
        try SentOnce.bytes.write(to: file)
        for body in method == .get ? [SentOnce.Body.none] : SentOnce.Body.allCases {
            for isKept in [true, false] {
                for isWhole in body == .none ? [true] : [true, false] {
                    let words = "\(method.rawValue) \(body), kept: \(isKept), whole: \(isWhole), reset: \(isReset)"
                    try await checkHTTP1(method, SentOnce.requestBody(body, file), isKept, isWhole, isReset, words)
                }
            }
        }
    }

    private func checkHTTP1(
        _ method: HTTPMethod, _ body: RequestBody?, _ isKept: Bool, _ isWhole: Bool, _ isReset: Bool, _ words: String
    ) async throws {
        let server = try await LocalServer(script: { connection in
            guard connection == 1 else { return [.serve] }
            let first: [LocalServer.Script.Step] =
                isKept ? [.waitForRequest, .bytes("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")] : []
            return LocalServer.Script(
                first + [isWhole ? .waitForRequest : .waitForBytes(20_000), isReset ? .reset : .close])
        }) { router in
            router.fallback(.text("done"))
        }
        let session = TestHarness.session {
            $0.continueTimeout = nil
            $0.eventLoops = 1
        }
        if isKept { #expect(try await session.request(server.url("/")).serializingString().value == "ok") }
        let answer = await session.request(server.url("/a"), method: method) { $0.body = body }
            .serializingString().response
        let isAgain = isKept && method != .post && body?.isReplayable != false
        #expect((answer.error == nil) == isAgain, "\(words): \(answer)")
        #expect(answer.value == (isAgain ? "done" : nil), "\(words)")
        if !isAgain { #expect(answer.error?.kind == .connection(.lost), "\(words): \(answer)") }
        #expect(answer.error?.isSafeToRetry != true, "\(words)")
        // Whether a body can be read again is not known before the connection is opened.
        let isTried = isAgain || (isKept && method == .put)
        #expect((isAgain ? 2...2 : 1...(isTried ? 2 : 1)).contains(server.connectionCount), "\(words)")
        if isAgain, body != nil {
            #expect(try await server.request(server.requestCount).body == SentOnce.bytes, "\(words)")
        }
        try await TestHarness.end(session, server)
    }

    /// An interim response is no answer: what may be repeated is sent again if the connection was used before.
    @Test(arguments: [true, false], [HTTPMethod.get, .put, .post])
    func `with HTTP/1_1, the end after an interim response is the end of an unanswered request`(
        isReset: Bool, method: HTTPMethod
    ) async throws {
        let interim = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
        for isKept in [true, false] {
            for bytes in [interim, String(interim.dropLast(9))] {
                let server = try await LocalServer(script: { connection in
                    guard connection == 1 else { return [.serve] }
                    let first: [LocalServer.Script.Step] =
                        isKept ? [.waitForRequest, .bytes("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")] : []
                    return LocalServer.Script(first + [.waitForRequest, .bytes(bytes), isReset ? .reset : .close])
                }) { $0.fallback(.text("done")) }
                let session = TestHarness.session { $0.eventLoops = 1 }
                if isKept { #expect(try await session.request(server.url("/")).serializingString().value == "ok") }
                let answer = await session.request(server.url("/a"), method: method) {
                    $0.body = method == .get ? nil : .data(SentOnce.bytes)
                }.serializingString().response
                let isAgain = isKept && method != .post
                let words = "kept: \(isKept), \(bytes.count) bytes: \(answer)"
                #expect(answer.value == (isAgain ? "done" : nil), "\(words)")
                #expect(isAgain || answer.error?.kind == .connection(.lost), "\(words)")
                #expect(server.connectionCount == (isAgain ? 2 : 1), "\(words)")
                try await TestHarness.end(session, server)
            }
        }
    }

    // MARK: Misdirected requests (RFC 9110 §15.5.20)

    @Test(arguments: [HTTPMethod.get, .post], [1, 2])
    func `a misdirected request is sent once more, on another connection`(method: HTTPMethod, times: Int) async throws {
        let session = try TestHarness.trustingSession { $0.eventLoops = 1 }
        let key = UUID().uuidString
        let server = TestServers.misbehavingHTTP2
        let url = try server.url("/misdirected?key=\(key)&times=\(times)")
        let answer = await session.request(url, method: method) {
            $0.body = method == .post ? .data(SentOnce.bytes) : nil
        }
        .serializingString().response
        #expect(answer.response?.statusCode == (times == 1 ? 200 : 421), "\(answer)")
        #expect(answer.metrics?.isReusedConnection == false)
        let counts = try await counts(of: key, in: session)
        #expect(counts.requests == 2)
        if times == 1 { #expect(counts.sums == [method == .post ? SentOnce.sum : 0]) }
        await session.shutdown()
    }

    @Test func `a misdirected request whose body can be read once has the response 421`() async throws {
        let server = try await LocalServer { $0.fallback { _ in .status(421) } }
        let session = TestHarness.session { $0.continueTimeout = nil }
        let body = SentOnce.requestBody(.oneShot, URL(filePath: "/"))
        let answer = await session.request(server.url("/"), method: .post) { $0.body = body }.serializingData(
            emptyResponseCodes: [421]
        ).response
        #expect(answer.response?.statusCode == 421, "\(answer)")
        #expect(server.requestCount == 1)
        try await TestHarness.end(session, server)
    }

    // MARK: Errors

    @Test func `an error says whether the request may be sent again`() async throws {
        let session = try TestHarness.trustingSession { $0.eventLoops = 1 }
        let port = try DeadPort.refusing()
        let refused = await session.request("http://127.0.0.1:\(port)/", method: .post).serializingData().response
        #expect(refused.error?.kind == .connection(.refused))
        #expect(refused.error?.isSafeToRetry == true)
        for (end, isSafe) in [("refused", true), ("fin", false)] {
            let path = end == "refused" ? "/refused" : "/fate?key=\(UUID().uuidString)&at=all&by=fin"
            let answer = await session.request(try TestServers.misbehavingHTTP2.url(path), method: .post) {
                $0.body = .data(SentOnce.bytes)
            }.serializingData().response
            #expect(answer.error?.isSafeToRetry == isSafe, "\(end): \(answer)")
        }
        await session.shutdown()
    }

    @Test func `a refused request does not wait for its own connection`() async throws {
        let session = try TestHarness.trustingSession {
            $0.eventLoops = 1
            $0.connectionLimits.perHost = 1
        }
        let server = TestServers.misbehavingHTTP2
        _ = try await session.request(try server.url("/ok")).serializingData().value
        let answer = await session.request(try server.url("/refused-once?key=\(UUID().uuidString)"), method: .put) {
            $0.body = .data(SentOnce.bytes)
        }.serializingData().response
        #expect(answer.error == nil && answer.response?.statusCode == 200, "\(answer)")
        await session.shutdown()
    }

    @Test func `an error after a redirect does not say that the request is safe`() async throws {
        let port = try DeadPort.refusing()
        let server = try await LocalServer { router in
            router.fallback { _ in .status(303, headers: ["Location": "http://127.0.0.1:\(port)/"]) }
        }
        let session = TestHarness.session()
        let answer = await session.request(server.url("/"), method: .post).serializingData().response
        #expect(answer.error?.kind == .connection(.refused))
        #expect(answer.error?.isSafeToRetry == false)
        try await TestHarness.end(session, server)
    }

    /// Without ``UnnoticedEnds``, all but one hang with libcurl before 8.1.0.
    @Test func `all requests notice the end of TLS on their connection`() async throws {
        let session = try TestHarness.trustingSession { $0.eventLoops = 1 }
        let server = TestServers.misbehavingHTTP2
        _ = try await session.request(try server.url("/ok")).serializingData().value
        let key = UUID().uuidString
        let stalled = try (1...7).map { _ in
            session.request(try server.url("/stall?key=\(key)"), method: .post).serializingData(
                automaticallyCancelling: false)
        }
        for task in stalled { task.resume() }
        // Otherwise, the last request could be the first one.
        while try await counts(of: key, in: session).requests < 7 {}
        let last = session.request(try server.url("/closed-before"), method: .post).serializingData()
        var answers = [await last.response.error]
        for task in stalled { answers.append(await task.response.error) }
        #expect(answers.count == 8)
        for error in answers { #expect(error?.isConnectionFailure == true, "\(String(describing: error))") }
        await session.shutdown()
    }
}
