/// Decides whether a request is sent again after its connection or its stream has ended without a response.
///
/// This is a value type without I/O and without a clock.
///
/// Libcurl sends a request again by itself if a connection that was open before ends without a response, and if the
/// server has refused the stream. It does not ask whether the server may have processed the request, and some versions
/// do not begin with the first byte of the body. So libcurl asks this policy before each sending. A request that the
/// server has not processed is sent again, whatever its method. A request that the server may have processed is sent
/// again only if its method is idempotent (RFC 9110 §9.2.2).
///
/// Each loop has an end. A request that was alone on its connection is sent once more. Many requests on one connection
/// may be refused together several times, because the next connection may also end before it has served all of them.
/// After a few times, each of them gets its own connection.
struct ResendPolicy: Equatable {
    /// What is known about the latest sending, while there is no response.
    enum Knowledge: Equatable {
        /// The server may have processed the request.
        case unknown
        /// No stream was opened for the request.
        case unopened
        /// Nothing was sent, because the connection was not open yet, or the server has announced its end.
        case unconnected
        /// The server has not processed the request: it refused the stream, or named an earlier stream as the last one
        /// (RFC 9113 §6.8, §8.7).
        case refused
        /// The server has not processed the request, because it requires HTTP/1.1 (RFC 9113 §7).
        case requiresHTTP1
    }

    /// The connection on which the request was sent.
    struct Connection: Equatable {
        /// Whether the connection was opened for the request.
        var isNew = false
        /// Whether the connection has served several requests at the same time.
        var isShared = false
    }

    /// How to send the request again.
    enum Way: Equatable {
        /// On any connection.
        case onAnyConnection
        /// On a connection that is opened for this request.
        case onOwnConnection
        /// With HTTP/1.1.
        case withHTTP1
    }

    enum Decision: Equatable {
        /// The request may be sent.
        case send
        /// The request must be sent from its first byte, and perhaps on another connection than the one that libcurl
        /// has chosen.
        case restart(Way)
        /// Whether the server has refused the request must be learned before the next decision, which `failed` returns.
        case ask
        case stop(Reason)
    }

    /// The reason why the request is not sent again.
    enum Reason: Equatable {
        /// The server may have processed the request, whose method is not idempotent.
        case mayBeProcessed
        /// A part of a response has arrived.
        case isAnswered
        /// The request was sent too often: the number, and whether the server refused it each time.
        case exhausted(sends: Int, isRefused: Bool)
        /// The server makes libcurl send the request without end, for example with challenges (RFC 7616 §3.3:
        /// `stale=true`).
        case endless
    }

    /// Why Bluebonnet has halted libcurl.
    enum Halt: Equatable {
        case none
        /// The request is sent again from its first byte.
        case toSendAgain
        /// Whether the server has refused the request is learned first.
        case toAsk
    }

    /// The progress of the latest sending.
    private enum Phase: Equatable {
        /// The request was not sent yet, or may be sent again.
        case ready
        /// The request is about to be sent, or was sent, and no byte of a response has arrived.
        case sent(Knowledge)
        /// A response has begun to arrive.
        case answered
        /// The response is a challenge or the refusal of an expectation, after which libcurl sends the request again.
        case challenged
        case stopped(Reason)
    }

    private let isIdempotent: Bool
    private var phase = Phase.ready
    /// The number of connections that were opened for the request since it was added to libcurl.
    private var connections = 0
    /// The number of times that the request was sent.
    private(set) var sends = 0
    /// The number of times that libcurl was halted so that the request can be sent.
    private var restarts = 0
    /// Whether the request was ready to be sent on a connection since it was added to libcurl.
    private(set) var hasBegun = false
    /// The number of times that the request was sent again after it had been alone on its connection.
    private var resendsAlone = 0
    /// The number of times that the request was sent again after a shared connection or an old connection had ended.
    private var resendsAmongOthers = 0
    /// Whether the server requires HTTP/1.1.
    private(set) var requiresHTTP1 = false
    /// Whether the request must not be sent on an existing connection.
    private(set) var needsOwnConnection = false
    private(set) var halt = Halt.none
    private var wasMisdirected = false
    /// Whether the request was sent again although the server may have processed it.
    private var isRepetition = false

