import FoundationEssentials
import Testing

@testable import Bluebonnet

@Suite struct WebSocketStateTests {
    private typealias Action = WebSocketState.Action

    private static func close(_ code: WebSocketCloseCode?, _ reason: String = "") throws -> WebSocketClose {
        try #require(WebSocketClose(code: code, reason: reason))
    }

    private static let violation = WebSocketViolation.protocolError("a mistake")

    /// The states in which the connection has not ended: open, closing, and draining for each reason.
    private static func states() throws -> (open: WebSocketState, closing: WebSocketState, draining: WebSocketState) {
        var closing = WebSocketState()
        _ = closing.closeRequested(try close(1000))
        var draining = WebSocketState()
        _ = draining.received(.close(try close(1001, "bye")))
        return (WebSocketState(), closing, draining)
    }

    @Test func `the user closes, and the server answers and ends the connection`() throws {
        var state = WebSocketState()
        let sent = try Self.close(4000, "done")
        #expect(state.closeRequested(sent) == .sendClose(sent))
        #expect(!state.isOpen && state.mayRead && state.closure == nil)
        #expect(state.received(.text("late", isFinal: true)) == .none)
        #expect(state.received(.close(try Self.close(4000))) == .none)
        #expect(!state.mayRead)
        let closure = WebSocketClosure(sent: sent, received: try Self.close(4000))
        #expect(state == .draining(closure))
        #expect(state.connectionEnded() == .end(closure))
        #expect(state == .closed(closure))
        #expect(closure.isClean && closure.code == 4000)
    }

    @Test(arguments: [nil, 1000, 1001, 3000, 4999] as [WebSocketCloseCode?])
    func `the server closes, and the answer has its code`(_ code: WebSocketCloseCode?) throws {
        var state = WebSocketState()
        let received = try Self.close(code, code == nil ? "" : "bye")
        let answer = try Self.close(code)
        #expect(state.received(.close(received)) == .sendClose(answer))
        let closure = WebSocketClosure(sent: answer, received: received)
        #expect(state == .draining(closure))
        #expect(state.connectionEnded() == .end(closure))
        #expect(closure.isClean)
        #expect(closure.code == code ?? .noStatusReceived)
        #expect(closure.reason == received.reason)
    }

    @Test func `both ends close at once, and each sends one frame`() throws {
        var state = WebSocketState()
        let (sent, received) = (try Self.close(1000), try Self.close(1001, "restart"))
        #expect(state.closeRequested(sent) == .sendClose(sent))
        #expect(state.received(.close(received)) == .none)
        #expect(state.closeRequested(sent) == .none)
        #expect(state.connectionEnded() == .end(WebSocketClosure(sent: sent, received: received)))
        #expect(state.closure?.code == 1001)
    }

    @Test func `the second request to close does nothing`() throws {
        var states = try Self.states()
        let close = try Self.close(4001)
        #expect(states.closing.closeRequested(close) == .none)
        #expect(states.closing == (try Self.states().closing))
        #expect(states.draining.closeRequested(close) == .none)
    }

    @Test func `a violation is answered with its code, and the server ends the connection`() throws {
        var state = WebSocketState()
        let close = try Self.close(1002, "a mistake")
        #expect(state.received(.violation(Self.violation)) == .sendClose(close))
        let closure = WebSocketClosure(sent: close, violation: Self.violation)
        #expect(state == .draining(closure))
        #expect(state.received(.ping(Data())) == .none)
        #expect(state.closeTimeElapsed() == .end(closure))
        #expect(!closure.isClean && closure.code == .abnormalClosure)
    }

    @Test func `a violation after the own close frame ends the connection at once`() throws {
        var state = try Self.states().closing
        let closure = WebSocketClosure(sent: try Self.close(1000), violation: Self.violation)
        #expect(state.received(.violation(Self.violation)) == .end(closure))
        #expect(state.connectionEnded() == .none)
    }

    @Test func `pings are answered until the peer has closed`() throws {
        var states = try Self.states()
        let payload = Data([1, 2])
        #expect(states.open.received(.ping(payload)) == .sendPong(payload))
        #expect(states.closing.received(.ping(payload)) == .sendPong(payload))
        #expect(states.draining.received(.ping(payload)) == .none)
    }

