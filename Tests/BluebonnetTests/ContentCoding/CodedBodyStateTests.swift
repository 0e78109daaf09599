import Testing

@testable import Bluebonnet

/// Coded bytes that are not decoded yet, in ``TransferState``.
@Suite struct CodedBodyStateTests {
    /// A state in a body, of which bytes are left to decode.
    private func state(isHeld: Bool) -> TransferState {
        var state = TransferState(hasStreamedBody: false, isSuspended: false, headLimit: 100, bodyLimit: nil)
        #expect(state.started() == .add)
        #expect(state.codedBytesReceived() == .refuse(.malformed), "there is no head")
        _ = state.headLineReceived(bytes: 17, isStatusLine: true, isEmpty: false, statusCode: 200)
        #expect(state.headLineReceived(bytes: 2, isStatusLine: false, isEmpty: true, statusCode: 200) == .completeHead)
        #expect(state.codedBytesReceived() == .accept)
        if isHeld { state.bodyHeld() }
        state.codedBytesLeft()
        return state
    }

    @Test func `more bytes wait in libcurl until the current bytes are decoded`() {
        var state = state(isHeld: false)
        #expect(!state.isPaused, "it is our turn")
        #expect(state.codedBytesReceived() == .pause)
        #expect(state.bodyBytesReceived(3) == .accept, "decoded bytes go on")
        #expect(state.codedBytesDecoded() == .unpause)
        #expect(state.codedBytesReceived() == .accept)
        #expect(state.codedBytesDecoded() == .nothing)
    }

    @Test func `a reader with room first receives the current bytes`() {
        var state = state(isHeld: true)
        #expect(state.isPaused && !state.takesBody)
        #expect(state.codedBytesReceived() == .pause)
        #expect(state.bodyReleased() == .nothing)
        #expect(state.takesBody && !state.isPaused && state.isReceivingPaused)
        #expect(state.codedBytesDecoded() == .unpause)
        #expect(!state.isReceivingPaused)
    }

    @Test func `libcurl stays paused if the reader is full again`() {
        var state = state(isHeld: false)
        #expect(state.codedBytesReceived() == .pause)
        state.bodyHeld()
        #expect(state.codedBytesDecoded() == .nothing)
        #expect(state.isReceivingPaused)
        #expect(state.bodyReleased() == .unpause)
    }

    @Test func `a transfer that is suspended and resumed decodes the rest before it receives`() {
        var state = state(isHeld: false)
        #expect(state.codedBytesReceived() == .pause)
        #expect(state.suspended() == .pause)
        #expect(!state.takesBody)
        #expect(state.resumed() == .unpause)
        #expect(state.isReceivingPaused, "for the sending direction alone")
        #expect(state.codedBytesDecoded() == .unpause)
    }

    @Test func `the undecoded rest is dropped when the request is sent again`() {
        var state = state(isHeld: false)
        _ = state.headLineReceived(bytes: 17, isStatusLine: true, isEmpty: false, statusCode: 200)
        #expect(!state.hasCodedRest)
    }
}
