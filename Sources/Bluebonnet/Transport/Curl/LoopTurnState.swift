/// The state that the engine and libcurl's callbacks share during a turn.
// Safety: only the loop's thread uses the unchecked properties; see ``Transfer``.
final class LoopTurnState {
    /// The memory for the pieces in which bodies are delivered.
    let buffers: RecycledBuffers
    /// What the flood guard must know of the transfers.
    let counts = ReceiveCounts()
    /// The steps that the turn takes; code that adds to a list below asks for its step.
    #if !DEBUG
        @safe @exclusivity(unchecked)
    #endif
    var steps = TurnSteps()
    /// The time at the start of the turn, on the monotonic clock in nanoseconds.
    var now: Int64 = 0
    /// The time at which the first connect limit ends, among the connections that began in this turn.
    var nextConnectCheck: Int64?
    /// The transfers that received or sent bytes in this turn.
    #if !DEBUG
        @safe @exclusivity(unchecked)
    #endif
    var progressed: [Transfer] = []
    /// The transfers whose own connections are ready, with the events.
    #if !DEBUG
        @safe @exclusivity(unchecked)
    #endif
    var readyUpgrades: [(Transfer, Readiness)] = []
    /// The transfers whose heads must be reported to their observers: informational ones, or `nil` for the final head.
    #if !DEBUG
        @safe @exclusivity(unchecked)
    #endif
    var withHeads: [(Transfer, informational: ReceivedHead?)] = []
    /// The transfers that may have to wait for a connection, if libcurl does not retry all of them.
    var waiting: WaitingTransfers?
    /// The session's cookies, and the hosts that require TLS, if it stores them.
    let cookies: SessionCookies?
    let hsts: SessionHSTS?
    /// The transfers whose request bodies are refused while libcurl waits for more bytes of them.
    var refused: [Transfer] = []
    /// Counts the body pieces that have arrived in this turn.
    #if !DEBUG
        @safe @exclusivity(unchecked)
    #endif
    var receiveBudget = ReceiveBudget()
    /// The speed limits of the session, and whether there are any.
    let speedLimits: SpeedLimits
    let limitsSpeed: Bool
    /// Whether there has been a transfer with a speed limit.
    var usesSpeedQueues = false
    /// The transfers that wait because of speed limits.
    var downloads: SpeedQueue
    var uploads: SpeedQueue
    /// The transfers with bytes that are still to be decoded.
    var decodingQueue = DecodingQueue()
    /// The uploads whose ends have yet to be sent to their servers.
    var uploadEnds = DeferredUploadEnds()
    /// The streams that libcurl may have left with unread bytes.
    var unreadStreams = UnreadStreams()
    /// The connections that may have ended without libcurl noticing it for all of their streams.
    var endedSockets: [(MultiHandle, IdleConnections.Connection)] = []
    /// The sockets that may still be connecting; used only where ``SlowAddresses`` requires it.
    var freshAttempts: FreshAttempts
    /// What has happened in this turn on the connections of exchanges that the gate counts, in this order.
    var connectionEvents: [(Transfer, ConnectionEvent)] = []
    var recentOrigin = RecentOrigin()
    var alerts = PeerAlerts()
    /// Whether libcurl has reported that it opened a stream; see ``RefusedStreams``.
    var reportsOpening = false
    /// Whether all requests on new connections are traced; see ``RefusedStreams``.
    var tracesConnections = false

    /// Creates the shared state.
    ///
    /// - Parameters:
    ///   - configuration: The settings of the session. Two pieces of a body contain as many bytes as the high
    ///     watermark, within limits for the size of a piece.
    ///   - group: The state that the session's engines share.
    init(_ configuration: Session.Configuration, _ group: EngineGroup) {
        (cookies, hsts) = (group.cookies, group.hsts)
        let (highWatermark, speed) = (configuration.bodyHighWatermark, configuration.speedLimits)
        freshAttempts = FreshAttempts(configuration.happyEyeballsTimeout)
        speedLimits = speed
        limitsSpeed = !speed.isEmpty
        downloads = SpeedQueue(bytesPerSecond: speed.download, now: MonotonicClock.now())
        uploads = SpeedQueue(bytesPerSecond: speed.upload, now: MonotonicClock.now())
        buffers = RecycledBuffers(size: min(max(highWatermark / 2, 64 * 1024), 512 * 1024))
    }

    /// Reports an event to the transfers that wait for a connection, if this one may be among them.
    func waitingChanges(
        _ membership: inout WaitingTransfers.Membership,
        _ body: (inout WaitingTransfers?, inout WaitingTransfers.Membership) -> Void
    ) {
        if case .none = membership { return }
        body(&waiting, &membership)
        steps.ask(.retryWaiting)
    }

    /// Releases the transfers, which in turn refer to this object.
    func forgetTransfers() {
        (progressed, withHeads, refused, readyUpgrades, endedSockets, connectionEvents) = ([], [], [], [], [], [])
        freshAttempts = FreshAttempts(nil)
        steps = TurnSteps()
        (receiveBudget, decodingQueue, uploadEnds) = (ReceiveBudget(), DecodingQueue(), DeferredUploadEnds())
    }
}

/// The transfers with bytes that are still to be decoded, and the number of bytes to decode in a turn.
struct DecodingQueue {
    /// The number of bytes that may enter and leave decoders in a turn, which takes about two milliseconds.
    private static let fullAllowance = 1 << 20

    private(set) var transfers: [Transfer] = []
    /// The number of bytes that may still enter and leave decoders in this turn.
    var allowance = Self.fullAllowance

    mutating func append(_ transfer: Transfer) {
        transfers.append(transfer)
    }

    /// Begins the steps of a turn, which have the whole allowance.
    mutating func renew() { allowance = Self.fullAllowance }

    /// Returns the transfers to serve in the turn.
    mutating func takeTransfers() -> [Transfer] { exchange(&transfers, with: []) }

    /// Ends a turn; the transfers that were not served come first in the next turn.
    mutating func endTurn(unserved: ArraySlice<Transfer>) {
        transfers.insert(contentsOf: unserved, at: 0)
        allowance = Self.fullAllowance
    }
}

/// Limits the number of body pieces that arrive in a turn, which takes a few milliseconds.
///
/// Libcurl continues to read as long as a socket has bytes. A body in small chunks needs one callback for each chunk.
struct ReceiveBudget {
    private static let maximumPieces = 4096

    private var pieces = 0
    /// The transfers that wait for the next turn.
    private var waiting: [Transfer] = []

    /// Called when a piece of a body arrives; returns whether it still belongs to this turn.
    mutating func takesPiece() -> Bool {
        pieces += 1
        return pieces <= Self.maximumPieces
    }

    mutating func append(_ transfer: Transfer) {
        waiting.append(transfer)
    }

    /// Begins the steps of a turn, in which as many pieces may arrive again.
    mutating func renew() { pieces = 0 }

    /// Returns the transfers that waited for the turn.
    mutating func takeWaiting() -> [Transfer] { exchange(&waiting, with: []) }
}

/// An event in the life of an exchange that a ``ConnectionGate`` counts.
enum ConnectionEvent {
    /// The exchange needs a connection, perhaps for the second time.
    case isNeeded
    /// The request was sent on a connection, which libcurl has perhaps opened for it.
    case isUsed(IdleConnections.Connection?, isFirst: Bool)
    /// The server has answered for the first time on a connection.
    case hasAnswered(IdleConnections.Connection)
}
