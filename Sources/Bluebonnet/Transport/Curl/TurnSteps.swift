/// A step of a turn that runs only if something asked for it; the steps run in the order of the cases.
///
/// A turn begins with libcurl's work, and ends with the outcomes of the exchanges. To add a step, add a case here and
/// a line in ``TransferEngine/perform(_:)``. A step can keep the transfers that it is for in ``TurnSteps``.
enum TurnStep: UInt8, CaseIterable {
    /// Libcurl sends the ends of uploads. It may end other transfers on the connection, which are collected next.
    case endUploads
    /// Libcurl reads from connections that may have ended, so that the other streams end in this turn as well.
    case readEndedSockets
    /// The sockets that left libcurl are served after all that libcurl received before.
    case serveUpgrades
    case resumeUpgrades
    /// Libcurl had its chance to send the requests that were added; those that were not sent wait for a connection.
    case endFirstTurns
    /// Time limits apply after everything that was received in time.
    case checkLimits
    /// Bytes that were kept and pieces that were put off fill the bodies before they are delivered.
    case takeRests
    case resumePieces
    case resumeSpeed
    case endRefusedUploads
    /// A head is reported before the body that follows it.
    case reportHeads
    case reportProgress
    /// Connections are given to those that wait when all ends of this turn are known.
    case retryWaiting
    case noteConnections
}

/// The steps that were asked for; a step that is asked for after its time in a turn runs in the next turn.
struct TurnSteps {
    /// The steps for which the next turn must follow at once if they are asked for after their time.
    ///
    /// The other steps follow an event of libcurl or a time, which begins the next turn.
    private static let urgent = [TurnStep.endUploads, .resumeUpgrades, .takeRests, .reportProgress]
        .reduce(0) { $0 | bit($1) }

    private var asked: UInt32 = 0
    /// The transfers that have asked for each step, if it does something for single transfers.
    private var waiting = [[Transfer]](repeating: [], count: TurnStep.allCases.count)
    /// The steps whose time in this turn has passed.
    private var passed: UInt32 = 0

    private static func bit(_ step: TurnStep) -> UInt32 { 1 << UInt32(step.rawValue) }

    mutating func ask(_ step: TurnStep) { asked |= Self.bit(step) }

    /// Asks for a step that does something for a transfer.
    mutating func ask(_ step: TurnStep, for transfer: Transfer) {
        waiting[Int(step.rawValue)].append(transfer)
        ask(step)
    }

    /// Returns the transfers that have asked for a step, in this order.
    mutating func takeTransfers(of step: TurnStep) -> [Transfer] { exchange(&waiting[Int(step.rawValue)], with: []) }

    /// Lets transfers, which a step has not served, come first in its next turn.
    mutating func putBack(_ unserved: ArraySlice<Transfer>, for step: TurnStep) {
        guard !unserved.isEmpty else { return }
        waiting[Int(step.rawValue)].insert(contentsOf: unserved, at: 0)
        ask(step)
    }

    /// Returns the next step of the turn.
    mutating func next() -> TurnStep? {
        let open = asked & ~passed
        guard open != 0, let step = TurnStep(rawValue: UInt8(open.trailingZeroBitCount)) else { return nil }
        asked &= ~Self.bit(step)
        passed = Self.bit(step) << 1 - 1
        return step
    }

    /// Ends the turn; returns whether the next turn must follow at once.
    mutating func turnEnds() -> Bool {
        passed = 0
        return asked & Self.urgent != 0
    }
}
