import FoundationEssentials
import Synchronization

/// Connects the messages of a ``WebSocketTask`` with the bytes of its exchange, as the sink of the request.
///
/// The event loop passes received bytes, and reports sent ones. Tasks send and await messages. All methods may be
/// called on any thread; one lock guards the state, and effects follow when it is released. Compression of sent
/// messages has a lock of its own, so that the event loop never waits for it.
final class WebSocketConnection: ResponseSink, SinkWriter {
    private let configuration: WebSocketRequest.Configuration
    private let protocols: [String]
    private let sleep: @Sendable (Duration) async throws -> Void
    private let state: Locked<WebSocketQueues>
    /// Makes the frames of messages; `nil` until the connection is open.
    private let frameWriter = Locked(WebSocketFrameWriter?.none)
    private let opened = Atomic(false)

    init(_ configuration: WebSocketRequest.Configuration, _ protocols: [String], _ context: SessionContext) {
        (self.configuration, self.protocols) = (configuration, protocols)
        sleep = context.sleep
        let session = context.configuration
        state = Locked(
            WebSocketQueues(
                high: session.bodyHighWatermark, low: session.bodyLowWatermark,
                maximumMessageSize: configuration.maximumMessageBytes, isKeptAlive: configuration.pingInterval != nil))
    }

    /// The settings of the exchange.
    var upgrade: ExchangeOptions.Upgrade? { ExchangeOptions.Upgrade(idleTimeout: configuration.idleTimeout) }

    var isOpen: Bool { state.withLock { $0.stage.isConnected && $0.phase.isOpen } }
    /// Whether the connection has been opened; unlike ``isOpen``, this needs no lock (150 instructions for an echo).
    var hasOpened: Bool { opened.load(ordering: .acquiring) }
    var negotiatedProtocol: String? { state.withLock { $0.agreement }?.negotiatedProtocol }
    var isCloseRequested: Bool { state.withLock { $0.isCloseRequested } }
    var closure: WebSocketClosure? { state.withLock { $0.phase.closure } }

    // MARK: The request

    /// Returns the fields of a handshake with a new key.
    func handshakeFields() throws(RequestError) -> [HTTPHeader] {
        do throws(WebSocketHandshakeFailure) {
            return try handshake().fields
        } catch {
            throw RequestError(.webSocket(.handshake(error)))
        }
    }

    private func handshake(
        _ key: String = WebSocketHandshake.randomKey()
    ) throws(WebSocketHandshakeFailure) -> WebSocketHandshake {
        let offer = configuration.compressesMessages ? WebSocketDeflateParameters() : nil
        return try WebSocketHandshake(protocols: protocols, offer: offer, key: key)
    }

    var validated: ValidatedPart { .nothing }

    /// Refuses a response that does not accept the handshake of a request.
    ///
    /// The key is that of the request, because fields are also created to describe a request.
    func headReceived(_ response: HTTPResponse, to request: HTTPRequest?) -> HeadDecision {
        do throws(WebSocketHandshakeFailure) {
            let sent = try handshake(request?.headers["Sec-WebSocket-Key"] ?? "")
            let agreed = try sent.agreement(statusCode: response.statusCode, headers: response.headers)
            state.withLock { $0.agreement = agreed }
            return .receive
        } catch {
            return .refuse(RequestError(.webSocket(.handshake(error))))
        }
    }

    /// Moves messages until the connection ends; returns the outcome, with the error that the end stands for.
    func receive(_ response: HTTPResponse, of core: RequestCore) async -> ExchangeOutcome {
        let deflate = state.withLock { $0.agreement }?.deflate
        let fragmentSize = max(1, configuration.maximumFrameBytes)
        frameWriter.withLock { $0 = WebSocketFrameWriter(deflate: deflate, fragmentSize: fragmentSize) }
        let (exchange, request, attempts) = core.read { ($0.exchange, $0.record.requests.last, $0.record.attempts) }
        let handshake = request.map { ($0, attempts) }
        guard change({ $0.opened(exchange.map(ExchangeReference.init), deflate, of: handshake) }) else {
            // The task that has closed the connection cancels the request as well, perhaps later.
            core.cancel()
            return await core.nextOutcome()
        }
        opened.store(true, ordering: .releasing)
        startKeepAlive(of: core)
        core.accept(response)?.receiveBody(with: self)
        let outcome = await core.nextOutcome()
        // If the exchange had ended before it could be accepted, its outcome contains the bytes.
        if !outcome.body.isEmpty { _ = receive(outcome.body) }
        // Messages and a close frame may wait behind messages that a loop has not read.
        let isPaused = change { $0.exchangeEnded(outcome.error) }
        if isPaused, outcome.error?.isCancellation != true {
            _ = await core.interruptible { [self] in await wait(for: .parsed) }
        }
        let error = change { $0.connectionEnded(outcome.error) }
        return ExchangeOutcome(
            response: outcome.response, error: error, metrics: outcome.metrics, source: outcome.source)
    }

