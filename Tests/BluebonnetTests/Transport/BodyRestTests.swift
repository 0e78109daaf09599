import Testing

@testable import Bluebonnet

/// Bytes that libcurl has delivered but that are not part of the body yet, in ``TransferState``.
@Suite struct BodyRestTests {
    /// A state in a body, of which bytes are left.
    private func state(isHeld: Bool) -> TransferState {
        var state = TransferState(hasStreamedBody: false, isSuspended: false, headLimit: 100, bodyLimit: nil)
        #expect(state.life.started() == .admit)
        #expect(state.life.admitted(opensBody: false) == .add(continues: false))
        #expect(state.bytesArrived(1, room: 9) == .refuse, "there is no head")
        _ = state.headLineReceived(bytes: 17, isStatusLine: true, isEmpty: false, statusCode: 200)
        #expect(state.headLineReceived(bytes: 2, isStatusLine: false, isEmpty: true, statusCode: 200) == .completeHead)
        #expect(state.bytesArrived(1, room: 9) == .take)
        if isHeld { state.bodyHeld() }
        state.bytesLeft()
        return state
    }

    @Test func `more bytes wait until the current bytes are taken`() {
        var state = state(isHeld: false)
        #expect(!state.isPaused, "it is our turn")
        #expect(state.bytesArrived(1, room: 1) == .keep && !state.isReceivingPaused)
        #expect(state.bytesArrived(1, room: 0) == .pause && state.isReceivingPaused)
        #expect(state.bodyBytesReceived(3) == .accept, "decoded bytes go on")
        #expect(state.restTaken() == .unpause)
        #expect(state.bytesArrived(1, room: 9) == .take)
        #expect(state.restTaken() == .nothing)
    }

    @Test func `a reader with room first receives the current bytes`() {
        var state = state(isHeld: true)
        #expect(state.isPaused && !state.takesBody)
        #expect(state.turnEndsWithRest() == .unpause && state.isReceivingPaused)
        #expect(state.turnEndsWithRest() == .nothing, "it is paused")
        #expect(state.bodyReleased() == .nothing)
        #expect(state.takesBody && !state.isPaused && state.isReceivingPaused)
        #expect(state.restTaken() == .unpause)
        #expect(!state.isReceivingPaused)
    }

    @Test func `libcurl stays paused if the reader is full again`() {
        var state = state(isHeld: false)
        #expect(state.bytesArrived(1, room: 0) == .pause)
        state.bodyHeld()
        #expect(state.restTaken() == .nothing)
        #expect(state.isReceivingPaused)
        #expect(state.bodyReleased() == .unpause)
    }

    @Test func `a transfer that is suspended and resumed takes the rest before it receives`() {
        var state = state(isHeld: false)
        #expect(state.bytesArrived(1, room: 0) == .pause)
        #expect(state.life.suspended(wasSent: true) == .pause)
        #expect(state.turnEndsWithRest() == .nothing, "suspending has paused libcurl")
        #expect(!state.takesBody)
        #expect(state.resumed() == .unpause)
        #expect(state.isReceivingPaused, "for the sending direction alone")
        #expect(state.restTaken() == .unpause)
    }

    @Test func `a resumed transfer whose rest waits for its reader receives no more`() {
        var state = state(isHeld: true)
        #expect(state.life.suspended(wasSent: true) == .pause && !state.isReceivingPaused)
        #expect(state.resumed() == .unpause && state.isReceivingPaused)
        #expect(state.bodyReleased() == .nothing)
        #expect(state.restTaken() == .unpause && !state.isReceivingPaused)
    }

    /// Why a body cannot be delivered, and whether its bytes are kept, so that an error after them drops none.
    @Test(arguments: ["held", "suspended", "turn", "speed", "limited", "nothing"])
    func `bytes that cannot be delivered are kept, but for those that are rationed`(_ reason: String) {
        var state = state(isHeld: false)
        #expect(state.restTaken() == .nothing)
        switch reason {
        case "held", "limited": state.bodyHeld()
        case "suspended": #expect(state.life.suspended(wasSent: true) == .pause)
        case "turn": #expect(state.turnEnded() == true)
        case "speed": state.speedExceeded()
        default: break
        }
        let action = state.bytesArrived(5, room: reason == "limited" ? 0 : 9)
        switch reason {
        case "held", "suspended": #expect(action == .keep && state.hasRest && !state.acceptsBytes)
        case "turn", "speed", "limited": #expect(action == .pause && !state.hasRest)
        default: #expect(action == .take && !state.hasRest && state.turnEndsWithRest() == .nothing)
        }
    }

    @Test func `the rest is dropped when the request is sent again`() {
        var state = state(isHeld: false)
        _ = state.headLineReceived(bytes: 17, isStatusLine: true, isEmpty: false, statusCode: 200)
        #expect(!state.hasRest)
    }
}
