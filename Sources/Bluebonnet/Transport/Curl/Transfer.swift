import CCurl
import FoundationEssentials

/// Names a transfer within its engine.
typealias TransferID = UInt64

/// Holds the received part of one exchange and the part still to be sent, for libcurl's callbacks.
///
/// Belongs to the engine; never leaves the loop's thread. Libcurl must not be called from its own callbacks, so these
/// record here, and the engine acts when libcurl has returned.
// Safety: libcurl's buffers are used within the callback that provides them, up to the length that it names.
final class Transfer {
    let id: TransferID
    let request: HTTPRequest
    let observer: any ExchangeObserver
    var limits: TransferLimits
    var responseBuffer: ResponseBuffer

    /// The URL that libcurl went to in place of the request's.
    private var upgradedURL: URL?
    /// The head as a response, once it is complete.
    var response: HTTPResponse? {
        responseBuffer.head.map { HTTPResponse(url: upgradedURL ?? request.url, head: $0) }
    }

    /// The connection on which the request went out, if it is known.
    var connection: IdleConnections.Connection?
    /// Whether the guard against floods looks after the transfer's connection.
    private(set) var isGuarded = false
    /// Whether the request was sent again since its HTTP/2 connection had failed.
    private var hasLostConnection = false
    /// The handle that libcurl works with, and the multi that it is in, while the transfer is added.
    var easy: EasyHandle?
    var multi: MultiHandle?

    /// How many bytes libcurl had sent when that was last looked at.
    var lastSentBytes: Int64 = 0
    /// How many bytes libcurl had received when that was last looked at, before they were decoded.
    var lastReceivedBytes: Int64 = 0
    /// Whether libcurl has not looked at the transfer since it was added; the handle's information is still that of the
    /// last one.
    var isFresh = true
    /// Whether bytes came in or went out that were not reported to the observer yet.
    var hasUnreportedProgress = false
    /// Whether bytes of the body came in since that was last asked.
    private var hasNewBytes = false
    /// How many bytes of the body were reported to the observer.
    var reportedSentBytes: Int64 = 0
    var reportedReceivedBytes: Int64 = 0
    /// Whether the head is to be reported to the observer before the body comes.
    private(set) var reportsHead: Bool
    /// Whether the head of a redirect is to be reported.
    private let announcesRedirects: Bool
    /// Whether the head was reported.
    private(set) var hasReportedHead = false
    /// The receiver of the body, if it is not collected.
    var receiver: (any BodyReceiver)?

    /// Whether the receiver wants no more at all.
    private(set) var isStopped = false

    /// Whether the engine continues decoding in its next turn.
    var needsDecoding = false
    /// How libcurl ended, while the bytes that it has handed over are not decoded yet.
    var codeAtEnd: CURLcode?

    /// The challenges of the server, and those of an HTTP proxy.
    private(set) var serverChallenges: AuthenticationChallenges
    var proxyChallenges = AuthenticationChallenges()
    /// Which version of HTTP is asked for.
    var httpVersion: HTTPVersionPreference
    /// Whether the request may go through a proxy.
    var isProxied = false
    /// Whether libcurl was stopped to begin again.
    var needsResend = false

    /// Whom its connection's servers have to be vouched for by.
    private var authorities: AuthorityStore?
    /// How many handshakes were begun for its connection, with a proxy or with the server.
    private(set) var handshakes = 0
    /// The policy for the servers of its connection; `nil` if only libcurl checks them.
    private(set) var trust: TrustPolicy?
    /// The servers that were accepted before, off the loop.
    private var trustCache: TrustCache?
    /// The verifiers of the handshakes of the connection that was made for it.
    private var verifiers: [HandshakeVerifier] = []
    /// The verdict that is awaited before a connection is made again.
    var awaitedVerdict: TrustCache.Key?
    var isAwaitingVerdict: Bool { if case .some = awaitedVerdict { true } else { false } }
    /// How often that was so.
    var verdicts = 0
    /// Whether the request must not go out on a connection that is there already.
    var needsFreshConnection = false
    /// Whether a field of this transfer is stored yet.
    var firstField = FoldedFirstField.stored
    /// How often libcurl has sent the request.
    var resends = ResendPolicy()
    /// Whether the connection was there and the request was about to go out.
    ///
    /// Counted here: from libcurl 8.21 on, its own time of that moment is set for transfers that end unsent, too.
    var wasSent: Bool { resends.hasBegun }

    private(set) var upload: UploadBody
    private(set) var uploadOffset = 0
    let turn: LoopTurnState
    private let reportedBytes: ReportedByteCounts

