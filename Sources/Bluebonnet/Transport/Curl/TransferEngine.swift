import BluebonnetLibc
import CCurl
import FoundationEssentials

/// Runs transfers with libcurl, entirely on its event loop.
///
/// All code that uses libcurl's handles runs on this actor, and the compiler checks this. User code never uses them.
/// The engine calls observers, but these only record the event and resume waiting tasks.
///
/// A turn has three steps:
///
/// 1. Commands such as start, cancel, suspend and resume arrive as work for the loop.
/// 2. When sockets and timers are ready, the engine calls libcurl. Libcurl's callbacks record their results in
///    ``Transfer``.
/// 3. Before the loop waits, ``turn()`` collects the transfers that have ended, and notifies all observers.
// Safety: the actor keeps its executor alive; the context of a finished transfer is its handle, which is kept until
// `finish`. Only the loop's thread uses the unchecked properties; see ``Transfer``.
actor TransferEngine: EventLoopClient {
    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    let options: TransferOptions
    /// The coordinator of server trust; set by the first transfer if there is a manager.
    private(set) var trust: TrustCoordinator?
    let shared: LoopTurnState
    /// The commands to perform, in order.
    ///
    /// Only the first command wakes the loop, which then takes all commands that have arrived. Many simultaneous
    /// requests therefore need only one piece of work.
    private nonisolated let commands = Locked<[EngineCommand]>([])
    /// Replaces the array of commands while its commands are performed.
    private var spareBatch: [EngineCommand] = []
    #if !DEBUG
        @safe @exclusivity(unchecked)
    #endif
    var transfers: [TransferID: Transfer] = [:]
    #if !DEBUG
        @safe @exclusivity(unchecked)
    #endif
    var ended: [(any ExchangeObserver, ExchangeOutcome)] = []
    let group: EngineGroup
    /// The number of the loop in the group.
    let loopIndex: Int
    var limitsRequests: Bool { group.queue != nil }
    /// Whether the session has limits of its own for connections.
    let limitsConnections: Bool
    var gate: ConnectionGate
    #if !DEBUG
        @safe @exclusivity(unchecked)
    #endif
    var pool: [EasyHandle] = []
    #if !DEBUG
        @safe @exclusivity(unchecked)
    #endif
    private var multis = CleartextHTTP2Streams()
    private var isAttached = false
    private(set) var isShutDown = false
    /// The time of the next check of the time limits.
    private var nextCheck: Int64?
    /// The transfers that were added to libcurl since it last ran.
    private var fresh: [Transfer] = []
    /// The transfers that open a connection of their own, the transfers with new bytes for such a connection, and the
    /// transfers that have reached their limit for the turn.
    var upgrades = UpgradeQueues()

    /// The maximum number of unused handles that are kept; each handle takes about 10 KB.
    ///
    /// Since 8.7.0, a handle that has sent a body on demand also keeps its upload buffer.
    static let poolLimit = 256

    init(
        loop: EventLoop, configuration: Session.Configuration, group: EngineGroup? = nil, loopIndex: Int = 0
    ) {
        self.loop = loop
        let group = group ?? EngineGroup(configuration)
        self.group = group
        self.loopIndex = loopIndex
        let whole = configuration
        var configuration = configuration
        configuration.connectionLimits = group.shares.limits(ofLoop: loopIndex)
        limitsConnections = whole.connectionLimits.perHost != nil || whole.connectionLimits.total != nil
        gate = ConnectionGate(
            configuration.connectionLimits, loops: group.shares.loops, loopsPerHost: group.shares.loopsPerHost)
        options = TransferOptions(configuration: configuration, of: whole)
        shared = LoopTurnState(configuration, group)
        shared.waiting = WaitingTransfers(configuration.connectionLimits)
        // Not weakly by itself: each reference to an object with weak references costs the runtime more.
        shared.counts.onCut { group.engine(ofLoop: loopIndex)?.accept(.connectionCut($0)) }
    }

    // MARK: Work from the transport

    /// Performs a command on the loop, after all earlier commands.
    nonisolated func accept(_ command: EngineCommand) {
        let isFirst = commands.withLock { commands in
            commands.append(command)
            return commands.count == 1
        }
        guard isFirst else { return }
        loop.submit { self.assumeIsolated(TransferEngine.carryOutCommands(of:)) }
    }

    /// A function instead of a closure, for which the runtime would check the isolation again (0.2 % of a small GET).
    private static func carryOutCommands(of engine: isolated TransferEngine) { engine.carryOutCommands() }

    private func carryOutCommands() {
        // The commands may result in further commands, which the loop performs later.
        var batch = spareBatch
        spareBatch = []
        commands.withLock { swap(&$0, &batch) }
        if multis.main?.idleConnections.isEmpty == false, batch.contains(where: \.isStart) { loop.pollIfStale() }
        shared.now = MonotonicClock.now()
        // Commands that are removed from the end are not copied, which saves 600 instructions.
        batch.reverse()
        while let command = batch.popLast() { carryOut(command) }
        sendUpgraded()
        spareBatch = batch
    }

    private func carryOut(_ command: EngineCommand) {
        switch command {
        case .start(let id, let request, let upload, let options, let observer):
            start(id, request, upload, options, observer)
        case .refuse(let error, let observer):
            observer.exchangeDidComplete(ExchangeOutcome(response: nil, error: error))
        case .cancel(let id):
            if let transfer = transfers[id] { finish(transfer, with: RequestError(.cancelled)) }
        case .suspend(let id):
            guard let transfer = transfers[id] else { break }
            perform(transfer.suspended(), on: transfer)
            if transfer.speed != nil { leaveSpeedQueues(transfer) }
        case .resume(let id):
            guard let transfer = transfers[id] else { break }
            transfer.responseBuffer.lastActivity = shared.now
            perform(transfer.resumed(), on: transfer)
            transfer.noteRest()
            if !transfer.hasEnded { checkLimits(of: transfer) }
        case .receiveBody(let id, let receiver):
            guard let transfer = transfers[id] else { break }
            transfer.receiver = receiver
            transfer.responseBuffer.buffers = receiver == nil ? nil : shared.buffers
            releaseBody(of: transfer)
        case .receiveMore(let id):
            if let transfer = transfers[id], transfer.receiver != nil { releaseBody(of: transfer) }
        case .sendMore(let id):
            guard let transfer = transfers[id] else { break }
            transfer.responseBuffer.lastActivity = shared.now
            perform(transfer.responseBuffer.state.bodyBytesArrived(), on: transfer)
        case .send(let id, let bytes): if let transfer = transfers[id] { send(bytes, on: transfer) }
        case .granted(let id): granted(id)
        case .closeUnused: closeUnused()
        // The turn starts them.
        case .startQueued: break
        case .opened(let id, let upload):
            if let transfer = transfers[id] { opened(transfer, upload) }
        case .connectionCut(let socket):
            multis.forEach { $0.notice(endOf: socket) }
            for transfer in upgrades.opening.values { transfer.multi?.notice(endOf: socket) }
        case .refuseWaiting: refuseWaiting()
        case .renewConnections: multis.forEach { $0.renewConnections() }
        }
    }

    private func start(
        _ id: TransferID, _ request: HTTPRequest, _ upload: UploadBody, _ exchangeOptions: ExchangeOptions,
        _ observer: any ExchangeObserver
    ) {
        let speed = exchangeOptions.upgrade == nil ? shared.speed.state(for: request, now: shared.now) : nil
        let transfer = Transfer(
            id: id, request: request, observer: observer,
            limits: options.limits(
                for: request, isInMemory: exchangeOptions.collectsBody && upload.isInMemory, now: shared.now),
            state: TransferState(
                hasStreamedBody: upload.isAskedFor, isSuspended: exchangeOptions.startsSuspended,
                pausesBody: exchangeOptions.pausesBody, headLimit: options.configuration.maximumResponseHeadBytes,
                bodyLimit: exchangeOptions.maximumResponseBytes),
            upload: upload, httpVersion: options.version(of: request, sentTo: request.url),
            credential: options.authenticatesItself(request) ? nil : request.credential,
            announcesRedirects: exchangeOptions.pausesRedirects,
            speed: speed, turn: shared)
        if let hsts = shared.hsts { transfer.url = hsts.secured(request.url) }
        transfer.upgrade = exchangeOptions.upgrade.map { UpgradableConnection(idleTimeout: $0.idleTimeout) }
        if options.configuration.decodesContent { transfer.responseBuffer.removedCodings = request.removedCodings }
        transfers[id] = transfer
        guard !isShutDown else {
            finish(transfer, with: RequestError(.sessionShutDown))
            return notifyObservers()
        }
        guard !loop.isRefusing else {
            let message = "the system has no thread for the event loop"
            finish(transfer, with: RequestError(.connection(.failed), detail: message))
            return notifyObservers()
        }
        attach()
        perform(transfer.life.started(), on: transfer)
        checkLimits(of: transfer)
    }

    private func releaseBody(of transfer: Transfer) {
        transfer.responseBuffer.lastActivity = shared.now
        perform(transfer.responseBuffer.state.bodyReleased(), on: transfer)
        transfer.noteRest()
    }

    func shutDown() {
        isShutDown = true
        for transfer in transfers.values { finish(transfer, with: RequestError(.sessionShutDown)) }
        notifyObservers()
        pool.removeAll()
        fresh.removeAll()
        upgrades = UpgradeQueues()
        shared.forgetTransfers()
        trust?.close()
        multis = CleartextHTTP2Streams()
        guard isAttached else { return }
        isAttached = false
        group.removeEngine(ofLoop: loopIndex)
        loop.remove(self)
        loop.detach()
    }

    private func attach() {
        guard !isAttached else { return }
        isAttached = true
        trust = group.settledTrust().map(TrustCoordinator.init)
        group.add(self, ofLoop: loopIndex)
        loop.attach()
        loop.add(self)
    }

    func perform(_ action: TransferLife.Action, on transfer: Transfer) {
        switch action {
        case .nothing: break
        case .admit:
            // A connection for another protocol may last for hours, and is not counted.
            if transfer.upgrade == nil, !mayRun(transfer) { return checkLimits(of: transfer) }
            perform(transfer.life.admitted(opensBody: transfer.upload.isUnopened), on: transfer)
        case .open: openBody(of: transfer)
        case .add(let continues): add(transfer, continues: continues)
        case .withdraw: withdraw(transfer)
        case .leaveQueues: leaveQueues(transfer)
        case .leaveGate: leaveGate(transfer)
        case .restartLimit: transfer.limits.resumed(at: shared.now)
        case .pause: pause(transfer, bb_curl_pause_all)
        case .unpause:
            let state = transfer.responseBuffer.state
            // Libcurl 7.88.1 reads once more unless both directions are paused.
            let isSendingPaused = state.isSendingPaused || state.isReceivingPaused && !transfer.request.hasBody
            pause(
                transfer,
                (state.isReceivingPaused ? bb_curl_pause_recv : 0) | (isSendingPaused ? bb_curl_pause_send : 0))
            // The idle timeout applies again; it is not checked while the transfer is paused.
            if !transfer.hasEnded { checkLimits(of: transfer) }
        }
    }

    /// Removes a transfer from libcurl, which has not sent its request.
    private func withdraw(_ transfer: Transfer) {
        leaveMulti(transfer)
        if let easy = transfer.easy { transfer.multi?.remove(easy) }
        upgrades.opening[transfer.id] = nil
        if transfer.slowAddresses != nil { endAttempts(of: transfer) }
        leaveGate(transfer)
    }

    private func pause(_ transfer: Transfer, _ directions: Int32) {
        guard let easy = transfer.easy else { return }
        if transfer.upgrade?.isOpen == true { return continueUpgraded(transfer) }
        transfer.receivingChanged(isPaused: directions & bb_curl_pause_recv != 0)
        let code = unsafe curl_easy_pause(easy.pointer, directions)
        // A transfer without a connection is complete and will be finished soon.
        guard code != CURLE_OK, code != CURLE_BAD_FUNCTION_ARGUMENT else { return }
        finish(transfer, with: error(for: code, of: transfer))
    }

    /// Adds a transfer to libcurl; `continues` is whether it continues to connect after its server was evaluated.
    func add(_ transfer: Transfer, continues: Bool = false) {
        // The HTTP version that is known for the host may have changed in the meantime.
        transfer.url = shared.hsts?.secured(transfer.request.url) ?? transfer.request.url
        transfer.httpVersion =
            transfer.upgrade == nil && !transfer.resends.requiresHTTP1
            ? options.version(of: transfer.request, sentTo: transfer.url) : .http1_1
        let pooled = transfer.easy == nil && transfer.upgrade == nil ? pool.popLast() : transfer.easy
        guard Libcurl.isReady, let easy = pooled ?? EasyHandle(),
            let multi = transfer.upgrade == nil ? multi(for: transfer.httpVersion) : ownMulti(of: transfer)
        else {
            return finish(transfer, with: RequestError(.internal, detail: "libcurl is out of memory"))
        }
        transfer.easy = easy
        transfer.multi = multi
        do throws(RequestError) {
            let policy = try trust?.policy(for: transfer, options)
            transfer.trust.begins(trusting: options.authorities, evaluatedBy: policy, trust?.verdicts.cache)
        } catch {
            return finish(transfer, with: error)
        }
        if let error = options.apply(to: easy, for: transfer) {
            return finish(transfer, with: error)
        }
        if transfer.upgrade != nil { willOpen(transfer, easy) }
        transfer.firstField = .initial
        easy.decodeTransferCodings(!transfer.isProxied)
        let code = multi.add(easy)
        guard code == CURLM_OK else {
            let message = unsafe String(cString: curl_multi_strerror(code))
            return finish(transfer, with: RequestError(.internal, detail: message))
        }
        let mayUseTLS = options.usesProxy || transfer.isSecure
        if mayUseTLS || transfer.httpVersion == .http2PriorKnowledge {
            transfer.guardFloods(in: multi)
        }
        transfer.isFresh = true
        transfer.resends.added()
        transfer.addresses = nil
        fresh.append(transfer)
        shared.steps.ask(.endFirstTurns)
        if transfer.slowAddresses?.connected == nil {
            transfer.limits.added(at: shared.now, mayWait: options.limitsConnections, continues: continues)
        }
        wasAdded(transfer)
    }

    /// Closes the connections that no exchange uses, because there are too many in the process.
    private func closeUnused() {
        guard transfers.isEmpty else {
            multis.forEach { $0.closeIdle() }
            return
        }
        // Libcurl closes connections immediately only with their multi handle.
        pool.removeAll()
        shared.endedSockets = []
        multis = CleartextHTTP2Streams()
    }

    private func multi(for version: HTTPVersionPreference) -> MultiHandle? {
        if let multi = multis[version] { return multi }
        let multi = MultiHandle(
            loop: loop, limits: options.configuration.connectionLimits,
            isMultiplexing: CleartextHTTP2Streams.multiplexes(version), counts: shared.counts)
        multis[version] = multi
        return multi
    }
}

