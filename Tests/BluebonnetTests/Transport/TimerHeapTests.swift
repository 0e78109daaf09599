import Testing

@testable import Bluebonnet

@Suite struct TimerHeapTests {
    @Test func `What is due comes out in the order of deadlines, then of scheduling`() {
        var heap = TimerHeap()
        var done: [Int] = []
        var generator = SystemRandomNumberGenerator()
        let deadlines = (0..<500).map { _ in Int64.random(in: 0..<100, using: &generator) }
        for (index, deadline) in deadlines.enumerated() {
            _ = heap.schedule(at: deadline) { done.append(index) }
        }
        for now in stride(from: Int64(0), to: 100, by: 7) {
            while let action = heap.popDue(at: now) { action() }
            #expect(done.allSatisfy { deadlines[$0] <= now })
        }
        while let action = heap.popDue(at: 100) { action() }
        #expect(done == deadlines.indices.sorted { (deadlines[$0], $0) < (deadlines[$1], $1) })
        #expect(heap.count == 0)
    }

    @Test func `A cancelled action is neither done nor waited for`() {
        var heap = TimerHeap()
        var done: [String] = []
        let first = heap.schedule(at: 10) { done.append("first") }
        _ = heap.schedule(at: 20) { done.append("second") }
        heap.cancel(first)
        heap.cancel(first)
        #expect(heap.earliestDeadline == 20)
        #expect(heap.popDue(at: 15) == nil)
        heap.popDue(at: 20)?()
        #expect(done == ["second"])
        #expect(heap.earliestDeadline == nil)
    }

    @Test func `Many cancelled actions leave nothing behind`() {
        var heap = TimerHeap()
        let ids = (0..<10_000).map { heap.schedule(at: Int64($0 % 97)) {} }
        for id in ids.dropLast(3) { heap.cancel(id) }
        #expect(heap.count == 3)
        var left = 0
        while heap.popDue(at: .max) != nil { left += 1 }
        #expect(left == 3)
    }
}
