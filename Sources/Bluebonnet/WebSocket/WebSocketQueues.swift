import FoundationEssentials

/// The messages of a WebSocket that wait for their reader, the frames that wait to be sent, and the tasks that wait.
///
/// A lock guards the value. Its methods record effects, which follow when the lock is released.
struct WebSocketQueues: ~Copyable {
    /// What a task waits for.
    enum Event: Hashable, Sendable {
        /// A piece of a message, or the end.
        case piece
        /// The same, or the head of a message that is too big.
        case message
        /// The end of the message that another task sends.
        case turn
        /// Room for more bytes to send.
        case room
        /// Room for all messages that were received.
        case parsed
        /// The end of the request.
        case end
    }

    struct Waiter {
        let id: UInt64
        let event: Event
        let resumption: Resumption<Bool>
    }

    /// What must be done when the lock is released.
    ///
    /// A message only sends frames or wakes a task. The rare effects share one list, so that copies stay cheap.
    struct Effects {
        var exchange: ExchangeReference?
        var frames = TinyArray<Data>()
        var ready = TinyArray<Resumption<Bool>>()
        var rare: [RareEffect] = []

        var isEmpty: Bool { ready.isEmpty && rare.isEmpty && frames.isEmpty }
    }

    enum RareEffect {
        case endExchange
        case readMore, parseLater
        case limitClose
        case answerPing(Resumption<Duration?>, Duration?)
        case cancel(Task<Void, Never>)
        /// Holds an exchange that has ended and an earlier error, so that they are released without the lock.
        case release(ExchangeReference?, RequestError?)
    }

    /// The progress of the end of a connection.
    private enum Closing {
        case none
        /// The time until the server must have answered runs.
        case limited
        /// The server has not answered the user's close frame within the limit.
        case unanswered
    }

    enum Read<Value: Sendable>: Sendable {
        case value(Value)
        case end(RequestError?)
        case wait
    }

    var phase = WebSocketState()
    private(set) var stage = WebSocketStage()
    /// The result of the handshake; `nil` before it.
    var agreement: WebSocketAgreement?
    /// The request of the handshake, and the number of attempts, for errors.
    private var handshake: (request: HTTPRequest, attempts: Int)?
    var waiters: [Waiter] = []
    /// Whether the user has closed the connection before the peer.
    private(set) var isCloseRequested = false
    private var closing = Closing.none
    private var inbox: WebSocketInbox
    private var outbox: WebSocketOutbox
    private var collector: WebSocketMessageCollector
    /// The signs of life when a keep-alive ping was last due.
    private var life = (received: Int64(0), sent: Int64(0), hadQueue: false)
    private var pings: [(id: UInt64, number: UInt64, start: Int64, Resumption<Duration?>)] = []
    /// The tasks that wait for a time while the request runs.
    private var timers = TinyArray<Task<Void, Never>>()
    private var lastID: UInt64 = 0
    private var effects = Effects()

    init(high: Int, low: Int, maximumMessageSize: Int, isKeptAlive: Bool = false) {
        inbox = WebSocketInbox(high: high, low: low)
        outbox = WebSocketOutbox(high: high, low: low, isKeptAlive: isKeptAlive)
        collector = WebSocketMessageCollector(maximumSize: maximumMessageSize)
    }

    /// The number of bytes that were sent so far.
    var sent: Int64 {
        get { outbox.sentBytes }
        set { outbox.sent(newValue) }
    }

    /// Keeps a timer until the request has ended.
    mutating func keep(_ timer: Task<Void, Never>) {
        if stage.isFinished { effects.rare.append(.cancel(timer)) } else { timers.append(timer) }
    }

    mutating func nextID() -> UInt64 {
        lastID += 1
        return lastID
    }

    // MARK: Waiting

    /// Whether a task need not wait for an event; a turn is taken with this call.
    mutating func allows(_ event: Event, isWaiting: Bool) -> Bool {
        switch event {
        case .piece: return !inbox.isEmpty || stage.isFinished
        case .message: return !inbox.isEmpty || stage.isFinished || inbox.messageSize > collector.maximumSize
        case .turn:
            // A later message does not overtake the messages that wait.
            return isOver
                || (isWaiting || !waiters.contains { $0.event == .turn }) && outbox.takesTurn(isWaiting: isWaiting)
        case .room: return isOver || outbox.hasRoom(isWaiting: isWaiting)
        case .parsed: return !inbox.isPaused || stage.isFinished
        case .end: return stage.isFinished
        }
    }

    private var isOver: Bool { stage.isOver || !phase.isOpen }

    mutating func takeWaiter(_ id: UInt64) -> Resumption<Bool>? {
        waiters.firstIndex { $0.id == id }.map { waiters.remove(at: $0).resumption }
    }

