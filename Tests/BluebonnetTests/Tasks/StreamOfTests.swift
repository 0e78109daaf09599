import Bluebonnet
import Testing

@Suite(.timeLimit(.minutes(10))) struct StreamOfTests {
    // MARK: Values

    @Test func `an observer receives the values after the creation of its sequence`() async {
        let broadcast = Broadcast<Int>(replaysLatest: false)
        broadcast.send(0)
        let stream = broadcast.stream(bufferingPolicy: .unbounded)
        for value in 1...3 { broadcast.send(value) }
        broadcast.finish()
        #expect(await all(stream) == [1, 2, 3])
    }

    @Test func `every observer receives all values`() async {
        let broadcast = Broadcast<Int>()
        let streams = (0..<5).map { _ in broadcast.stream(bufferingPolicy: .unbounded) }
        for value in 1...3 { broadcast.send(value) }
        broadcast.finish()
        for stream in streams {
            #expect(await all(stream) == [1, 2, 3])
        }
    }

    @Test func `a new observer begins with the latest value`() async {
        let broadcast = Broadcast<Int>()
        broadcast.send(1)
        broadcast.send(2)
        let stream = broadcast.stream(bufferingPolicy: .unbounded)
        broadcast.send(3)
        broadcast.finish()
        #expect(await all(stream) == [2, 3])
        #expect(broadcast.latest == 3)
    }

    @Test func `a broadcast can begin with a value`() async {
        let broadcast = Broadcast(latest: 7)
        let stream = broadcast.stream(bufferingPolicy: .unbounded)
        broadcast.send(8)
        broadcast.finish()
        #expect(await all(stream) == [7, 8])
    }

    @Test func `without replay there is no latest value`() {
        let broadcast = Broadcast<Int>(replaysLatest: false)
        broadcast.send(1)
        #expect(broadcast.latest == nil)
    }

    @Test func `a waiting observer receives the next value`() async {
        let broadcast = Broadcast<Int>()
        let stream = broadcast.stream(bufferingPolicy: .latest)
        async let values = all(stream)
        // Whether the observer waits already or not yet, the newest value reaches it.
        broadcast.send(1)
        broadcast.finish()
        #expect(await values == [1])
    }

    @Test func `values are exchanged one by one`() async {
        let questions = Broadcast<Int>(replaysLatest: false)
        let answers = Broadcast<Int>(replaysLatest: false)
        let asked = questions.stream(bufferingPolicy: .latest)
        let answered = answers.stream(bufferingPolicy: .latest)
        async let served: Void = {
            for await question in asked { answers.send(question * 2) }
            answers.finish()
        }()
        var iterator = answered.makeAsyncIterator()
        for value in 0..<1_000 {
            questions.send(value)
            #expect(await iterator.next() == value * 2)
        }
        questions.finish()
        #expect(await iterator.next() == nil)
        await served
    }

    // MARK: The end

    @Test func `a sequence ends when the broadcast finishes`() async {
        let broadcast = Broadcast<Int>()
        let stream = broadcast.stream(bufferingPolicy: .latest)
        async let values = all(stream)
        broadcast.finish()
        #expect(await values == [])
    }

    @Test(arguments: [true, false])
    func `a sequence after the end replays the latest value and ends`(_ replays: Bool) async {
        let broadcast = Broadcast<Int>(replaysLatest: replays)
        broadcast.send(1)
        broadcast.send(2)
        broadcast.finish()
        #expect(await all(broadcast.stream(bufferingPolicy: .unbounded)) == (replays ? [2] : []))
    }

    @Test func `values after the end are dropped`() async {
        let broadcast = Broadcast<Int>()
        let stream = broadcast.stream(bufferingPolicy: .unbounded)
        broadcast.finish()
        broadcast.finish()
        broadcast.send(1)
        #expect(await all(stream) == [])
        #expect(broadcast.latest == nil)
    }

    @Test func `a second end has no effect`() async {
        let broadcast = Broadcast<Int>()
        var iterator = broadcast.stream(bufferingPolicy: .latest).makeAsyncIterator()
        broadcast.send(1)
        broadcast.finish()
        #expect(await iterator.next() == 1)
        for _ in 0..<3 {
            #expect(await iterator.next() == nil)
        }
    }

    @Test func `releasing a broadcast finishes it`() async {
        func abandoned() -> StreamOf<Int> {
            let broadcast = Broadcast<Int>()
            let stream = broadcast.stream(bufferingPolicy: .latest)
            broadcast.send(1)
            return stream
        }
        #expect(await all(abandoned()) == [1])
    }

    // MARK: Buffers

    @Test(arguments: [
        (StreamBufferingPolicy.unbounded, Array(1...10)), (.newest(3), [8, 9, 10]), (.oldest(3), [1, 2, 3]),
        (.latest, [10]),
        (.newest(0), []), (.oldest(0), []), (.newest(-1), []), (.oldest(-1), []), (.newest(10), Array(1...10)),
        (.newest(.max), Array(1...10)), (.events, Array(1...10)),
    ])
    func `a policy decides which values are kept`(_ policy: StreamBufferingPolicy, kept: [Int]) async {
        let broadcast = Broadcast<Int>()
        let stream = broadcast.stream(bufferingPolicy: policy)
        for value in 1...10 { broadcast.send(value) }
        broadcast.finish()
        #expect(await all(stream) == kept)
    }

    @Test func `a buffer that is filled and emptied keeps the order`() async {
        let broadcast = Broadcast<Int>(replaysLatest: false)
        var iterator = broadcast.stream(bufferingPolicy: .unbounded).makeAsyncIterator()
        var sent = 0
        var received = 0
        for round in 0..<200 {
            for _ in 0..<(round % 7) {
                broadcast.send(sent)
                sent += 1
            }
            while received < sent - round % 3 {
                #expect(await iterator.next() == received)
                received += 1
            }
        }
    }

    @Test func `a dropped value is released`() {
        final class Witness: Sendable {}
        let broadcast = Broadcast<Witness>(replaysLatest: false)
        let stream = broadcast.stream(bufferingPolicy: .latest)
        weak var first: Witness?
        do {
            let witness = Witness()
            first = witness
            broadcast.send(witness)
        }
        #expect(first != nil)
        broadcast.send(Witness())
        #expect(first == nil)
        withExtendedLifetime(stream) {}
    }

    // MARK: Observers that leave

    @Test func `leaving a loop ends only its own observation`() async {
        let broadcast = Broadcast<Int>()
        let endings = Endings()
        let left = broadcast.stream(bufferingPolicy: .unbounded) { endings.append($0) }
        let stayed = broadcast.stream(bufferingPolicy: .unbounded)
        broadcast.send(1)
        broadcast.send(2)
        for await _ in left { break }
        #expect(endings.all == [.cancelled])
        broadcast.send(3)
        broadcast.finish()
        #expect(await all(stayed) == [1, 2, 3])
        #expect(endings.all == [.cancelled])
    }

    @Test func `a sequence can be observed again, from the latest value on`() async {
        let broadcast = Broadcast<Int>()
        let stream = broadcast.stream(bufferingPolicy: .unbounded)
        broadcast.send(1)
        broadcast.send(2)
        for await value in stream {
            #expect(value == 1)
            break
        }
        broadcast.finish()
        #expect(await all(stream) == [2])
        #expect(await all(stream) == [2])
    }

    @Test func `a sequence that is never iterated is released`() {
        let broadcast = Broadcast<Int>()
        let endings = Endings()
        do {
            let stream = broadcast.stream(bufferingPolicy: .unbounded) { endings.append($0) }
            broadcast.send(1)
            withExtendedLifetime(stream) {}
        }
        #expect(endings.all == [.cancelled])
        broadcast.send(2)
    }

    @Test func `finishing ends each observation once`() async {
        let broadcast = Broadcast<Int>()
        let endings = Endings()
        let first = broadcast.stream(bufferingPolicy: .latest) { endings.append($0) }
        let second = broadcast.stream(bufferingPolicy: .latest) { endings.append($0) }
        broadcast.finish()
        #expect(await all(first) == [])
        #expect(await all(second) == [])
        #expect(endings.all == [.finished, .finished])
        _ = broadcast.stream(bufferingPolicy: .latest) { endings.append($0) }
        #expect(endings.all == [.finished, .finished, .finished])
    }

    @Test func `cancelling a waiting task ends only its own observation`() async {
        let broadcast = Broadcast<Int>()
        let endings = Endings()
        let stream = broadcast.stream(bufferingPolicy: .latest) { endings.append($0) }
        let stayed = broadcast.stream(bufferingPolicy: .latest)
        let task = Task {
            var iterator = stream.makeAsyncIterator()
            let first = await iterator.next()
            return (first, await iterator.next())
        }
        task.cancel()
        let (first, second) = await task.value
        #expect(first == nil && second == nil)
        #expect(endings.all == [.cancelled])
        broadcast.send(1)
        broadcast.finish()
        #expect(await all(stayed) == [1])
    }

    @Test func `a cancelled task receives no value, not even a buffered value`() async {
        let broadcast = Broadcast<Int>()
        broadcast.send(1)
        let stream = broadcast.stream(bufferingPolicy: .latest)
        let started = Broadcast<Void>()
        let task = Task {
            // Returns only once the task is cancelled.
            for await _ in started.stream(bufferingPolicy: .latest) {}
            return await all(stream)
        }
        task.cancel()
        #expect(await task.value == [])
    }

    @Test func `an observer may call the broadcast from its hook`() async {
        let broadcast = Broadcast<Int>()
        let stream = broadcast.stream(bufferingPolicy: .latest) { [weak broadcast] _ in
            broadcast?.send(9)
            broadcast?.finish()
        }
        broadcast.send(1)
        for await _ in stream { break }
        #expect(await all(broadcast.stream(bufferingPolicy: .latest)) == [9])
    }

    @Test func `an actor iterates in its own isolation`() async {
        actor Observer {
            var values: [Int] = []
            func observe(_ stream: StreamOf<Int>) async {
                for await value in stream { values.append(value) }
            }
        }
        let broadcast = Broadcast<Int>()
        let observer = Observer()
        let stream = broadcast.stream(bufferingPolicy: .unbounded)
        broadcast.send(1)
        broadcast.send(2)
        broadcast.finish()
        await observer.observe(stream)
        #expect(await observer.values == [1, 2])
    }
}

/// Collects how observations ended.
final class Endings: Sendable {
    private let endings = Locked<[StreamTermination]>([])

    var all: [StreamTermination] { endings.withLock { $0 } }

    func append(_ ending: StreamTermination) {
        endings.withLock { $0.append(ending) }
    }
}

/// Returns all values of a sequence.
func all<Element>(_ stream: StreamOf<Element>) async -> [Element] {
    var values: [Element] = []
    for await value in stream { values.append(value) }
    return values
}
