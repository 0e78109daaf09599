import CCurl
import FoundationEssentials

/// Contains the received data of one exchange, and the data to send, for libcurl's callbacks.
///
/// A transfer belongs to the engine and never leaves the loop's thread. Libcurl must not be called from its own
/// callbacks. The callbacks therefore record their results in the transfer. The engine handles these results after
/// libcurl has returned.
///
/// Swift checks at run time that accesses to a property of a class do not overlap. For a small GET, these checks take
/// 6,200 instructions (5 %). Release builds omit them for the properties that callbacks or turns often change, here and
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

    #if !DEBUG
        @safe @exclusivity(unchecked)
    #endif
    var progress = ProgressReport()
    /// Whether the handle's information is that of an earlier transfer, because libcurl has not run since.
    var isFresh = true
    private var headReport: HeadReport
    /// Whether the head of a redirect must be reported.
    private let announcesRedirects: Bool

    /// Whether the head is reported to the observer before the body arrives.
    private enum HeadReport { case none, wanted, made }
    var hasReportedHead: Bool { headReport == .made }
    /// The receiver of the body; `nil` if the body is collected.
    var receiver: (any BodyReceiver)?
    /// Whether the receiver has stopped the exchange.
    private(set) var isStopped = false
    /// Whether the transfer is in the list of those with a rest to take.
    var waitsToTakeRest = false
    /// Where the transfer is; see ``suspended()`` and ``resumed()`` for these two events.
    var life: TransferLife {
        _read { yield responseBuffer.state.life }
        _modify { yield &responseBuffer.state.life }
    }
    /// Whether the transfer has ended; a look-up in the engine's dictionary would take 170 instructions.
    var hasEnded: Bool { responseBuffer.state.life.hasEnded }

    /// The challenges of the server and of an HTTP proxy.
    var serverChallenges: AuthenticationChallenges
    var proxyChallenges = AuthenticationChallenges()
    /// The requested version of HTTP.
    var httpVersion: HTTPVersionPreference
    /// Whether the request may use a proxy.
    var isProxied = false
    let speed: SpeedState?
    #if !DEBUG
        @safe @exclusivity(unchecked)
    #endif
    var admission = Admission()
    /// The attempts to connect; `nil` if there was none, or where ``SlowAddresses`` is not needed.
    var slowAddresses: SlowAddresses?
    /// The origin by which the limits of requests and connections are counted.
    lazy var countedOrigin = turn.recentOrigin.origin(of: url)
    var waitingMembership = WaitingTransfers.Membership.none
    #if !DEBUG
        @safe @exclusivity(unchecked)
    #endif
    var trust = TrustAttempt()
    /// Whether libcurl has already stored a field of this transfer.
    #if !DEBUG
        @safe @exclusivity(unchecked)
    #endif
    var firstField = FoldedFirstField.stored
    #if !DEBUG
        @safe @exclusivity(unchecked)
    #endif
    var trace = SendingTrace()
    /// What is known about the mark for refused streams of libcurl's handle.
    var refusalMark = RefusalMark.clear
    /// Returns the metrics of an exchange whose handle was then used to read the mark.
    var metricsAtEnd: (() -> TransferMetrics)?
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

    #if !DEBUG
        @safe @exclusivity(unchecked)
    #endif
    var upload: TransferUpload
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
        self.upload = TransferUpload(upload)
        self.httpVersion = httpVersion
        serverChallenges = AuthenticationChallenges(credential: credential)
        self.speed = speed
        self.turn = turn
        counts = turn.counts
        headReport = state.isBodyHeld ? .wanted : .none
        self.announcesRedirects = announcesRedirects
        resends = ResendPolicy(isIdempotent: request.method.isIdempotent)
        responseBuffer = ResponseBuffer(state: state, now: turn.now)
        self.limits = limits
    }

    func suspended() -> TransferLife.Action { life.suspended(wasSent: wasSent) }

    func resumed() -> TransferLife.Action { responseBuffer.state.resumed() }

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
        guard maySend(isAtStart: upload.offset == 0), mayUseConnection(ends), connectionIsChosen(ends) else {
            return false
        }
        limits.requestBegan()
        if firstField != .stored { awaitFirstField() }
        easy?.decodeTransferCodings(true)
        counts.add(Self.headEstimate)
        easy?.setCookies(cookieField())
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
        guard admission.isCounted else { return }
        note(.isUsed(connection, isFirst: connection?.requestCount == 1 && !resends.needsOwnConnection))
    }

    private func answered(on connection: IdleConnections.Connection) {
        connection.hasAnswered = true
        if connection.share.exchanges > 1 { note(.hasAnswered(connection)) }
    }

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
        if trace.isOn { endTrace() }
        turn.waitingChanges(&waitingMembership) { $0?.connectionBegins(&$1) }
        if admission.isCounted { note(.isNeeded) }
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
            if trace.isOn { endTraceOfSending() }
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
            responseBuffer.failure = RequestError(.invalidResponse(.malformed), detail: detail)
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
        if announcesRedirects, RedirectLocation.redirects(head.statusCode), head.headers.contains("Location") {
            // The body may be unwanted and very long.
            if headReport == .none { headReport = .wanted }
            responseBuffer.state.bodyHeld()
        }
        if !isAnswered { noteHead() }
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
        noteHead()
        if !turn.takesPiece(), responseBuffer.state.turnEnded() {
            turn.steps.ask(.resumePieces, for: self)
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
        responseBuffer.failure = RequestError(.invalidResponse(.malformed), detail: flaw)
        return .refuse(.malformed)
    }

    /// Receives decoded bytes of the body; returns the state's decision.
    func acceptBody(_ bytes: UnsafeRawBufferPointer) -> TransferState.BodyAction {
        unsafe noted(responseBuffer.receivedBody(bytes, now: turn.now))
    }

    /// Notes that bytes of the body were received, if they were; returns the state's decision.
    func noted(_ action: TransferState.BodyAction) -> TransferState.BodyAction {
        if action == .accept {
            progress.bytesArrived()
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
            (isStopped, self.receiver) = (true, nil)
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
        progress.takeNewBytes() && receiver != nil && responseBuffer.isPieceSmall && upgrade == nil
    }

    /// Schedules the report of the head to the observer at the end of the turn, at most once.
    func noteHead() {
        guard headReport == .wanted, responseBuffer.head != nil else { return }
        headReport = .made
        turn.withHeads.append((self, nil))
        turn.steps.ask(.reportHeads)
    }

    /// Schedules the report of informational responses.
    private func noteInformational() {
        for head in responseBuffer.takeInformational() { turn.withHeads.append((self, head)) }
        turn.steps.ask(.reportHeads)
    }

    func noteProgress() {
        guard progress.begins() else { return }
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
        switch unsafe upload.provide(into: buffer, now: turn.now) {
        case .bytes(let count):
            counts.add(count)
            responseBuffer.state.bodyBytesSent(count)
            noteProgress()
            return count
        case .end where bodyMayEnd:
            responseBuffer.state.bodyBytesSent(0)
            return 0
        case .end, .missing:
            responseBuffer.state.bodyBytesMissing()
            return bb_curl_readfunc_pause
        case .failure: return bb_curl_readfunc_abort
        }
    }

    /// Whether the end of the body may be sent immediately; otherwise, a later step does it.
    private var bodyMayEnd: Bool {
        let mayEnd = turn.uploadEnds.bodyEnded(of: self)
        if !turn.uploadEnds.isEmpty { turn.steps.ask(.endUploads) }
        return mayEnd
    }
}

