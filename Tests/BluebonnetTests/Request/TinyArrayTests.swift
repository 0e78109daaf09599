import Testing

@testable import Bluebonnet

struct TinyArrayTests {
    @Test(arguments: 0...4)
    func `a TinyArray behaves like an array`(_ count: Int) {
        var few = TinyArray<Int>()
        let array = Array(0..<count)
        for element in array { few.append(element) }
        #expect(few.array == array)
        #expect(Array(few) == array)
        #expect(few.isEmpty == array.isEmpty)
        #expect(few.last == array.last)
        var visited: [Int] = []
        few.forEach { visited.append($0) }
        #expect(visited == array)
    }

    @Test(arguments: 0...2, 0...2)
    func `elements can be appended and removed`(_ first: Int, _ second: Int) {
        var few = TinyArray<Int>()
        for element in 0..<first { few.append(element) }
        var others = TinyArray<Int>()
        for element in 0..<second { others.append(10 + element) }
        few.append(contentsOf: others)
        let taken = few.takeAll()
        #expect(taken.array == Array(0..<first) + (0..<second).map { 10 + $0 })
        #expect(few.isEmpty && few.array.isEmpty && few.last == nil)
        few.append(7)
        #expect(few.array == [7])
    }
}
