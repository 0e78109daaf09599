import FoundationEssentials
import Testing

@testable import Bluebonnet

@Suite struct BodyFanOutStateTests {
    /// Larger than the limit for joining pieces.
    private let piece = Data(repeating: 1, count: 5000)

    private func state(high: Int = 10_000, low: Int = 5000) -> BodyFanOutState {
        BodyFanOutState(highWatermark: high, lowWatermark: low)
    }

    @Test func `the transport pauses at the high watermark and continues once at the low watermark`() {
        var state = state()
        let reader = state.joined(cancelsRequest: true)
        #expect(state.received(piece) == .proceed)
        #expect(state.received(piece) == .pause)
        #expect(state.received(piece) == .pause)
        #expect(state.wanted(by: reader) == .take(piece, demandsMore: false))
        #expect(state.wanted(by: reader) == .take(piece, demandsMore: true))
        #expect(state.wanted(by: reader) == .take(piece, demandsMore: false))
        #expect(state.wanted(by: reader) == .wait)
    }

    @Test func `the transport pauses without readers, and all readers before the first byte receive it`() {
        var state = state()
        #expect(state.received(piece) == .pause)
        #expect(state.received(piece) == .pause)
        let first = state.joined(cancelsRequest: true)
        let second = state.joined(cancelsRequest: true)
        #expect(state.wanted(by: second) == .take(piece, demandsMore: false))
        let late = state.joined(cancelsRequest: true)
        #expect(state.wanted(by: late) == .fail(.bodyAlreadyRead))
        #expect(!state.hasNothing(for: late))
        #expect(state.left(late) == .nothing)
        #expect(state.wanted(by: first) == .take(piece, demandsMore: true))
        #expect(state.wanted(by: first) == .take(piece, demandsMore: false))
        #expect(state.wanted(by: first) == .wait)
        #expect(state.wanted(by: second) == .take(piece, demandsMore: false))
        #expect(state.heldBytes == 0)
    }

    @Test func `each reader receives all bytes, and the slowest reader sets the pace`() {
        var state = state()
        let slow = state.joined(cancelsRequest: true)
        let fast = state.joined(cancelsRequest: true)
        #expect(state.received(piece) == .proceed)
        #expect(state.wanted(by: fast) == .take(piece, demandsMore: false))
        #expect(state.received(piece) == .pause)
        #expect(state.wanted(by: fast) == .take(piece, demandsMore: false))
        #expect(state.wanted(by: fast) == .wait)
        #expect(state.wanted(by: slow) == .take(piece, demandsMore: true))
        #expect(state.received(piece) == .pause)
        #expect(state.wanted(by: slow) == .take(piece, demandsMore: true))
    }

    @Test func `a reserved reader keeps the beginning and affects the pace`() {
        var state = state()
        #expect(state.reserved() == true)
        #expect(state.reserved() == true)
        let fast = state.joined(cancelsRequest: true, inPlace: true)
        #expect(state.received(piece) == .proceed)
        #expect(state.wanted(by: fast) == .take(piece, demandsMore: false))
        #expect(state.reserved() == false)
        #expect(state.received(piece) == .pause)
        #expect(state.wanted(by: fast) == .take(piece, demandsMore: false))
        #expect(state.heldBytes == 10_000)
        let slow = state.joined(cancelsRequest: true, inPlace: true)
        #expect(state.wanted(by: slow) == .take(piece, demandsMore: true))
        #expect(state.wanted(by: slow) == .take(piece, demandsMore: false))
        #expect(state.heldBytes == 0)
    }

    @Test func `releasing a reserved reader resumes the others, and releasing the last reader cancels`() {
        var state = state()
        #expect(state.reserved() == true)
        #expect(state.reserved() == true)
        let reader = state.joined(cancelsRequest: true, inPlace: true)
        #expect(state.received(piece) == .proceed)
        #expect(state.received(piece) == .pause)
        _ = state.wanted(by: reader)
        _ = state.wanted(by: reader)
        #expect(state.placeLeft(cancelsRequest: true) == .demandMore)
        #expect(state.left(reader) == .cancel)
        var other = self.state()
        #expect(other.reserved() == true)
        let another = other.joined(cancelsRequest: true)
        #expect(other.left(another) == .nothing)
        #expect(other.placeLeft(cancelsRequest: true) == .cancel)
        var unread = self.state()
        #expect(unread.reserved() == true)
        #expect(unread.placeLeft(cancelsRequest: true) == .nothing)
        unread.taskBegan()
        #expect(unread.reserved() == true)
        #expect(unread.taskEnded(cancelsRequest: true) == .nothing)
        #expect(unread.placeLeft(cancelsRequest: true) == .cancel)
    }

