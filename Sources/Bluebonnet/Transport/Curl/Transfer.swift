import CCurl
import FoundationEssentials

/// Contains the received data of one exchange, and the data to send, for libcurl's callbacks.
///
/// A transfer belongs to the engine and never leaves the loop's thread. Libcurl must not be called from its own
/// callbacks. The callbacks therefore record their results in the transfer. The engine handles these results after
/// libcurl has returned.
///
/// Swift checks at run time that accesses to a property of a class do not overlap. For a small GET, these checks take
/// 5,300 instructions (4 %). Release builds omit them for the properties that callbacks or turns often change, here and
/// in the other classes of the event loop. Debug builds, which the tests and the fuzzer use, keep the checks.
// Safety: libcurl's buffers are used within the callback that provides them, up to the length that it names. Only the
// loop's thread uses the unchecked properties.
final class Transfer {
    let id: TransferID
    let request: HTTPRequest
    let observer: any ExchangeObserver
    #if !DEBUG
        @safe @exclusivity(unchecked)
    #endif
    var limits: TransferLimits
    #if !DEBUG
        @safe @exclusivity(unchecked)
    #endif
    var responseBuffer: ResponseBuffer

    /// The URL with which the request is sent: the request's URL, or its `https` form if the host requires TLS.
    var url: URL
    /// Whether the session's cookies are sent with the request, and stored from its response.
    let usesCookies: Bool
    /// The cookies in fields of the request or the session.
    var ownCookies: String?
    /// The head of the response, before its end.
    var headOfResponse: HTTPResponse? {
        responseBuffer.head.map { HTTPResponse(url: url, head: $0, keepsCoding: responseBuffer.keepsCoding) }
    }

    /// The response, with its trailers if they have arrived.
    var response: HTTPResponse? {
        guard let head = responseBuffer.head else { return nil }
        // The fields are read one by one, because the whole buffer would be copied for a method.
        return HTTPResponse(
            url: url, head: head, trailerLines: responseBuffer.trailerLines,
            keepsCoding: responseBuffer.keepsCoding)
    }

    var connection: IdleConnections.Connection?
    /// The addresses of the last connection; `nil` if Bluebonnet does not know the connection.
    var addresses: ConnectionAddresses?
    private(set) var isGuarded = false
    /// The transfer's handle in libcurl, and the multi handle that contains it, while the transfer is added.
    var easy: EasyHandle?
    var multi: MultiHandle?

    /// The numbers of bytes that libcurl had sent and received at the last check, before decoding.
    var lastSentBytes: Int64 = 0
    var lastReceivedBytes: Int64 = 0
    /// Whether the handle's information is that of an earlier transfer, because libcurl has not run since.
    var isFresh = true
    /// Whether bytes were sent or received that have not been reported to the observer yet.
    var hasUnreportedProgress = false
    /// Whether bytes of the body arrived since the last check.
    private var hasNewBytes = false
    /// The numbers of sent and received body bytes that were reported to the observer.
    var reportedSentBytes: Int64 = 0
    var reportedReceivedBytes: Int64 = 0
    /// Whether the head must be reported to the observer before the body arrives.
    private(set) var reportsHead: Bool
    /// Whether the head of a redirect must be reported.
    private let announcesRedirects: Bool
    private(set) var hasReportedHead = false
    /// The receiver of the body; `nil` if the body is collected.
    var receiver: (any BodyReceiver)?
    /// Whether the receiver has stopped the exchange.
    private(set) var isStopped = false
    var waitsToTakeRest = false
    /// Whether the transfer has ended; a look-up in the engine's dictionary would take 170 instructions.
    var hasEnded = false
    /// How libcurl has ended the transfer, while bytes that it has delivered are not part of the body yet.
    var end: End?

    enum End {
        case complete
        case failed(RequestError)
    }

