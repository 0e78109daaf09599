import Testing

@testable import Bluebonnet

@Suite struct EventSourceStateTests {
    private typealias Action = EventSourceState.Action

    private static func state(_ configuration: EventSource.Configuration = .init()) -> EventSourceState {
        EventSourceState(configuration)
    }

    private static func openState(_ configuration: EventSource.Configuration = .init()) -> EventSourceState {
        var state = state(configuration)
        #expect(state.headReceived(statusCode: 200, mimeType: "text/event-stream") == .read)
        return state
    }

    @Test(
        arguments: [
            (200, "text/event-stream", .read),
            (200, "text/plain", .fail(.eventSource(.unacceptableContentType("text/plain")))),
            (200, nil, .fail(.eventSource(.unacceptableContentType(nil)))),
            (204, nil, .finish), (204, "text/event-stream", .finish),
            (205, "text/event-stream", .fail(.eventSource(.unacceptableStatusCode(205)))),
            (201, "text/event-stream", .fail(.eventSource(.unacceptableStatusCode(201)))),
            (299, "text/event-stream", .fail(.eventSource(.unacceptableStatusCode(299)))),
            (304, nil, .fail(.eventSource(.unacceptableStatusCode(304)))),
            (404, "text/html", .fail(.eventSource(.unacceptableStatusCode(404)))),
            (410, nil, .fail(.eventSource(.unacceptableStatusCode(410)))),
            (503, "text/event-stream", .fail(.eventSource(.unacceptableStatusCode(503)))),
        ] as [(Int, String?, EventSourceState.Action)])
    func `only a 200 with an event stream is accepted, and a 204 is the end`(
        _ statusCode: Int, mimeType: String?, action: EventSourceState.Action
    ) {
        var state = Self.state()
        #expect(state.headReceived(statusCode: statusCode, mimeType: mimeType) == action)
        #expect(state.phase == (action == .read ? .open : .closed))
    }

    @Test(
        arguments: [
            .connection(.nameNotResolved), .connection(.proxyNameNotResolved), .connection(.refused),
            .connection(.lost), .connection(.proxy), .connection(.http2), .connection(.failed), .timedOut(.connect),
            .timedOut(.idle), .timedOut(.total), .trust(.handshake), .invalidResponse(.malformed),
            .invalidResponse(.truncated), .invalidResponse(.http2Stream),
        ] as [RequestError.Kind])
    func `failures of the network lead to a reconnection, before and after the head`(_ kind: RequestError.Kind) {
        var connecting = Self.state()
        #expect(connecting.connectionEnded(kind, jitter: 0) == .wait(.seconds(3)))
        #expect(connecting.phase == .waiting)
        #expect(connecting.waited() == .connect)
        #expect(connecting.phase == .connecting)
        var open = Self.openState()
        #expect(open.connectionEnded(kind, jitter: 0) == .wait(.seconds(3)))
        #expect(open.failedAttempts == 0)
    }

    @Test(
        arguments: [
            .invalidURL, .invalidRequest(.fieldValue(name: "Last-Event-ID")), .parameterEncoding(.encoderFailed),
            .multipartEncoding(.boundaryInvalid("")), .requestBody(.notReplayable), .trust(.certificateExpired),
            .trust(.untrustedIssuer), .trust(.selfSigned), .trust(.hostMismatch), .trust(.certificateRefused),
            .trust(.configuration), .invalidResponse(.headTooLarge(limit: 1)),
            .invalidResponse(.bodyTooLarge(limit: 1)), .invalidResponse(.undecodableContent),
            .validation(.unacceptableStatusCode(500)), .serialization(.decodingFailed),
            .download(.resumeDataInvalid), .eventSource(.unacceptableStatusCode(1)), .cancelled, .sessionShutDown,
            .internal,
        ] as [RequestError.Kind])
    func `permanent failures end the source, before and after the head`(_ kind: RequestError.Kind) {
        var connecting = Self.state()
        #expect(connecting.connectionEnded(kind, jitter: 0) == .fail(kind))
        #expect(connecting.phase == .closed)
        var open = Self.openState()
        #expect(open.connectionEnded(kind, jitter: 0) == .fail(kind))
        #expect(open.phase == .closed)
    }

    @Test func `The source reconnects after the reconnection time whenever a stream ends`() {
        var state = Self.openState()
        for _ in 0..<5 {
            #expect(state.connectionEnded(nil, jitter: 0) == .wait(.seconds(3)))
            #expect(state.waited() == .connect)
            #expect(state.headReceived(statusCode: 200, mimeType: "text/event-stream") == .read)
        }
    }

    /// The delays in milliseconds after each of some failures to connect.
    private static func delays(_ state: inout EventSourceState, count: Int, jitter: Double = 0) -> [Int64] {
        (0..<count).map { _ in
            guard case .wait(let delay) = state.connectionEnded(.connection(.refused), jitter: jitter) else {
                return -1
            }
            _ = state.waited()
            return delay.components.seconds * 1000 + delay.components.attoseconds / 1_000_000_000_000_000
        }
    }