    /// Returns the effects of the last changes; `nil` if there are none.
    mutating func takeEffects() -> Effects? {
        var index = 0
        while index < waiters.count {
            if allows(waiters[index].event, isWaiting: true) {
                effects.ready.append(waiters.remove(at: index).resumption)
            } else {
                index += 1
            }
        }
        if case .none = closing, !phase.isOpen {
            closing = .limited
            if !stage.isOver { effects.rare.append(.limitClose) }
        }
        let exchange = stage.exchange
        if exchange != nil, let frames = outbox.take() { effects.frames = frames }
        guard !effects.isEmpty else { return nil }
        effects.exchange = exchange
        defer { effects = Effects() }
        return effects
    }

    /// Returns the frames that were added while a thread passed earlier ones to the exchange.
    mutating func takeFrames() -> TinyArray<Data> { outbox.takeMore() }

    // MARK: The connection

    /// Performs an action of the state machine.
    mutating func perform(_ action: WebSocketState.Action) {
        switch action {
        case .none: break
        case .sendPing(let id): outbox.addPing(id)
        case .sendPong(let payload): outbox.addPong(payload)
        case .sendClose(let close): outbox.addClose(close)
        case .answered(let numbers):
            let now = MonotonicClock.now()
            for ping in pings where numbers.contains(ping.number) {
                effects.rare.append(.answerPing(ping.3, .nanoseconds(now - ping.start)))
            }
            pings.removeAll { numbers.contains($0.number) }
        case .end: effects.rare.append(.endExchange)
        }
    }

    /// Called when the exchange has ended; returns whether received bytes wait until a loop has read messages.
    mutating func exchangeEnded(_ failure: RequestError?) -> Bool {
        stage.exchangeEnded(failure)
        for ping in pings { effects.rare.append(.answerPing(ping.3, nil)) }
        pings = []
        return inbox.isPaused
    }

    /// Called when the exchange has ended and its bytes were parsed; returns the error that the end stands for.
    mutating func connectionEnded(_ failure: RequestError?) -> RequestError? {
        _ = phase.connectionEnded()
        guard let closure = phase.closure else { return failure }
        guard closure.isClean else {
            let lost = failure.flatMap { $0.isCancellation ? nil : $0 }
            return closure.isFault ? Self.error(of: closure) : lost ?? Self.error(of: closure)
        }
        let isNormal = isCloseRequested || Self.normalCodes.contains(closure.code)
        return isNormal && !closure.isFault ? nil : Self.error(of: closure)
    }

    private static let normalCodes: Set<WebSocketCloseCode> = [.normalClosure, .goingAway, .noStatusReceived]

    private static func error(of closure: WebSocketClosure) -> RequestError {
        if let violation = closure.violation { return error(of: violation) }
        if closure.isPingUnanswered { return RequestError(.webSocket(.pingUnanswered)) }
        return RequestError(.webSocket(.closed(closure.code)), detail: closure.reason.isEmpty ? nil : closure.reason)
    }

    private static func error(of violation: WebSocketViolation) -> RequestError {
        RequestError(.webSocket(.violation(violation.code)), detail: violation.reason)
    }

    /// The error of an action that needs an open connection.
    var closedError: RequestError {
        // The error of the exchange may follow from a violation.
        if let closure = phase.closure, closure.isFault || stage.error == nil {
            return located(Self.error(of: closure))
        }
        return located(stage.error ?? RequestError(.webSocket(.closed(.abnormalClosure))))
    }

    /// Returns an error with the request of the handshake added; other errors already contain a request.
    func located(_ error: RequestError) -> RequestError {
        error.url == nil ? error.during(handshake?.request, attempts: handshake?.attempts ?? 1) : error
    }

    /// Called when the request has ended.
    ///
    /// A loop ends without an error if the server has not answered the own close frame in time, unless this cuts a
    /// message.
    mutating func finished(with error: RequestError?) {
        let isUnanswered = if case .unanswered = closing { true } else { false }
        let (exchange, earlier) = stage.finished(error, ofLoops: isUnanswered && !inbox.isInMessage ? nil : error)
        effects.rare.append(.release(exchange, earlier))
        _ = phase.connectionEnded()
        for ping in pings { effects.rare.append(.answerPing(ping.3, nil)) }
        pings = []
        for timer in timers.takeAll() { effects.rare.append(.cancel(timer)) }
        outbox.removeAll()
        inbox.ended()
    }

    /// Called when the handshake is complete; returns `false` if the connection was closed before.
    mutating func opened(
        _ exchange: ExchangeReference?, _ deflate: WebSocketDeflateParameters?,
        of handshake: (request: HTTPRequest, attempts: Int)? = nil
    ) -> Bool {
        let opening = stage.opened(exchange)
        guard opening != .refused else { return false }
        self.handshake = handshake
        inbox.opened(deflate)
        if opening == .closes { beginClosing() }
        return true
    }