    /// The challenges of the server and of an HTTP proxy.
    var serverChallenges: AuthenticationChallenges
    var proxyChallenges = AuthenticationChallenges()
    /// The requested version of HTTP.
    var httpVersion: HTTPVersionPreference
    /// Whether the request may use a proxy.
    var isProxied = false
    let speed: SpeedState?
    var place = RequestQueue.Place.outside
    var connectionPlace = RequestQueue.Place.outside
    /// The connection on which the gate has counted the exchange.
    var countedConnection: IdleConnections.Connection?
    /// The attempts to connect; `nil` if there was none, or where ``SlowAddresses`` is not needed.
    var slowAddresses: SlowAddresses?
    /// The origin by which the limits of requests and connections are counted.
    lazy var countedOrigin = turn.recentOrigin.origin(of: url)
    var waitingMembership = WaitingTransfers.Membership.none
    /// Whether libcurl was stopped so that the request can be sent again.
    var needsResend = false
    private var authorities: AuthorityStore?
    /// The number of handshakes started for the transfer's connection, with a proxy or with the server.
    private(set) var handshakes = 0
    /// The policy for the servers of the transfer's connection; `nil` if only libcurl checks them.
    private(set) var trust: TrustPolicy?
    private var trustCache: TrustCache?
    /// The verifiers of the handshakes for the connection that was opened for this transfer.
    private(set) var verifiers: [HandshakeVerifier] = []
    /// The verdict that the transfer awaits before its connection is opened again.
    var awaitedVerdict: TrustCache.Key?
    var isAwaitingVerdict: Bool { if case .some = awaitedVerdict { true } else { false } }
    var verdicts = 0
    /// Whether the request must not be sent on an existing connection.
    var needsFreshConnection = false
    /// Whether a connection was opened because another one was not evaluated.
    private var triedOwnConnection = false
    /// Whether libcurl has already stored a field of this transfer.
    var firstField = FoldedFirstField.stored
    /// Whether libcurl traces the sending, and whether a line of the trace has arrived since the request was sent.
    var isTraced = false
    var hasTrace = false
    /// The stream of the latest sending, where libcurl reports it, and whether libcurl still uses it.
    var stream: (id: Int, isCurrent: Bool)?
    /// Whether libcurl has reported that the connection has failed; only before 8.3.0.
    var isLost = false
    /// What is known about the mark for refused streams of libcurl's handle.
    var refusalMark = RefusalMark.clear
    /// Whether libcurl was stopped so that the mark can be read.
    private(set) var needsMark = false
    /// Returns the metrics of an exchange whose handle was then used to read the mark.
    var metricsAtEnd: (() -> TransferMetrics)?
    /// Whether libcurl has reported that the server has ended the stream without an error.
    var isStreamClosed = false
    /// Whether HTTP/1.1 is used because the server requires it.
    private(set) var requiresHTTP1 = false
    /// Whose `Expect` field is sent (RFC 9110 §10.1.1).
    var expectation = Expectation.none

    enum Expectation {
        /// No field is sent.
        case none
        /// Libcurl sends the field with HTTP/1.
        case ofLibcurl
        /// The request or the session has the field.
        case own
        /// The server has refused the field, so it is not sent again.
        case omitted
    }
    /// Decides about each sending of the request.
    #if !DEBUG
        @safe @exclusivity(unchecked)
    #endif
    var resends: ResendPolicy
    /// Whether the request was ready to be sent on a connection.
    ///
    /// Bluebonnet tracks this itself, because libcurl 8.21 and later also set their timestamp for requests that were
    /// not sent.
    var wasSent: Bool { resends.hasBegun }

    var upload: UploadBody
    var uploadOffset = 0
    private var uploadPart = UploadPartSize()
    var upgrade: UpgradableConnection?
    let turn: LoopTurnState
    private let counts: ReceiveCounts
    /// Whether the stream is counted as paused.
    private var countsAsPaused = false

    init(
        id: TransferID, request: HTTPRequest, observer: any ExchangeObserver, limits: TransferLimits,
        state: TransferState, upload: UploadBody, httpVersion: HTTPVersionPreference, credential: Credential?,
        announcesRedirects: Bool, speed: SpeedState?, turn: LoopTurnState
    ) {
        self.id = id
        self.request = request
        url = request.url
        usesCookies = turn.cookies?.areUsed(by: request) ?? false
        self.observer = observer
        self.upload = upload
        self.httpVersion = httpVersion
        serverChallenges = AuthenticationChallenges(credential: credential)
        self.speed = speed
        self.turn = turn
        counts = turn.counts
        reportsHead = state.isBodyHeld
        self.announcesRedirects = announcesRedirects
        resends = ResendPolicy(isIdempotent: request.method.isIdempotent)
        responseBuffer = ResponseBuffer(state: state, now: turn.now)
        self.limits = limits
    }

