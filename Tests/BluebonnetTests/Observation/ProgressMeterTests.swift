import Testing

@testable import Bluebonnet

@Suite struct ProgressMeterTests {
    /// How far a body is, and when, in milliseconds.
    typealias Step = (completed: Int64, at: Int64)

    @Test(
        arguments: [
            ([], nil), ([(500, 50)], nil), ([(500, 99)], nil),
            // from the first measurement on
            ([(1000, 100)], 10_000), ([(0, 100)], 0), ([(5000, 10_000)], 500),
            // updates within a measurement wait for the next
            ([(100, 10), (200, 20), (300, 30), (1000, 100)], 10_000), ([(1000, 100), (900_000, 150)], 10_000),
            // a steady rate is that rate
            ([(1000, 1000), (2000, 2000), (2500, 2500), (6500, 6500)], 1000),
        ] as [([Step], Double?)])
    func `the rate is computed from the measurements`(_ steps: [Step], rate: Double?) {
        let progress = run(steps)
        #expect((progress.bytesPerSecond ?? -1).isClose(to: rate ?? -1))
    }

    @Test func `older measurements have less weight`() {
        // 3 s at 1000, then 3 s at 0: of the first a weight of (1 - 1/e)/e is left, of the second 1 - 1/e.
        let rate = run([(3000, 3000), (3000, 6000)]).bytesPerSecond ?? -1
        #expect(rate.isClose(to: 1000 / (1 + 2.718281828459045)))
        // The number of measurements in the time does not affect the rate.
        let steps = (1...60).map { Step(completed: min(3000, $0 * 100), at: $0 * 100) }
        #expect((run(steps).bytesPerSecond ?? -1).isClose(to: rate))
    }

    @Test func `the rate of a stalled body decreases towards 0`() {
        var meter = ProgressMeter(now: 0)
        var last = meter.update(completed: 1_000_000, total: nil, now: nanoseconds(1000)).bytesPerSecond ?? -1
        for second in 2...60 {
            let rate = meter.update(completed: 1_000_000, total: nil, now: nanoseconds(Int64(second) * 1000))
                .bytesPerSecond
            #expect((rate ?? .infinity) < last)
            last = rate ?? -1
        }
        #expect(last < 1)
    }

    @Test func `bytes of an earlier download do not count`() {
        var meter = ProgressMeter(completed: 1_000_000, now: nanoseconds(5000))
        let progress = meter.update(completed: 1_001_000, total: 2_000_000, now: nanoseconds(6000))
        #expect(progress.completed == 1_001_000 && progress.total == 2_000_000)
        #expect((progress.bytesPerSecond ?? -1).isClose(to: 1000))
    }

    @Test func `the measurement restarts if a body restarts`() {
        var meter = ProgressMeter(now: 0)
        _ = meter.update(completed: 1_000_000, total: nil, now: nanoseconds(1000))
        #expect(meter.update(completed: 10, total: nil, now: nanoseconds(2000)) == TransferProgress(completed: 10))
        let progress = meter.update(completed: 110, total: nil, now: nanoseconds(3000))
        #expect((progress.bytesPerSecond ?? -1).isClose(to: 100))
    }

    @Test func `a clock that does not advance and a huge body do not trap`() {
        var meter = ProgressMeter(now: 0)
        #expect(meter.update(completed: .max, total: .max, now: 0).bytesPerSecond == nil)
        #expect((meter.update(completed: .max, total: .max, now: nanoseconds(1000)).bytesPerSecond ?? -1) > 9e18)
        #expect(meter.update(completed: .max, total: .max, now: 0).bytesPerSecond != nil)
    }

    // MARK: TransferProgress

    @Test(
        arguments: [
            (TransferProgress(completed: 0, total: 1000, bytesPerSecond: 100), .seconds(10)),
            (TransferProgress(completed: 750, total: 1000, bytesPerSecond: 500), .milliseconds(500)),
            (TransferProgress(completed: 1000, total: 1000, bytesPerSecond: 0), .zero),
            (TransferProgress(completed: 1001, total: 1000), .zero), (TransferProgress(total: 0), .zero),
            (TransferProgress(completed: 0, total: 1000), nil), (TransferProgress(bytesPerSecond: 100), nil),
            (TransferProgress(completed: 0, total: 1000, bytesPerSecond: 0), nil),
            (TransferProgress(completed: 0, total: .max, bytesPerSecond: 1e-300), nil),
            (TransferProgress(completed: .min, total: .max, bytesPerSecond: 1), nil),
            (TransferProgress(completed: 0, total: 1000, bytesPerSecond: .nan), nil),
            (TransferProgress(completed: 0, total: 1000, bytesPerSecond: .infinity), .zero),
        ] as [(TransferProgress, Duration?)])
    func `the remaining time follows from the rate`(_ progress: TransferProgress, remaining: Duration?) {
        #expect(progress.estimatedTimeRemaining == remaining)
    }

    // MARK: Helpers

    private func run(_ steps: [Step]) -> TransferProgress {
        var meter = ProgressMeter(now: 0)
        var progress = TransferProgress()
        for step in steps { progress = meter.update(completed: step.completed, total: nil, now: nanoseconds(step.at)) }
        return progress
    }

    private func nanoseconds(_ milliseconds: Int64) -> Int64 { milliseconds * 1_000_000 }
}

extension Double {
    fileprivate func isClose(to other: Double) -> Bool { abs(self - other) <= 1e-9 * max(1, abs(other)) }
}
