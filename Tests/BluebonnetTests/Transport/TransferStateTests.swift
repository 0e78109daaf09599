import Testing

@testable import Bluebonnet

@Suite struct TransferStateTests {
    private func state(
        streamed: Bool = false, suspended: Bool = false, headLimit: Int = 100, bodyLimit: Int64? = 10
    ) -> TransferState {
        TransferState(hasStreamedBody: streamed, isSuspended: suspended, headLimit: headLimit, bodyLimit: bodyLimit)
    }

    /// A line of a head, with its text, the status code of the head, and the expected action.
    typealias Line = (text: String, status: Int?, action: TransferState.HeadAction)

    private func feed(_ lines: [Line], into state: inout TransferState) {
        for line in lines {
            let action = state.headLineReceived(
                bytes: line.text.utf8.count, isStatusLine: line.text.hasPrefix("HTTP/"), isEmpty: line.text == "\r\n",
                statusCode: line.status)
            #expect(action == line.action, "\(line.text)")
        }
    }

    @Test func `A head is kept line by line until it is complete`() {
        var state = state()
        feed(
            [
                ("HTTP/1.1 200 OK\r\n", 200, .beginHead), ("A: b\r\n", 200, .append), ("\r\n", 200, .completeHead),
                ("Trailer: x\r\n", 200, .ignore), ("\r\n", 200, .ignore),
            ], into: &state)
        #expect(state.download == .receivingBody(bytes: 0))
    }

    @Test func `Trailers have the limit of heads, counted from zero`() {
        var state = state(headLimit: 20)
        feed(
            [
                ("HTTP/1.1 200 OK\r\n", 200, .beginHead), ("\r\n", 200, .completeHead),
                ("A: 3456789\r\n", 200, .ignore), ("B: 345\r\n", 200, .ignore),
                ("C\r\n", 200, .refuse(.headTooLarge(limit: 20))),
            ], into: &state)
    }

    @Test func `Informational heads are dropped before the final head`() {
        var state = state()
        feed(
            [
                ("HTTP/1.1 103 Early Hints\r\n", 103, .beginHead), ("Link: x\r\n", 103, .append),
                ("\r\n", 103, .dropInformationalHead), ("HTTP/1.1 100 Continue\r\n", 100, .beginHead),
                ("\r\n", 100, .dropInformationalHead), ("HTTP/1.1 204 No Content\r\n", 204, .beginHead),
                ("\r\n", 204, .completeHead),
            ], into: &state)
    }

    @Test func `Switching protocols is a final response`() {
        var state = state()
        feed([("HTTP/1.1 101 X\r\n", 101, .beginHead), ("\r\n", 101, .completeHead)], into: &state)
    }

    @Test func `A status line after a head begins a new head, because libcurl may repeat a request`() {
        var state = state()
        feed(
            [
                ("HTTP/1.1 401 X\r\n", 401, .beginHead), ("\r\n", 401, .completeHead),
                ("HTTP/1.1 200 OK\r\n", 200, .beginHead), ("\r\n", 200, .completeHead),
            ], into: &state)
        #expect(state.receivedBytes == 0)
    }

    @Test func `A status line within a head is malformed`() {
        var state = state()
        feed(
            [
                ("HTTP/1.1 200 OK\r\n", 200, .beginHead), ("A: b\r\n", 200, .append),
                ("HTTP/1.1 200 OK\r\n", 200, .refuse(.malformed)),
            ], into: &state)
    }

    @Test func `A head that exceeds the limit is refused, in one line or in many lines`() {
        var one = state(headLimit: 10)
        feed([("HTTP/1.1 200 OK\r\n", 200, .refuse(.headTooLarge(limit: 10)))], into: &one)
        var many = state(headLimit: 30)
        feed(
            [
                ("HTTP/1.1 200 OK\r\n", 200, .beginHead), ("A: 1234\r\n", 200, .append),
                ("B: 1234\r\n", 200, .refuse(.headTooLarge(limit: 30))),
            ], into: &many)
    }

    @Test func `A status line without a code is refused when the head ends`() {
        var state = state()
        feed([("HTTP/1.1 abc\r\n", nil, .beginHead), ("\r\n", nil, .refuse(.malformed))], into: &state)
    }

    private func withHead(bodyLimit: Int64? = 10, suspended: Bool = false) -> TransferState {
        var state = state(bodyLimit: bodyLimit)
        feed([("HTTP/1.1 200 OK\r\n", 200, .beginHead), ("\r\n", 200, .completeHead)], into: &state)
        if suspended { _ = state.life.suspended(wasSent: true) }
        return state
    }

    @Test func `A body is accepted up to exactly the limit`() {
        var state = withHead()
        #expect(state.bodyBytesReceived(4) == .accept)
        #expect(state.bodyBytesReceived(6) == .accept)
        #expect(state.bodyBytesReceived(1) == .refuse(.bodyTooLarge(limit: 10)))
        #expect(state.receivedBytes == 10)
        var unlimited = withHead(bodyLimit: nil)
        #expect(unlimited.bodyBytesReceived(1 << 40) == .accept)
    }

    @Test func `A body before its head is malformed`() {
        var state = state()
        #expect(state.bodyBytesReceived(1) == .refuse(.malformed))
    }

    @Test func `A suspended transfer leaves the body with libcurl`() {
        var state = withHead(suspended: true)
        #expect(state.bodyBytesReceived(4) == .pause)
        var resumed = withHead()
        Self.add(&resumed)
        #expect(resumed.life.suspended(wasSent: true) == .pause)
        #expect(resumed.bodyBytesReceived(4) == .pause)
        #expect(resumed.resumed() == .unpause)
        #expect(resumed.bodyBytesReceived(4) == .accept)
    }

    private static func add(_ state: inout TransferState) {
        _ = state.life.started()
        _ = state.life.admitted(opensBody: false)
    }

    @Test func `An upload counts the sent bytes, ends with no bytes, and can be rewound`() {
        var state = state(streamed: true)
        state.bodyBytesSent(5)
        state.bodyBytesSent(3)
        #expect(state.upload == .sending(sent: 8))
        state.bodyBytesSent(0)
        #expect(state.upload == .sent)
        state.bodyRewound(to: 0)
        #expect(state.upload == .sending(sent: 0))
        var none = self.state()
        none.bodyBytesSent(5)
        none.bodyRewound(to: 0)
        #expect(none.upload == .nothingToSend)
    }

    @Test func `A refused body stops, whether libcurl waits for more bytes or not`() {
        var idle = state(streamed: true)
        Self.add(&idle)
        idle.bodyBytesMissing()
        idle.bodyRefused()
        #expect(idle.upload == .refused)
        #expect(!idle.isPaused)
        #expect(idle.bodyBytesArrived() == .nothing)
        var busy = state(streamed: true)
        busy.bodyBytesSent(5)
        busy.bodyRefused()
        busy.bodyBytesSent(5)
        #expect(busy.upload == .refused)
        busy.bodyRewound(to: 0)
        #expect(busy.upload == .sending(sent: 0))
    }

    @Test func `A body that was sent or does not exist cannot be refused`() {
        var nothing = state()
        nothing.bodyRefused()
        #expect(nothing.upload == .nothingToSend)
        var sent = state(streamed: true)
        sent.bodyBytesSent(0)
        sent.bodyRefused()
        #expect(sent.upload == .sent)
    }
}
