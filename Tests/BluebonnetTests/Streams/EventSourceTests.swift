import FoundationEssentials
import Testing

@testable import Bluebonnet

@Suite(.timeLimit(.minutes(10))) struct EventSourceTests {
    /// Reads a source to its end.
    private static func read(_ source: EventSource) async -> (data: [String], error: RequestError?) {
        var data: [String] = []
        do throws(RequestError) {
            for try await event in source { data.append(event.data) }
        } catch {
            return (data, error)
        }
        return (data, nil)
    }

    @Test func `Events arrive over one connection after the other until the server sends 204`() async {
        let server = FakeEventServer(
            .events("data:1\n\ndata:2\n", "\n"), .events("data:3\n\n", end: .fail(.connection(.lost))),
            .failure(.connection(.refused)), .events("data:4\n\n"))
        let (data, error) = await Self.read(server.source())
        #expect(data == ["1", "2", "3", "4"])
        #expect(error == nil)
        #expect(server.requests.count == 5)
        #expect(server.delays == [3000, 3000, 3000, 3000])
        #expect(server.openConnections == 0)
    }

    @Test func `Values are decoded from the events of all connections`() async throws {
        let server = FakeEventServer(
            .events("data:1\n\ndata:2\n\n"), .events("data:3\n\n", end: .fail(.connection(.lost))),
            .events("event:x\ndata:[DONE]\n\ndata:4\n\n"))
        let source = server.source(.init(finalData: "[DONE]"))
        var values: [Int] = []
        for try await value in source.decodables(of: Int.self) { values.append(value) }
        #expect(values == [1, 2, 3])
        #expect(server.requests.count == 3)
        let wrong = FakeEventServer(.events("data:1\n\ndata:one\n\n")).source().decodables(of: Int.self)
        values = []
        let error = await #expect(throws: RequestError.self) { for try await value in wrong { values.append(value) } }
        #expect(values == [1] && error?.kind == .serialization(.decodingFailed))
    }

    @Test func `Comments and events arrive in their order`() async throws {
        let server = FakeEventServer(
            .events(":a\ndata:1\n:b\n\n", ": c\n", "\n:\n"), .events("data:[DONE]\n\n:d\n"))
        var entries: [EventSource.Entry] = []
        let source = server.source(.init(finalData: "[DONE]"))
        for try await entry in source.entries { entries.append(entry) }
        // An event is complete at the blank line.
        #expect(
            entries == [
                .comment("a"), .comment("b"), .event(ServerSentEvent(data: "1")), .comment("c"), .comment(""),
            ])
        #expect(server.openConnections == 0)
    }

    @Test(arguments: ["event:message_stop\ndata:{}\n\n", "event: message_stop\ndata\n\n"])
    func `An event of the final type ends the source`(_ end: String) async {
        let server = FakeEventServer(
            .events("data:1\n\nevent:stop\ndata:2\n\n"), .events("data:3\n\n" + end + "data:4\n\n"))
        let (data, error) = await Self.read(server.source(.init(finalEvent: "message_stop")))
        #expect(data == ["1", "2", "3"] && error == nil)
        #expect(server.requests.count == 2 && server.openConnections == 0)
        let cut = FakeEventServer(.events("data:1\n\n"))
        let (_, missing) = await Self.read(cut.source(.init(reconnects: false, finalEvent: "message_stop")))
        #expect(missing?.kind == .eventSource(.missingFinalData))
    }

    @Test func `A source reconnects after chosen status codes, not before the server allows it`() async {
        var configuration = EventSource.Configuration(maximumAttempts: 4)
        configuration.reconnectingStatusCodes = [429, 503]
        var busy = FakeResponse.status(503)
        busy.retryAfter = "120"
        let never = FakeResponse.status(429)
        var far = FakeResponse.status(429)
        far.retryAfter = "99999999"
        let server = FakeEventServer(busy, never, .events("data:1\n\n"), far, never, never, never)
        let (data, error) = await Self.read(server.source(configuration))
        #expect(data == ["1"])
        #expect(error?.kind == .eventSource(.unacceptableStatusCode(429)))
        #expect(server.delays == [120_000, 6000, 3000, 86_400_000, 6000, 12000])
        #expect(server.openConnections == 0)
        configuration.reconnects = false
        let final = FakeEventServer(busy)
        let (_, refused) = await Self.read(final.source(configuration))
        #expect(refused?.kind == .eventSource(.unacceptableStatusCode(503)) && final.delays == [])
    }

    @Test func `A request accepts an event stream and bypasses caches`() async {
        let server = FakeEventServer()
        _ = await Self.read(server.source())
        #expect(server.requests == [["Accept": "text/event-stream", "Cache-Control": "no-cache"]])
    }

    @Test func `The last event ID is sent with each reconnection, as long as it is not empty`() async {
        let server = FakeEventServer(
            .events("id:1\ndata:a\n\nid:2\ndata:b\n\nid:3\ndata:cut off\n"), .failure(.timedOut(.connect)),
            .events("data:c\n\n"), .events("id:é\n\n"), .events("id\ndata:d\n\n"), .events("data:e\n\n"))
        let source = server.source()
        #expect(source.lastEventID == "")
        let (data, _) = await Self.read(source)
        #expect(data == ["a", "b", "c", "d", "e"])
        #expect(server.lastEventIDs == [nil, "2", "2", "2", "é", nil, nil])
        #expect(source.lastEventID == "")
    }

    @Test func `A source can begin after an event, whose ID stays until the next ID`() async throws {
        let server = FakeEventServer(.events("data:a\n\n"), .events("id:8\ndata:b\n\n"))
        let source = server.source(.init(initialLastEventID: "7"))
        #expect(source.lastEventID == "7")
        var ids: [String] = []
        for try await event in source { ids.append(event.id) }
        #expect(ids == ["7", "8"])
        #expect(server.lastEventIDs == ["7", "7", "8"])
        #expect(source.lastEventID == "8")
    }

    @Test func `The server sets the reconnection time, also without an event`() async {
        let server = FakeEventServer(
            .events("retry:700\ndata:a\n\n"), .failure(.connection(.refused)), .failure(.connection(.refused)),
            .failure(.connection(.refused)), .events("retry:0\n"), .events(), .events("retry:x\n\n"))
        let (data, error) = await Self.read(server.source())
        #expect(data == ["a"] && error == nil)
        #expect(server.delays == [700, 700, 2000, 4000, 500, 500, 500])
    }

    @Test func `The wait grows while no connection can be made`() async {
        let refused = FakeResponse.failure(.connection(.nameNotResolved))
        let server = FakeEventServer(refused, refused, refused, refused, refused, refused, .events(), refused, refused)
        _ = await Self.read(server.source())
        #expect(server.delays == [3000, 6000, 12000, 24000, 30000, 30000, 3000, 3000, 6000])
    }

    @Test(
        arguments: [
            (.status(404), .eventSource(.unacceptableStatusCode(404))),
            (.status(503), .eventSource(.unacceptableStatusCode(503))),
            (.status(205), .eventSource(.unacceptableStatusCode(205))),
            (.status(200, "text/html; charset=utf-8"), .eventSource(.unacceptableContentType("text/html"))),
            (.status(200, "text/x-event-stream"), .eventSource(.unacceptableContentType("text/x-event-stream"))),
            (.status(200, "nonsense"), .eventSource(.unacceptableContentType(nil))),
            (.status(200, nil), .eventSource(.unacceptableContentType(nil))),
            (.failure(.trust(.selfSigned)), .trust(.selfSigned)), (.failure(.invalidURL), .invalidURL),
            (.failure(.sessionShutDown), .sessionShutDown), (.failure(.cancelled), .cancelled),
            (.events("data:1\n\n", end: .fail(.cancelled)), .cancelled),
        ] as [(FakeResponse, RequestError.Kind)])
    func `a permanent failure is thrown once and the connection is closed`(
        _ answer: FakeResponse, kind: RequestError.Kind
    ) async throws {
        let server = FakeEventServer(answer)
        var iterator = server.source().makeAsyncIterator()
        let error = try await #require(throws: RequestError.self) {
            while try await iterator.next() != nil {}
        }
        #expect(error.kind == kind)
        #expect(
            error.detail == (answer.failure == nil && answer.chunks.count == 1 && kind != .cancelled ? nil : "scripted")
        )
        if case .eventSource = kind { #expect(error.response?.statusCode == answer.statusCode) }
        #expect(server.openConnections == 0)
        #expect(try await iterator.next() == nil)
        #expect(server.requests.count == 1 && server.delays == [])
    }

    @Test(arguments: [
        "text/event-stream", "TEXT/Event-Stream", "text/event-stream; charset=utf-8", "text/event-stream;",
        " text/event-stream ;charset=windows-1252",
    ])
    func `the content type is case-insensitive, and the text is UTF-8 with any charset`(_ type: String) async {
        let server = FakeEventServer(FakeResponse(contentType: type, chunks: ["data:é\n\n"]))
        #expect(await Self.read(server.source()).data == ["é"])
    }

    @Test func `204 ends the sequence without an error, at the beginning and later`() async throws {
        let server = FakeEventServer(.status(204, nil), .events("data:never\n\n"))
        var iterator = server.source().makeAsyncIterator()
        #expect(try await iterator.next() == nil)
        #expect(try await iterator.next() == nil)
        #expect(server.requests.count == 1 && server.openConnections == 0)
    }

    @Test func `The last error is thrown after the maximum number of failed attempts`() async {
        let server = FakeEventServer(
            .events("data:1\n\n"), .failure(.connection(.refused)), .failure(.timedOut(.connect)))
        let (data, error) = await Self.read(server.source(.init(maximumAttempts: 2)))
        #expect(data == ["1"])
        #expect(error?.kind == .timedOut(.connect) && error?.detail == "scripted")
        #expect(server.requests.count == 3)
    }

    @Test func `A source that does not reconnect ends with its connection`() async {
        let closed = FakeEventServer(.events("data:1\n\ndata:lost\n"), .events("data:never\n\n"))
        let (data, error) = await Self.read(closed.source(.init(reconnects: false)))
        #expect(data == ["1"] && error == nil)
        let lost = FakeEventServer(.events("data:1\n\n", end: .fail(.connection(.lost))))
        let (some, failure) = await Self.read(lost.source(.init(reconnects: false)))
        #expect(some == ["1"] && failure?.kind == .connection(.lost))
        #expect(closed.requests.count == 1 && lost.requests.count == 1)
    }

    @Test func `An event that is too large ends the source`() async {
        let server = FakeEventServer(.events("data:1\n\n", "data:12345678901234567890", end: .hang))
        let (data, error) = await Self.read(server.source(.init(maximumEventBytes: 20)))
        #expect(data == ["1"])
        #expect(error?.kind == .invalidResponse(.bodyTooLarge(limit: 20)))
        #expect(server.openConnections == 0)
    }

    @Test func `An incomplete event at the end of a connection is dropped`() async {
        let server = FakeEventServer(
            .events("event:x\ndata:cut"), .events(" off\ndata:whole\n\n"), .events("data:a\r"), .events("\ndata:b\n\n"))
        #expect(await Self.read(server.source()).data == ["whole", "b"])
    }

    @Test func `Leaving the loop closes a connection that has not ended`() async throws {
        let server = FakeEventServer(.events("data:1\n\ndata:2\n\n", end: .hang))
        for try await event in server.source() {
            #expect(event.data == "1")
            #expect(server.openConnections == 1)
            break
        }
        #expect(server.openConnections == 0)
        #expect(server.requests.count == 1)
    }

    @Test func `Each loop has its own connection, which opens when the loop requests an event`() async throws {
        let server = FakeEventServer(
            .events("id:1\ndata:a\n\n", end: .hang), .events("id:2\ndata:b\n\n", end: .hang))
        let source = server.source()
        var first = source.makeAsyncIterator()
        var second = source.makeAsyncIterator()
        #expect(server.requests.isEmpty)
        #expect(try await first.next()?.data == "a")
        #expect(try await second.next()?.data == "b")
        #expect(server.lastEventIDs == [nil, nil])
        #expect(server.openConnections == 2)
        #expect(source.lastEventID == "2")
    }

    @Test func `The states follow the connection`() async {
        let server = FakeEventServer(
            .events("data:1\n\n"), .failure(.connection(.refused)), .events(end: .fail(.connection(.lost))))
        let source = server.source()
        let states = source.states
        _ = await Self.read(source)
        var seen: [EventSource.State] = []
        for await state in states {
            seen.append(state)
            if state == .closed { break }
        }
        #expect(
            seen == [
                .connecting, .open, .waiting(.seconds(3), after: nil), .connecting,
                .waiting(.seconds(3), after: .connection(.refused)), .connecting, .open,
                .waiting(.seconds(3), after: .connection(.lost)), .connecting, .closed,
            ])
    }

    @Test func `The states end with the source, and leaving a loop closes its connection`() async throws {
        let server = FakeEventServer(.events("data:1\n\n", end: .hang))
        var source: EventSource? = server.source()
        let states = try #require(source?.states)
        for try await _ in try #require(source) { break }
        source = nil
        var seen: [EventSource.State] = []
        for await state in states { seen.append(state) }
        #expect(seen == [.connecting, .open, .closed])
    }

    @Test @MainActor func `A source can be read on an actor`() async throws {
        let server = FakeEventServer(.events("data:1\n\n"), .events("data:2\n\n"))
        var data: [String] = []
        for try await event in server.source() {
            MainActor.assertIsolated()
            data.append(event.data)
        }
        #expect(data == ["1", "2"])
    }
}