    // MARK: The connection

    /// Lets the flood guard watch the connections of a multi handle while the transfer is in it.
    func guardFloods(in multi: MultiHandle) {
        isGuarded = true
        multi.floods.transferBegins()
    }

    /// Called when the transfer is about to be removed from its multi handle.
    func multiIsLeft() {
        connectionIsLeft()
        countPaused(false)
        turn.waitingChanges(&waitingMembership) { $0?.left(&$1) }
        if isGuarded { multi?.floods.transferEnded() }
        isGuarded = false
    }

    /// Whether libcurl stores bytes for the response while it is not read.
    var mayBeStream: Bool { connection.map { $0.version == .multiplexed } ?? true }

    /// Called when libcurl pauses or continues to receive the response, and when a request begins.
    func receivingChanged(isPaused: Bool) {
        countPaused(isPaused)
        if ReadsDuringPause.occur { holdSocketBack(while: isPaused) }
    }

    private func countPaused(_ isPaused: Bool) {
        guard isPaused != countsAsPaused, !isPaused || mayBeStream else { return }
        countsAsPaused = isPaused
        if isPaused { counts.streamPaused() } else { counts.streamContinues() }
    }

    /// The approximate number of bytes in the head of a request.
    private static let headEstimate = 512
    /// The approximate number of bytes that a piece of a body needs at least.
    private static let pieceEstimate = 64

    // MARK: Events from libcurl's callbacks

    /// Called each time libcurl is about to send the request on a connection; returns whether it may send it.
    func requestBegins(_ ends: ConnectionEndpoints?) -> Bool {
        guard maySend(isAtStart: uploadOffset == 0), mayUseConnection(ends), connectionIsChosen(ends) else {
            return false
        }
        limits.requestBegan()
        if firstField != .stored { awaitFirstField() }
        easy?.decodeTransferCodings(true)
        counts.add(Self.headEstimate)
        applyCookies()
        (isStreamClosed, hasTrace) = (false, false)
        responseBuffer.wasContinued = false
        refusalMark.sendingBegins()
        traceSending()
        resends.began(connections: easy?.long(CURLINFO_NUM_CONNECTS) ?? 0, reportsOpening: reportsOpening)
        turn.waitingChanges(&waitingMembership) { $0?.requestBegins(&$1, onNewConnection: resends.isOnNewConnection) }
        noteConnection()
        return true
    }

    private func noteConnection() {
        if let connection { multi?.settled(connection.socket) }
        guard isCounted else { return }
        note(.isUsed(connection, isFirst: connection?.requestCount == 1 && !needsFreshConnection))
    }

    private func answered(on connection: IdleConnections.Connection) {
        connection.hasAnswered = true
        if connection.share.exchanges > 1 { note(.hasAnswered(connection)) }
    }

    /// Whether the gate counts the exchange.
    private var isCounted: Bool { connectionPlace == .running || connectionPlace == .sent }

    /// Notes an event for the gate.
    private func note(_ event: ConnectionEvent) {
        turn.connectionEvents.append((self, event))
        turn.steps.ask(.noteConnections)
    }

    /// Called when libcurl has opened a socket for the transfer; returns what libcurl does with it.
    func socketOpens(_ socket: Int32) -> Int32 {
        guard connectionBegins() else { return CURL_SOCKOPT_ERROR }
        multi?.begins(socket, for: id)
        return opened(socket) ? CURL_SOCKOPT_ALREADY_CONNECTED : CURL_SOCKOPT_OK
    }

