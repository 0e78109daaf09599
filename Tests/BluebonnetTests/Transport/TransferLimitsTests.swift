import FoundationEssentials
import Testing

@testable import Bluebonnet

@Suite struct TransferLimitsTests {
    typealias TransferSnapshot = TransferLimits.TransferSnapshot

    struct Row: Sendable {
        let timeouts: Timeouts
        var isWaiting = false
        var isInMemory = false
        var isSent = false
        let snapshot: TransferSnapshot
        let verdict: TransferLimits.Verdict
    }

    /// The transfer starts at 1 s and is passed to libcurl at 2 s.
    static let rows: [Row] = [
        // pool: from the time at which libcurl receives the transfer until it opens a connection for it
        Row(
            timeouts: .limits(pool: 3, connect: 2), isWaiting: true, snapshot: .at(4),
            verdict: .within(nextCheck: seconds(5))),
        Row(timeouts: .limits(pool: 3, connect: 2), isWaiting: true, snapshot: .at(5), verdict: .exceeded(.pool)),
        Row(timeouts: .limits(connect: 2), isWaiting: true, snapshot: .at(99), verdict: .within(nextCheck: nil)),
        Row(timeouts: .limits(pool: 3, total: 4), isWaiting: true, snapshot: .at(5), verdict: .exceeded(.total)),
        Row(timeouts: .limits(pool: 3), snapshot: .at(99), verdict: .within(nextCheck: nil)),
        // connect: from when a connection is looked up or opened
        Row(timeouts: .limits(connect: 3), snapshot: .at(4), verdict: .within(nextCheck: seconds(5))),
        Row(timeouts: .limits(connect: 3), snapshot: .at(5), verdict: .exceeded(.connect)),
        Row(timeouts: .limits(connect: 3), snapshot: .at(9, isSuspended: true), verdict: .within(nextCheck: nil)),
        Row(timeouts: .limits(connect: 3), isSent: true, snapshot: .at(9), verdict: .within(nextCheck: nil)),
        // idle: from the last bytes, once the request is out
        Row(timeouts: .limits(idle: 8), snapshot: .at(9), verdict: .within(nextCheck: seconds(10))),
        Row(
            timeouts: .limits(idle: 8), isSent: true, snapshot: .at(9, lastActivity: 2),
            verdict: .within(nextCheck: seconds(10))),
        Row(timeouts: .limits(idle: 8), isSent: true, snapshot: .at(10, lastActivity: 2), verdict: .exceeded(.idle)),
        Row(
            timeouts: .limits(idle: 8), isSent: true, snapshot: .at(99, isSuspended: true, lastActivity: 2),
            verdict: .within(nextCheck: nil)),
        // idle before events: only until the head of the stream has arrived, and only if no other idle limit is set
        Row(timeouts: .beforeEvents(8), isSent: true, snapshot: .at(10, lastActivity: 2), verdict: .exceeded(.idle)),
        Row(
            timeouts: .beforeEvents(8), isSent: true, snapshot: .at(9, lastActivity: 2),
            verdict: .within(nextCheck: seconds(10))),
        Row(
            timeouts: .beforeEvents(8), isSent: true, snapshot: .at(99, isEventStream: true, lastActivity: 2),
            verdict: .within(nextCheck: nil)),
        Row(
            timeouts: .beforeEvents(8).filled(from: .limits(idle: 80)), isSent: true,
            snapshot: .at(10, lastActivity: 2), verdict: .exceeded(.idle)),
        Row(
            timeouts: Timeouts(idle: .seconds(80)).filled(from: .beforeEvents(8)), isSent: true,
            snapshot: .at(10, lastActivity: 2), verdict: .within(nextCheck: seconds(20))),
        // total: from the start, whatever happens
        Row(timeouts: .limits(total: 4), snapshot: .at(4), verdict: .within(nextCheck: seconds(5))),
        Row(timeouts: .limits(total: 4), snapshot: .at(5), verdict: .exceeded(.total)),
        Row(timeouts: .limits(total: 4), snapshot: .at(5, isSuspended: true), verdict: .exceeded(.total)),
        Row(timeouts: .limits(total: 4), isSent: true, snapshot: .at(5), verdict: .exceeded(.total)),
        // total, not set: 10 minutes where both bodies are in memory
        Row(
            timeouts: Timeouts(connect: nil, idle: nil), isInMemory: true, snapshot: .at(600),
            verdict: .within(nextCheck: seconds(601))),
        Row(timeouts: Timeouts(), isInMemory: true, isSent: true, snapshot: .at(601), verdict: .exceeded(.total)),
        Row(
            timeouts: Timeouts(idle: nil), isSent: true, snapshot: .at(9999),
            verdict: .within(nextCheck: nil)),
        Row(
            timeouts: Timeouts(idle: nil, total: nil), isInMemory: true, isSent: true, snapshot: .at(9999),
            verdict: .within(nextCheck: nil)),
        // together
        Row(timeouts: .limits(connect: 3, total: 4), snapshot: .at(5), verdict: .exceeded(.total)),
        Row(
            timeouts: .limits(connect: 2, idle: 80, total: 9), snapshot: .at(3),
            verdict: .within(nextCheck: seconds(4))),
        Row(timeouts: .limits(), isSent: true, snapshot: .at(99), verdict: .within(nextCheck: nil)),
    ]