    /// Called when the user closes the connection; returns `false` if it is not open yet.
    mutating func closeRequested(_ close: WebSocketClose, isDiscarding: Bool) -> Bool {
        guard stage.closeRequested() else { return false }
        isCloseRequested = isCloseRequested || phase.isOpen
        perform(phase.closeRequested(close))
        if isDiscarding {
            inbox.discard()
            inbox.removeAll()
        }
        if inbox.isPaused { resumeReading() }
        return true
    }

    /// Called when the time limit for closing has passed.
    mutating func closeTimeElapsed() {
        if isCloseRequested, phase.closure == nil { closing = .unanswered }
        perform(phase.closeTimeElapsed())
    }

    /// Closes the connection because the session is shut down, now or when it is open.
    mutating func sessionShutsDown() {
        if stage.sessionShutsDown() { beginClosing() }
    }

    /// Closes the connection with ``WebSocketCloseCode/goingAway``.
    mutating func beginClosing() {
        perform(phase.closeRequested(WebSocketClose(valid: .goingAway)))
        if inbox.isPaused { resumeReading() }
    }

    /// Called when a keep-alive ping is due; while the own reader pauses the connection or the
    /// request is suspended, no answer can arrive.
    mutating func keepAliveElapsed(isSuspended: Bool) {
        // A new ping is no queue.
        let hadQueue = outbox.hasUnsentBytes
        let isHeld = inbox.reading == .held || isSuspended
        if !isHeld, !inbox.wasHeld {
            // A ping that waits behind a message cannot be answered while the peer takes the message.
            let isTaking = life.hadQueue && sent > life.sent
            perform(phase.keepAliveElapsed(isAlive: inbox.receivedBytes > life.received || isTaking))
        }
        life = (inbox.receivedBytes, sent, hadQueue)
        inbox.wasHeld = isHeld
    }

    // MARK: Receiving

    /// Called with bytes of the connection; returns whether more may follow.
    mutating func received(_ bytes: Data) -> Bool {
        if inbox.received(bytes) { parse() }
        return !inbox.isPaused
    }

    /// Parses what was received, in a task if there are many frames; the event loop serves other requests meanwhile.
    private mutating func parse() {
        inbox.beginsToParse()
        while true {
            switch inbox.next(isWanted: phase.mayRead, isOpen: phase.isOpen) {
            case .event(let event): perform(phase.received(event))
            case .later: return effects.rare.append(.parseLater)
            case .done: return
            }
        }
    }

    /// Called in a task to parse more frames.
    mutating func parseMore() { if inbox.reading == .later { resumeReading() } }

    private mutating func resumeReading() {
        if inbox.isFull, !phase.isOpen { inbox.discard() }
        parse()
        if !inbox.isPaused { effects.rare.append(.readMore) }
    }

    /// Takes the next piece.
    mutating func takePiece() -> Read<WebSocketPiece> {
        popPiece().map { .value($0) } ?? (stage.isFinished ? .end(stage.errorOfLoops) : .wait)
    }

    /// Takes the next message, if it is complete; a message that is too big ends the connection.
    mutating func takeMessage() -> Read<WebSocketMessage> {
        do throws(WebSocketViolation) {
            while let piece = popPiece() {
                if let message = try collector.collect(piece) { return .value(message) }
            }
            // There are no more pieces, so the unfinished message is the collected one.
            try collector.check(inbox.messageSize)
            return stage.isFinished ? .end(stage.errorOfLoops) : .wait
        } catch {
            collector = WebSocketMessageCollector(maximumSize: collector.maximumSize)
            inbox.refuse()
            perform(phase.received(.violation(error)))
            if inbox.isPaused { resumeReading() }
            return stage.isFinished ? .end(stage.error ?? Self.error(of: error)) : .wait
        }
    }

    private mutating func popPiece() -> WebSocketPiece? {
        guard let piece = inbox.popFirst() else { return nil }
        if inbox.mayResume { resumeReading() }
        return piece
    }

    // MARK: Sending

    /// Adds a frame of the message whose turn it is; returns the error if the connection is not open.
    ///
    /// The last frame and an error end the turn.
    mutating func enqueued(_ frame: Data, isLast: Bool) -> RequestError? {
        if isLast || isOver { outbox.turnEnds() }
        guard !isOver else { return closedError }
        outbox.add(frame)
        return nil
    }

    mutating func turnEnded() { outbox.turnEnds() }

    /// Sends a ping; returns whether an answer may follow.
    mutating func pinged(_ id: UInt64, _ resumption: Resumption<Duration?>?) -> Bool {
        guard !stage.isOver, let resumption, case .sendPing(let number) = phase.pingRequested() else {
            return false
        }
        pings.append((id, number, MonotonicClock.now(), resumption))
        perform(.sendPing(id: number))
        return true
    }

    mutating func takePing(_ id: UInt64) -> Resumption<Duration?>? {
        pings.firstIndex { $0.id == id }.map { pings.remove(at: $0).3 }
    }
}