    /// Called when a connection is looked up or opened for the transfer, which then no longer waits for one; returns
    /// whether to continue.
    func connectionBegins() -> Bool {
        guard maySend(isAtStart: true) else { return false }
        if isTraced { endTrace() }
        turn.waitingChanges(&waitingMembership) { $0?.connectionBegins(&$1) }
        if isCounted { note(.isNeeded) }
        guard let check = limits.connectionBegan(at: turn.now) else { return true }
        turn.nextConnectCheck = min(turn.nextConnectCheck ?? check, check)
        turn.steps.ask(.checkLimits)
        return true
    }

    /// Receives bytes of a head; returns whether to continue.
    func receivedHead(_ bytes: UnsafeRawBufferPointer) -> Bool {
        counts.add(bytes.count)
        let (progress, lines) = unsafe responseBuffer.receivedHead(bytes, now: turn.now)
        if responseBuffer.isInformational {
            resends.opened()
        } else {
            resends.answered()
            if isTraced { endTraceOfSending() }
        }
        if lines.contains(.multiplexing) { multiplexingIsClaimed() }
        if lines.contains(.informational) { noteInformational() }
        if firstField != .stored { unsafe linesWereStored(bytes, progress) }
        switch progress {
        case .begun: return true
        case .complete(let head): return checkHead(head)
        case .trailers:
            noteStream()
            return true
        case .refused: return false
        }
    }

    /// Passes head lines to the write callback until libcurl has stored a field; see ``FoldedFirstField``.
    private func awaitFirstField() {
        firstField.requestBegins(isHTTP2: easy?.isMultiplexedOverTLS == true)
        easy?.set(CURLOPT_HEADER, firstField.isHeadExpected ? 1 : 0)
    }

    private func linesWereStored(_ lines: UnsafeRawBufferPointer, _ progress: ResponseBuffer.HeadProgress) {
        let isComplete = if case .complete = progress { true } else { false }
        unsafe firstField.linesStored(lines, isHeadComplete: isComplete)
        if firstField == .stored { easy?.set(CURLOPT_HEADER, 0) }
    }

    /// Evaluates a complete head; returns whether to continue.
    private func checkHead(_ head: ReceivedHead) -> Bool {
        noteStream()
        if let connection, !connection.hasAnswered { answered(on: connection) }
        if let reuseTime = responseBuffer.reuseTime, !head.httpVersion.isMultiplexed {
            connection?.reuseTime = reuseTime
        }
        if head.statusCode == 421, restartMisdirected() { return false }
        if head.statusCode == 417, restartWithoutExpectation(head) { return false }
        store(head)
        if head.statusCode == 101, upgrade == nil {
            let detail = "the server switched to another protocol, which the request does not support"
            responseBuffer.fail(with: RequestError(.invalidResponse(.malformed), detail: detail))
            return false
        }
        // Bytes after the head, which may arrive later, would be read as the next response.
        if head.statusCode == 204, head.statedLength ?? 0 > 0 || responseBuffer.hasTransferCoding { forbidReuse() }
        // Libcurl sends the request again after these status codes (RFC 9110 §10.1.1, §11.2). If it does not, the body
        // or the end of the response follows.
        let isAnswered = head.statusCode == 417 || isChallenge(head)
        if isAnswered { resends.challenged() }
        // Libcurl may read such a response without a limit, and without delivering it.
        if !isGuarded, isAnswered || responseBuffer.hasTransferCoding, let multi { guardFloods(in: multi) }
        if announcesRedirects, RedirectDecision.redirects(head.statusCode), head.headers.contains("Location") {
            // The body may be unwanted and very long.
            reportsHead = true
            responseBuffer.state.bodyHeld()
        }
        if reportsHead, !isAnswered { noteHead() }
        guard checkChallenge(head) else { return false }
        // After a refusal, libcurl stops sending, but still waits for bytes that it has already requested.
        if head.statusCode >= 300, responseBuffer.state.isSendingPaused { refusalMayBeComplete() }
        if !isAnswered { stopRefusedUpload(head) }
        return true
    }