    @Test func `a reader that joins after bytes were dropped misses the beginning`() {
        var state = state()
        #expect(state.received(piece) == .pause)
        let reader = state.joined(cancelsRequest: false)
        #expect(state.left(reader) == .demandMore)
        let late = state.joined(cancelsRequest: true)
        #expect(state.wanted(by: late) == .fail(.bodyAlreadyRead))
    }

    @Test func `the other readers continue when the slowest reader leaves`() {
        var state = state()
        let slow = state.joined(cancelsRequest: true)
        let fast = state.joined(cancelsRequest: true)
        #expect(state.received(piece) == .proceed)
        #expect(state.received(piece) == .pause)
        _ = state.wanted(by: fast)
        _ = state.wanted(by: fast)
        #expect(state.left(slow) == .demandMore)
        #expect(state.left(slow) == .nothing)
        #expect(state.received(piece) == .proceed)
    }

    @Test(arguments: [(true, BodyFanOutState.LeaveAction.cancel), (false, .nothing)])
    func `the last reader that leaves cancels the request if it is set to cancel`(
        cancels: Bool, action: BodyFanOutState.LeaveAction
    ) {
        var state = state()
        let first = state.joined(cancelsRequest: true)
        let second = state.joined(cancelsRequest: cancels)
        #expect(state.left(first) == .nothing)
        #expect(state.left(second) == action)
        // Later bytes are dropped.
        #expect(state.received(piece) == .proceed)
        #expect(state.heldBytes == 0)
    }

    @Test func `the rest of a paused body is received and dropped after the last reader has left`() {
        var state = state()
        let reader = state.joined(cancelsRequest: false)
        #expect(state.received(piece) == .proceed)
        #expect(state.received(piece) == .pause)
        #expect(state.left(reader) == .demandMore)
    }

    @Test func `leaving a body that has ended cancels nothing`() {
        var state = state()
        let reader = state.joined(cancelsRequest: true)
        state.ended(with: nil)
        #expect(state.left(reader) == .nothing)
    }

    @Test func `the end or failure that is reported first follows the last byte`() {
        var complete = state()
        let reader = complete.joined(cancelsRequest: true)
        _ = complete.received(piece)
        complete.ended(with: nil)
        complete.ended(with: RequestError(.cancelled))
        #expect(complete.received(piece) == .stop)
        #expect(complete.wanted(by: reader) == .take(piece, demandsMore: false))
        #expect(complete.wanted(by: reader) == .end)
        let later = complete.joined(cancelsRequest: true)
        #expect(complete.wanted(by: later) == .fail(.bodyAlreadyRead))
        var empty = state()
        empty.ended(with: nil)
        for _ in 1...2 {
            let reader = empty.joined(cancelsRequest: true)
            #expect(empty.wanted(by: reader) == .end)
        }
        var failed = state()
        let other = failed.joined(cancelsRequest: true)
        _ = failed.received(piece)
        failed.ended(with: RequestError(.connection(.lost)))
        #expect(failed.wanted(by: other) == .take(piece, demandsMore: false))
        #expect(failed.wanted(by: other) == .fail(.connection(.lost)))
        let late = failed.joined(cancelsRequest: true)
        #expect(failed.wanted(by: late) == .fail(.connection(.lost)))
    }

    @Test func `small pieces are joined to save memory`() {
        var queue = PieceQueue()
        for number in 0..<8192 { queue.append(Data([UInt8(truncatingIfNeeded: number)]), joiningFrom: 0) }
        #expect(queue.endNumber == 2)
        #expect(queue[0] + queue[1] == Data((0..<8192).map { UInt8(truncatingIfNeeded: $0) }))
        // Pieces that a reader has received do not change.
        queue.append(Data([1]), joiningFrom: 2)
        #expect(queue.endNumber == 3)
    }

    @Test(arguments: [(0, 0), (-1, -1), (10, 20)])
    func `all bytes are delivered with invalid watermarks`(high: Int, low: Int) {
        var state = state(high: high, low: low)
        let reader = state.joined(cancelsRequest: true)
        #expect(state.received(piece) == .pause)
        #expect(state.wanted(by: reader) == .take(piece, demandsMore: true))
    }

    @Test func `a request that was started for its head is cancelled without a reader`() {
        var state = state()
        state.taskBegan()
        state.taskBegan()
        #expect(state.taskEnded(cancelsRequest: true) == .nothing)
        #expect(state.taskEnded(cancelsRequest: true) == .cancel)
        var read = self.state()
        read.taskBegan()
        _ = read.joined(cancelsRequest: true)
        #expect(read.taskEnded(cancelsRequest: true) == .nothing)
        var uncancelled = self.state()
        uncancelled.taskBegan()
        #expect(uncancelled.received(piece) == .pause)
        #expect(uncancelled.taskEnded(cancelsRequest: false) == .demandMore)
        #expect(uncancelled.received(piece) == .proceed)
        #expect(uncancelled.heldBytes == 0)
    }
}