/// The engine's work before the loop waits: it collects the transfers that have ended, and calls the observers.
// Safety: the context of a finished transfer is its handle, which is kept until `finish`.
extension TransferEngine {
    nonisolated func loopWillWait() -> Int64? {
        assumeIsolated(TransferEngine.turn(of:))
    }

    /// A function instead of a closure, like ``carryOutCommands(of:)``.
    private static func turn(of engine: isolated TransferEngine) -> Int64? { engine.turn() }

    private func turn() -> Int64? {
        shared.now = MonotonicClock.now()
        let isReading = shared.unreadStreams.areDue(at: shared.now)
        if isReading { multis.forEach { $0.readAll() } }
        if shared.freshAttempts.due != nil { tryNextAddresses() }
        runAll()
        if let due = nextCheck, due <= shared.now { shared.steps.ask(.checkLimits) }
        if shared.speed.isUsed { shared.steps.ask(.resumeSpeed) }
        shared.renewAllowances()
        while let step = shared.steps.next() { perform(step) }
        if limitsRequests || gate.isWaiting { startQueued() }
        notifyObservers()
        shared.unreadStreams.turnEnds(at: shared.now, wasReading: isReading, isIdle: transfers.isEmpty)
        guard !shared.steps.turnEnds() else { return 0 }
        var deadline = Self.earlier(multis.main?.deadline, multis.unmultiplexed?.deadline)
        if !upgrades.opening.isEmpty {
            for transfer in upgrades.opening.values { deadline = Self.earlier(deadline, transfer.multi?.deadline) }
        }
        let check = Self.earlier(Self.earlier(nextCheck, shared.unreadStreams.due), shared.freshAttempts.due)
        guard shared.speed.isUsed else { return Self.earlier(deadline, check) }
        let (downloads, uploads) = (shared.speed.downloads.due, shared.speed.uploads.due)
        return Self.earlier(Self.earlier(deadline, check), Self.earlier(downloads, uploads))
    }

