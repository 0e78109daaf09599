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
        /// Holds an exchange that has ended and an earlier error, so that they are released without the lock.
        case release(ExchangeReference?, RequestError?)
    }

    private enum Opening {
        case pending, done
        /// The user has closed the connection before it was open.
        case abandoned
    }

    enum Read<Value: Sendable>: Sendable {
        case value(Value)
        case end(RequestError?)
        case wait
    }

    var phase = WebSocketState()
    /// The exchange, once the connection is open.
    private(set) var exchange: ExchangeReference?
    /// The request of the handshake, and the number of attempts, for errors.
    private var handshake: (request: HTTPRequest, attempts: Int)?
    /// Whether the connection has ended within a message.
    private var isMessageCut = false
    private var receiver: WebSocketReceiver?
    var waiters: [Waiter] = []
    /// The number of bytes that were sent so far.
    var sent: Int64 = 0 {
        didSet {
            guard let payload = latePong, sent >= queuedPongs.end else { return }
            latePong = nil
            perform(.sendPong(payload))
        }
    }

    private let (high, low): (Int, Int)
    private let control = WebSocketFrameWriter()
    private var lastID: UInt64 = 0
    private var effects = Effects()
    private var isCloseLimited = false
    /// Whether the user has closed the connection before the peer.
    private(set) var isCloseRequested = false
    /// Whether the server has not answered the user's close frame within the limit.
    private var isCloseUnanswered = false
    private var opening = Opening.pending
    /// Whether nothing more can be sent.
    private(set) var hasExchangeEnded = false
    /// Whether the session is shut down, so that a connection is closed as soon as it is open.
    private(set) var isShuttingDown = false
    private var isFinished = false
    private var error: RequestError?

    /// The bytes that were not parsed yet.
    private var input = ElementQueue<Data>()
    private var pieces = ElementQueue<WebSocketPiece>()
    /// The memory of the pieces: their bytes, and ``pieceOverhead`` for each.
    private var pieceBytes = 0
    /// The number of bytes that a piece counts in addition, so that the number of empty messages is limited, too.
    private static let pieceOverhead = 64
    /// Whether the transport waits until more of the received pieces were read.
    private var isPaused = false
    /// Whether reading was paused since the last keep-alive ping was due.
    private var wasPaused = false
    /// Whether messages are dropped, because no loop reads them.
    private var isDiscarding = false
    private var collector: WebSocketMessageCollector

    /// Whether the other received frames are parsed in a task, because there are many.
    private var isParsingLater = false
    /// The number of frames that are parsed at once; each takes up to some microseconds of the event loop.
    private static let framesAtOnce = 512
    /// The number of pongs that are not sent yet, and the value of ``sent`` when the last of them is sent.
    private var queuedPongs = (count: 0, end: Int64(0))
    /// If a peer sends more pings before it reads, only the last of them is answered (RFC 6455 §5.5.3).
    private static let pongLimit = 64
    /// The payload of the last ping that was not answered.
    private var latePong: Data?
    /// The signs of life when a keep-alive ping was last due.
    private var life = (received: Int64(0), sent: Int64(0), hadQueue: false)
    private var receivedBytes: Int64 = 0
    /// Whether a silent peer ends the connection.
    private let isKeptAlive: Bool
    /// The number of bytes of messages after the last ping that was sent within or behind them.
    private var bytesSincePing = 0
    /// The number of bytes after which such a ping is sent.
    ///
    /// Megabytes may wait in the buffers of both systems, and look taken. The pongs show that the peer reads them.
    private static let bytesPerPing = 256 * 1024

    private var frames = TinyArray<Data>()
    /// Whether a thread passes frames to the exchange.
    private var isDelivering = false
    private var enqueuedBytes: Int64 = 0
    private var isSending = false
    private var pings: [(id: UInt64, number: UInt64, start: Int64, Resumption<Duration?>)] = []

    init(high: Int, low: Int, maximumMessageSize: Int, isKeptAlive: Bool = false) {
        (self.high, self.low, self.isKeptAlive) = (high, low, isKeptAlive)
        collector = WebSocketMessageCollector(maximumSize: maximumMessageSize)
    }

    mutating func nextID() -> UInt64 {
        lastID += 1
        return lastID
    }

    // MARK: Waiting

    /// Whether a task need not wait for an event; a turn is taken with this call.
    mutating func allows(_ event: Event, isWaiting: Bool) -> Bool {
        let isOver = hasExchangeEnded || isFinished || !phase.isOpen
        let hasRoom = enqueuedBytes - sent < Int64(isWaiting ? max(1, low) : high)
        switch event {
        case .piece: return !pieces.isEmpty || isFinished
        case .message:
            return !pieces.isEmpty || isFinished || (receiver?.messageSize ?? 0) > collector.maximumSize
        case .turn:
            guard !isOver else { return true }
            // A later message does not overtake the messages that wait.
            guard !isSending, hasRoom, isWaiting || !waiters.contains(where: { $0.event == .turn }) else {
                return false
            }
            isSending = true
            return true
        case .room: return isOver || hasRoom
        case .parsed: return !isPaused || isFinished
        case .end: return isFinished
        }
    }

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
        if !isCloseLimited, !phase.isOpen {
            isCloseLimited = true
            if !isFinished, !hasExchangeEnded { effects.rare.append(.limitClose) }
        }
        if !isDelivering, !frames.isEmpty, exchange != nil {
            isDelivering = true
            effects.frames = frames.takeAll()
        }
        guard !effects.isEmpty else { return nil }
        effects.exchange = exchange
        defer { effects = Effects() }
        return effects
    }

    /// Returns the frames that were added while a thread passed earlier ones to the exchange.
    mutating func takeFrames() -> TinyArray<Data> {
        isDelivering = !frames.isEmpty
        return frames.takeAll()
    }

    // MARK: The connection

    /// Performs an action of the state machine.
    mutating func perform(_ action: WebSocketState.Action) {
        switch action {
        case .none: break
        case .sendPing(let id): add(control.ping(WebSocketState.payload(ofPing: id)))
        case .sendPong(let payload):
            if sent >= queuedPongs.end { queuedPongs.count = 0 }
            guard queuedPongs.count < Self.pongLimit else {
                latePong = payload
                break
            }
            add(control.pong(payload))
            queuedPongs = (queuedPongs.count + 1, enqueuedBytes)
        case .sendClose(let close): add(control.close(close))
        case .answered(let numbers):
            let now = MonotonicClock.now()
            for ping in pings where numbers.contains(ping.number) {
                effects.rare.append(.answerPing(ping.3, .nanoseconds(now - ping.start)))
            }
            pings.removeAll { numbers.contains($0.number) }
        case .end: effects.rare.append(.endExchange)
        }
    }

    private mutating func add(_ frame: Data) {
        frames.append(frame)
        enqueuedBytes += Int64(frame.count)
    }

    /// Called when the exchange has ended; returns whether received bytes wait until a loop has read messages.
    mutating func exchangeEnded(_ failure: RequestError?) -> Bool {
        hasExchangeEnded = true
        if failure?.isCancellation == false { error = failure }
        for ping in pings { effects.rare.append(.answerPing(ping.3, nil)) }
        pings = []
        return isPaused
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
        if let closure = phase.closure, closure.isFault || error == nil { return located(Self.error(of: closure)) }
        return located(error ?? RequestError(.webSocket(.closed(.abnormalClosure))))
    }

    private func located(_ error: RequestError) -> RequestError {
        error.url == nil ? error.during(handshake?.request, attempts: handshake?.attempts ?? 1) : error
    }

    /// The error at the end of a loop, which is `nil` if the server has not answered the own close frame in time.
    private var errorOfLoop: RequestError? {
        isCloseUnanswered && !isMessageCut ? nil : error
    }

    /// Called when the request has ended.
    mutating func finished(with error: RequestError?) {
        isFinished = true
        isMessageCut = receiver?.isInMessage == true
        effects.rare.append(.release(exchange, self.error))
        self.error = error
        _ = phase.connectionEnded()
        for ping in pings { effects.rare.append(.answerPing(ping.3, nil)) }
        (pings, frames, exchange, input) = ([], TinyArray(), nil, ElementQueue())
        receiver = nil
    }

    /// Called when the handshake is complete; returns `false` if the connection was closed before.
    mutating func opened(
        _ exchange: ExchangeReference?, _ deflate: WebSocketDeflateParameters?,
        of handshake: (request: HTTPRequest, attempts: Int)? = nil
    ) -> Bool {
        guard opening == .pending else { return false }
        (self.exchange, self.handshake) = (exchange, handshake)
        receiver = WebSocketReceiver(deflate: deflate)
        opening = .done
        return true
    }

    /// Called when the user closes the connection; returns `false` if it is not open yet.
    mutating func closeRequested(_ close: WebSocketClose, isDiscarding: Bool) -> Bool {
        guard opening == .done || isFinished else {
            opening = .abandoned
            return false
        }
        isCloseRequested = isCloseRequested || phase.isOpen
        perform(phase.closeRequested(close))
        if isDiscarding {
            discard()
            (pieces, pieceBytes) = (ElementQueue(), 0)
        }
        if isPaused { resumeReading() }
        return true
    }

    /// Called when the time limit for closing has passed.
    mutating func closeTimeElapsed() {
        isCloseUnanswered = isCloseUnanswered || isCloseRequested && phase.closure == nil
        perform(phase.closeTimeElapsed())
    }

    /// Closes the connection because the session is shut down, now or when it is open.
    mutating func sessionShutsDown() {
        isShuttingDown = true
        if exchange != nil { beginClosing() }
    }

    /// Closes the connection with ``WebSocketCloseCode/goingAway``.
    mutating func beginClosing() {
        perform(phase.closeRequested(WebSocketClose(valid: .goingAway)))
        if isPaused { resumeReading() }
    }

    /// Called when a keep-alive ping is due; while the own reader pauses the connection or the
    /// request is suspended, no answer can arrive.
    mutating func keepAliveElapsed(isSuspended: Bool) {
        let hadQueue = enqueuedBytes > sent
        let isHeld = (isPaused && !isParsingLater) || isSuspended
        if !isHeld, !wasPaused {
            // A ping that waits behind a message cannot be answered while the peer takes the message.
            let isTaking = life.hadQueue && sent > life.sent
            perform(phase.keepAliveElapsed(isAlive: receivedBytes > life.received || isTaking))
        }
        life = (receivedBytes, sent, hadQueue)
        wasPaused = isHeld
    }

    /// Drops the messages that are received from now on.
    private mutating func discard() {
        isDiscarding = true
        receiver?.discardMessages()
    }

    // MARK: Receiving

    /// Called with bytes of the connection; returns whether more may follow.
    mutating func received(_ bytes: Data) -> Bool {
        receivedBytes += Int64(bytes.count)
        if isPaused {
            input.append(bytes)
        } else {
            receiver?.append(bytes)
            parse()
        }
        return !isPaused
    }

    /// Parses what was received, in a task if there are many frames; the event loop serves other requests meanwhile.
    private mutating func parse() {
        isParsingLater = false
        var count = 0
        while receiver != nil {
            guard count < Self.framesAtOnce else {
                (isParsingLater, isPaused) = (true, true)
                return effects.rare.append(.parseLater)
            }
            count += 1
            guard let event = receiver?.next() else {
                guard let bytes = input.popFirst() else { return isPaused = false }
                receiver?.append(bytes)
                continue
            }
            guard case .piece(let piece) = event else {
                perform(phase.received(event))
                continue
            }
            guard phase.mayRead, !isDiscarding else { continue }
            pieces.append(piece)
            pieceBytes += piece.size + Self.pieceOverhead
            guard pieceBytes >= high else { continue }
            guard phase.isOpen else {
                // The answer to the close frame may follow, and does not wait for a loop.
                discard()
                continue
            }
            wasPaused = true
            return isPaused = true
        }
    }

    /// Called in a task to parse more frames.
    mutating func parseMore() { if isParsingLater { resumeReading() } }

    private mutating func resumeReading() {
        if pieceBytes >= high, !phase.isOpen { discard() }
        parse()
        if !isPaused { effects.rare.append(.readMore) }
    }

    /// Takes the next piece.
    mutating func takePiece() -> Read<WebSocketPiece> {
        popPiece().map { .value($0) } ?? (isFinished ? .end(errorOfLoop) : .wait)
    }

    /// Takes the next message, if it is complete; a message that is too big ends the connection.
    mutating func takeMessage() -> Read<WebSocketMessage> {
        do throws(WebSocketViolation) {
            while let piece = popPiece() {
                if let message = try collector.collect(piece) { return .value(message) }
            }
            // There are no more pieces, so the unfinished message is the collected one.
            try collector.check(receiver?.messageSize ?? 0)
            return isFinished ? .end(errorOfLoop) : .wait
        } catch {
            collector = WebSocketMessageCollector(maximumSize: collector.maximumSize)
            (isDiscarding, pieces, pieceBytes) = (true, ElementQueue(), 0)
            receiver?.end()
            perform(phase.received(.violation(error)))
            if isPaused { resumeReading() }
            return isFinished ? .end(self.error ?? Self.error(of: error)) : .wait
        }
    }

    private mutating func popPiece() -> WebSocketPiece? {
        guard let piece = pieces.popFirst() else { return nil }
        pieceBytes -= piece.size + Self.pieceOverhead
        if isPaused, pieceBytes <= low { resumeReading() }
        return piece
    }

    // MARK: Sending

    /// Adds a frame of the message whose turn it is; returns the error if the connection is not open.
    ///
    /// The last frame and an error end the turn.
    mutating func enqueued(_ frame: Data, isLast: Bool) -> RequestError? {
        if isLast { isSending = false }
        guard phase.isOpen, !hasExchangeEnded, !isFinished else {
            isSending = false
            return closedError
        }
        add(frame)
        bytesSincePing += frame.count
        if isKeptAlive, bytesSincePing >= Self.bytesPerPing {
            bytesSincePing = 0
            add(control.ping(Data()))
        }
        return nil
    }

    mutating func turnEnded() { isSending = false }

    /// Sends a ping; returns whether an answer may follow.
    mutating func pinged(_ id: UInt64, _ resumption: Resumption<Duration?>?) -> Bool {
        guard !hasExchangeEnded, let resumption, case .sendPing(let number) = phase.pingRequested() else {
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

/// Refers to an exchange; a copy takes 12 instructions, and a copy of `any Exchange` takes 110.
final class ExchangeReference: Sendable {
    let exchange: any Exchange

    init(_ exchange: any Exchange) { self.exchange = exchange }
}
