import Testing

@testable import BluebonnetTesting

@Suite(.timeLimit(.minutes(10))) struct GateTests {
    @Test func `Tasks pass an open gate and wait at a closed gate`() async {
        let gate = Gate(isOpen: true)
        await gate.wait()
        gate.close()
        #expect(!gate.isOpen)
        let passed = Gate()
        let task = Task {
            await gate.wait()
            passed.open()
        }
        while gate.waiterCount == 0 { await Task.yield() }
        #expect(!passed.isOpen)
        gate.open()
        await task.value
        #expect(passed.isOpen)
        #expect(gate.waiterCount == 0)
    }

    @Test func `A cancelled task passes a closed gate`() async {
        let gate = Gate()
        let waiting = Task { await gate.wait() }
        while gate.waiterCount == 0 { await Task.yield() }
        waiting.cancel()
        await waiting.value
        let cancelledBefore = Task {
            while !Task.isCancelled { await Task.yield() }
            await gate.wait()
        }
        cancelledBefore.cancel()
        await cancelledBefore.value
        #expect(gate.waiterCount == 0)
    }

    @Test func `All tasks pass when tasks open, wait and cancel at the same time`() async {
        for _ in 0..<500 {
            let gate = Gate()
            await withTaskGroup { group in
                for _ in 0..<8 { group.addTask { await gate.wait() } }
                group.addTask {
                    let other = Task { await gate.wait() }
                    other.cancel()
                    await other.value
                }
                group.addTask { gate.open() }
            }
            #expect(gate.waiterCount == 0)
        }
    }

    @Test func `Conditions that change the state are checked in order of arrival`() async throws {
        let tokens = ObservedState(0)
        let taken = ObservedState<[Int]>([])
        try await withThrowingTaskGroup { group in
            for number in 0..<5 {
                group.addTask {
                    try await tokens.wait { count -> Result<Void, any Error>? in
                        guard count > 0 else { return nil }
                        count -= 1
                        taken.change { $0.append(number) }
                        return .success(())
                    }
                }
                while tokens.waiterCount <= number { await Task.yield() }
            }
            for _ in 0..<5 { tokens.change { $0 += 1 } }
            try await group.waitForAll()
        }
        #expect(taken.read { $0 } == [0, 1, 2, 3, 4])
        #expect(tokens.read { $0 } == 0)
    }
}