    init(
        id: TransferID, request: HTTPRequest, observer: any ExchangeObserver, limits: TransferLimits,
        state: TransferState,
        upload: UploadBody, httpVersion: HTTPVersionPreference, credential: Credential?, announcesRedirects: Bool,
        turn: LoopTurnState
    ) {
        self.id = id
        self.request = request
        self.observer = observer
        self.upload = upload
        self.httpVersion = httpVersion
        serverChallenges = AuthenticationChallenges(credential: credential)
        self.turn = turn
        reportedBytes = turn.reportedBytes
        reportsHead = state.isBodyHeld
        self.announcesRedirects = announcesRedirects
        responseBuffer = ResponseBuffer(state: state, now: turn.now)
        self.limits = limits
    }

    // MARK: Its connection

    /// Has the guard look after the connections of a multi handle while the transfer is in it.
    func guardFloods(in multi: MultiHandle) {
        isGuarded = true
        multi.floods.transferBegins()
    }

    /// Notes that the transfer is about to be taken out of its multi handle.
    func multiIsLeft() {
        connectionIsLeft()
        guard isGuarded else { return }
        isGuarded = false
        multi?.floods.transferEnded()
    }

    /// Restarts after its HTTP/2 connection failed as a whole, once, if nothing of an answer was there and the request
    /// may be repeated (RFC 9110 §9.2.2).
    ///
    /// A GOAWAY may report that a request was not processed (RFC 9113 §6.8), so that any could be repeated; libcurl
    /// does not pass that on.
    func takeRestartAfterLoss() -> Bool {
        guard !hasLostConnection, responseBuffer.firstByte == nil, request.method.isIdempotent else { return false }
        hasLostConnection = true
        return rewindBody(to: 0)
    }

    /// About as many bytes as the head of a request has.
    private static let headEstimate = 512

    // MARK: What libcurl's callbacks report

    /// Libcurl is about to send the request, for the first time or again, on the connection with these ends; returns
    /// whether it may.
    func requestBegins(_ ends: ConnectionEndpoints?) -> Bool {
        guard mayUseConnection(), connectionIsChosen(ends) else { return false }
        if firstField != .stored { awaitFirstField() }
        easy?.decodeTransferCodings(true)
        reportedBytes.add(Self.headEstimate)
        if easy?.usesCookies == true { turn.cookieJar?.requestBegins(to: request.url) }
        let isAnswered = responseBuffer.firstByte != nil
        guard !resends.isEndless else {
            let message = "the request was sent \(ResendPolicy.maximumSends) times without a final response"
            responseBuffer.fail(with: RequestError(.invalidResponse(.malformed), detail: message))
            return false
        }
        let connections = easy?.long(CURLINFO_NUM_CONNECTS) ?? 0
        guard !resends.requestBegins(connections: connections, isAnswered: isAnswered) else { return true }
        let lost = RequestError(.connection(.lost), detail: "the stream was refused, tried 2 times before giving up")
        responseBuffer.fail(with: lost.afterTransportRetries)
        return false
    }

    /// A connection is looked up or opened for the transfer: from now on it connects, and waits for none.
    func connectionBegins() { limits.connectionBegan(at: turn.now) }