    /// Ends all waits, because the request has ended.
    func finish(with error: RequestError?) {
        change { $0.finished(with: error) }
    }

    // MARK: Time

    private func startKeepAlive(of core: RequestCore) {
        guard let interval = configuration.pingInterval else { return }
        let task = Task { [weak self, weak core, sleep] in
            while (try? await sleep(interval)) != nil, let connection = self {
                let isSuspended = core?.state == .suspended
                connection.change { $0.keepAliveElapsed(isSuspended: isSuspended) }
            }
        }
        change { $0.keep(task) }
    }

    private func limitClose() {
        let limit = configuration.closeTimeout
        let task = Task { [weak self, sleep] in
            try? await sleep(limit)
            self?.change { $0.closeTimeElapsed() }
        }
        change { $0.keep(task) }
    }

    // MARK: Effects

    /// Changes the state, and then performs the effects of the change.
    ///
    /// It is inlined, because generic code copies the effects with type metadata (3,000 instructions for each echo).
    @inline(__always) @discardableResult
    private func change<Result: Sendable>(_ body: (inout WebSocketQueues) -> Result) -> Result {
        let (result, effects) = state.withLock { state in (body(&state), state.takeEffects()) }
        if let effects { perform(effects) }
        return result
    }

    private func perform(_ effects: WebSocketQueues.Effects) {
        let exchange = effects.exchange?.exchange
        var frames = effects.frames
        while !frames.isEmpty {
            frames.forEach { exchange?.send($0) }
            frames = state.withLock { $0.takeFrames() }
        }
        for effect in effects.rare {
            switch effect {
            case .endExchange: exchange?.cancel()
            case .readMore: exchange?.receiveMore()
            case .parseLater: Task { change { $0.parseMore() } }
            case .limitClose: limitClose()
            case .answerPing(let ping, let time): ping.resume(returning: time)
            case .cancel(let timer): timer.cancel()
            case .release: break  // Released together with the effects.
            }
        }
        effects.ready.forEach { $0.resume(returning: true) }
    }

    /// Waits until the state allows something; returns `false` if the task is cancelled.
    private func wait(for event: WebSocketQueues.Event) async -> Bool {
        // Most events are allowed at once.
        if Task.isCancelled { return false }
        guard let id = state.withLock({ $0.allows(event, isWaiting: false) ? nil : $0.nextID() }) else { return true }
        return await withTaskCancellationHandler {
            await withResumption { resumption in
                let answer: Bool? = state.withLock { state in
                    if Task.isCancelled { return false }
                    if state.allows(event, isWaiting: false) { return true }
                    state.waiters.append(WebSocketQueues.Waiter(id: id, event: event, resumption: resumption))
                    return nil
                }
                if let answer { resumption.resume(returning: answer) }
            }
        } onCancel: {
            state.withLock { $0.takeWaiter(id) }?.resume(returning: false)
        }
    }

    // MARK: Messages

    /// Waits for the next message; returns `nil` at the end.
    func next() async throws(RequestError) -> WebSocketMessage? {
        try await next(.message) { $0.takeMessage() }
    }

    /// Waits for the next piece of a message; returns `nil` at the end.
    func nextPiece() async throws(RequestError) -> WebSocketPiece? {
        try await next(.piece) { $0.takePiece() }
    }

    private func next<Value>(
        _ event: WebSocketQueues.Event, take: (inout WebSocketQueues) -> WebSocketQueues.Read<Value>
    ) async throws(RequestError) -> Value? {
        while true {
            guard !Task.isCancelled else { throw cancellation }
            switch change(take) {
            case .value(let value): return value
            case .end(let error):
                if let error { throw error }
                return nil
            case .wait: guard await wait(for: event) else { throw cancellation }
            }
        }
    }

