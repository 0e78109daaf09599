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
    private(set) var trust: TrustDesk?
    let shared: EngineTurn
    private nonisolated let commands = EngineCommands()
    /// Takes the commands' place while they are carried out.
    private var spareBatch: [EngineCommand] = []
    var transfers: [TransferID: Transfer] = [:]
    var ended: [(any ExchangeObserver, ExchangeOutcome)] = []
    var pool: [EasyHandle] = []
    var multis = ClearTextStreams()
    private var isAttached = false
    private(set) var isShutDown = false
    /// What the session's handles have in common, and its cookies, if it keeps any.
    private var memory: SessionMemory?
    var cookieJar: CookieJar? { shared.cookieJar }
    /// When the time limits are looked at again.
    var nextCheck: Int64?
    /// The transfers that libcurl was given since it last ran.
    var fresh: [Transfer] = []

    /// More handles than this are not kept; each takes some 10 KB.
    static let poolLimit = 256

    init(loop: EventLoop, configuration: Session.Configuration, serverTrustManager: ServerTrustManager? = nil) {
        self.loop = loop
        trust = serverTrustManager.map(TrustDesk.init)
        options = TransferOptions(configuration: configuration)
        shared = EngineTurn(highWatermark: configuration.bodyHighWatermark)
        memory = SessionMemory(configuration)
        shared.cookieJar = CookieJar(configuration.cookies, memory)
    }

    // MARK: Work from the transport

    /// Has the loop carry out a command, after those that were given before.
    nonisolated func accept(_ command: EngineCommand) {
        guard commands.add(command) else { return }
        loop.submit { self.assumeIsolated { $0.carryOutCommands() } }
    }

    private func carryOutCommands() {
        // What the commands lead to may be further commands, for which the loop comes back.
        var batch = spareBatch
        spareBatch = []
        commands.take(into: &batch)
        if multis.main?.idleConnections.isEmpty == false, batch.contains(where: \.isStart) { loop.pollIfStale() }
        shared.now = MonotonicClock.now()
        for index in batch.indices { carryOut(batch[index]) }
        batch.removeAll(keepingCapacity: true)
        spareBatch = batch
    }

    private func carryOut(_ command: EngineCommand) {
        switch command {
        case .start(let id, let request, let upload, let options, let observer):
            start(id, request, upload, options, observer)
        case .judge(let manager):
            if !isShutDown { trust = TrustDesk(manager) }
        case .refuse(let error, let observer):
            observer.exchangeDidComplete(ExchangeOutcome(response: nil, error: error))
        case .cancel(let id):
            if let transfer = transfers[id] { finish(transfer, with: RequestError(.cancelled)) }
        case .suspend(let id):
            if let transfer = transfers[id] { perform(transfer.reception.state.suspended(), on: transfer) }
        case .resume(let id):
            guard let transfer = transfers[id] else { break }
            transfer.reception.lastActivity = shared.now
            perform(transfer.reception.state.resumed(), on: transfer)
            transfer.noteDecoding()
            if transfers[id] != nil { checkLimits(of: transfer) }
        case .receiveBody(let id, let receiver):
            guard let transfer = transfers[id] else { break }
            transfer.receiver = receiver
            transfer.reception.buffers = receiver == nil ? nil : shared.buffers
            releaseBody(of: transfer)
        case .receiveMore(let id):
            if let transfer = transfers[id], transfer.receiver != nil { releaseBody(of: transfer) }
        case .sendMore(let id):
            guard let transfer = transfers[id] else { break }
            transfer.reception.lastActivity = shared.now
            perform(transfer.reception.state.bodyBytesArrived(), on: transfer)
        }
    }

    private func start(
        _ id: TransferID, _ request: HTTPRequest, _ upload: UploadBody, _ exchangeOptions: ExchangeOptions,
        _ observer: any ExchangeObserver
    ) {
        let transfer = Transfer(
            id: id, request: request, observer: observer,
            limits: options.limits(for: request, now: shared.now),
            state: TransferState(
                hasStreamedBody: upload.isAskedFor, isSuspended: exchangeOptions.startsSuspended,
                holdsBody: exchangeOptions.holdsBody, headLimit: options.configuration.maximumResponseHeadBytes,
                bodyLimit: exchangeOptions.maximumResponseBytes),
            upload: upload, httpVersion: version(of: request),
            credential: options.authenticatesItself(request) ? nil : request.credential,
            announcesRedirects: exchangeOptions.holdsRedirects, turn: shared)
        transfer.reception.decodesContent = options.configuration.decodesContent
        guard !isShutDown else {
            finish(transfer, with: RequestError(.sessionShutDown))
            return tellObservers()
        }
        guard !loop.isRefusing else {
            let words = "the system has no thread for the event loop"
            finish(transfer, with: RequestError(.connection(.failed), detail: words))
            return tellObservers()
        }
        attach()
        transfers[id] = transfer
        perform(transfer.reception.state.started(), on: transfer)
        checkLimits(of: transfer)
    }

    private func releaseBody(of transfer: Transfer) {
        transfer.reception.lastActivity = shared.now
        perform(transfer.reception.state.bodyReleased(), on: transfer)
        transfer.noteDecoding()
    }

    func shutDown() {
        isShutDown = true
        for transfer in transfers.values { finish(transfer, with: RequestError(.sessionShutDown)) }
        tellObservers()
        pool.removeAll()
        shared.forgetTransfers()
        shared.cookieJar = nil
        memory = nil
        trust?.close()
        multis = ClearTextStreams()
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

    func perform(_ action: TransferState.ControlAction, on transfer: Transfer) {
        switch action {
        case .nothing: break
        case .add:
            // One that was suspended and resumed while its server is judged goes on waiting.
            if !transfer.isAwaitingVerdict { add(transfer) }
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
        if transfer.reception.state.isSuspended, !transfer.wasSent {
            // Libcurl pauses connections, not the making of them: it would send the request. So it is taken back.
            transfer.multiIsLeft()
            transfer.multi?.remove(easy)
            return transfer.reception.state.withdrawn()
        }
        let code = unsafe curl_easy_pause(easy.pointer, directions)
        // A transfer that has no connection any more is complete, and about to be finished.
        guard code != CURLE_OK, code != CURLE_BAD_FUNCTION_ARGUMENT else { return }
        finish(transfer, with: error(for: code, of: transfer))
    }

    func add(_ transfer: Transfer) {
        guard Libcurl.isReady, let easy = transfer.easy ?? pool.popLast() ?? EasyHandle(),
            let multi = multi(for: transfer.httpVersion)
        else {
            return finish(transfer, with: RequestError(.internal, detail: "libcurl is out of memory"))
        }
        transfer.easy = easy
        transfer.multi = multi
        transfer.judges.removeAll()
        transfer.handshakes = 0
        transfer.authorities = options.authorities
        do throws(RequestError) {
            transfer.trust = try trust?.policy(for: transfer.request, options)
            transfer.trustMemory = trust?.memory
        } catch {
            return finish(transfer, with: error)
        }
        let usesCookies = cookieJar?.isUsed(by: transfer.request) ?? false
        let share = memory?.share(withCookies: usesCookies)
        if let error = options.apply(to: easy, for: transfer, share, usesCookies: usesCookies) {
            return finish(transfer, with: error)
        }
        transfer.firstField = .initial
        easy.decodeTransferCodings(!transfer.isProxied)
        let code = multi.add(easy)
        guard code == CURLM_OK else {
            let words = unsafe String(cString: curl_multi_strerror(code))
            return finish(transfer, with: RequestError(.internal, detail: words))
        }
        let mayUseTLS = options.usesProxy || TransferOptions.isSecure(transfer.request.url)
        if mayUseTLS || transfer.httpVersion == .http2PriorKnowledge || options.configuration.hsts != .off {
            transfer.guardFloods(in: multi)
        }
        transfer.isFresh = true
        transfer.sendingAnew = SendingAnew()
        fresh.append(transfer)
        transfer.limits.addedAt = shared.now
    }

    /// Which version of HTTP a request asks for; where HSTS has libcurl speak TLS (RFC 6797 §8.3), it is as with `https`.
    private func version(of request: HTTPRequest) -> HTTPVersionPreference {
        let version = options.version(of: request)
        guard version == .http2PriorKnowledge, memory?.share?.upgrades(request.url) == true else { return version }
        return .automatic
    }

    private func multi(for version: HTTPVersionPreference) -> MultiHandle? {
        multis.multi(for: version) { isMultiplexing in
            MultiHandle(
                loop: loop, limits: options.configuration.connectionLimits, isMultiplexing: isMultiplexing,
                told: shared.told)
        }
    }
}
