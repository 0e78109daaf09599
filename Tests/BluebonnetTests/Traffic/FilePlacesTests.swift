import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// Downloads and uploads that wait before they open their files.
@Suite(.timeLimit(.minutes(10))) struct FilePlacesTests {
    /// A clock that a test moves, with sleepers that wake when it has moved far enough.
    private final class Clock: Sendable {
        private let state = Locked((now: Int64(0), sleepers: [(end: Int64, wake: CheckedContinuation<Void, Never>)]()))
        var sleeperCount: Int { state.withLock { $0.sleepers.count } }

        func now() -> Int64 { state.withLock { $0.now } }

        func sleep(_ duration: Duration) async {
            await withCheckedContinuation { wake in
                state.withLock { $0.sleepers.append(($0.now + duration.nanoseconds, wake)) }
            }
        }

        func advance(by duration: Duration) {
            let woken = state.withLock { state in
                state.now += duration.nanoseconds
                let woken = state.sleepers.filter { $0.end <= state.now }
                state.sleepers.removeAll { $0.end <= state.now }
                return woken
            }
            for sleeper in woken { sleeper.wake.resume() }
        }
    }

    private let clock = Clock()

    private func places(_ limit: Int) -> FilePlaces {
        FilePlaces(limit: limit, now: { [clock] in clock.now() }, sleep: { [clock] in await clock.sleep($0) })
    }

    private func timeouts(idle: Int? = nil, pool: Int? = nil) -> Timeouts {
        var timeouts = Timeouts()
        timeouts.idle = idle.map { .seconds($0) }
        timeouts.pool = pool.map { .seconds($0) }
        return timeouts
    }

    @Test func `a place that is returned goes to the one that has waited longest`() async throws {
        let places = places(2)
        var taken = [places.free(), places.free()]
        #expect(taken.allSatisfy { $0 != nil } && places.free() == nil)
        let order = Locked([Int]())
        var tasks: [Task<Void, any Error>] = []
        for number in 0..<3 {
            tasks.append(
                Task {
                    let place = try await places.next(timeouts())
                    order.withLock { $0.append(number) }
                    withExtendedLifetime(place) {}
                })
            while places.waiting <= number { await Task.yield() }
        }
        taken.removeLast()
        for task in tasks { try await task.value }
        #expect(order.withLock { $0 } == [0, 1, 2])
        #expect(places.waiting == 0 && places.free() != nil)
        withExtendedLifetime(taken) {}
    }

    @Test func `a wait ends when its task is cancelled, and takes no place`() async throws {
        let places = places(1)
        var taken = places.free()
        let tasks = (0..<100).map { _ in Task { _ = try await places.next(timeouts()) } }
        while places.waiting < 100 { await Task.yield() }
        for task in tasks { task.cancel() }
        for task in tasks {
            await #expect { try await task.value } throws: { ($0 as? RequestError)?.isCancellation == true }
        }
        #expect(places.waiting == 0 && places.free() == nil)
        taken = nil
        #expect(taken == nil && places.free() != nil)
    }

    /// Cancellations beside places that are returned: each wait ends once, and no place is lost.
    @Test func `cancelled waits and returned places`() async throws {
        for _ in 0..<300 {
            let places = places(1)
            var taken = places.free()
            let tasks = (0..<4).map { _ in Task { _ = try await places.next(timeouts()) } }
            Task { for task in tasks.shuffled().prefix(3) { task.cancel() } }
            taken = nil
            for task in tasks { _ = await task.result }
            #expect(taken == nil && places.free() != nil && places.waiting == 0)
        }
    }

    @Test func `a limit of zero ends the wait at once`() async throws {
        let places = FilePlaces(limit: 1)
        let taken = places.free()
        for _ in 0..<300 {
            await #expect {
                _ = try await places.next(timeouts(pool: 0))
            } throws: {
                ($0 as? RequestError)?.kind == .timedOut(.pool)
            }
        }
        #expect(places.waiting == 0)
        withExtendedLifetime(taken) {}
    }

    @Test(arguments: [(idle: 10, pool: nil as Int?), (idle: 10, pool: 4)])
    func `a wait has a limit`(idle: Int, pool: Int?) async throws {
        let places = places(1)
        let taken = try #require(places.free())
        let task = Task { _ = try await places.next(timeouts(idle: idle, pool: pool)) }
        while places.waiting == 0 || clock.sleeperCount == 0 { await Task.yield() }
        clock.advance(by: .seconds(3))
        places.progressed()
        clock.advance(by: .seconds(8))
        if pool == nil {
            // A file was written after 3 s, so that 2 s are left.
            while clock.sleeperCount == 0 { await Task.yield() }
            #expect(places.waiting == 1)
            clock.advance(by: .seconds(2))
        }
        let name = pool == nil ? "10.0 seconds, the idle limit" : "4.0 seconds, the pool limit"
        await #expect { try await task.value } throws: { error in
            let error = error as? RequestError
            return error?.kind == .timedOut(.pool) && "\(error as Any)".contains(name)
        }
        #expect(places.waiting == 0)
        withExtendedLifetime(taken) {}
    }
}
