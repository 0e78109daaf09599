import Testing

@testable import Bluebonnet

@Suite struct TimerQueueTests {
    @Test func `Due actions are returned in the order of their deadlines and then of scheduling`() {
        var timers = TimerQueue()
        var done: [Int] = []
        var generator = SystemRandomNumberGenerator()
        let deadlines = (0..<500).map { _ in Int64.random(in: 0..<100, using: &generator) }
        for (index, deadline) in deadlines.enumerated() {
            _ = timers.schedule(at: deadline) { done.append(index) }
        }
        for now in stride(from: Int64(0), to: 100, by: 7) {
            while let action = timers.popDue(at: now) { action() }
            #expect(done.allSatisfy { deadlines[$0] <= now })
        }
        while let action = timers.popDue(at: 100) { action() }
        #expect(done == deadlines.indices.sorted { (deadlines[$0], $0) < (deadlines[$1], $1) })
        #expect(timers.count == 0)
    }

    @Test func `A cancelled action is not run and not waited for`() {
        var timers = TimerQueue()
        var done: [String] = []
        let first = timers.schedule(at: 10) { done.append("first") }
        _ = timers.schedule(at: 20) { done.append("second") }
        timers.cancel(first)
        timers.cancel(first)
        #expect(timers.earliestDeadline == 20)
        #expect(timers.popDue(at: 15) == nil)
        timers.popDue(at: 20)?()
        #expect(done == ["second"])
        #expect(timers.earliestDeadline == nil)
    }

    @Test func `Many cancelled actions leak nothing`() {
        var timers = TimerQueue()
        let ids = (0..<1_000).map { timers.schedule(at: Int64($0 % 97)) {} }
        for id in ids.dropLast(3) { timers.cancel(id) }
        #expect(timers.count == 3)
        var left = 0
        while timers.popDue(at: .max) != nil { left += 1 }
        #expect(left == 3)
    }
}