    private func perform(_ step: TurnStep) {
        switch step {
        case .endUploads: if endUploads() { runAll() }
        // Each time, one stream notices the end.
        case .readEndedSockets: while readEndedSockets() { runAll() }
        case .serveUpgrades: serveReadyUpgrades()
        case .resumeUpgrades: receiveWaitingUpgraded()
        case .endFirstTurns:
            for transfer in fresh { firstTurnEnds(of: transfer) }
            fresh.removeAll(keepingCapacity: true)
        case .checkLimits: checkLimits()
        case .takeRests: takeRests()
        case .resumePieces: resumeWaiting()
        case .resumeSpeed: resumeWithinSpeedLimits()
        case .endRefusedUploads: endRefusedUploads()
        case .reportHeads: reportHeads()
        case .reportProgress: reportProgress()
        case .retryWaiting: retryWaiting()
        case .noteConnections: noteConnections()
        }
    }

    /// Resumes the bodies that had reached their limit for the turn.
    private func resumeWaiting() {
        for transfer in shared.steps.takeTransfers(of: .resumePieces) where !transfer.hasEnded {
            perform(transfer.responseBuffer.state.turnBegins(), on: transfer)
            transfer.noteRest()
        }
    }

    private static func earlier(_ one: Int64?, _ other: Int64?) -> Int64? {
        guard let one, let other else { return one ?? other }
        return min(one, other)
    }