    @Test func `a pong answers its ping and all earlier pings once`() throws {
        var state = WebSocketState()
        for id in 0..<4 as Range<UInt64> { #expect(state.pingRequested() == .sendPing(id: id)) }
        #expect(state.received(.pong(WebSocketState.payload(ofPing: 0))) == .answered([0]))
        #expect(state.received(.pong(WebSocketState.payload(ofPing: 2))) == .answered([1, 2]))
        #expect(state.received(.pong(WebSocketState.payload(ofPing: 1))) == .none)
        #expect(state.received(.pong(WebSocketState.payload(ofPing: 4))) == .none)
        #expect(state.received(.pong(Data())) == .none)
        _ = state.closeRequested(try Self.close(1000))
        #expect(state.received(.pong(WebSocketState.payload(ofPing: 3))) == .answered([3]))
        #expect(state.received(.pong(WebSocketState.payload(ofPing: 3))) == .none)
        #expect(state.pingRequested() == .none)
    }

    @Test func `the payload of a ping is its number in eight bytes`() {
        #expect(WebSocketState.payload(ofPing: 0x0102_0304_0506_0708) == Data([1, 2, 3, 4, 5, 6, 7, 8]))
    }

    @Test(arguments: [1, 2, 3])
    func `unanswered keep-alive pings end the connection at the limit`(_ limit: Int) {
        var state = WebSocketState()
        // A ping of the user does not count.
        #expect(state.pingRequested() == .sendPing(id: 0))
        for id in 1...UInt64(limit) { #expect(state.keepAliveElapsed(limit: limit) == .sendPing(id: id)) }
        let closure = WebSocketClosure(isPingUnanswered: true)
        #expect(state.keepAliveElapsed(limit: limit) == .end(closure))
        #expect(state == .closed(closure))
        #expect(closure.code == .abnormalClosure)
    }

    @Test func `answered keep-alive pings go on, and stop with the close frame`() throws {
        var state = WebSocketState()
        for id in 0..<3 as Range<UInt64> {
            #expect(state.keepAliveElapsed() == .sendPing(id: id))
            #expect(state.received(.pong(WebSocketState.payload(ofPing: id))) == .answered([id]))
        }
        _ = state.closeRequested(try Self.close(1000))
        #expect(state.keepAliveElapsed() == .none)
    }

    @Test func `the end of the connection without close frames is abnormal`() throws {
        var states = try Self.states()
        #expect(states.open.connectionEnded() == .end(WebSocketClosure()))
        #expect(WebSocketClosure().code == .abnormalClosure && !WebSocketClosure().isClean)
        let closure = WebSocketClosure(sent: try Self.close(1000))
        #expect(states.closing.connectionEnded() == .end(closure))
        #expect(!closure.isClean && closure.code == .abnormalClosure)
        #expect(states.closing.connectionEnded() == .none)
    }

    @Test func `the time limit for closing ends every connection that is not open`() throws {
        var states = try Self.states()
        #expect(states.open.closeTimeElapsed() == .none)
        #expect(states.open.isOpen)
        #expect(states.closing.closeTimeElapsed() == .end(WebSocketClosure(sent: try Self.close(1000))))
        let closure = WebSocketClosure(sent: try Self.close(1001), received: try Self.close(1001, "bye"))
        #expect(states.draining.closeTimeElapsed() == .end(closure))
        #expect(states.draining.closeTimeElapsed() == .none)
    }

    @Test func `cancelling ends a connection once`() throws {
        var states = try Self.states()
        for state in [states.open, states.closing, states.draining] {
            var state = state
            guard case .end(let closure) = state.cancelled() else {
                Issue.record("the connection has not ended")
                continue
            }
            #expect(state == .closed(closure))
            #expect(state.cancelled() == .none)
            #expect(state.received(.ping(Data())) == .none)
            #expect(state.received(.close(try Self.close(1000))) == .none)
            #expect(state.keepAliveElapsed() == .none)
        }
        #expect(states.open.received(.binary(Data(), isFinal: true)) == .none)
    }
}
