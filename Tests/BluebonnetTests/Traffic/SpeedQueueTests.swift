import Testing

@testable import Bluebonnet

@Suite struct ByteAllowanceTests {
    private static let second: Int64 = 1_000_000_000

    /// An allowance of 1,000 bytes per second since second 10, and the time at which bytes are allowed.
    @Test(arguments: [
        // The bytes of the beginning wait as well.
        (bytes: 100, wanted: 10.0, allowed: 10.1),
        (bytes: 1000, wanted: 10.0, allowed: 11.0),
        // 50 ms are made up for.
        (bytes: 100, wanted: 10.03, allowed: 10.1),
        (bytes: 100, wanted: 10.05, allowed: 10.1),
        (bytes: 100, wanted: 12.0, allowed: 12.05),
        (bytes: 10, wanted: 12.0, allowed: 11.96),
        (bytes: 0, wanted: 12.0, allowed: 11.95),
    ])
    func `Bytes are allowed once their time has passed`(bytes: Int, wanted: Double, allowed: Double) {
        let allowance = ByteAllowance(bytesPerSecond: 1000, since: 10 * Self.second)
        let time = allowance.time(for: bytes, wantedSince: Int64(wanted * 1000) * Self.second / 1000)
        #expect(time == Int64(allowed * 100) * Self.second / 100)
    }

    @Test func `Used bytes take their time`() {
        var allowance = ByteAllowance(bytesPerSecond: 1000, since: 0)
        allowance.take(300, wantedSince: 0)
        allowance.take(200, wantedSince: 0)
        #expect(allowance.usedUntil == Self.second / 2)
        #expect(allowance.time(for: 500, wantedSince: 0) == Self.second)
    }

    @Test func `After a pause, at most 512 KiB are made up for`() {
        let allowance = ByteAllowance(bytesPerSecond: 1 << 30, since: 0)
        #expect(allowance.time(for: 512 << 10, wantedSince: Self.second) == Self.second)
        #expect(allowance.time(for: (512 << 10) + (1 << 20), wantedSince: Self.second) > Self.second)
    }

    @Test(arguments: [0, -1, 1, Int64.max])
    func `No limit and no number of bytes overflows`(limit: Int64) {
        var allowance = ByteAllowance(bytesPerSecond: limit, since: Self.second)
        allowance.take(1 << 40, wantedSince: Self.second)
        #expect(allowance.usedUntil >= Self.second)
    }
}

@Suite struct SpeedQueueTests {
    private static let millisecond: Int64 = 1_000_000

    @Test func `Without a limit of the session, only the own limit makes a transfer wait`() {
        var queue = SpeedQueue(bytesPerSecond: nil, now: 0)
        var (admits, admitted): (Bool, [TransferID])
        admits = queue.admits(100, of: 1, from: 5, now: 5)
        #expect(admits)
        admits = queue.admits(100, of: 2, from: 9, now: 5)
        #expect(!admits)
        admits = queue.admits(100, of: 3, from: 5, now: 5)
        #expect(admits)
        #expect(queue.due == 9)
        admitted = queue.takeAdmitted(now: 8)
        #expect(admitted == [])
        admitted = queue.takeAdmitted(now: 9)
        #expect(admitted == [2])
        #expect(queue.due == nil)
    }

    @Test func `Transfers that wait for the session continue in order, and no other overtakes them`() {
        // A byte takes a millisecond.
        var queue = SpeedQueue(bytesPerSecond: 1000, now: 0)
        var (admits, admitted): (Bool, [TransferID])
        admits = queue.admits(100, of: 1, from: 0, now: 0)
        #expect(!admits)
        admits = queue.admits(1, of: 2, from: 0, now: 0)
        #expect(!admits)
        admits = queue.admits(50, of: 3, from: 0, now: 0)
        #expect(!admits)
        admitted = queue.takeAdmitted(now: 99 * Self.millisecond)
        #expect(admitted == [])
        // The first transfer decides when the queue is checked again.
        #expect(queue.due == 100 * Self.millisecond)
        admitted = queue.takeAdmitted(now: 100 * Self.millisecond)
        #expect(admitted == [1])
        admits = queue.admits(1, of: 4, from: 0, now: 100 * Self.millisecond)
        #expect(!admits)
        admitted = queue.takeAdmitted(now: 101 * Self.millisecond)
        #expect(admitted == [2])
        #expect(queue.due == 151 * Self.millisecond)
        admitted = queue.takeAdmitted(now: 152 * Self.millisecond)
        #expect(admitted == [3, 4])
        #expect(queue.due == nil)
    }

    @Test func `A transfer that waits for its own limit is overtaken`() {
        var queue = SpeedQueue(bytesPerSecond: 1000, now: 0)
        var (admits, admitted): (Bool, [TransferID])
        admits = queue.admits(10, of: 1, from: 500 * Self.millisecond, now: 0)
        #expect(!admits)
        admits = queue.admits(100, of: 2, from: 0, now: 0)
        #expect(!admits)
        admitted = queue.takeAdmitted(now: 100 * Self.millisecond)
        #expect(admitted == [2])
        #expect(queue.due == 500 * Self.millisecond)
        admitted = queue.takeAdmitted(now: 500 * Self.millisecond)
        #expect(admitted == [1])
    }

