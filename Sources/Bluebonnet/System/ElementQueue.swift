/// Elements in the order in which they were added; their memory is used again.
///
/// The memory has room for at most about twice as many elements as are stored, even if the queue is never empty.
struct ElementQueue<Element> {
    private var elements: [Element?] = []
    /// The index of the first element; the ones before it are `nil`.
    private var first = 0

    var isEmpty: Bool { elements.isEmpty }
    /// The oldest element; `nil` if there is none.
    var oldest: Element? { isEmpty ? nil : elements[first] }

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func popFirst() -> Element? {
        guard !isEmpty else { return nil }
        let element = elements[first].take()
        first += 1
        // The rest is moved when half of the array is unused, which costs at most one move per element on average.
        if first * 2 >= elements.count {
            if first == elements.count {
                elements.removeAll(keepingCapacity: first <= 16)
            } else {
                elements.removeFirst(first)
            }
            first = 0
        }
        return element
    }
}

extension ElementQueue: Sendable where Element: Sendable {}
