import Testing

@testable import Bluebonnet

@Suite struct TransferLimitsTests {
    typealias TransferSnapshot = TransferLimits.TransferSnapshot

    struct Row: Sendable {
        let timeouts: Timeouts
        let situation: TransferSnapshot
        let verdict: TransferLimits.Verdict
    }

    /// Started at 1 s, given to libcurl at 2 s.
    static let rows: [Row] = [
        // connect: from when libcurl was given the transfer, whether it connects or waits for a connection
        Row(timeouts: .limits(connect: 3), situation: .at(4), verdict: .within(lookAgain: seconds(5))),
        Row(timeouts: .limits(connect: 3), situation: .at(5), verdict: .exceeded(.connect)),
        Row(timeouts: .limits(connect: 3), situation: .at(9, isSuspended: true), verdict: .within(lookAgain: nil)),
        Row(timeouts: .limits(connect: 3), situation: .at(9, wasSent: true), verdict: .within(lookAgain: nil)),
        // idle: from the last bytes, once the request is out
        Row(timeouts: .limits(idle: 8), situation: .at(9), verdict: .within(lookAgain: seconds(10))),
        Row(
            timeouts: .limits(idle: 8), situation: .at(9, wasSent: true, lastActivity: 2),
            verdict: .within(lookAgain: seconds(10))),
        Row(timeouts: .limits(idle: 8), situation: .at(10, wasSent: true, lastActivity: 2), verdict: .exceeded(.idle)),
        Row(
            timeouts: .limits(idle: 8), situation: .at(99, isSuspended: true, wasSent: true, lastActivity: 2),
            verdict: .within(lookAgain: nil)),
        // total: from the start, whatever happens
        Row(timeouts: .limits(total: 4), situation: .at(4), verdict: .within(lookAgain: seconds(5))),
        Row(timeouts: .limits(total: 4), situation: .at(5), verdict: .exceeded(.total)),
        Row(timeouts: .limits(total: 4), situation: .at(5, isSuspended: true), verdict: .exceeded(.total)),
        Row(timeouts: .limits(total: 4), situation: .at(5, wasSent: true), verdict: .exceeded(.total)),
        // together
        Row(timeouts: .limits(connect: 3, total: 4), situation: .at(5), verdict: .exceeded(.total)),
        Row(
            timeouts: .limits(connect: 2, idle: 80, total: 9), situation: .at(3),
            verdict: .within(lookAgain: seconds(4))),
        Row(timeouts: .limits(), situation: .at(99, wasSent: true), verdict: .within(lookAgain: nil)),
    ]

    @Test(arguments: rows)
    func `A limit runs out as the table says`(row: Row) {
        let limits = TransferLimits(timeouts: row.timeouts, startedAt: seconds(1), addedAt: seconds(2))
        #expect(limits.verdict(in: row.situation) == row.verdict)
    }
}

private func seconds(_ number: Int64) -> Int64 { number * 1_000_000_000 }

extension Timeouts {
    fileprivate static func limits(connect: Int? = nil, idle: Int? = nil, total: Int? = nil) -> Timeouts {
        Timeouts(
            connect: connect.map { .seconds($0) }, idle: idle.map { .seconds($0) }, total: total.map { .seconds($0) })
    }
}

extension TransferLimits.TransferSnapshot {
    fileprivate static func at(
        _ now: Int64, isSuspended: Bool = false, wasSent: Bool = false, lastActivity: Int64 = 0
    ) -> TransferLimits.TransferSnapshot {
        TransferLimits.TransferSnapshot(
            now: seconds(now), isSuspended: isSuspended, wasSent: wasSent, lastActivity: seconds(lastActivity))
    }
}