    @Test func `A transfer that has ended leaves room for others`() {
        var queue = SpeedQueue(bytesPerSecond: 1000, now: 0)
        var (admits, admitted): (Bool, [TransferID])
        admits = queue.admits(1000, of: 1, from: 0, now: 0)
        #expect(!admits)
        admits = queue.admits(100, of: 2, from: 0, now: 0)
        #expect(!admits)
        queue.remove(1)
        admitted = queue.takeAdmitted(now: 100 * Self.millisecond)
        #expect(admitted == [2])
        admits = queue.admits(1000, of: 3, from: 0, now: 0)
        #expect(!admits)
        queue.remove(3)
        #expect(queue.due == nil)
    }

    @Test func `The transfer after one that has ended continues at its own time`() {
        var queue = SpeedQueue(bytesPerSecond: 1000, now: 0)
        var admitted: [TransferID]
        _ = queue.admits(100_000, of: 1, from: 0, now: 0)
        _ = queue.admits(100, of: 2, from: 0, now: 0)
        admitted = queue.takeAdmitted(now: 200 * Self.millisecond)
        #expect(admitted == [])
        queue.remove(1)
        admitted = queue.takeAdmitted(now: 200 * Self.millisecond)
        #expect(admitted == [2])
    }

    @Test func `Bytes that were not used are there for the next transfer`() {
        var queue = SpeedQueue(bytesPerSecond: 1000, now: 0)
        let second: Int64 = 1_000_000_000
        _ = queue.admits(1000, of: 1, from: 0, now: 0)
        _ = queue.takeAdmitted(now: second)
        queue.giveBack(900)
        let admits = queue.admits(900, of: 2, from: second, now: second)
        #expect(!admits)
        #expect(queue.due == second + 850 * Self.millisecond)
    }

    /// The transfers want pieces of 16 KiB.
    ///
    /// The loop looks at times that are up to 5 milliseconds late, at random.
    @Test(arguments: [
        (speed: 20_000, transfers: 1), (speed: 1_000_000, transfers: 1), (speed: 100_000_000, transfers: 1),
        (speed: 1_000_000, transfers: 7), (speed: 100_000_000, transfers: 100),
    ])
    func `In a second on a manual clock, as many bytes pass as the limit says, evenly`(speed: Int, transfers: Int) {
        let piece = 16 * 1024
        let duration = max(1_000_000_000, Int64(piece) * 40_000_000_000 / Int64(speed))
        var queue = SpeedQueue(bytesPerSecond: Int64(speed), now: 0)
        var generator = SystemRandomNumberGenerator()
        var passed = [Int](repeating: 0, count: transfers)
        var (now, largest): (Int64, Int) = (0, 0)
        var waiting = Array(0..<transfers)
        while now < duration {
            var burst = 0
            for transfer in waiting {
                while queue.admits(piece, of: TransferID(transfer), from: now, now: now) {
                    passed[transfer] += piece
                    burst += piece
                }
            }
            waiting = queue.takeAdmitted(now: now).map { Int($0) }
            for transfer in waiting {
                passed[transfer] += piece
                burst += piece
            }
            largest = max(largest, burst)
            guard waiting.isEmpty else { continue }
            now = max(now, queue.due ?? now) + Int64.random(in: 0...5_000_000, using: &generator)
            waiting = queue.takeAdmitted(now: now).map { Int($0) }
            for transfer in waiting { passed[transfer] += piece }
        }
        let expected = Double(speed) * Double(now) / 1e9
        #expect(abs(Double(passed.reduce(0, +)) / expected - 1) < 0.05)
        #expect(largest <= 512 << 10)
        #expect((passed.max() ?? 0) - (passed.min() ?? 0) <= 512 << 10)
    }

    struct Limits: Sendable {
        var own: Int64?
        var session: Int64?
    }

    private static let slowest = [
        Limits(own: 100_000), Limits(own: 500_000, session: 100_000), Limits(session: 100_000),
    ]

    /// A transfer of 1 MB in pieces of 16 KB, and one that is sent in pieces of any size, with a loop that is late.
    @Test(arguments: [true, false], slowest)
    func `A body takes the time that the lower limit demands`(
        isUpload: Bool, limits: Limits
    ) throws {
        let (size, piece) = (1_000_000, 16_000)
        var queue = SpeedQueue(bytesPerSecond: limits.session, now: 0)
        var speed = try #require(TransferSpeed(own: limits.own, session: limits.session, now: 0))
        var (now, passed): (Int64, Int) = (0, 0)
        while passed < size {
            let count = min(piece, size - passed)
            let allowed =
                isUpload
                ? speed.sendable(count, of: 1, in: &queue, now: now)
                : speed.allows(count, of: 1, in: &queue, now: now) ? count : nil
            if let allowed {
                speed.passed(allowed)
                passed += allowed
                continue
            }
            now = max(now, try #require(queue.due)) + Int64.random(in: 0...5_000_000)
            let admitted = queue.takeAdmitted(now: now)
            if !admitted.isEmpty { speed.admitted() }
        }
        // 10 seconds, and up to 5 ms for the last wait.
        #expect((9_900_000_000...10_100_000_000).contains(now), "\(now)")
    }
}
