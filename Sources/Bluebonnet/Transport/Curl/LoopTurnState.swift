/// The state that a turn of the engine and libcurl's callbacks share.
final class LoopTurnState {
    /// The memory of the pieces in which bodies are handed over.
    let buffers: RecycledBuffers
    /// Counts the bytes that libcurl has passed to its callbacks.
    let reportedBytes = ReportedByteCounts()
    /// The time at the start of the turn, on the monotonic clock in nanoseconds.
    var now: Int64 = 0
    /// The transfers that received or sent bytes in this turn.
    var progressed: [Transfer] = []
    /// The transfers whose heads are to be reported to their observers.
    var withHeads: [Transfer] = []
    /// The session's cookies, if it keeps any.
    var cookieJar: CookieJar?
    /// The transfers whose bodies are refused while libcurl waits for more of them.
    var refused: [Transfer] = []
    /// How many pieces of bodies have come in in this turn.
    var receiveBudget = ReceiveBudget()
    /// The transfers with coded bytes left.
    var decodingQueue = DecodingQueue()
    /// The uploads whose ends have yet to be sent to their servers.
    var uploadEnds = DeferredUploadEnds()
    /// The streams of which libcurl may have left bytes unread.
    var unreadStreams = UnreadStreams()

    /// Creates the shared state.
    ///
    /// - Parameter highWatermark: From how many waiting bytes on a body is held back; two pieces bring as many, unless
    ///   they would be very small or very large.
    init(highWatermark: Int) {
        buffers = RecycledBuffers(size: min(max(highWatermark / 2, 64 * 1024), 512 * 1024))
    }

    /// Lets go of the transfers, which hold this.
    func forgetTransfers() {
        (progressed, withHeads, refused) = ([], [], [])
        (receiveBudget, decodingQueue, uploadEnds) = (ReceiveBudget(), DecodingQueue(), DeferredUploadEnds())
    }
}

/// The transfers with coded bytes left, and how much may be decoded in a turn.
struct DecodingQueue {
    /// How many bytes may go in and out of decoders before the loop looks after others: some two milliseconds' worth.
    private static let fullAllowance = 1 << 20

    private(set) var transfers: [Transfer] = []
    /// How many bytes may still go in and out of decoders in this turn.
    var allowance = Self.fullAllowance

    mutating func append(_ transfer: Transfer) {
        transfers.append(transfer)
    }

    /// Begins a turn; returns the transfers to serve in it.
    mutating func beginTurn() -> [Transfer] {
        allowance = Self.fullAllowance
        guard !transfers.isEmpty else { return [] }
        defer { transfers = [] }
        return transfers
    }

    /// Ends a turn; the transfers that were not served are the first in the next.
    mutating func endTurn(unserved: ArraySlice<Transfer>) {
        transfers.insert(contentsOf: unserved, at: 0)
        allowance = Self.fullAllowance
    }
}

/// How many pieces of bodies may come in before the loop looks after others: some milliseconds' worth.
///
/// As long as there are bytes in a socket, libcurl keeps reading them; a body in small chunks costs it a callback for
/// each.
struct ReceiveBudget {
    private static let maximumPieces = 4096

    private var pieces = 0
    /// The transfers that wait for the next turn.
    private var waiting: [Transfer] = []

    /// A piece of a body comes in; returns whether it may, in this turn.
    mutating func takesPiece() -> Bool {
        pieces += 1
        return pieces <= Self.maximumPieces
    }

    mutating func append(_ transfer: Transfer) {
        waiting.append(transfer)
    }

    /// Begins the next turn; returns the transfers that continue.
    mutating func turnEnds() -> [Transfer] {
        pieces = 0
        guard !waiting.isEmpty else { return [] }
        defer { waiting = [] }
        return waiting
    }
}