    /// Receives bytes of the body; returns the state's decision.
    func receivedBody(_ bytes: UnsafeRawBufferPointer) -> TransferState.BodyAction {
        guard !firstField.isHeadExpected else { return unsafe receivedLineBytes(bytes) }
        // Small pieces have large frames, and their number is limited.
        counts.add(max(bytes.count, Self.pieceEstimate))
        noteStream()
        if reportsHead { noteHead() }
        if !turn.receiveBudget.takesPiece(), responseBuffer.state.turnEnded() {
            turn.receiveBudget.append(self)
            turn.steps.ask(.resumePieces)
        }
        let hasDecoder = responseBuffer.decoder != nil
        // Many pieces may arrive in one turn, and would be copied if they had to be kept.
        if !hasDecoder, responseBuffer.isPieceFull(for: bytes.count) { deliverPiece() }
        // Bytes that are kept would pass a speed limit at once. A socket that has left libcurl keeps its own.
        let room = speed?.download == nil && upgrade == nil ? responseBuffer.roomOfRest : 0
        switch responseBuffer.state.bytesArrived(bytes.count, room: room) {
        case .take: return unsafe hasDecoder ? receivedCodedBody(bytes) : acceptBody(bytes)
        case .keep:
            unsafe keep(bytes)
            return .accept
        case .pause: return .pause
        case .refuse: return unsafe acceptBody(bytes)
        }
    }

    /// Receives bytes of a head line that libcurl has not stored yet.
    private func receivedLineBytes(_ bytes: UnsafeRawBufferPointer) -> TransferState.BodyAction {
        guard let flaw = unsafe firstField.lineBytesReceived(bytes) else { return .accept }
        responseBuffer.refuseLine(flaw)
        return .refuse(.malformed)
    }

    /// Receives decoded bytes of the body; returns the state's decision.
    func acceptBody(_ bytes: UnsafeRawBufferPointer) -> TransferState.BodyAction {
        let action = unsafe responseBuffer.receivedBody(bytes, now: turn.now)
        if action == .accept {
            hasNewBytes = true
            noteProgress()
            noteRefusal()
        }
        return action
    }

    /// Makes the engine check whether the response to a refused body is complete.
    func noteRefusal() {
        if responseBuffer.state.upload == .refused { refusalMayBeComplete() }
    }

    /// Passes the received bytes to the receiver, if there is one.
    func deliverPiece() {
        guard let receiver, let piece = responseBuffer.takePiece() else { return }
        switch receiver.receive(piece) {
        case .proceed: break
        case .pause: responseBuffer.state.bodyHeld()
        case .stop:
            // Libcurl must not be paused from within its callback.
            isStopped = true
            responseBuffer.state.bodyHeld()
            noteProgress()
        }
    }

    /// Whether the piece for the receiver is likely to grow in the next turn.
    ///
    /// This is the case if only a few bytes have arrived in this turn. Waking a receiver costs as much as reading about
    /// 64 KiB, so small pieces wait for more bytes. A slow body is not delayed. Its bytes are delivered in the next
    /// turn, if that turn brings no new bytes.
    func isPieceGrowing() -> Bool {
        defer { hasNewBytes = false }
        return hasNewBytes && receiver != nil && responseBuffer.isPieceSmall && upgrade == nil
    }

    /// Schedules the report of the head to the observer at the end of the turn, at most once.
    func noteHead() {
        guard reportsHead, !hasReportedHead, responseBuffer.head != nil else { return }
        hasReportedHead = true
        turn.withHeads.append((self, nil))
        turn.steps.ask(.reportHeads)
    }

    /// Schedules the report of informational responses.
    private func noteInformational() {
        for head in responseBuffer.takeInformational() { turn.withHeads.append((self, head)) }
        turn.steps.ask(.reportHeads)
    }

    func noteProgress() {
        guard !hasUnreportedProgress else { return }
        hasUnreportedProgress = true
        turn.progressed.append(self)
        turn.steps.ask(.reportProgress)
    }

    private func noteStream() {
        if responseBuffer.head?.httpVersion == .http2 { turn.unreadStreams.received() }
    }