    /// The connections of this loop, and the transfers that wait for one.
    var connectionCounts: ConnectionCounts {
        var handles = multis.all
        // Several connections share a multi handle.
        var found: Set<ObjectIdentifier> = []
        for transfer in transfers.values where transfer.upgrade != nil {
            if let multi = transfer.multi, found.insert(ObjectIdentifier(multi)).inserted { handles.append(multi) }
        }
        var counts = ConnectionCounts()
        for multi in handles { counts.open += multi.connectionCount - multi.idleConnections.endedCount }
        // A connection for another protocol is in use until its transfer ends.
        multis.forEach { counts.idle += $0.idleConnections.idleSockets.count }
        counts.waiting = gate.waitingCount + transfers.values.count { $0.limits.isWaiting && $0.life.isAdded }
        return counts
    }

    private func runAll() {
        if let multi = multis.main { run(multi) }
        if let multi = multis.unmultiplexed { run(multi) }
        guard !upgrades.opening.isEmpty else { return }
        for transfer in upgrades.opening.values { if let multi = transfer.multi { run(multi) } }
    }

    /// Lets libcurl do the work that is due, and finishes the transfers that have ended.
    private func run(_ multi: MultiHandle) {
        multi.runTimeouts(now: shared.now)
        beginNextAttempts(in: multi)
        while let (context, code) = unsafe multi.nextFinished() {
            let easy = unsafe Unmanaged<EasyHandle>.fromOpaque(context).takeUnretainedValue()
            guard let transfer = easy.transfer else { continue }
            // The transfer may have started and ended in this turn.
            transfer.isFresh = false
            libcurlEnded(transfer, with: code, of: multi)
        }
    }

