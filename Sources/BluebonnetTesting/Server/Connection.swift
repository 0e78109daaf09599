import Bluebonnet
import FoundationEssentials

/// Carries one connection of a server: reads requests, has them answered, one after the other, and writes the answers.
///
/// Belongs to the loop of a ``ServerCore``. Whatever happens is noted in the state first; then ``proceed()`` takes the
/// connection as far as it can go without waiting.
final class Connection {
    /// What the connection is about.
    enum Phase {
        /// A request is awaited or being read.
        case reading
        /// A route makes the answer.
        case routing
        /// A route writes the body.
        case streaming(ResponseEncoder.Framing, left: Int?, keepsAlive: Bool)
        /// What is left of an answer is being sent.
        case sending(keepsAlive: Bool)
        /// A script runs.
        case scripted(ScriptCursor)
        /// Everything is sent; what the client still sends is ignored until it closes, or a while has passed.
        case draining
        case closed
    }

    let id: Int
    let socket: Socket
    let context: ServerContext
    var phase = Phase.reading
    var parser: RequestParser
    var outgoing = OutgoingQueue()
    /// Whether the client has closed its side.
    private(set) var peerHasEnded = false
    /// Whether the client has closed its side behind bytes that have not been read.
    private var peerIsEnding = false
    /// The route or the condition that is being waited for.
    var task: Task<Void, Never>?
    var timer: TimerID?

    /// The current request, or the latest.
    var exchange: ExchangeID
    var head: RequestHead?
    var target = RequestTarget("/")
    var match = LocalServer.Router.Match.notFound
    /// Its body, for a route that waits for all of it.
    var body = Data()
    /// Its body, for a route that reads it piece by piece; goes on while that answers.
    var incoming: IncomingBody?
    var continuePolicy = LocalServer.ContinuePolicy.immediately
    /// Those who wait for more of ``incoming``, the first to come first.
    var readers: [Reader] = []
    /// Counts what the socket has taken of the streamed body that is being written.
    var bodySent: ByteCount?
    private var interest: Interest = .readable

    init(id: Int, socket: Socket, context: ServerContext) {
        self.id = id
        self.socket = socket
        self.context = context
        exchange = ExchangeID(connection: id, number: 0)
        parser = RequestParser(
            maximumHeadBytes: context.options.maximumHeadBytes, maximumBodyBytes: context.options.maximumBodyBytes)
    }

    func begin(_ script: LocalServer.Script?) {
        // Not a cycle that lasts: closing unwatches.
        context.loop.watch(socket.descriptor, for: interest) { [self] in becameReady($0) }
        guard let script else { return }
        phase = .scripted(ScriptCursor(script.steps))
        proceed()
    }

    func close(resetting: Bool = false) {
        if case .closed = phase { return }
        phase = .closed
        context.loop.unwatch(socket.descriptor)
        if resetting { socket.resetOnClose() }
        socket.close()
        task?.cancel()
        task = nil
        if let timer { context.loop.cancel(timer) }
        timer = nil
        for waiter in outgoing.takeWaiters() { waiter.resume(returning: .connectionClosed) }
        outgoing = OutgoingQueue()
        abandonBody()
        context.connectionClosed(id)
    }

    // MARK: Readiness

    private func becameReady(_ readiness: Readiness) {
        if readiness.contains(.writable) { flush() }
        // The descriptor may be somebody else's by now.
        if case .closed = phase { return }
        if interest.contains(.readable) {
            if !readiness.isDisjoint(with: [.readable, .error, .hangup]) { read() }
        } else if !readiness.isDisjoint(with: [.error, .hangup]) {
            close()
        } else if !readiness.isDisjoint(with: .peerClosed) {
            if incoming?.isOpen == true { peerIsEnding = true }
            peerIsEnding ? task?.cancel() : peerEnded()
        }
        proceed()
    }

    private func read() {
        switch socket.read(into: &context.readBuffer) {
        case .done(let count):
            context.record.bytesMoved(received: count)
            if case .draining = phase { return }
            parser.append(context.readBuffer[..<count])
        case .wouldBlock: break
        case .ended: peerEnded()
        case .failed: close()
        }
    }

    private func peerEnded() {
        peerHasEnded = true
        // Whether the client is gone, or waits for the answer with its own side closed, only writing would show.
        task?.cancel()
        switch phase {
        case .draining: close()
        case .scripted(let cursor) where cursor.isStalled: close()
        default: break
        }
    }

    func flush() {
        guard !outgoing.isEmpty else { return }
        let outcome = outgoing.send(on: socket)
        let counts = outgoing.takeCounts()
        if counts.all > 0 { context.record.bytesMoved(sent: counts.all) }
        bodySent?.add(counts.body)
        switch outcome {
        case .sent: for waiter in outgoing.takeWaiters() { waiter.resume(returning: nil) }
        case .blocked: break
        case .failed: close()
        }
    }

    /// Goes on as far as possible.
    func proceed() {
        while goOn() {}
        updateInterest()
    }

    /// Takes one step; says whether another one may be possible.
    private func goOn() -> Bool {
        flush()
        receiveBody()
        switch phase {
        case .reading: return readRequest()
        case .scripted: return runScript()
        case .sending(let keepsAlive):
            guard outgoing.isEmpty else { return false }
            task = nil
            guard keepsAlive, incoming?.isLast != true else {
                drain()
                return false
            }
            // What is left of the body has to be out of the way first.
            guard incoming?.isOpen != true else { return false }
            incoming = nil
            bodySent = nil
            phase = .reading
            return true
        case .routing, .streaming, .draining, .closed: return false
        }
    }

    private func updateInterest() {
        var wanted: Interest = outgoing.isEmpty ? [] : .writable
        switch phase {
        case .closed: return
        case .reading, .draining: wanted.insert(.readable)
        case .scripted(let cursor):
            if !peerHasEnded { wanted.insert(cursor.waitsForBytes ? .readable : .peerClosed) }
        case .routing, .streaming, .sending:
            // Reading on shows that the client is gone; within bounds, as it may be sending the next requests.
            let isBody = incoming?.isOpen == true
            let hasRoom = isBody ? incoming?.hasRoom == true : parser.bufferedCount < 256 * 1024
            if !peerHasEnded, hasRoom { wanted.insert(.readable) }
            if isBody, !hasRoom, !peerIsEnding { wanted.insert(.peerClosed) }
        }
        guard wanted != interest else { return }
        interest = wanted
        context.loop.setInterest(wanted, of: socket.descriptor)
    }

    /// Closes in a way that lets the client read all that was sent: a close with unread bytes would be a reset.
    private func drain() {
        abandonBody()
        guard !peerHasEnded else { return close() }
        phase = .draining
        socket.shutDownWriting()
        timer = context.loop.schedule(after: .seconds(1)) { [weak self] in self?.close() }
    }
}

extension Interest {
    /// The peer has closed its side; tells without reading (`EPOLLRDHUP`).
    static let peerClosed = Interest(rawValue: 0x2000)
}

extension Readiness {
    /// The peer has closed its side; tells without reading (`EPOLLRDHUP`).
    static let peerClosed = Readiness(rawValue: 0x2000)
}
