@testable import BluebonnetTesting

/// A clock that a test moves.
final class ManualClock: Clock {
    struct Instant: InstantProtocol {
        var offset = Duration.zero

        func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        func duration(to other: Instant) -> Duration { other.offset - offset }
        static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private let time = ObservedState(Instant())

    var now: Instant { time.read { $0 } }
    var minimumResolution: Duration { .zero }

    /// How many tasks sleep.
    var sleeperCount: Int { time.waiterCount }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        try await time.wait { $0 >= deadline ? .success(()) : nil }
    }

    func advance(by duration: Duration) {
        time.change { $0 = $0.advanced(by: duration) }
    }
}
