/// Holds what is to be done at which time, the earliest first.
///
/// Scheduling and taking the earliest cost O(log n); a cancelled entry is forgotten at once and its place in the heap
/// is dropped when it comes up, or when such places have become the majority.
struct TimerHeap {
    private struct Place {
        let deadline: Int64
        let id: TimerID
    }

    private var heap: [Place] = []
    private var actions: [TimerID: () -> Void] = [:]
    private var lastNumber: UInt64 = 0

    /// How many actions are scheduled.
    var count: Int { actions.count }

    /// When the earliest action is due.
    var earliestDeadline: Int64? {
        mutating get {
            dropCancelledPlaces()
            return heap.first?.deadline
        }
    }

    mutating func schedule(at deadline: Int64, _ action: @escaping () -> Void) -> TimerID {
        lastNumber += 1
        let id = TimerID(number: lastNumber)
        actions[id] = action
        heap.append(Place(deadline: deadline, id: id))
        siftUp(from: heap.count - 1)
        return id
    }

    mutating func cancel(_ id: TimerID) {
        guard actions.removeValue(forKey: id) != nil, heap.count > 64, heap.count > 2 * actions.count else { return }
        let live = heap.filter { actions[$0.id] != nil }
        heap = live.sorted { Self.precedes($0, $1) }
    }

    /// Takes the earliest action out if it is due.
    mutating func popDue(at now: Int64) -> (() -> Void)? {
        dropCancelledPlaces()
        guard let first = heap.first, first.deadline <= now else { return nil }
        removeFirst()
        return actions.removeValue(forKey: first.id)
    }

    private mutating func dropCancelledPlaces() {
        while let first = heap.first, actions[first.id] == nil { removeFirst() }
    }

    private static func precedes(_ left: Place, _ right: Place) -> Bool {
        (left.deadline, left.id.number) < (right.deadline, right.id.number)
    }

    private mutating func removeFirst() {
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var parent = 0
        while true {
            let left = 2 * parent + 1
            let right = left + 1
            var smallest = parent
            if left < heap.count, Self.precedes(heap[left], heap[smallest]) { smallest = left }
            if right < heap.count, Self.precedes(heap[right], heap[smallest]) { smallest = right }
            guard smallest != parent else { return }
            heap.swapAt(parent, smallest)
            parent = smallest
        }
    }

    private mutating func siftUp(from start: Int) {
        var child = start
        while child > 0 {
            let parent = (child - 1) / 2
            guard Self.precedes(heap[child], heap[parent]) else { return }
            heap.swapAt(child, parent)
            child = parent
        }
    }
}
