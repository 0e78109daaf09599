/// Keeps the latest elements, up to a number, and counts all; a pure value.
struct RecentElements<Element: Sendable>: Sendable {
    private let capacity: Int
    /// A ring; `start` is the oldest once it is full.
    private var ring: [Element] = []
    private var start = 0

    /// How many elements there have been.
    private(set) var count = 0

    init(capacity: Int) {
        self.capacity = max(0, capacity)
    }

    /// What is kept, the oldest first.
    var elements: [Element] { Array(ring[start...] + ring[..<start]) }

    /// How many elements have been dropped.
    var droppedCount: Int { count - ring.count }

    /// The element with a number, from 1 on, if it is kept.
    subscript(number: Int) -> Element? {
        let index = number - droppedCount - 1
        guard index >= 0, index < ring.count else { return nil }
        return ring[(start + index) % ring.count]
    }

    /// Adds an element; returns the one that had to make room.
    @discardableResult
    mutating func append(_ element: Element) -> Element? {
        count += 1
        guard capacity > 0 else { return nil }
        guard ring.count == capacity else {
            ring.append(element)
            return nil
        }
        defer { start = (start + 1) % capacity }
        return exchange(&ring[start], with: element)
    }

    /// Drops everything; the count stays.
    mutating func removeAll() {
        ring.removeAll()
        start = 0
    }
}