    /// Provides bytes of the request's body; returns their number, or a constant of libcurl if there are no bytes.
    func provideBody(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        responseBuffer.lastActivity = turn.now
        if responseBuffer.state.upload == .refused { return bb_curl_readfunc_pause }
        let part = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(uploadPart.next(now: turn.now)))
        var count = 0
        switch upload {
        case .copied:
            break
        case .unopened, .opening: return bb_curl_readfunc_abort
        case .data(let data):
            count = min(part.count, data.count - uploadOffset)
            guard count > 0 else { break }
            unsafe data.copy(count, from: uploadOffset, to: part)
        case .channel(let channel):
            switch unsafe channel.take(into: part) {
            case .took(let number, _): count = number
            case .end:
                let mayEnd = turn.uploadEnds.bodyEnded(of: self)
                if !turn.uploadEnds.isEmpty { turn.steps.ask(.endUploads) }
                guard mayEnd else {
                    responseBuffer.state.bodyBytesMissing()
                    return bb_curl_readfunc_pause
                }
            case .wait:
                responseBuffer.state.bodyBytesMissing()
                return bb_curl_readfunc_pause
            case .fail:
                return bb_curl_readfunc_abort
            }
        }
        counts.add(count)
        uploadOffset += count
        responseBuffer.state.bodyBytesSent(count)
        if count > 0 {
            uploadPart.passed(now: turn.now)
            noteProgress()
        }
        return count
    }
}

/// Sends requests again.
extension Transfer {
    /// Whether libcurl may open a connection for the request, or send it; otherwise libcurl is stopped.
    ///
    /// Libcurl also asks when it sends a request again by itself.
    private func maySend(isAtStart: Bool) -> Bool {
        guard !needsResend, !needsMark else { return false }
        if resends.isReady, isAtStart { return true }
        judgeKnowledge()
        if resends.isUnanswered, let connection {
            multi?.idleConnections.connectionIsLost(connection)
            noteEnd(of: connection)
        }
        switch resends.nextSending(after: lastConnection, isAtStart: isAtStart, canAsk: canReadMark) {
        case .send:
            guard refusalMark.isReadable, dependsOnRefusal else { return true }
            // A second refusal could not be read from the mark of this handle.
            needsResend = true
        case .ask: needsMark = true
        case .restart(let way): needsResend = use(way)
        case .stop(let reason): responseBuffer.fail(with: error(for: reason))
        }
        return false
    }

    /// Called when libcurl has failed, and may have done so because the server refused the request.
    func mayBeRefused() {
        if resends.isUnanswered, canReadMark { needsMark = true }
    }

    /// Called when the transfer will use another handle, which has no mark.
    func handleIsLeft() { (needsMark, refusalMark, metricsAtEnd) = (false, .clear, nil) }

    /// Called when libcurl needs the body from an offset on, which is always its first byte.
    ///
    /// Libcurl is never refused, because 8.14.1 then keeps the need in the handle, and may free a connection that other
    /// transfers use. If the body is not rewound, libcurl is stopped before it sends the request.
    func libcurlRewinds(to offset: Int64) {
        if offset == 0, maySend(isAtStart: true) { _ = rewindBody() }
    }

    /// Called when the transfer has failed.
    ///
    /// - Parameters:
    ///   - connection: The connection of the sending, which the transfer may have left.
    ///   - isLost: Whether the connection has ended without a response.
    /// - Returns: Whether the transfer was prepared to be sent again.
    func takeResend(after connection: ResendPolicy.Connection, isLost: Bool) -> Bool {
        guard responseBuffer.failure == nil, upload.failure == nil else { return false }
        guard let decision = resends.failed(on: connection, isLost: isLost) else { return false }
        switch decision {
        case .restart(let way): return use(way) && rewindBody()
        case .stop(let reason):
            // Otherwise, libcurl's error says more.
            let isRefused = if case .exhausted(_, isRefused: true) = reason { true } else { false }
            if isRefused || needsMark { responseBuffer.fail(with: error(for: reason)) }
        case .send, .ask: break
        }
        return false
    }