    @Test(arguments: rows)
    func `A limit expires as in the table`(row: Row) {
        var limits = TransferLimits(timeouts: row.timeouts, isInMemory: row.isInMemory, startedAt: seconds(1))
        limits.added(at: seconds(2), mayWait: row.isWaiting)
        if row.isSent { limits.requestBegan() }
        #expect(limits.verdict(in: row.snapshot) == row.verdict)
    }

    @Test func `The wait for other transfers has a limit of its own and counts towards no other`() {
        let timeouts = Timeouts(queue: .seconds(5), connect: .seconds(3), idle: nil, total: .seconds(4))
        var limits = TransferLimits(timeouts: timeouts, isInMemory: true, startedAt: seconds(1))
        limits.queued(at: seconds(1))
        #expect(limits.verdict(in: .at(5)) == .within(nextCheck: seconds(6)))
        #expect(limits.verdict(in: .at(6)) == .exceeded(.queue))
        #expect(limits.verdict(in: .at(6, isSuspended: true)) == .within(nextCheck: nil))
        limits.leftQueue(at: seconds(6))
        #expect(limits.queueTime(at: seconds(7)) == .seconds(5))
        #expect(limits.verdict(in: .at(8)) == .within(nextCheck: seconds(9)))
        #expect(limits.verdict(in: .at(9)) == .exceeded(.connect))
        limits.added(at: seconds(6), mayWait: false)
        limits.requestBegan()
        #expect(limits.verdict(in: .at(10)) == .exceeded(.total))
    }

    @Test func `The connect timeout begins when the wait for a connection ends`() {
        var limits = TransferLimits(timeouts: .limits(pool: 9, connect: 3), isInMemory: true, startedAt: seconds(1))
        limits.added(at: seconds(2), mayWait: true)
        #expect(limits.connectionBegan(at: seconds(7)) == seconds(10))
        #expect(limits.connectionBegan(at: seconds(8)) == nil)
        #expect(limits.verdict(in: .at(9)) == .within(nextCheck: seconds(10)))
        #expect(limits.verdict(in: .at(10)) == .exceeded(.connect))
        limits.added(at: seconds(10), mayWait: true)
        #expect(limits.verdict(in: .at(18)) == .within(nextCheck: seconds(19)))
    }

    @Test(arguments: [true, false])
    func `The connect limit goes on while a server is evaluated`(mayWait: Bool) {
        var limits = TransferLimits(timeouts: .limits(pool: 9, connect: 5), isInMemory: true, startedAt: seconds(1))
        limits.added(at: seconds(1), mayWait: mayWait)
        _ = limits.connectionBegan(at: seconds(1))
        limits.added(at: seconds(4), mayWait: mayWait, continues: true)
        #expect(limits.connectionBegan(at: seconds(4)) == nil)
        #expect(limits.verdict(in: .at(5)) == .within(nextCheck: seconds(6)))
        #expect(limits.verdict(in: .at(6)) == .exceeded(.connect))
    }