/// Sends requests again.
extension Transfer {
    /// Whether libcurl may open a connection for the request, or send it; otherwise libcurl is stopped.
    ///
    /// Libcurl also asks when it sends a request again by itself.
    private func maySend(isAtStart: Bool) -> Bool {
        guard !resends.isHalted else { return false }
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
            resends.halts()
        case .ask: resends.haltsToAsk()
        case .restart(let way): if mayUse(way) { resends.halts() }
        case .stop(let reason): responseBuffer.failure = error(for: reason)
        }
        return false
    }

    /// Called when libcurl has failed, and may have done so because the server refused the request.
    func mayBeRefused() {
        if resends.isUnanswered, canReadMark { resends.haltsToAsk() }
    }

    /// Called when the transfer will use another handle, which has no mark.
    func handleIsLeft() {
        resends.handleIsLeft()
        (refusalMark, metricsAtEnd) = (.clear, nil)
    }

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
        guard responseBuffer.failure == nil, upload.body.failure == nil else { return false }
        guard let decision = resends.failed(on: connection, isLost: isLost) else { return false }
        switch decision {
        case .restart(let way): return mayUse(way) && rewindBody()
        case .stop(let reason):
            // Otherwise, libcurl's error says more.
            let isRefused = if case .exhausted(_, isRefused: true) = reason { true } else { false }
            if isRefused || resends.halt == .toAsk { responseBuffer.failure = error(for: reason) }
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
            let isWhole = upload.isWhole ?? (responseBuffer.state.upload == .sent)
            guard !head.httpVersion.isMultiplexed, request.method.isIdempotent || !isWhole else { return false }
        }
        guard !responseBuffer.wasContinued else { return false }
        store(head)
        expectation = .omitted
        resends.challenged()
        resends.halts()
        return true
    }

    /// Sends the request on its own connection if the server does not answer it on this one; returns whether it does.
    private func restartMisdirected() -> Bool {
        guard upgrade == nil, !upload.isConsumed, resends.misdirected() else { return false }
        resends.halts()
        return true
    }

    /// Whether the transfer's version of HTTP permits a second sending; otherwise, the transfer fails.
    private func mayUse(_ way: ResendPolicy.Way) -> Bool {
        guard way == .withHTTP1, httpVersion != .automatic, httpVersion != .http3 else { return true }
        let kind = RequestError.Kind.connection(httpVersion == .http3Only ? .http3 : .http2)
        responseBuffer.failure = RequestError(kind, detail: "the server requires HTTP/1.1")
        return false
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
        guard resends.takeHalt() else { return false }
        guard resends.restarted() else {
            let message = "no connection could be used in \(ResendPolicy.maximumSends) attempts"
            responseBuffer.failure = RequestError(.connection(.failed), detail: message)
            return false
        }
        return rewindBody()
    }

    /// Rewinds the request's body to its first byte; fails the transfer if this is impossible.
    private func rewindBody() -> Bool {
        guard upload.rewind() else {
            let lost = RequestError(.connection(.lost), detail: "the body can be read only once")
            responseBuffer.failure = resends.mayBeProcessed ? lost : RequestError(.requestBody(.notReplayable))
            return false
        }
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
            resends.halts()
            return false
        case .refuse(let reason):
            responseBuffer.failure = RequestError(.authentication(reason)).about(response, body: nil)
            return false
        }
    }
}

