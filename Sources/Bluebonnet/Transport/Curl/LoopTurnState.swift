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
    ///
    /// While libcurl handles the sockets that became ready, this is the time before the loop waited.
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
    /// The number of body pieces that have arrived in this turn.
    #if !DEBUG
        @safe @exclusivity(unchecked)
    #endif
    private var pieces = 0
    /// The number of bytes that may still enter and leave decoders in this turn.
    var decodingAllowance = LoopTurnState.fullDecodingAllowance
    var speed: SpeedQueues
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
    var alerts = PeerActs<PeerAlert>()
    /// The connections that were ended because of messages of TLS without end.
    var messageFloods = PeerActs<Void>()
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
        freshAttempts = FreshAttempts(configuration.happyEyeballsTimeout)
        speed = SpeedQueues(configuration.speedLimits)
        buffers = RecycledBuffers(size: min(max(configuration.bodyHighWatermark / 2, 64 * 1024), 512 * 1024))
    }

    /// The number of bytes that may enter and leave decoders in a turn, which takes about two milliseconds.
    static let fullDecodingAllowance = 1 << 20
    /// The maximum number of body pieces in a turn, which take a few milliseconds.
    ///
    /// Libcurl continues to read as long as a socket has bytes. A body in small chunks needs one callback for each
    /// chunk.
    private static let maximumPieces = 4096

    /// Called when a piece of a body arrives; returns whether it still belongs to this turn.
    func takesPiece() -> Bool {
        pieces += 1
        return pieces <= Self.maximumPieces
    }

    /// Begins the steps of a turn, in which as many pieces and bytes may arrive again.
    func renewAllowances() { (pieces, decodingAllowance) = (0, Self.fullDecodingAllowance) }

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
        (progressed, withHeads, readyUpgrades, endedSockets, connectionEvents) = ([], [], [], [], [])
        freshAttempts = FreshAttempts(nil)
        steps = TurnSteps()
        uploadEnds = DeferredUploadEnds()
    }
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
