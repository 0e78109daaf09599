/// The values that wait for one observer, oldest first, as many as its policy allows.
struct StreamBuffer<Element> {
    private let policy: StreamBufferingPolicy
    private var elements: [Element?] = []
    private var head = 0

    init(_ policy: StreamBufferingPolicy) {
        self.policy = policy
    }

    /// How many values wait.
    var count: Int { elements.count - head }

    /// Adds a value, which may drop another one or be dropped itself; returns the other.
    mutating func append(_ element: Element) -> Element? {
        var dropped: Element?
        switch policy {
        case .unbounded: break
        case .oldest(let limit):
            guard count < limit else { return nil }
        case .newest(let limit):
            guard limit > 0 else { return nil }
            if count >= limit { dropped = popFirst() }
        }
        elements.append(element)
        return dropped
    }

    /// Takes the oldest value.
    mutating func popFirst() -> Element? {
        guard head < elements.count else { return nil }
        let element = elements[head].take()
        head += 1
        // Moving what is left once half is used up costs each value at most one move on average.
        if head * 2 >= elements.count {
            elements.removeFirst(head)
            head = 0
        }
        return element
    }
}