    @Test func `The time in the queue adds up if the transfer is suspended meanwhile`() {
        var limits = TransferLimits(timeouts: Timeouts(queue: .seconds(9)), isInMemory: true, startedAt: 0)
        #expect(limits.queueTime(at: 0) == nil)
        limits.queued(at: 0)
        limits.leftQueue(at: seconds(5))
        #expect(limits.queueTime(at: seconds(60)) == .seconds(5))
        limits.queued(at: seconds(60))
        #expect(limits.queueTime(at: seconds(61)) == .seconds(6))
        #expect(limits.verdict(in: .at(68)) == .within(nextCheck: seconds(69)))
        #expect(limits.verdict(in: .at(69)) == .exceeded(.queue))
        limits.leftQueue(at: seconds(62))
        #expect(limits.queueTime(at: seconds(99)) == .seconds(7))
    }

    @Test func `Connecting again after the request was sent has the connect limit`() {
        var limits = TransferLimits(
            timeouts: .limits(connect: 3, idle: 60), isInMemory: true, startedAt: seconds(1))
        limits.added(at: seconds(1), mayWait: false)
        limits.requestBegan()
        #expect(limits.connectionBegan(at: seconds(9)) == seconds(12))
        #expect(limits.verdict(in: .at(12)) == .exceeded(.connect))
        limits.requestBegan()
        #expect(limits.verdict(in: .at(12, lastActivity: 12)) == .within(nextCheck: seconds(12) + seconds(60) / 8))
    }

    @Test func `A request's limits override those of the session field by field`() {
        let session = Timeouts(pool: .seconds(1), connect: .seconds(2), idle: .seconds(3), total: .seconds(4))
        #expect(Timeouts().filled(from: session) == session)
        #expect(Timeouts(total: .seconds(9)).filled(from: session).connect == .seconds(2))
        #expect(Timeouts(total: .seconds(9)).filled(from: session).total == .seconds(9))
        let unlimited = Timeouts(pool: nil, connect: nil, idle: nil, total: nil)
        #expect(unlimited.filled(from: session) == unlimited)
        #expect(unlimited.total(isInMemory: true) == nil)
        var request = HTTPRequest(url: URL(filePath: "/"))
        #expect(request.timeouts == Timeouts() && request.ownTimeouts == nil)
        #expect(request.timeouts.connect == .seconds(30) && request.timeouts.idle == .seconds(60))
        request.timeouts.idle = nil
        #expect(
            request.ownTimeouts?.filled(from: session)
                == Timeouts(
                    pool: .seconds(1), connect: .seconds(2), idle: nil, total: .seconds(4)))
        request.timeouts = Timeouts()
        #expect(request.ownTimeouts == nil)
    }
}

private func seconds(_ number: Int64) -> Int64 { number * 1_000_000_000 }

extension Timeouts {
    fileprivate static func beforeEvents(_ idle: Int) -> Timeouts {
        var timeouts = Timeouts(idle: nil)
        timeouts.idleBeforeEvents = .seconds(idle)
        return timeouts
    }

    fileprivate static func limits(
        pool: Int? = nil, connect: Int? = nil, idle: Int? = nil, total: Int? = nil
    ) -> Timeouts {
        Timeouts(
            pool: pool.map { .seconds($0) }, connect: connect.map { .seconds($0) }, idle: idle.map { .seconds($0) },
            total: total.map { .seconds($0) })
    }
}

extension TransferLimits.TransferSnapshot {
    fileprivate static func at(
        _ now: Int64, isSuspended: Bool = false, isEventStream: Bool = false, lastActivity: Int64 = 0
    ) -> TransferLimits.TransferSnapshot {
        TransferLimits.TransferSnapshot(
            now: seconds(now), isSuspended: isSuspended, isEventStream: isEventStream,
            lastActivity: seconds(lastActivity))
    }
}
