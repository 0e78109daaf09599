import BluebonnetTesting
import FoundationEssentials
import Testing

@testable import Bluebonnet

/// Event sources against `LocalServer`.
@Suite(.timeLimit(.minutes(10))) struct EventSourceWireTests {
    private static let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"

    /// Reconnects at once.
    private static let eager = EventSource.Configuration(reconnectionTime: .zero)

    @Test func `a source reconnects after its last event until the server sends 204`() async throws {
        let server = try await LocalServer { router in
            router.get("/events") { request in
                switch request.sequence {
                case 1: .script(.bytes(Self.head + "id: 1\ndata: a\n\nid: 2\ndata: b\n\nid: 9\ndata: cut"), .close)
                case 2: .text("data: c\n\n", contentType: "text/event-stream; charset=utf-8")
                case 3: .script(.bytes("HTTP/1.1 200 OK\r\n"), .reset)
                case 4:
                    .stream(headers: ["Content-Type": "text/event-stream"]) { writer in
                        for byte in "id: é\r\ndata: d\r\n\r\n".utf8 { try await writer.write([byte]) }
                        throw TestFailure("aborted")
                    }
                default: .status(204)
                }
            }
        }
        let session = TestHarness.session()
        let source = session.eventSource(server.url("/events"), configuration: Self.eager)
        var events: [ServerSentEvent] = []
        for try await event in source { events.append(event) }
        #expect(events.map(\.data) == ["a", "b", "c", "d"])
        #expect(events.map(\.id) == ["1", "2", "2", "é"])
        #expect(server.requests.map { $0.headers["Last-Event-ID"] } == [nil, "2", "2", "2", "é"])
        #expect(server.requests.allSatisfy { $0.headers["Accept"] == "text/event-stream" })
        #expect(source.lastEventID == "é")
        try await TestHarness.end(session, server)
    }

    @Test func `the idle limit holds until the server answers, and not afterwards`() async throws {
        let isSent = Locked(false)
        let server = try await LocalServer { router in
            router.get("/events") { request in
                if isSent.withLock(\.self) { return .status(204) }
                guard request.sequence > 1 else { return .script(.stall) }
                return .script(
                    .bytes(Self.head), .wait { try? await Task.sleep(for: .seconds(1)) }, .bytes("data: a\n\n"),
                    .wait { isSent.withLock { $0 = true } }, .close)
            }
        }
        let session = TestHarness.session { $0.timeouts.idle = .milliseconds(200) }
        let source = session.eventSource(server.url("/events"), configuration: Self.eager)
        var states = source.states.makeAsyncIterator()
        var events: Set<String> = []
        for try await event in source { events.insert(event.data) }
        #expect(events == ["a"])
        #expect(server.requestCount >= 3)
        var isLimited = false
        while let state = await states.next() {
            if case .waiting(_, after: .timedOut(.idle)) = state { isLimited = true }
            if state == .closed { break }
        }
        #expect(isLimited)
        try await TestHarness.end(session, server)
    }

    /// The server sends its head with the first event, later than the session's limit.
    @Test func `an idle limit of the request holds, even if it is none`() async throws {
        let server = try await LocalServer { router in
            router.get("/events") { _ in
                .script(.wait { try? await Task.sleep(for: .seconds(1)) }, .bytes(Self.head + "data: a\n\n"), .close)
            }
        }
        let session = TestHarness.session { $0.timeouts.idle = .milliseconds(200) }
        let source = session.eventSource(server.url("/events")) { $0.timeouts.idle = nil }
        for try await event in source {
            #expect(event.data == "a")
            break
        }
        #expect(server.requestCount == 1)
        try await TestHarness.end(session, server)
    }

    @Test func `the final data ends the source, and the rest is not read`() async throws {
        let server = try await LocalServer { router in
            router.post("/events") { _ in
                .script(.bytes(Self.head + "data: a\n\ndata: [DONE]\n\ndata: b\n\n"), .stall)
            }
        }
        let session = TestHarness.session()
        var configuration = Self.eager
        configuration.finalData = "[DONE]"
        configuration.repeatsNonIdempotentRequests = true
        let source = session.eventSource(server.url("/events"), method: .post, configuration: configuration)
        var events: [String] = []
        for try await event in source { events.append(event.data) }
        #expect(events == ["a"])
        try await server.waitForOpenConnections(atMost: 0)
        #expect(server.requestCount == 1)
        try await TestHarness.end(session, server)
    }

    @Test func `a source waits as long as a busy server asks, and reconnects`() async throws {
        let server = try await LocalServer { router in
            router.get("/events") { request in
                request.sequence == 1
                    ? .status(429, headers: ["Retry-After": "1", "Content-Type": "application/json"])
                    : .text("event: message_stop\ndata: {}\n\n", contentType: "text/event-stream")
            }
        }
        let session = TestHarness.session()
        var configuration = Self.eager
        configuration.reconnectingStatusCodes = [429]
        configuration.finalEvent = "message_stop"
        let source = session.eventSource(server.url("/events"), configuration: configuration)
        let states = source.states
        let clock = ContinuousClock()
        let begun = clock.now
        for try await event in source { Issue.record("\(event)") }
        #expect(clock.now - begun >= .seconds(1))
        #expect(server.requestCount == 2)
        var waits: [RequestError.Kind?] = []
        for await state in states {
            if case .waiting(_, let kind) = state { waits.append(kind) }
            if state == .closed { break }
        }
        #expect(waits == [.eventSource(.unacceptableStatusCode(429))])
        try await TestHarness.end(session, server)
    }

    @Test func `comments are delivered while the source reads`() async throws {
        let text = ": ping\n:\n:pong\ndata: a\n:" + String(repeating: "x", count: 2000) + "\n\ndata: [DONE]\n\n"
        let server = try await LocalServer { router in
            router.get("/events") { _ in .text(text, contentType: "text/event-stream") }
        }
        let session = TestHarness.session()
        var configuration = Self.eager
        configuration.finalData = "[DONE]"
        var source: EventSource? = session.eventSource(server.url("/events"), configuration: configuration)
        let comments = try #require(source?.comments)
        var events: [String] = []
        if let source { for try await event in source { events.append(event.data) } }
        source = nil
        var told: [String] = []
        for await comment in comments { told.append(comment) }
        #expect(events == ["a"])
        #expect(told == ["ping", "", "pong", String(repeating: "x", count: 1023)])
        try await TestHarness.end(session, server)
    }

    @Test func `a source that ends without its final data throws`() async throws {
        let server = try await LocalServer { router in
            router.post("/events") { _ in .text("data: a\n\n", contentType: "text/event-stream") }
        }
        let session = TestHarness.session()
        let source = session.eventSource(
            server.url("/events"), method: .post, parameters: ["q": "x"], encoder: .json,
            configuration: EventSource.Configuration(finalData: "[DONE]"))
        var (events, failure): ([String], RequestError?) = ([], nil)
        do {
            for try await event in source { events.append(event.data) }
        } catch { failure = error }
        #expect(events == ["a"])
        #expect(failure?.kind == .eventSource(.missingFinalData))
        #expect(failure?.url?.hasSuffix("/events") == true && failure?.method == .post && failure?.statusCode == 200)
        #expect(server.requests.map { String(decoding: $0.body, as: UTF8.self) } == [#"{"q":"x"}"#])
        try await TestHarness.end(session, server)
    }

    @Test func `the error of a refused source has the status, the body and the URL`() async throws {
        let server = try await LocalServer { router in
            router.get("/events") { _ in .json(["title": "slow down"], status: 429) }
            router.get("/page") { _ in .text("a") }
            router.get("/half") { _ in
                let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n"
                return .script(.bytes(head + "{"), .stall)
            }
        }
        let session = TestHarness.session { $0.timeouts.idle = .milliseconds(200) }
        var failures: [RequestError] = []
        for path in ["/events", "/page", "/half"] {
            do {
                for try await _ in session.eventSource(server.url(path)) {}
            } catch { failures.append(error) }
        }
        #expect(failures[0].kind == .eventSource(.unacceptableStatusCode(429)))
        #expect(failures[0].statusCode == 429)
        #expect(failures[0].problem?.title == nil && failures[0].body == Data(#"{"title":"slow down"}"#.utf8))
        #expect(failures[0].method == .get && failures[0].url?.hasSuffix("/events") == true)
        #expect(failures[1].kind == .eventSource(.unacceptableContentType("text/plain")))
        #expect(failures[1].url?.hasSuffix("/page") == true)
        #expect(failures[1].body == Data("a".utf8))
        #expect(failures[2].kind == .eventSource(.unacceptableContentType("application/json")))
        #expect(failures[2].body == Data("{".utf8), "the idle limit ends the wait for the rest")
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [false, true]) func `a source posts again only if asked`(asked: Bool) async throws {
        let server = try await LocalServer { router in
            router.post("/events") { request in
                request.sequence < 3 ? .text("data: a\n\n", contentType: "text/event-stream") : .status(204)
            }
        }
        let session = TestHarness.session()
        var configuration = Self.eager
        configuration.repeatsNonIdempotentRequests = asked
        let source = session.eventSource(server.url("/events"), method: .post, configuration: configuration)
        var count = 0
        for try await _ in source { count += 1 }
        #expect(count == (asked ? 2 : 1) && server.requestCount == (asked ? 3 : 1))
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [8000, 8001, 65_536, 8 << 20])
    func `an ID that is too long to be sent is ignored`(_ length: Int) async throws {
        let long = String(repeating: "x", count: length)
        let server = try await LocalServer { router in
            router.get("/events") { request in
                guard request.sequence == 1 else { return .status(204) }
                return .text(
                    "id: 1\ndata: a\n\nid: \(long)\ndata: b\n\ndata: c\n\n", contentType: "text/event-stream")
            }
        }
        let session = TestHarness.session()
        let source = session.eventSource(server.url("/events"), configuration: Self.eager)
        var events: [ServerSentEvent] = []
        for try await event in source { events.append(event) }
        let id = length <= 8000 ? long : "1"
        #expect(events.map(\.data) == ["a", "b", "c"])
        #expect(events.map(\.id) == ["1", id, id])
        #expect(server.requests.map { $0.headers["Last-Event-ID"] } == [nil, id])
        try await TestHarness.end(session, server)
    }

    @Test func `a source sends all its fields and uses the server's reconnection time`() async throws {
        let server = try await LocalServer { router in
            router.post("/events") { request in
                .text("retry: 3600000\nid: 1\ndata: a\n\n", contentType: "text/event-stream")
            }
        }
        let session = TestHarness.session { $0.headers.append(name: "X-Name", value: "session") }
        var configuration = Self.eager
        configuration.repeatsNonIdempotentRequests = true
        let source = session.eventSource(
            server.url("/events"), method: .post, headers: ["X-Token": "t"], configuration: configuration)
        let states = source.states
        let reader = Task { await StreamFixture.read(source) }
        var seen: [EventSource.State] = []
        for await state in states {
            seen.append(state)
            if state == .closed { break }
            guard case .waiting(let delay, after: nil) = state else { continue }
            #expect((3600...4500).contains(delay.components.seconds))
            // Cancelling ends the wait.
            reader.cancel()
        }
        #expect(seen.count == 4)
        #expect(seen.first == .connecting && seen.dropFirst().first == .open && seen.last == .closed)
        let reading = await reader.value
        #expect(reading.elements.map(\.data) == ["a"])
        #expect(reading.error?.kind == .cancelled)
        #expect(server.requestCount == 1)
        #expect(server.requests.first?.headers["X-Name"] == "session")
        #expect(server.requests.first?.headers["X-Token"] == "t")
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [
        (500, "text/event-stream", RequestError.Kind.eventSource(.unacceptableStatusCode(500))),
        (404, "text/event-stream", .eventSource(.unacceptableStatusCode(404))),
        (301, "text/event-stream", .eventSource(.unacceptableStatusCode(301))),
        (200, "text/html", .eventSource(.unacceptableContentType("text/html"))),
        (200, "application/json", .eventSource(.unacceptableContentType("application/json"))),
    ])
    func `a response that is not an event stream ends the source`(
        status: Int, contentType: String, kind: RequestError.Kind
    ) async throws {
        let server = try await LocalServer { router in
            router.get("/events") { _ in
                let type = HTTPHeader(name: "Content-Type", value: contentType)
                return .endless(Data("data: a\n\n".utf8), status: status, headers: HTTPHeaders([type]))
            }
        }
        let session = TestHarness.session()
        let reading = await StreamFixture.read(session.eventSource(server.url("/events"), configuration: Self.eager))
        #expect(reading.elements.isEmpty)
        #expect(reading.error?.kind == kind)
        #expect(reading.error?.response?.statusCode == status)
        // Its endless body is not waited for.
        try await server.waitForOpenConnections(atMost: 0)
        #expect(server.requestCount == 1)
        try await TestHarness.end(session, server)
    }

    @Test func `leaving the loop closes the connection`() async throws {
        let server = try await LocalServer { router in
            router.get("/events") { _ in
                .endless(Data("data: a\n\n".utf8), headers: ["Content-Type": "text/event-stream"])
            }
        }
        let session = TestHarness.session()
        for _ in 1...10 {
            let source = session.eventSource(server.url("/events"), configuration: Self.eager)
            for try await event in source {
                #expect(event.data == "a")
                break
            }
            try await server.waitForOpenConnections(atMost: 0)
        }
        await session.shutdown()
        #expect(server.requestCount == 10)
    }

    @Test func `cancelling a source that waits for events closes the connection`() async throws {
        let server = try await LocalServer { router in
            router.get("/events") { _ in .script(.bytes(Self.head + "data: a\n\n"), .stall) }
        }
        let session = TestHarness.session()
        for _ in 1...10 {
            let source = session.eventSource(server.url("/events"), configuration: Self.eager)
            let seen = Gate()
            let reader = Task { () -> RequestError? in
                do throws(RequestError) {
                    for try await _ in source { seen.open() }
                    return nil
                } catch {
                    return error
                }
            }
            await seen.wait()
            reader.cancel()
            #expect(await reader.value?.kind == .cancelled)
            try await server.waitForOpenConnections(atMost: 0)
        }
        await session.shutdown()
    }

    @Test func `a shutdown that is cancelled ends the session's sources`() async throws {
        let server = try await LocalServer { router in
            router.get("/events") { _ in .script(.bytes(Self.head + "data: a\n\n"), .stall) }
        }
        let session = TestHarness.session()
        let source = session.eventSource(server.url("/events"), configuration: Self.eager)
        var iterator = source.makeAsyncIterator()
        #expect(try await iterator.next()?.data == "a")
        let end = Task { await session.shutdown() }
        end.cancel()
        await end.value
        let error = await #expect(throws: RequestError.self) { try await iterator.next() }
        #expect(error?.kind == .cancelled)
        #expect(try await iterator.next() == nil)
        try await server.waitForOpenConnections(atMost: 0)
    }

    @Test func `a slow reader of events slows down the server`() async throws {
        let event = Data(("data: " + String(repeating: "x", count: 1000) + "\n\n").utf8)
        let server = try await LocalServer { router in
            router.get("/events") { _ in .endless(event, headers: ["Content-Type": "text/event-stream"]) }
        }
        let session = TestHarness.session()
        var iterator = session.eventSource(server.url("/events")).makeAsyncIterator()
        _ = try await iterator.next()
        let sent = try await StreamFixture.settled(session) { server.traffic.bytesSent }
        #expect(try sent < StreamFixture.bytesUnderway())
        for _ in 0..<2 * sent / event.count { #expect(try await iterator.next()?.data.utf8.count == 1000) }
        #expect(server.traffic.bytesSent > sent)
    }
}