    /// Sends a message when all earlier messages are sent and there is room.
    func send(_ kind: WebSocketMessageKind, _ payload: Data) async throws(RequestError) {
        guard await wait(for: .turn) else { throw cancellation }
        try await write(kind, payload, isFinal: true)
    }

    /// Sends the pieces of a message when all earlier messages are sent and there is room.
    func send<Pieces: AsyncSequence>(_ kind: WebSocketMessageKind, _ pieces: Pieces) async throws(RequestError)
    where Pieces.Element: DataProtocol {
        guard await wait(for: .turn) else { throw cancellation }
        var reader = SequenceReader(pieces)
        while true {
            let piece: Data?
            do {
                piece = try await reader.next()
            } catch {
                // Even a `RequestError` is wrapped, because it may be the error of another request.
                let isCancelled = Task.isCancelled || error is CancellationError
                throw broken(isCancelled ? .cancelled : .requestBody(.sequenceFailed), by: error)
            }
            guard let piece else { return try await write(kind, Data(), isFinal: true) }
            try await write(kind, piece, isFinal: false)
        }
    }

    /// Writes the next bytes of the message whose turn it is, and waits until more may follow.
    ///
    /// The end of the message and an error end the turn.
    private func write(_ kind: WebSocketMessageKind, _ bytes: Data, isFinal: Bool) async throws(RequestError) {
        var rest = bytes
        while true {
            let frame = frameWriter.withLock { $0?.frame(kind, &rest, isFinal: isFinal) ?? Data() }
            let isLast = rest.isEmpty && isFinal
            if let error = change({ $0.enqueued(frame, isLast: isLast) }) { throw error }
            if isLast { return }
            guard await wait(for: .room) else { throw broken(.cancelled) }
            if rest.isEmpty { return }
        }
    }

    /// Ends the turn of a message that cannot be completed; returns its error.
    ///
    /// The connection is closed if the message has begun.
    private func broken(_ kind: RequestError.Kind, by error: (any Error)? = nil) -> RequestError {
        defer { change { $0.turnEnded() } }
        guard frameWriter.withLock({ $0?.isInMessage == true }) else {
            return located(RequestError(kind, underlying: error))
        }
        // The rest of the message will not follow, so nothing else can.
        change { $0.beginClosing() }
        let detail = "the message is incomplete, so the WebSocket was closed"
        return located(RequestError(kind, detail: detail, underlying: error))
    }

    private var cancellation: RequestError { located(RequestError(.cancelled)) }

    private func located(_ error: RequestError) -> RequestError { state.withLock { $0.located(error) } }

    /// Sends a ping; returns the time until its answer.
    func ping() async throws(RequestError) -> Duration {
        let id = state.withLock { $0.nextID() }
        let time = await withTaskCancellationHandler {
            await withResumption { resumption in
                let isSent = change { $0.pinged(id, Task.isCancelled ? nil : resumption) }
                if !isSent { resumption.resume(returning: nil) }
            }
        } onCancel: {
            state.withLock { $0.takePing(id) }?.resume(returning: nil)
        }
        if let time { return time }
        throw Task.isCancelled ? cancellation : state.withLock { $0.closedError }
    }

    /// Begins the closing handshake, unless it has begun; returns `false` if the connection is not open yet.
    ///
    /// In this case, it is not opened any more.
    func close(_ close: WebSocketClose, isDiscarding: Bool = false) -> Bool {
        change { $0.closeRequested(close, isDiscarding: isDiscarding) }
    }

    /// Closes the connection because the session is shut down, as soon as it is open.
    func sessionShutsDown() { change { $0.sessionShutsDown() } }

    /// Waits until the request has ended, or the task is cancelled.
    func ended() async { _ = await wait(for: .end) }

    /// Called by the event loop with the number of bytes that were sent so far.
    func bytesWereSent(_ count: Int64) { change { $0.sent = count } }
}

extension WebSocketConnection: BodyReceiver {
    func receive(_ bytes: Data) -> ReceiveAction { change { $0.received(bytes) ? .proceed : .pause } }
}