/// Lets the servers of the transfer's connection be checked.
// Safety: OpenSSL's context is used within the callback that provides it.
extension Transfer {
    /// Prepares the context of a handshake; returns whether libcurl may continue.
    func prepare(_ context: OpaquePointer, of handle: UnsafeMutableRawPointer?) -> Bool {
        guard let easy else { return false }
        let isOwn = unsafe handle == UnsafeMutableRawPointer(easy.pointer)
        switch unsafe trust.prepare(context, of: easy, isOwn: isOwn) {
        case .ready:
            unsafe tlsObserver(isOwn: isOwn).attach(to: context)
            return true
        case .outdated: resends.halts()
        case .refused(let error): responseBuffer.failure = error
        case .failed: break
        }
        return false
    }

    /// Observes a connection for its whole life, during which other transfers use it.
    ///
    /// The flood guard does not know the sockets of libcurl's own handles, for DNS over HTTPS. What happens on them
    /// does not explain a failure of the origin.
    private func tlsObserver(isOwn: Bool) -> TLSObserver {
        var before = (time: turn.now, bytes: turn.counts.reportedBytes)
        return TLSObserver { [origin = countedOrigin, turn] in
            // The turn's time may be the time before the loop waited.
            if isOwn { turn.alerts.received($0, from: origin, at: MonotonicClock.now()) }
        } isFlooded: { [origin = countedOrigin, turn] in
            let now = (time: turn.now, bytes: turn.counts.reportedBytes)
            defer { before = now }
            // Within one turn of the loop, and one call of libcurl.
            guard now == before else { return false }
            if isOwn { turn.messageFloods.received((), from: origin, at: MonotonicClock.now()) }
            return true
        }
    }

    /// Whether the request may be sent on the connection that libcurl chose; otherwise, libcurl is stopped.
    private func mayUseConnection(_ ends: ConnectionEndpoints?) -> Bool {
        guard let policy = trust.policy, policy.evaluatesHost, isSecure else { return true }
        switch trust.permission(isEvaluated: isConnectionEvaluated(ends, by: policy)) {
        case .granted: return true
        case .needsOwnConnection:
            resends.halts(needsOwnConnection: true)
            // No other transfer can use the connection any more.
            easy?.set(CURLOPT_FORBID_REUSE, 1)
        case .refused(let error): responseBuffer.failure = error
        }
        return false
    }
}
