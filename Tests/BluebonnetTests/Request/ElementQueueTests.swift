import Testing

@testable import Bluebonnet

@Suite struct ElementQueueTests {
    @Test(arguments: [1, 2, 3, 7, 40])
    func `elements leave a queue in the order in which they were added`(_ step: Int) {
        var queue = ElementQueue<Int>()
        var (added, taken) = (0, 0)
        for round in 0..<200 {
            for _ in 0..<(round % step + 1) {
                queue.append(added)
                added += 1
            }
            for _ in 0..<(round % 3) {
                #expect(queue.oldest == (queue.isEmpty ? nil : taken))
                #expect(queue.count == added - taken)
                guard let element = queue.popFirst() else { break }
                #expect(element == taken)
                taken += 1
            }
        }
        while let element = queue.popFirst() {
            #expect(element == taken)
            taken += 1
        }
        #expect(taken == added)
        #expect(queue.isEmpty)
    }

    @Test func `at most half of the places are unused in a queue that is never empty`() {
        var queue = ElementQueue<Int>()
        queue.append(0)
        for number in 1...10_000 {
            queue.append(number)
            _ = queue.popFirst()
        }
        let places = Mirror(reflecting: queue).descendant("elements") as? [Int?]
        #expect((places?.count ?? .max) <= 2 * queue.count + 1)
        #expect(queue.oldest == 10_000)
    }
}
