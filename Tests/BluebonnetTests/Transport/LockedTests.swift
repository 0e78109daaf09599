import Bluebonnet
import Testing

@Suite(.timeLimit(.minutes(10)))
struct LockedTests {
    @Test func `no increment is lost`() async {
        let counter = Locked(0)
        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<10_000 {
                        counter.withLock { $0 += 1 }
                    }
                }
            }
        }
        #expect(counter.withLock { $0 } == 80_000)
    }

    @Test func `a thrown error releases the lock and keeps its type`() {
        struct Odd: Error {}
        let value = Locked([1])
        do throws(Odd) {
            try value.withLock { list throws(Odd) in
                list.append(2)
                throw Odd()
            }
        } catch {
            #expect(value.withLock { $0 } == [1, 2])
        }
    }

    @Test func `the value ends with the last copy`() {
        final class Witness {
            let deaths: Locked<Int>
            init(_ deaths: Locked<Int>) { self.deaths = deaths }
            deinit { deaths.withLock { $0 += 1 } }
        }
        let deaths = Locked(0)
        do {
            let first = Locked(Witness(deaths))
            let second = first
            second.withLock { _ in }
            #expect(deaths.withLock { $0 } == 0)
            first.withLock { _ in }
        }
        #expect(deaths.withLock { $0 } == 1)
    }

    @Test func `a noncopyable value can be protected`() {
        struct Token: ~Copyable {
            var uses = 0
        }
        let token = Locked(Token())
        token.withLock { $0.uses += 1 }
        #expect(token.withLock { $0.uses } == 1)
    }
}