    /// Stops libcurl so that the request is sent again without its `Expect` field (RFC 9110 §10.1.1); returns whether
    /// it was stopped.
    ///
    /// Libcurl would send the request's own field again and again. After its own field, it does not send the request
    /// again if the connection ends with the response. If a part of a body was sent that can be read only once, the
    /// request fails.
    ///
    /// If the server has met the expectation, a program behind it has chosen the status code. The same is assumed if a
    /// field was sent unasked, and the whole of a body was sent that must not be sent twice.
    private func restartWithoutExpectation(_ head: ReceivedHead) -> Bool {
        switch expectation {
        case .none, .omitted: return false
        case .own: break
        case .ofLibcurl:
            let isWhole = upload.length.map { Int64(uploadOffset) >= $0 } ?? (responseBuffer.state.upload == .sent)
            guard !head.httpVersion.isMultiplexed, request.method.isIdempotent || !isWhole else { return false }
        }
        guard !responseBuffer.wasContinued else { return false }
        store(head)
        expectation = .omitted
        resends.challenged()
        needsResend = true
        return true
    }

    /// Sends the request on its own connection if the server does not answer it on this one; returns whether it does.
    private func restartMisdirected() -> Bool {
        guard upgrade == nil, upload.isReplayable || uploadOffset == 0, resends.misdirected() else { return false }
        needsResend = use(.onOwnConnection)
        return true
    }

    /// Prepares a second sending; fails the transfer if its version of HTTP does not permit it.
    private func use(_ way: ResendPolicy.Way) -> Bool {
        switch way {
        case .onAnyConnection: break
        case .onOwnConnection: needsFreshConnection = true
        case .withHTTP1:
            guard httpVersion == .automatic || httpVersion == .http3 else {
                let kind = RequestError.Kind.connection(httpVersion == .http3Only ? .http3 : .http2)
                responseBuffer.fail(with: RequestError(kind, detail: "the server requires HTTP/1.1"))
                return false
            }
            requiresHTTP1 = true
        }
        return true
    }

    /// The connection on which the request was sent last.
    var lastConnection: ResendPolicy.Connection {
        ResendPolicy.Connection(isNew: resends.isOnNewConnection, isShared: connection?.isShared ?? false)
    }

    private func error(for reason: ResendPolicy.Reason) -> RequestError {
        switch reason {
        case .mayBeProcessed:
            let message = "the connection ended without a response, and the server may have processed the request"
            return RequestError(.connection(.lost), detail: message)
        case .isAnswered:
            return RequestError(.connection(.lost), detail: "the connection ended within the response")
        case .exhausted(let sends, let isRefused):
            let subject = isRefused ? "the stream was refused" : "the connection was lost"
            let message = "\(subject), tried \(sends) times before giving up"
            return RequestError(.connection(.lost), detail: message).afterTransportRetries
        case .endless:
            let message = "the request was sent \(ResendPolicy.maximumSends) times without a final response"
            return RequestError(.invalidResponse(.malformed), detail: message)
        }
    }

    /// Rewinds the body if libcurl was stopped so that the request can be sent again; returns whether it was stopped.
    func takeRestart() -> Bool {
        guard needsResend else { return false }
        needsResend = false
        guard resends.restarted() else {
            let message = "no connection could be used in \(ResendPolicy.maximumSends) attempts"
            responseBuffer.fail(with: RequestError(.connection(.failed), detail: message))
            return false
        }
        // The next connections that libcurl keeps may be unusable, too.
        if resends.restarts > ResendPolicy.restartsOnKeptConnections { needsFreshConnection = true }
        return rewindBody()
    }

    /// Rewinds the request's body to its first byte; fails the transfer if this is impossible.
    private func rewindBody() -> Bool {
        if case .channel(let channel) = upload, uploadOffset > 0 {
            guard let replayed = channel.replayed() else {
                let lost = RequestError(.connection(.lost), detail: "the body can be read only once")
                responseBuffer.fail(with: resends.mayBeProcessed ? lost : RequestError(.requestBody(.notReplayable)))
                return false
            }
            channel.abandon()
            upload = .channel(replayed)
        }
        uploadOffset = 0
        responseBuffer.state.bodyRewound(to: 0)
        return true
    }
}

/// Handles challenges, which libcurl answers within the transfer.
extension Transfer {
    /// Whether a head may be a challenge that libcurl answers, so that another response follows.
    private func isChallenge(_ head: ReceivedHead) -> Bool {
        switch head.statusCode {
        case 401: serverChallenges.credential != nil
        case 407: isProxied
        default: false
        }
    }