    /// Takes bytes of a head; returns whether to continue.
    func receivedHead(_ bytes: UnsafeRawBufferPointer) -> Bool {
        reportedBytes.add(bytes.count)
        let (progress, lines) = unsafe responseBuffer.receivedHead(bytes, now: turn.now)
        if lines.contains(.http2) { http2IsClaimed() }
        if lines.contains(.cookies) { unsafe noteCookies(in: bytes) }
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

    /// Has libcurl pass lines of the head to the write callback before it stores them, until a field is stored; see
    /// ``FoldedFirstField``.
    private func awaitFirstField() {
        firstField.requestBegins(isHTTP2: easy?.speaksHTTP2OverTLS == true)
        easy?.set(CURLOPT_HEADER, firstField.isHeadExpected ? 1 : 0)
    }

    private func linesWereStored(_ lines: UnsafeRawBufferPointer, _ progress: ResponseBuffer.HeadProgress) {
        let isComplete = if case .complete = progress { true } else { false }
        unsafe firstField.linesStored(lines, isHeadComplete: isComplete)
        if firstField == .stored { easy?.set(CURLOPT_HEADER, 0) }
    }

    /// Looks at a head that is complete; returns whether to continue.
    private func checkHead(_ head: ReceivedHead) -> Bool {
        noteStream()
        upgradedURL = easy?.upgradedURL(of: request.url)
        // Libcurl sends the request again after these (RFC 9110 §10.1.1, §11.2); if it does not, their body comes, or
        // the end.
        let isAnswered = head.statusCode == 417 || isChallenge(head)
        // Libcurl may read such a response without an end, and not hand it over.
        if !isGuarded, isAnswered || responseBuffer.hasTransferCoding, let multi { guardFloods(in: multi) }
        if announcesRedirects, RedirectDecision.redirects(head.statusCode), head.headers.contains("Location") {
            // The body may be unwanted, and may well not end.
            reportsHead = true
            responseBuffer.state.bodyHeld()
        }
        if reportsHead, !isAnswered { noteHead() }
        guard checkChallenge(head) else { return false }
        // Nor may that go out on this connection, on which the server still waits for the body (RFC 9112 §9.3).
        if head.statusCode == 417, upload.isAskedFor { easy?.set(CURLOPT_FORBID_REUSE, 1) }
        // It stops sending after a refusal, but not waiting for bytes that it has asked for.
        if head.statusCode >= 300, responseBuffer.state.isSendingPaused { turn.refused.append(self) }
        if !isAnswered { stopRefusedUpload(head) }
        return true
    }

    /// Takes bytes of the body; returns the state's decision.
    func receivedBody(_ bytes: UnsafeRawBufferPointer) -> TransferState.BodyAction {
        guard !firstField.isHeadExpected else { return unsafe receivedLineBytes(bytes) }
        reportedBytes.add(bytes.count)
        noteStream()
        if reportsHead { noteHead() }
        if !turn.receiveBudget.takesPiece(), responseBuffer.state.turnEnded() { turn.receiveBudget.append(self) }
        if let decoder = responseBuffer.decoder { return unsafe receivedCodedBody(bytes, decoder) }
        // A turn may bring many pieces, and libcurl would copy those that a pause makes it keep.
        if responseBuffer.isPieceFull(for: bytes.count) { deliverPiece() }
        return unsafe acceptBody(bytes)
    }

    /// Takes bytes of a line of the head that libcurl has yet to store.
    private func receivedLineBytes(_ bytes: UnsafeRawBufferPointer) -> TransferState.BodyAction {
        guard let flaw = unsafe firstField.lineBytesReceived(bytes) else { return .accept }
        responseBuffer.refuseLine(flaw)
        return .refuse(.malformed)
    }

    /// Takes decoded bytes of the body; returns the state's decision.
    func acceptBody(_ bytes: UnsafeRawBufferPointer) -> TransferState.BodyAction {
        let action = unsafe responseBuffer.receivedBody(bytes, now: turn.now)
        if action == .accept {
            hasNewBytes = true
            noteProgress()
            noteRefusal()
        }
        return action
    }

    /// Has the engine look whether the response to a refused body is complete.
    func noteRefusal() {
        if responseBuffer.state.upload == .refused { turn.refused.append(self) }
    }

    /// Hands over the bytes that have come in for the receiver, if there is one.
    func deliverPiece() {
        guard let receiver, let piece = responseBuffer.takePiece() else { return }
        switch receiver.receive(piece) {
        case .proceed: break
        case .pause: responseBuffer.state.bodyHeld()
        case .stop:
            // Libcurl is not paused from within its callback.
            isStopped = true
            responseBuffer.state.bodyHeld()
            noteProgress()
        }
    }

    /// Whether the piece for the receiver may well be larger in the next turn: bytes came in this one, but few.
    ///
    /// To wake a receiver costs as much as to read some 64 KiB, so less than that waits for more. A slow body is not
    /// held up: its bytes are handed over in the first turn that brings no more, which is the next one.
    func isPieceGrowing() -> Bool {
        defer { hasNewBytes = false }
        return hasNewBytes && receiver != nil && responseBuffer.isPieceSmall
    }

    /// Reports the head to the observer at the end of the turn, once.
    func noteHead() {
        guard reportsHead, !hasReportedHead, responseBuffer.head != nil else { return }
        hasReportedHead = true
        turn.withHeads.append(self)
    }

    private func noteProgress() {
        guard !hasUnreportedProgress else { return }
        hasUnreportedProgress = true
        turn.progressed.append(self)
    }

    private func noteStream() {
        if responseBuffer.head?.httpVersion == .http2 { turn.unreadStreams.received() }
    }

    /// Hands bytes of the request's body over; returns how many, or one of libcurl's constants for why there are none.
    func provideBody(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        responseBuffer.lastActivity = turn.now
        if responseBuffer.state.upload == .refused { return bb_curl_readfunc_pause }
        var count = 0
        switch upload {
        case .copied:
            break
        case .data(let data):
            count = min(buffer.count, data.count - uploadOffset)
            guard count > 0 else { break }
            let start = data.startIndex + uploadOffset
            unsafe data.copyBytes(to: buffer, from: start..<start + count)
        case .channel(let channel):
            switch unsafe channel.take(into: buffer) {
            case .took(let number, _): count = number
            case .end:
                guard turn.uploadEnds.bodyEnded(of: self) else {
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
        reportedBytes.add(count)
        uploadOffset += count
        responseBuffer.state.bodyBytesSent(count)
        if count > 0 { noteProgress() }
        return count
    }

    /// Goes back in the request's body; returns whether that is possible.
    func rewindBody(to offset: Int64) -> Bool {
        // Without an answer, the server may already have processed a request that must not be repeated (RFC 9110
        // §9.2.2), unless it has refused to (RFC 9113 §8.7).
        guard
            request.method.isIdempotent || responseBuffer.firstByte != nil || uploadOffset == 0
                || resends.isOnNewConnection
        else { return false }
        switch upload {
        case .copied:
            return true
        case .data(let data):
            guard (0...Int64(data.count)).contains(offset) else { return false }
            uploadOffset = Int(offset)
        case .channel(let channel):
            guard offset == 0 else { return false }
            guard uploadOffset > 0 else { break }
            guard let replayed = channel.replayed() else {
                // The server has answered: it is for the sake of a challenge, or of another expectation.
                if responseBuffer.head != nil { responseBuffer.fail(with: RequestError(.requestBody(.notReplayable))) }
                return false
            }
            channel.abandon()
            upload = .channel(replayed)
            uploadOffset = 0
        }
        responseBuffer.state.bodyRewound(to: offset)
        return true
    }
}

/// Challenges, which libcurl answers within the transfer.
extension Transfer {
    /// Whether a head may be that of a challenge which libcurl answers: the response is then another one.
    private func isChallenge(_ head: ReceivedHead) -> Bool {
        switch head.statusCode {
        case 401: serverChallenges.credential != nil
        case 407: isProxied
        default: false
        }
    }

    /// Whether the latest head is such a one.
    var isChallenged: Bool { responseBuffer.head.map(isChallenge) ?? false }

    /// Looks at the first challenge of the server or the proxy; returns whether libcurl may answer it.
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
        case .answerOnly:
            needsResend = true
            return false
        case .refuse(let reason):
            responseBuffer.fail(with: RequestError(.authentication(reason)).about(response, body: nil))
            return false
        }
    }

    /// Goes back to the beginning, if libcurl was stopped only to answer a challenge in another way.
    func takeRestart() -> Bool {
        guard needsResend else { return false }
        needsResend = false
        return rewindBody(to: 0)
    }
}

/// The part of the transfer that knows the verifiers of its connection's servers.
// Safety: OpenSSL's context is used within the callback that provides it.
extension Transfer {
    /// A connection is to be made for the transfer, if there is none for it.
    func willConnect(trusting authorities: AuthorityStore, evaluatedBy policy: TrustPolicy?, _ cache: TrustCache?) {
        verifiers.removeAll()
        handshakes = 0
        self.authorities = authorities
        trust = policy
        trustCache = cache
    }

    /// Has the connections of one of OpenSSL's contexts trust the session's authorities, and the policy evaluate their
    /// servers if there is one; returns whether they will.
    func prepare(_ context: OpaquePointer) -> Bool {
        handshakes += 1
        guard let authorities, let easy else { return false }
        do throws(RequestError) {
            let store = try authorities.store()
            guard easy.authorities == authorities.generation else {
                // Begun with the settings of earlier authorities, and so perhaps with a session of theirs.
                needsResend = true
                return false
            }
            guard unsafe store.attach(to: context) else { return false }
        } catch {
            responseBuffer.fail(with: error)
            return false
        }
        guard let trust else { return true }
        guard let cache = trustCache else { return false }
        let verifier = HandshakeVerifier(policy: trust, cache: cache)
        verifiers.append(verifier)
        return unsafe verifier.attach(to: context)
    }

    /// Whether the server of the connection on which the request is about to be sent was evaluated by the transfer's
    /// own policy.
    ///
    /// If not, libcurl is stopped, and begins again with a connection of the transfer's own, once.
    private func mayUseConnection() -> Bool {
        guard let trust, trust.evaluatesHost, isSecure else { return true }
        if easy?.verifier?.hasAccepted(for: trust) == true { return true }
        guard needsFreshConnection else {
            needsFreshConnection = true
            needsResend = true
            // No other transfer can use it any more.
            easy?.set(CURLOPT_FORBID_REUSE, 1)
            return false
        }
        responseBuffer.fail(with: RequestError(.trust(.notEvaluated), detail: "the connection was not evaluated"))
        return false
    }

    /// Why the handshake was aborted, if that was decided.
    var refusal: RequestError? {
        for verifier in verifiers { if case .refused(let error) = verifier.outcome { return error } }
        return nil
    }

    /// The server to evaluate off the loop, and its evaluator, if the handshake was aborted for that.
    var undecided: (ServerTrust, any ServerTrustEvaluating)? {
        for verifier in verifiers {
            if case .undecided(let trust, let evaluator) = verifier.outcome { return (trust, evaluator) }
        }
        return nil
    }

    var isSecure: Bool {
        TransferOptions.isSecure(request.url) || easy?.upgradedURL(of: request.url) != nil
    }
}