    /// Whether the request is sent on a connection that was opened for it.
    private(set) var isOnNewConnection = false

    init(isIdempotent: Bool) { self.isIdempotent = isIdempotent }

    /// Whether the request was sent again without an answer that libcurl itself acts on.
    var wasResent: Bool { resendsAlone + resendsAmongOthers > 0 || requiresHTTP1 || wasMisdirected }

    /// Whether nothing is known that prevents the sending of the request.
    var isReady: Bool { phase == .ready && sends < Self.maximumSends }

    /// Whether libcurl was halted, and must not send the request.
    var isHalted: Bool { halt != .none }

    /// Whether a response is missing, and the server has not refused the request.
    var isUnanswered: Bool { phase == .sent(.unknown) || isUnopened }

    /// Whether the request is about to be sent again because of a challenge.
    var isChallenged: Bool { phase == .challenged }

    /// Whether a response has begun to arrive that is no challenge.
    var isAnswered: Bool { phase == .answered }

    /// Whether no stream was opened for the request.
    var isUnopened: Bool { phase == .sent(.unopened) }

    /// Whether the server has refused the request, or has not received it.
    var isRefused: Bool { [.sent(.refused), .sent(.requiresHTTP1), .sent(.unconnected)].contains(phase) }

    /// Whether the server may have processed the request.
    var mayBeProcessed: Bool {
        switch phase {
        case .sent(.unknown), .answered: true
        case .stopped(.mayBeProcessed), .stopped(.isAnswered), .stopped(.endless): true
        case .sent, .ready, .challenged, .stopped(.exhausted): isRepetition
        }
    }

    /// The maximum number of times that a request is sent; the challenges of a proxy and of a server take three
    /// requests each.
    static let maximumSends = 20
    /// The number of restarts after which a new connection is opened.
    private static let restartsOnKeptConnections = 3
    /// The maximum number of resends after the request was alone on its connection.
    private static let limitAlone = 1
    /// The number of resends among other requests, after which the request gets its own connection.
    private static let limitAmongOthers = 3

    // MARK: Events

    /// Called when the transfer was added to libcurl, which counts its connections from then on.
    mutating func added() { (connections, hasBegun) = (0, false) }

    /// Called when libcurl is halted, because the request must be sent again, perhaps on a connection of its own.
    mutating func halts(needsOwnConnection: Bool = false) {
        halt = .toSendAgain
        if needsOwnConnection { self.needsOwnConnection = true }
    }

    /// Called when libcurl is halted, because it must be learned whether the server has refused the request.
    mutating func haltsToAsk() { halt = .toAsk }

    /// Called when the connection that libcurl has chosen will end.
    mutating func connectionEnds() { needsOwnConnection = true }

    /// Called when the transfer will use another handle, which cannot tell what the server has refused.
    mutating func handleIsLeft() { if halt == .toAsk { halt = .none } }

    /// Called when libcurl has ended, or continues although it was to be halted; returns whether the request was to be
    /// sent again.
    mutating func takeHalt() -> Bool {
        guard halt == .toSendAgain else { return false }
        halt = .none
        return true
    }

    /// Called when the request is sent again after libcurl was halted; returns whether this may happen once more.
    mutating func restarted() -> Bool {
        restarts += 1
        // The next connections that libcurl keeps may be unusable, too.
        if restarts > Self.restartsOnKeptConnections { needsOwnConnection = true }
        return restarts <= Self.maximumSends
    }

