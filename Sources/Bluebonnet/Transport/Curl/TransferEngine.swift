import CCurl
import FoundationEssentials

/// Carries out transfers with libcurl, all on its event loop.
///
/// Runs here: everything that touches one of libcurl's handles; the compiler checks it. Never runs here: code of the
/// user's. An observer is called from here, and only takes note and resumes whoever waits.
///
/// A turn goes like this: start, cancel, suspend and resume come in as work for the loop; sockets and timers drive
/// libcurl, whose callbacks record in ``Transfer``; before the loop waits, ``turn()`` takes what has ended and tells the
/// observers, all at once.
// Safety: the actor keeps its executor alive; a finished transfer's context is its handle, kept until `finish`.
actor TransferEngine: EventLoopClient {
    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    let options: TransferOptions
    let trust: TrustDesk?
    private let shared = EngineTurn()
    private var transfers: [TransferID: Transfer] = [:]
    private var ended: [(any ExchangeObserver, ExchangeOutcome)] = []
    private var pool: [EasyHandle] = []
    /// For everything but HTTP/2 without TLS where libcurl cannot multiplex that.
    private var multi: MultiHandle?
    private var unmultiplexed: MultiHandle?
    private var isAttached = false
    private(set) var isShutDown = false
    /// What the session's handles have in common, and its cookies, if it keeps any.
    private var memory: SessionMemory?
    private(set) var cookieJar: CookieJar?
    /// When the time limits are looked at again.
    private var nextCheck: Int64?
    /// The transfers that libcurl was given since it last ran.
    private var fresh: [Transfer] = []
    /// When to have libcurl look for what it has left lying.
    private var nextRead: Int64?

    /// More handles than this are not kept; each takes some 10 KB.
    private static let poolLimit = 256

    init(loop: EventLoop, configuration: Session.Configuration, serverTrustManager: ServerTrustManager? = nil) {
        self.loop = loop
        trust = serverTrustManager.map(TrustDesk.init)
        options = TransferOptions(configuration: configuration)
        memory = SessionMemory(configuration)
        cookieJar = CookieJar(configuration.cookies, memory)
    }

    // MARK: Work from the transport

    func start(
        _ id: TransferID, _ request: HTTPRequest, _ upload: UploadBody, _ exchangeOptions: ExchangeOptions,
        _ observer: any ExchangeObserver
    ) {
        shared.now = Reactor.now()
        let transfer = Transfer(
            id: id, request: request, observer: observer,
            timeouts: request.timeouts ?? options.configuration.timeouts,
            state: TransferState(
                hasStreamedBody: upload.isAskedFor, isSuspended: exchangeOptions.startsSuspended,
                holdsBody: exchangeOptions.holdsBody, headLimit: options.configuration.maximumResponseHeadBytes,
                bodyLimit: exchangeOptions.maximumResponseBytes),
            upload: upload, credential: options.authenticatesItself(request) ? nil : request.credential,
            announcesRedirects: exchangeOptions.holdsRedirects, turn: shared)
        guard !isShutDown else {
            finish(transfer, with: RequestError(.sessionShutDown))
            return tellObservers()
        }
        attach()
        transfers[id] = transfer
        perform(transfer.reception.state.started(), on: transfer)
        checkLimits(of: transfer)
    }

    func cancel(_ id: TransferID) {
        guard let transfer = transfers[id] else { return }
        finish(transfer, with: RequestError(.cancelled))
    }

    func suspend(_ id: TransferID) {
        guard let transfer = transfers[id] else { return }
        perform(transfer.reception.state.suspended(), on: transfer)
    }

    func resume(_ id: TransferID) {
        guard let transfer = transfers[id] else { return }
        shared.now = Reactor.now()
        transfer.reception.lastActivity = shared.now
        perform(transfer.reception.state.resumed(), on: transfer)
        if transfers[id] != nil { checkLimits(of: transfer) }
    }

    /// Says who takes the body that was held back; collects it if nobody does.
    func receiveBody(_ id: TransferID, with receiver: (any BodyReceiver)?) {
        guard let transfer = transfers[id] else { return }
        transfer.receiver = receiver
        transfer.reception.buffers = receiver == nil ? nil : shared.buffers
        releaseBody(of: transfer)
    }

    /// There is room again where the body goes.
    func receiveMore(_ id: TransferID) {
        guard let transfer = transfers[id], transfer.receiver != nil else { return }
        releaseBody(of: transfer)
    }

    /// There are bytes of the request's body that libcurl had asked for.
    func bodyArrived(_ id: TransferID) {
        guard let transfer = transfers[id] else { return }
        shared.now = Reactor.now()
        transfer.reception.lastActivity = shared.now
        perform(transfer.reception.state.bodyBytesArrived(), on: transfer)
    }

    private func releaseBody(of transfer: Transfer) {
        shared.now = Reactor.now()
        transfer.reception.lastActivity = shared.now
        perform(transfer.reception.state.bodyReleased(), on: transfer)
    }

    /// Answers a request whose body cannot be had.
    func refuse(_ error: RequestError, _ observer: any ExchangeObserver) {
        observer.exchangeDidComplete(ExchangeOutcome(response: nil, error: error))
    }

    func shutDown() {
        isShutDown = true
        for transfer in transfers.values { finish(transfer, with: RequestError(.sessionShutDown)) }
        tellObservers()
        pool.removeAll()
        cookieJar = nil
        memory = nil
        trust?.close()
        multi = nil
        unmultiplexed = nil
        guard isAttached else { return }
        isAttached = false
        loop.remove(self)
        loop.detach()
    }

    private func attach() {
        guard !isAttached else { return }
        isAttached = true
        loop.attach()
        loop.add(self)
    }

    private func perform(_ action: TransferState.ControlAction, on transfer: Transfer) {
        switch action {
        case .nothing: break
        case .add: add(transfer)
        case .pause: pause(transfer, bb_curl_pause_all)
        case .unpause:
            let state = transfer.reception.state
            pause(
                transfer,
                (state.isReceivingPaused ? bb_curl_pause_recv : 0) | (state.isSendingPaused ? bb_curl_pause_send : 0))
            // The limit for silence holds again, which nobody looks at while the transfer is held up.
            if transfers[transfer.id] != nil { checkLimits(of: transfer) }
        }
    }

    private func pause(_ transfer: Transfer, _ directions: Int32) {
        guard let easy = transfer.easy else { return }
        if transfer.reception.state.isSuspended, !wasSent(transfer) {
            // Libcurl pauses connections, not the making of them: it would send the request. So it is taken back.
            transfer.multi?.remove(easy)
            return transfer.reception.state.withdrawn()
        }
        let code = unsafe curl_easy_pause(easy.pointer, directions)
        // A transfer that has no connection any more is complete, and about to be finished.
        guard code != CURLE_OK, code != CURLE_BAD_FUNCTION_ARGUMENT else { return }
        finish(transfer, with: error(for: code, of: transfer))
    }

    private func add(_ transfer: Transfer) {
        guard Libcurl.isReady, let easy = transfer.easy ?? pool.popLast() ?? EasyHandle(),
            let multi = multi(for: transfer.request)
        else {
            return finish(transfer, with: RequestError(.internal, detail: "libcurl is out of memory"))
        }
        transfer.easy = easy
        transfer.multi = multi
        transfer.awaitedVerdict = nil
        transfer.judges.removeAll()
        do throws(RequestError) {
            transfer.trust = try trust?.policy(for: transfer.request, options.configuration)
            transfer.trustMemory = trust?.memory
        } catch {
            return finish(transfer, with: error)
        }
        let usesCookies = cookieJar?.isUsed(by: transfer.request) ?? false
        let share = usesCookies || memory?.isAlwaysUsed == true ? memory?.share : nil
        if let error = options.apply(to: easy, for: transfer, share, usesCookies: usesCookies) {
            return finish(transfer, with: error)
        }
        let code = multi.add(easy)
        guard code == CURLM_OK else {
            let words = unsafe String(cString: curl_multi_strerror(code))
            return finish(transfer, with: RequestError(.internal, detail: words))
        }
        transfer.isFresh = true
        transfer.sendingAnew = SendingAnew()
        fresh.append(transfer)
        transfer.limits.addedAt = shared.now
    }

    /// Whether the connection was there and the request was about to go out.
    private func wasSent(_ transfer: Transfer) -> Bool {
        !transfer.isFresh && transfer.easy?.hasSentRequest == true
    }

    private func multi(for request: HTTPRequest) -> MultiHandle? {
        let version = request.httpVersion ?? options.configuration.httpVersion
        let limits = options.configuration.connectionLimits
        if version == .http2PriorKnowledge, request.url.scheme != "https", !Libcurl.multiplexesClearText {
            if unmultiplexed == nil {
                unmultiplexed = MultiHandle(loop: loop, limits: limits, isMultiplexing: false)
            }
            return unmultiplexed
        }
        if multi == nil { multi = MultiHandle(loop: loop, limits: limits, isMultiplexing: true) }
        return multi
    }

    // MARK: Verdicts that are awaited

    /// Has a server judged off the loop, and the connection made again if it is accepted.
    private func awaitVerdict(
        on trust: ServerTrust, by evaluator: any ServerTrustEvaluating, for transfer: Transfer
    ) {
        guard let desk = self.trust, desk.await(trust, for: transfer) else {
            return finish(
                transfer, with: RequestError(.trust(.notEvaluated), detail: "the server's certificates change"))
        }
        desk.ask(trust) {
            Task {
                let error = await evaluator.awaitedVerdict(on: trust)
                self.received(error, on: trust)
            }
        }
    }

    private func received(_ error: RequestError?, on trust: ServerTrust) {
        guard !isShutDown, let desk = self.trust else { return }
        shared.now = Reactor.now()
        for id in desk.decided(trust, isAccepted: error == nil) {
            guard let transfer = transfers[id], transfer.awaitedVerdict == TrustMemory.Key(trust) else { continue }
            transfer.awaitedVerdict = nil
            if let error {
                finish(transfer, with: error)
            } else if !transfer.reception.state.isSuspended {
                add(transfer)
            }
        }
        tellObservers()
    }

    // MARK: A turn of the loop

    nonisolated func loopWillWait() -> Int64? {
        assumeIsolated { $0.turn() }
    }

    private func turn() -> Int64? {
        shared.now = Reactor.now()
        let isReading = readAllIfDue()
        for multi in [multi, unmultiplexed] {
            guard let multi else { continue }
            multi.runTimeouts(now: shared.now)
            unsafe multi.takeFinished { context, code in
                let easy = unsafe Unmanaged<EasyHandle>.fromOpaque(context).takeUnretainedValue()
                guard let transfer = easy.transfer else { return }
                // It may have begun and ended in this very turn.
                transfer.isFresh = false
                finish(transfer, with: code, of: multi)
            }
        }
        for transfer in fresh { transfer.isFresh = false }
        fresh.removeAll(keepingCapacity: true)
        checkLimits()
        endRefusedUploads()
        confineCookies(of: &shared.withCookies)
        reportHeads()
        reportProgress()
        tellObservers()
        scheduleRead(isReading: isReading)
        let nextDelivery: Int64? = shared.progressed.isEmpty ? nil : 0
        return [multi?.deadline, unmultiplexed?.deadline, nextCheck, nextRead, nextDelivery].compactMap { $0 }.min()
    }

    // MARK: Streams that libcurl forgets

    /// How long nothing must have come in before libcurl is made to look.
    private static let readDelay: Int64 = 5_000_000

    /// Has libcurl look for what came in on streams, if there has been nothing for a moment; returns whether it did.
    private func readAllIfDue() -> Bool {
        guard let due = nextRead, due <= shared.now else { return false }
        nextRead = nil
        multi?.readAll()
        unmultiplexed?.readAll()
        return true
    }

    /// Sees to it that libcurl looks once after something came in on a stream, and again while that brings more.
    private func scheduleRead(isReading: Bool) {
        guard Libcurl.forgetsStreams else { return }
        if shared.hasReceivedOnStream {
            let time = shared.now + (isReading ? 0 : Self.readDelay)
            // Not later than it was to be: a busy stream must not keep one that was forgotten waiting.
            nextRead = min(nextRead ?? time, time)
        }
        shared.hasReceivedOnStream = false
        if transfers.isEmpty { nextRead = nil }
    }

    /// Has libcurl wait no more for bytes that it will not send.
    private func endRefusedUploads() {
        let refused = shared.refused
        shared.refused.removeAll(keepingCapacity: true)
        for transfer in refused where transfers[transfer.id] != nil {
            perform(transfer.reception.state.bodyBytesArrived(), on: transfer)
        }
    }

    private func reportHeads() {
        guard !shared.withHeads.isEmpty else { return }
        for transfer in shared.withHeads {
            if let response = transfer.reception.response { transfer.observer.exchangeDidReceiveHead(response) }
        }
        shared.withHeads.removeAll(keepingCapacity: true)
    }

    private func reportProgress() {
        var growing: [Transfer] = []
        // What is handed over may make room for more, which libcurl then has ready.
        while !shared.progressed.isEmpty {
            let progressed = shared.progressed
            shared.progressed.removeAll(keepingCapacity: true)
            for transfer in progressed {
                // What has ended is told with the outcome.
                guard transfers[transfer.id] != nil else { continue }
                if transfer.isPieceGrowing() {
                    growing.append(transfer)
                    continue
                }
                transfer.hasUnreportedProgress = false
                // First the bytes: who begins to read when it sees the progress is too late for them.
                if transfer.receiver != nil { deliver(transfer) }
                reportProgress(of: transfer)
            }
        }
        shared.progressed = growing
    }

    private func reportProgress(of transfer: Transfer) {
        reportSent(Int64(transfer.uploadOffset), by: transfer)
        let state = transfer.reception.state
        if state.receivedBytes != transfer.reportedReceivedBytes {
            transfer.reportedReceivedBytes = state.receivedBytes
            transfer.observer.exchangeDidReceive(state.receivedBytes, ofExpected: transfer.reception.expectedBytes)
        }
    }

    private func reportSent(_ sent: Int64, by transfer: Transfer) {
        guard sent != transfer.reportedSentBytes else { return }
        transfer.reportedSentBytes = sent
        transfer.observer.exchangeDidSend(sent, ofExpected: transfer.upload.length)
    }

    /// Hands over what has come in for a receiver.
    private func deliver(_ transfer: Transfer) {
        guard let receiver = transfer.receiver, let piece = transfer.reception.takePiece() else { return }
        switch receiver.receive(piece) {
        case .goOn: perform(transfer.reception.state.bodyReleased(), on: transfer)
        case .pause: transfer.reception.state.bodyHeld()
        case .stop: finish(transfer, with: RequestError(.cancelled))
        }
    }

    private func tellObservers() {
        while !ended.isEmpty {
            let outcomes = ended
            ended.removeAll(keepingCapacity: true)
            for (observer, outcome) in outcomes { observer.exchangeDidComplete(outcome) }
        }
    }

    // MARK: Time limits

    private func checkLimits() {
        guard let due = nextCheck, due <= shared.now else { return }
        nextCheck = nil
        for transfer in transfers.values { checkLimits(of: transfer) }
    }

    /// Ends the transfer if a limit has run out, or sees to it that it is looked at again.
    private func checkLimits(of transfer: Transfer) {
        if let easy = transfer.easy, !transfer.isFresh {
            // Bytes that do not come by here one by one: sent from libcurl's buffers, or received but not decoded yet.
            let (sent, received) = (easy.offset(CURLINFO_SIZE_UPLOAD_T), easy.offset(CURLINFO_SIZE_DOWNLOAD_T))
            if sent != transfer.lastSentBytes || received != transfer.lastReceivedBytes || !easy.hasSentRequest {
                transfer.reception.lastActivity = shared.now
            }
            transfer.lastSentBytes = sent
            transfer.lastReceivedBytes = received
        }
        // The limit for silence is for the network, not for those who read and write the bodies.
        let isSuspended = transfer.reception.state.isHeldUp
        if isSuspended { transfer.reception.lastActivity = shared.now }
        let situation = TransferLimits.Situation(
            now: shared.now, isSuspended: isSuspended, wasSent: wasSent(transfer),
            lastActivity: transfer.reception.lastActivity)
        switch transfer.limits.verdict(in: situation) {
        case .within(let lookAgain):
            if let lookAgain { nextCheck = min(nextCheck ?? lookAgain, lookAgain) }
        case .exceeded(let stage):
            finish(transfer, with: error(.timedOut(stage), transfer.limits.words(for: stage), of: transfer))
        }
    }

    // MARK: The end of a transfer

    /// Ends a transfer that libcurl is done with.
    private func finish(_ transfer: Transfer, with code: CURLcode, of multi: MultiHandle) {
        if let easy = transfer.easy, transfer.takeRestart() {
            multi.remove(easy)
            return add(transfer)
        }
        if code != CURLE_OK, let easy = transfer.easy, let (trust, evaluator) = transfer.undecided {
            multi.remove(easy)
            return awaitVerdict(on: trust, by: evaluator, for: transfer)
        }
        if code == CURLE_SEND_ERROR, let easy = transfer.easy,
            let words = multi.lastWords.words(ofLocalPort: easy.long(CURLINFO_LOCAL_PORT)),
            transfer.reception.receivedLastWords(words, now: shared.now)
        {
            return finish(transfer, with: transfer.reception.lastWordsError)
        }
        finish(transfer, with: code == CURLE_OK ? transfer.reception.headError : error(for: code, of: transfer))
    }

    private func finish(_ transfer: Transfer, with error: RequestError?) {
        transfers[transfer.id] = nil
        if transfer.awaitedVerdict != nil { trust?.forget(transfer) }
        if case .copied(let data) = transfer.upload, wasSent(transfer) {
            reportSent(Int64(data.count), by: transfer)
        } else {
            reportSent(Int64(transfer.uploadOffset), by: transfer)
        }
        let error = transfer.reception.failure ?? transfer.upload.failure ?? error
        // A challenge is the response only if that is complete: something went wrong before it was answered.
        if error == nil || !transfer.isChallenged { transfer.noteHead() }
        transfer.upload.abandon()
        if let receiver = transfer.receiver, let piece = transfer.reception.takePiece() {
            _ = receiver.receive(piece)
            reportProgress(of: transfer)
        }
        let outcome = ExchangeOutcome(
            response: transfer.reception.response, body: transfer.reception.body,
            error: error, metrics: transfer.easy.map { TransferMetrics(of: transfer, $0) }
        )
        if let easy = transfer.easy {
            transfer.multi?.remove(easy)
            transfer.easy = nil
            transfer.multi = nil
            easy.transfer = nil
            // Libcurl has sent the request anew. It counts that until a reset, and gives a request up when there were five.
            if easy.offset(CURLINFO_REDIRECT_TIME_T) > 0 { easy.profile = nil }
            // Libcurl may keep bytes of a paused body in the handle, which must not reach the next exchange.
            if pool.count < Self.poolLimit, !transfer.reception.state.isSuspended,
                !transfer.reception.state.isReceivingPaused
            {
                // Fields and bodies, which may be secret or large, do not lie about until the handle is used again.
                if easy.profile == nil { easy.reset() }
                pool.append(easy)
            }
        }
        ended.append((transfer.observer, outcome))
    }

    private func error(for code: CURLcode, of transfer: Transfer) -> RequestError {
        guard let easy = transfer.easy else { return RequestError(.internal) }
        if let refusal = transfer.refusal { return refusal }
        let total = transfer.limits.timeouts.total
        let elapsed = Reactor.now() - transfer.limits.startedAt
        let verifyResults = [CURLINFO_SSL_VERIFYRESULT, CURLINFO_PROXY_SSL_VERIFYRESULT].map(easy.long)
        let circumstances = CurlErrorTable.Circumstances(
            message: easy.errorMessage, verifyResult: verifyResults.first { $0 != 0 } ?? 0,
            wasSent: wasSent(transfer),
            isTotalTimeOver: total.map { elapsed >= $0.nanoseconds } ?? false, hasHead: transfer.reception.head != nil,
            headLimit: options.configuration.maximumResponseHeadBytes)
        var words = CurlErrorTable.redacted(circumstances.message)
        if words.isEmpty { words = unsafe String(cString: curl_easy_strerror(code)) }
        if let option = CurlErrorTable.option(for: code) { words = "\(option): \(words)" }
        let kind = CurlErrorTable.kind(of: code, in: circumstances)
        return error(kind, words, of: transfer)
    }

    /// Makes the error of a transfer, which says through which proxy that led.
    private func error(_ kind: RequestError.Kind, _ words: String, of transfer: Transfer) -> RequestError {
        let proxy = options.proxyWords(for: transfer.request, kind)
        return RequestError(kind, detail: proxy.map { "\(words), \($0)" } ?? words)
    }
}
