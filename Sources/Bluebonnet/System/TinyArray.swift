/// A list that allocates no memory for a single element.
///
/// Most lists of this type have one element. With arrays, a small GET request needs 1.5 % more instructions.
struct TinyArray<Element> {
    private var first: Element?
    private var others: [Element] = []

    var isEmpty: Bool { first == nil }
    var last: Element? { others.last ?? first }
    var array: [Element] { first.map { [$0] + others } ?? [] }

    mutating func append(_ element: Element) {
        if first == nil {
            first = element
        } else {
            others.append(element)
        }
    }

    mutating func append(contentsOf elements: TinyArray) {
        elements.forEach { append($0) }
    }

    func forEach(_ body: (Element) -> Void) {
        if let first { body(first) }
        for element in others { body(element) }
    }

    /// Removes and returns all elements.
    mutating func takeAll() -> TinyArray {
        defer { self = TinyArray() }
        return self
    }
}

extension TinyArray: Sequence {
    func makeIterator() -> Iterator { Iterator(first: first, others: others[...]) }

    struct Iterator: IteratorProtocol {
        fileprivate var first: Element?
        fileprivate var others: ArraySlice<Element>

        mutating func next() -> Element? { first.take() ?? others.popFirst() }
    }
}

extension TinyArray: Sendable where Element: Sendable {}