    @Test(
        arguments: [
            (Duration.seconds(3), Duration.seconds(30), 0.0, [3000, 6000, 12000, 24000, 30000, 30000, 30000]),
            (.seconds(3), .seconds(30), 1.0, [3750, 7500, 15000, 30000, 37500, 37500, 37500]),
            (.seconds(3), .seconds(30), 0.5, [3375, 6750, 13500, 27000, 33750, 33750, 33750]),
            (.zero, .seconds(30), 0.0, [0, 2000, 4000, 8000, 16000, 30000, 30000]),
            (.milliseconds(10), .seconds(5), 0.0, [10, 2000, 4000, 5000, 5000, 5000, 5000]),
            (.seconds(60), .seconds(30), 0.0, [60000, 60000, 60000, 60000, 60000, 60000, 60000]),
            (.seconds(60), .seconds(100), 0.0, [60000, 100_000, 100_000, 100_000, 100_000, 100_000, 100_000]),
            (.seconds(-1), .seconds(-1), 0.0, [0, 0, 0, 0, 0, 0, 0]),
            (.seconds(1 << 60), .seconds(1 << 60), 0.0, [Int64](repeating: 86_400_000, count: 7)),
        ] as [(Duration, Duration, Double, [Int64])])
    func `the wait doubles within bounds while no connection can be made`(
        _ time: Duration, maximum: Duration, jitter: Double, delays: [Int64]
    ) {
        var state = Self.state(.init(reconnectionTime: time, maximumReconnectionDelay: maximum))
        #expect(Self.delays(&state, count: delays.count, jitter: jitter) == delays)
    }

    @Test func `The wait stays at its maximum`() {
        var state = Self.state()
        #expect(Self.delays(&state, count: 1000).last == 30000)
        #expect(state.failedAttempts == 1000)
    }

    @Test func `A successful connection resets the wait`() {
        var state = Self.state()
        #expect(Self.delays(&state, count: 3) == [3000, 6000, 12000])
        #expect(state.headReceived(statusCode: 200, mimeType: "text/event-stream") == .read)
        #expect(state.connectionEnded(.connection(.lost), jitter: 0) == .wait(.seconds(3)))
        _ = state.waited()
        #expect(Self.delays(&state, count: 2) == [3000, 6000])
    }

    @Test func `The server's reconnection time applies to later waits`() {
        var state = Self.openState()
        state.reconnectionTimeReceived(.milliseconds(700))
        #expect(state.connectionEnded(nil, jitter: 0) == .wait(.milliseconds(700)))
        _ = state.waited()
        #expect(Self.delays(&state, count: 2) == [700, 2000])
        #expect(state.headReceived(statusCode: 200, mimeType: "text/event-stream") == .read)
        #expect(state.connectionEnded(nil, jitter: 0) == .wait(.milliseconds(700)))
    }

    @Test(arguments: [(1, 0), (0, 0), (-1, 0), (2, 1), (5, 4)])
    func `a number of failed attempts in a row ends the source`(_ maximum: Int, waits: Int) {
        var state = Self.state(.init(maximumAttempts: maximum))
        #expect(Self.delays(&state, count: waits).allSatisfy { $0 > 0 })
        #expect(state.connectionEnded(.connection(.refused), jitter: 0) == .fail(.connection(.refused)))
        #expect(state.phase == .closed)
    }

    @Test func `Only failed attempts count, and lost connections do not`() {
        var state = Self.openState(.init(maximumAttempts: 2))
        for _ in 0..<5 {
            #expect(state.connectionEnded(.connection(.lost), jitter: 0) == .wait(.seconds(3)))
            _ = state.waited()
            #expect(state.connectionEnded(.connection(.refused), jitter: 0) == .wait(.seconds(3)))
            _ = state.waited()
            #expect(state.headReceived(statusCode: 200, mimeType: "text/event-stream") == .read)
        }
    }

    @Test func `A source that does not reconnect ends with the result of its connection`() {
        let configuration = EventSource.Configuration(reconnects: false)
        var ended = Self.openState(configuration)
        #expect(ended.connectionEnded(nil, jitter: 0) == .finish)
        #expect(ended.phase == .closed)
        var lost = Self.openState(configuration)
        #expect(lost.connectionEnded(.connection(.lost), jitter: 0) == .fail(.connection(.lost)))
        var refused = Self.state(configuration)
        #expect(refused.connectionEnded(.connection(.refused), jitter: 0) == .fail(.connection(.refused)))
    }

    @Test(arguments: [(HTTPMethod.post, false, false), (.post, true, true), (.put, false, true), (.get, false, true)])
    func `A request that is not idempotent is not sent again unasked`(_ method: HTTPMethod, asked: Bool, again: Bool) {
        var configuration = EventSource.Configuration()
        configuration.repeatsNonIdempotentRequests = asked
        for failure in [RequestError.Kind.connection(.lost), nil] {
            var state = Self.openState(configuration)
            state.requestSent(method)
            let action = state.connectionEnded(failure, jitter: 0)
            #expect(action == (again ? .wait(.seconds(3)) : failure.map { .fail($0) } ?? .finish))
        }
    }

    @Test func `A source can be cancelled in every state`() {
        var connecting = Self.state()
        #expect(connecting.cancelled() == .fail(.cancelled))
        var open = Self.openState()
        #expect(open.cancelled() == .fail(.cancelled))
        var waiting = Self.openState()
        _ = waiting.connectionEnded(nil, jitter: 0)
        #expect(waiting.cancelled() == .fail(.cancelled))
        #expect(connecting.phase == .closed && open.phase == .closed && waiting.phase == .closed)
    }
}