    /// Whether the latest head is a challenge that libcurl answers.
    var isChallenged: Bool { responseBuffer.head.map(isChallenge) ?? false }

    /// Evaluates the first challenge of the server or the proxy; returns whether libcurl may answer it.
    ///
    /// A proxy's response to CONNECT is not handled here.
    private func checkChallenge(_ head: ReceivedHead) -> Bool {
        let decision: ChallengeDecision =
            switch head.statusCode {
            case 401: serverChallenges.received("WWW-Authenticate", in: head, hasBody: request.hasBody)
            case 407: proxyChallenges.received("Proxy-Authenticate", in: head, hasBody: request.hasBody)
            default: .deliver
            }
        switch decision {
        case .deliver, .answer:
            return true
        case .answerOnly, .answerDigest:
            needsResend = true
            return false
        case .refuse(let reason):
            responseBuffer.fail(with: RequestError(.authentication(reason)).about(response, body: nil))
            return false
        }
    }
}

/// Manages the verifiers of the servers of the transfer's connection.
// Safety: OpenSSL's context is used within the callback that provides it.
extension Transfer {
    /// Called when a connection will be opened for the transfer, unless an open connection can be reused.
    func willConnect(trusting authorities: AuthorityStore, evaluatedBy policy: TrustPolicy?, _ cache: TrustCache?) {
        verifiers.removeAll()
        handshakes = 0
        self.authorities = authorities
        trust = policy
        trustCache = cache
    }

    /// Makes a context trust the session's authorities and evaluate servers; returns whether it can.
    ///
    /// Libcurl has its own handles for DNS over HTTPS; they do not use the policy.
    func prepare(_ context: OpaquePointer, of handle: UnsafeMutableRawPointer?) -> Bool {
        guard let authorities, let easy else { return false }
        let isOwn = unsafe handle == UnsafeMutableRawPointer(easy.pointer)
        if isOwn { handshakes += 1 }
        do throws(RequestError) {
            let store = try authorities.store(with: easy.identity?.identity)
            guard easy.authorities == authorities.generation else {
                // Libcurl began with the settings of earlier files, and perhaps with a TLS session from them.
                needsResend = true
                return false
            }
            guard unsafe store.attach(to: context) else { return false }
            if trust == nil || !isOwn { unsafe HiddenVerdicts.reveal(on: context) }
            if isOwn { unsafe AlertRecorder(countedOrigin, turn).attach(to: context) }
        } catch {
            responseBuffer.fail(with: error)
            return false
        }
        guard let trust, isOwn, let cache = trustCache else { return trust == nil || !isOwn }
        let verifier = HandshakeVerifier(policy: trust, cache: cache)
        verifiers.append(verifier)
        return unsafe verifier.attach(to: context)
    }

    /// Whether the transfer's own policy has evaluated the server of the connection that libcurl chose.
    ///
    /// Otherwise, libcurl is stopped, and starts again once with a new connection for the transfer.
    private func mayUseConnection(_ ends: ConnectionEndpoints?) -> Bool {
        guard let trust, trust.evaluatesHost, isSecure else { return true }
        if isConnectionEvaluated(ends, by: trust) { return true }
        guard triedOwnConnection else {
            (triedOwnConnection, needsFreshConnection) = (true, true)
            needsResend = true
            // No other transfer can use the connection any more.
            easy?.set(CURLOPT_FORBID_REUSE, 1)
            return false
        }
        responseBuffer.fail(with: RequestError(.trust(.notEvaluated), detail: "the connection was not evaluated"))
        return false
    }

    /// The reason why a verifier aborted the handshake; `nil` if no verifier aborted it.
    var refusal: RequestError? {
        for verifier in verifiers { if case .refused(let error) = verifier.outcome { return error } }
        return nil
    }

    /// The server and its asynchronous evaluator, if the handshake was aborted for the evaluation.
    var undecided: (ServerTrust, any ServerTrustEvaluating)? {
        for verifier in verifiers {
            if case .undecided(let trust, let evaluator) = verifier.outcome { return (trust, evaluator) }
        }
        return nil
    }
}
