import Bluebonnet
import Testing

@Suite(.timeLimit(.minutes(10)), .serialized) struct StreamOfRacesTests {
    static let iterations = 10_000

    @Test func `cancelling, sending and finishing at the same time end an observer once`() async {
        for _ in 0..<Self.iterations {
            let broadcast = Broadcast<Int>()
            let endings = Endings()
            let stream = broadcast.stream(bufferingPolicy: .newest(2)) { endings.append($0) }
            let observer = Task { await all(stream) }
            async let sent: Void = {
                for value in 1...4 { broadcast.send(value) }
            }()
            async let finished: Void = broadcast.finish()
            async let cancelled: Void = observer.cancel()
            let values = await observer.value
            _ = await (sent, finished, cancelled)
            #expect(values == values.sorted() && Set(values).count == values.count)
            #expect(endings.all.count == 1)
        }
    }

    @Test func `cancelling while sending never leaves an observer waiting`() async {
        let broadcast = Broadcast<Int>(replaysLatest: false)
        for value in 0..<Self.iterations {
            let stream = broadcast.stream(bufferingPolicy: .latest)
            let observer = Task {
                var iterator = stream.makeAsyncIterator()
                return await iterator.next()
            }
            async let sent: Void = broadcast.send(value)
            async let cancelled: Void = observer.cancel()
            let received = await observer.value
            _ = await (sent, cancelled)
            #expect(received == nil || received == value)
        }
    }

    @Test func `finishing while observing never leaves an observer waiting`() async {
        for value in 0..<Self.iterations {
            let broadcast = Broadcast<Int>()
            broadcast.send(value)
            async let finished: Void = broadcast.finish()
            async let first = all(broadcast.stream(bufferingPolicy: .latest))
            async let second = all(broadcast.stream(bufferingPolicy: .latest))
            #expect(await first == [value])
            #expect(await second == [value])
            await finished
        }
    }

    @Test func `many senders and many observers agree on one order`() async {
        let broadcast = Broadcast<Int>(replaysLatest: false)
        let streams = (0..<4).map { _ in broadcast.stream(bufferingPolicy: .unbounded) }
        let orders = await withTaskGroup(of: [Int].self) { group in
            for stream in streams {
                group.addTask { await all(stream) }
            }
            await withTaskGroup { senders in
                for sender in 0..<4 {
                    senders.addTask {
                        for value in 0..<(Self.iterations / 4) { broadcast.send(sender * Self.iterations + value) }
                    }
                }
            }
            broadcast.finish()
            return await group.reduce(into: [[Int]]()) { $0.append($1) }
        }
        #expect(orders.allSatisfy { $0 == orders[0] })
        #expect(orders[0].count == Self.iterations)
    }

    @Test func `concurrent iterators of one sequence share only the values`() async {
        for _ in 0..<(Self.iterations / 10) {
            let broadcast = Broadcast<Int>()
            let stream = broadcast.stream(bufferingPolicy: .unbounded)
            broadcast.send(1)
            let counts = await withTaskGroup(of: Int.self) { group in
                for _ in 0..<4 {
                    group.addTask { await all(stream).count }
                }
                broadcast.send(2)
                broadcast.finish()
                return await group.reduce(into: [Int]()) { $0.append($1) }
            }
            // The first iterator begins with the sequence, the others with the latest value.
            #expect(counts.allSatisfy { (1...2).contains($0) })
            #expect(counts.contains(2))
        }
    }

    @Test func `releasing the owner never leaves an observer waiting`() async {
        for _ in 0..<Self.iterations {
            var broadcast: Broadcast<Int>? = Broadcast()
            let stream = broadcast?.stream(bufferingPolicy: .latest)
            let observer = Task { [stream] in
                guard let stream else { return [Int]() }
                return await all(stream)
            }
            broadcast = nil
            #expect(await observer.value == [])
        }
    }
}
