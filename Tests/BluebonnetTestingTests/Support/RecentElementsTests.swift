import Testing

@testable import BluebonnetTesting

@Suite struct RecentElementsTests {
    @Test(
        arguments: [
            (0, 3, []), (1, 0, []), (1, 1, [1]), (3, 2, [1, 2]), (3, 3, [1, 2, 3]), (3, 4, [2, 3, 4]),
            (3, 8, [6, 7, 8]),
            (-1, 2, []),
        ] as [(Int, Int, [Int])])
    func `The latest elements are kept, the oldest first`(capacity: Int, count: Int, kept: [Int]) {
        var recent = RecentElements<Int>(capacity: capacity)
        for number in 0..<count { recent.append(number + 1) }
        #expect(recent.elements == kept)
        #expect(recent.count == count)
        #expect(recent.droppedCount == count - kept.count)
        for number in -1...count + 1 { #expect(recent[number] == (kept.contains(number) ? number : nil)) }
    }
}