    private func reportHeads() {
        guard !shared.withHeads.isEmpty else { return }
        for (transfer, informational) in shared.withHeads {
            if let informational {
                let response = HTTPResponse(url: transfer.url, head: informational, keepsCoding: true)
                transfer.observer.exchangeDidReceiveInformational(response)
            } else if let head = transfer.headOfResponse {
                transfer.observer.exchangeDidReceiveHead(head)
            }
        }
        shared.withHeads.removeAll(keepingCapacity: true)
    }

    func reportProgress() {
        guard !shared.progressed.isEmpty else { return }
        gate.progressed(shared.progressed, at: shared.now)
        var growing = 0
        var index = 0
        // A delivery may make room for more bytes, which libcurl then delivers, so the list may grow.
        while index < shared.progressed.count {
            let transfer = shared.progressed[index]
            index += 1
            // The outcome reports the progress of transfers that have ended.
            guard !transfer.hasEnded else { continue }
            if transfer.isPieceGrowing() {
                shared.progressed[growing] = transfer
                growing += 1
                continue
            }
            transfer.progress.leavesList()
            // The bytes are delivered first, because a reader that starts after the progress report would otherwise
            // miss them.
            if transfer.receiver != nil || transfer.isStopped { deliver(transfer) }
            reportProgress(of: transfer)
            if !transfer.request.hasBody, transfer.upgrade == nil {
                perform(transfer.responseBuffer.state.turnEndsWithRest(), on: transfer)
            }
        }
        shared.progressed.removeSubrange(growing...)
        if growing > 0 { shared.steps.ask(.reportProgress) }
    }

