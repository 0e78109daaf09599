import Testing

@testable import Bluebonnet

@Suite struct WebSocketReconnectionStateTests {
    private typealias Kind = RequestError.Kind

    /// The state of a socket with its policy, as its loop uses them.
    private struct State {
        let policy: WebSocketReconnection
        var state: ReconnectionState

        init(_ policy: WebSocketReconnection) { (self.policy, state) = (policy, policy.initialState) }

        var phase: ReconnectionState.Phase { state.phase }

        mutating func opened() -> ReconnectionState.Action { state.opened() }
        mutating func waited() -> ReconnectionState.Action { state.waited() }

        mutating func ended(
            _ failure: RequestError.Kind?, code: WebSocketCloseCode?, jitter: Double
        ) -> ReconnectionState.Action {
            state.ended(failure, isFinal: policy.isFinal(code, in: state.phase), jitter: jitter)
        }
    }

    private static func openState(_ policy: WebSocketReconnection = .init()) -> State {
        var state = State(policy)
        #expect(state.opened() == .read)
        return state
    }

    @Test(
        arguments: [
            (nil, .goingAway), (nil, .noStatusReceived), (.webSocket(.closed(.abnormalClosure)), .abnormalClosure),
            (.webSocket(.closed(.internalError)), .internalError), (.webSocket(.closed(1012)), 1012),
            (.webSocket(.closed(4000)), 4000), (.webSocket(.pingUnanswered), .abnormalClosure),
            (.timedOut(.idle), .abnormalClosure), (.connection(.lost), .abnormalClosure),
        ] as [(RequestError.Kind?, WebSocketCloseCode)])
    func `the socket connects again after an end that is not final`(
        _ kind: RequestError.Kind?, code: WebSocketCloseCode
    ) {
        var state = Self.openState()
        #expect(state.ended(kind, code: code, jitter: 0) == .wait(.seconds(3)))
        #expect(state.phase == .waiting)
        #expect(state.waited() == .connect)
        #expect(state.phase == .connecting)
    }

    @Test(
        arguments: [
            (nil, .normalClosure, .finish),
            (.webSocket(.closed(.policyViolation)), .policyViolation, .fail(.webSocket(.closed(.policyViolation)))),
            (.webSocket(.closed(.messageTooBig)), .messageTooBig, .fail(.webSocket(.closed(.messageTooBig)))),
            (
                .webSocket(.violation(.protocolError)), .abnormalClosure,
                .fail(.webSocket(.violation(.protocolError)))
            ),
            (.cancelled, .abnormalClosure, .fail(.cancelled)),
            (.sessionShutDown, .abnormalClosure, .fail(.sessionShutDown)),
        ] as [(RequestError.Kind?, WebSocketCloseCode, ReconnectionState.Action)])
    func `these ends are final`(
        _ kind: RequestError.Kind?, code: WebSocketCloseCode, action: ReconnectionState.Action
    ) {
        var state = Self.openState()
        #expect(state.ended(kind, code: code, jitter: 0) == action)
        #expect(state.phase == .closed)
    }

    @Test func `the policy names the final codes`() {
        var never = Self.openState(.init(finalCloseCodes: []))
        #expect(never.ended(nil, code: .normalClosure, jitter: 0) == .wait(.seconds(3)))
        var away = Self.openState(.init(finalCloseCodes: [.goingAway, 4001]))
        #expect(away.ended(nil, code: .goingAway, jitter: 0) == .finish)
        var own = Self.openState(.init(finalCloseCodes: [.goingAway, 4001]))
        let kind = Kind.webSocket(.closed(4001))
        #expect(own.ended(kind, code: 4001, jitter: 0) == .fail(kind))
    }

    @Test(arguments: [408, 425, 429, 500, 502, 503, 504])
    func `a handshake that may succeed later is tried again`(_ code: Int) {
        var state = State(.init())
        let kind = Kind.webSocket(.handshake(.unacceptableStatusCode(code)))
        #expect(state.ended(kind, code: .abnormalClosure, jitter: 1) == .wait(.milliseconds(3750)))
        var retried = State(.init())
        #expect(retried.ended(.retry(original: kind), code: nil, jitter: 0) == .wait(.seconds(3)))
    }

    @Test(
        arguments: [200, 204, 302, 400, 401, 403, 404, 407, 410, 426].map {
            .webSocket(.handshake(.unacceptableStatusCode($0)))
        } + [
            .webSocket(.handshake(.invalidProtocol)), .webSocket(.handshake(.unofferedProtocol)),
            .webSocket(.handshake(.invalidField("Upgrade"))), .invalidURL, .trust(.untrustedIssuer), .adaptation,
            .authentication(.unsupportedScheme("Digest")), .sessionShutDown, .cancelled,
        ] as [RequestError.Kind])
    func `a handshake that would fail again ends the socket`(_ kind: RequestError.Kind) {
        var state = State(.init())
        #expect(state.ended(kind, code: .abnormalClosure, jitter: 0) == .fail(kind))
        #expect(state.phase == .closed)
    }

    @Test func `the wait doubles until a connection is open`() {
        var state = State(.init(reconnectionTime: .seconds(1), maximumReconnectionDelay: .seconds(5)))
        for seconds in [1, 2, 4, 5, 5] {
            #expect(state.ended(.connection(.refused), code: nil, jitter: 0) == .wait(.seconds(seconds)))
            #expect(state.waited() == .connect)
        }
        #expect(state.opened() == .read)
        #expect(state.ended(nil, code: .goingAway, jitter: 0) == .wait(.seconds(1)))
    }

    @Test(arguments: [(1, 0), (0, 0), (-1, 0), (3, 2)])
    func `failed attempts in a row are limited, and lost connections are not`(_ maximum: Int, waits: Int) {
        var state = Self.openState(.init(maximumAttempts: maximum))
        for _ in 0..<5 {
            #expect(state.ended(.connection(.lost), code: .abnormalClosure, jitter: 0) == .wait(.seconds(3)))
            #expect(state.waited() == .connect)
            #expect(state.opened() == .read)
        }
        #expect(state.ended(nil, code: .goingAway, jitter: 0) == .wait(.seconds(3)))
        for _ in 0..<waits {
            #expect(state.waited() == .connect)
            guard case .wait = state.ended(.connection(.refused), code: nil, jitter: 0) else {
                Issue.record("the socket ended early")
                return
            }
        }
        #expect(state.waited() == .connect)
        #expect(state.ended(.connection(.refused), code: nil, jitter: 0) == .fail(.connection(.refused)))
    }

    @Test func `closing and cancelling are final`() {
        var closed = Self.openState()
        #expect(closed.state.closed(.finish) == .finish)
        #expect(closed.phase == .closed)
        var cancelled = Self.openState()
        #expect(cancelled.state.cancelled() == .fail(.cancelled))
        #expect(cancelled.phase == .closed)
    }
}
