/// Elements in the order in which they were added; their memory is used again.
///
/// At most half of its places are unused, even if the queue is never empty. The memory of the largest number of
/// elements is kept until the queue is empty.
struct ElementQueue<Element> {
    private var elements: [Element?] = []
    /// The index of the first element; the ones before it are `nil`.
    private var first = 0

    var isEmpty: Bool { elements.isEmpty }
    var count: Int { elements.count - first }
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