    /// Called when libcurl is about to open a connection for the request, or to send it on a connection.
    ///
    /// - Parameters:
    ///   - previous: The connection of the previous sending.
    ///   - isAtStart: Whether the next byte of the body to send is the first one.
    ///   - canAsk: Whether it can be learned later whether the server has refused the request.
    /// - Returns: Whether libcurl may continue.
    mutating func nextSending(
        after previous: Connection, isAtStart: Bool, canAsk: Bool = false
    ) -> Decision {
        if sends >= Self.maximumSends { phase = .stopped(.endless) }
        switch phase {
        case .ready, .challenged: break
        // Libcurl would also repeat a request whose stream was reset after the response had begun.
        case .answered: return stop(.isAnswered)
        case .stopped(let reason): return .stop(reason)
        case .sent(.unknown) where canAsk: return .ask
        case .sent(let knowledge):
            let decision = sendAgain(knowing: knowledge, after: previous)
            guard decision == .restart(.onAnyConnection) else { return decision }
        }
        return isAtStart ? .send : .restart(.onAnyConnection)
    }

    /// Called when the request is about to be sent.
    ///
    /// - Parameters:
    ///   - connections: The number of connections that were opened for the request.
    ///   - reportsOpening: Whether libcurl reports when it opens a stream for the request.
    mutating func began(connections: Int, reportsOpening: Bool = false) {
        isOnNewConnection = connections > self.connections
        self.connections = connections
        sends += 1
        hasBegun = true
        phase = .sent(reportsOpening ? .unopened : .unknown)
    }

    /// Called when libcurl reports that it has opened a stream for the request.
    mutating func opened() { if isUnopened { phase = .sent(.unknown) } }

    /// Called when libcurl reports the fate of the stream.
    mutating func learned(_ knowledge: Knowledge) {
        switch phase {
        case .sent(.unknown), .sent(.unopened): phase = .sent(knowledge)
        default: break
        }
    }

    /// Called when a part of a response has arrived, but not the trailers of a challenge.
    mutating func answered() { if case .sent = phase { phase = .answered } }

    /// Called when the response is a challenge, or the refusal of an expectation (417).
    mutating func challenged() { phase = .challenged }

    /// Called when the sending has failed without a response.
    ///
    /// - Parameters:
    ///   - connection: The connection of the sending.
    ///   - isLost: Whether the connection has ended, and an idempotent request may be sent again.
    /// - Returns: Whether to send the request again.
    mutating func failed(on connection: Connection, isLost: Bool) -> Decision? {
        guard case .sent(let knowledge) = phase, isLost || isRefused else { return nil }
        return sendAgain(knowing: knowledge, after: connection)
    }

    /// Called when the server does not answer requests for this URL on this connection (421, RFC 9110 §15.5.20).
    ///
    /// Returns whether to send the request again, on its own connection.
    mutating func misdirected() -> Bool {
        guard !wasMisdirected else { return false }
        (wasMisdirected, needsOwnConnection) = (true, true)
        phase = .ready
        return true
    }

    private mutating func sendAgain(knowing knowledge: Knowledge, after connection: Connection) -> Decision {
        let isRefused = knowledge != .unknown
        guard isRefused || isIdempotent else { return stop(.mayBeProcessed) }
        if !isRefused { isRepetition = true }
        let exhausted = Reason.exhausted(sends: sends, isRefused: isRefused)
        let way: Way
        if knowledge == .requiresHTTP1 {
            guard !requiresHTTP1 else { return stop(exhausted) }
            requiresHTTP1 = true
            way = .withHTTP1
        } else if knowledge == .unconnected || connection.isShared || (!isRefused && !connection.isNew) {
            guard resendsAmongOthers <= Self.limitAmongOthers else { return stop(exhausted) }
            let isLast = resendsAmongOthers == Self.limitAmongOthers
            way = knowledge == .unconnected || isLast ? .onOwnConnection : .onAnyConnection
            resendsAmongOthers += 1
        } else {
            guard resendsAlone < Self.limitAlone else { return stop(exhausted) }
            way = .onAnyConnection
            resendsAlone += 1
        }
        if way == .onOwnConnection { needsOwnConnection = true }
        phase = .ready
        return .restart(way)
    }

    private mutating func stop(_ reason: Reason) -> Decision {
        phase = .stopped(reason)
        return .stop(reason)
    }
}