    func reportProgress(of transfer: Transfer) {
        reportSent(Int64(transfer.upload.offset), by: transfer)
        let received = transfer.responseBuffer.state.receivedBytes
        guard transfer.progress.noteReceived(received) else { return }
        transfer.observer.exchangeDidReceive(
            received, ofExpected: transfer.responseBuffer.expectedBytes, fraction: transfer.codedFraction)
    }

    func reportSent(_ sent: Int64, by transfer: Transfer) {
        guard transfer.progress.noteSent(sent) else { return }
        transfer.observer.exchangeDidSend(sent, ofExpected: transfer.upload.length)
    }

    /// Passes received bytes to the transfer's receiver.
    private func deliver(_ transfer: Transfer) {
        if let upgrade = transfer.upgrade { deliverPieces(upgrade, of: transfer) }
        transfer.deliverPiece()
        if transfer.isStopped { finish(transfer, with: RequestError(.cancelled)) }
    }

    func notifyObservers() {
        // The head of an exchange is reported before its outcome, even if several callers run this code.
        while !ended.isEmpty {
            reportHeads()
            var outcomes: [(any ExchangeObserver, ExchangeOutcome)] = []
            swap(&outcomes, &ended)
            for (observer, outcome) in outcomes { observer.exchangeDidComplete(outcome) }
            outcomes.removeAll(keepingCapacity: true)
            // The array's storage is reused.
            if ended.isEmpty { swap(&outcomes, &ended) }
        }
    }
}

/// Checks the time limits of transfers.
extension TransferEngine {
    private func checkLimits() {
        if let time = shared.nextConnectCheck.take() { nextCheck = min(nextCheck ?? time, time) }
        guard let due = nextCheck, due <= shared.now else { return }
        nextCheck = nil
        for transfer in transfers.values { checkLimits(of: transfer) }
    }

    /// Ends a transfer that has exceeded a limit; otherwise schedules the next check.
    func checkLimits(of transfer: Transfer) {
        if let easy = transfer.easy, !transfer.isFresh {
            // These bytes pass through no callback: they are sent from libcurl's buffers, or are not decoded yet.
            let (sent, received) = (easy.offset(CURLINFO_SIZE_UPLOAD_T), easy.offset(CURLINFO_SIZE_DOWNLOAD_T))
            if transfer.progress.noteMoved(sent: sent, received: received) || !transfer.wasSent {
                transfer.responseBuffer.lastActivity = shared.now
            }
            // Libcurl reads the body of a challenge completely before it sends the request again, and does not deliver
            // the body.
            if transfer.isChallenged, transfer.responseBuffer.state.receivedBytes == 0,
                let limit = options.configuration.maximumResponseBytes, received > limit
            {
                return finish(transfer, with: RequestError(.invalidResponse(.bodyTooLarge(limit: limit))))
            }
        }
        // The idle timeout applies to the network, not to the readers and writers of the bodies.
        let isSuspended = transfer.responseBuffer.state.isPaused
        if isSuspended { transfer.responseBuffer.lastActivity = shared.now }
        let snapshot = TransferLimits.TransferSnapshot(
            now: shared.now, isSuspended: isSuspended,
            isEventStream: transfer.limits.awaitsEvents && (transfer.response?.isEventStream ?? false),
            lastActivity: transfer.responseBuffer.lastActivity, othersActivity: lastActivity(beside: transfer))
        switch transfer.limits.verdict(in: snapshot) {
        case .within(let time):
            if let time { nextCheck = min(nextCheck ?? time, time) }
        case .exceeded(let stage):
            // The connection may be broken. If it is an HTTP/2 or HTTP/3 connection, libcurl would use it for the next
            // request.
            if stage == .idle || (transfer.wasSent && transfer.responseBuffer.head == nil) { transfer.forbidReuse() }
            finish(transfer, with: error(.timedOut(stage), message(for: stage, of: transfer), of: transfer))
        }
    }
}
