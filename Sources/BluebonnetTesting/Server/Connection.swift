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
    /// The route or the condition that is being waited for.
    var task: Task<Void, Never>?
    var timer: TimerID?

    private(set) var exchange: ExchangeID
    private(set) var head: RequestHead?
    private var target = RequestTarget("/")
    private var match = LocalServer.Router.Match.notFound
    private var body = Data()
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
            peerEnded()
        }
        proceed()
    }

    private func read() {
        switch socket.read(into: &context.readBuffer) {
        case .done(let count):
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
        switch outgoing.send(on: socket) {
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
        switch phase {
        case .reading: return readRequest()
        case .scripted: return runScript()
        case .sending(let keepsAlive):
            guard outgoing.isEmpty else { return false }
            task = nil
            guard keepsAlive else {
                drain()
                return false
            }
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
            if !peerHasEnded, parser.bufferedCount < 256 * 1024 { wanted.insert(.readable) }
        }
        guard wanted != interest else { return }
        interest = wanted
        context.loop.setInterest(wanted, of: socket.descriptor)
    }

    /// Closes in a way that lets the client read all that was sent: a close with unread bytes would be a reset.
    private func drain() {
        guard !peerHasEnded else { return close() }
        phase = .draining
        socket.shutDownWriting()
        timer = context.loop.schedule(after: .seconds(1)) { [weak self] in self?.close() }
    }

    // MARK: Requests

    private func readRequest() -> Bool {
        switch parser.next() {
        case .needsBytes:
            if peerHasEnded { close() }
            return false
        case .head(let head):
            begin(head)
        case .body(let piece):
            body.append(contentsOf: piece)
        case .end(let trailers):
            complete(trailers)
        case .failed(let failure):
            let context = ResponseEncoder.Context(method: .get, version: .http1_1, keepsAlive: false)
            send(.text("\(failure.reason)\n", status: failure.status), to: context)
        }
        return true
    }

    private func begin(_ head: RequestHead) {
        self.head = head
        target = RequestTarget(head.target)
        match = context.router.match(head.method, target.path)
        body = Data()
        if case .length(let length) = head.framing { body.reserveCapacity(min(length, 1024 * 1024)) }
        guard head.expectsContinue, head.framing != .none, parser.bufferedCount == 0 else { return }
        if case .endpoint = match { return outgoing.append(ResponseEncoder.continue) }
        // The final answer comes instead of the 100; since the body may come nevertheless, nothing can follow.
        self.head?.keepsAlive = false
        complete([:])
    }

    private func complete(_ trailers: HTTPHeaders) {
        guard let head else { return }
        var request = LocalServer.Request(head, target: target, body: body, trailers: trailers, connection: id)
        body = Data()
        request.sequence = context.record.requestReceived(request)
        exchange = ExchangeID(connection: id, number: exchange.number + 1)
        switch match {
        case .endpoint(.fixed(let response), _) where !response.needsTask(for: head.method):
            answer(response)
        case .endpoint(.fixed(let response), let parameters):
            request.parameters = parameters
            startTask(request) { _ in response }
        case .endpoint(.handler(let handler), let parameters):
            request.parameters = parameters
            startTask(request, handler)
        case .methodNotAllowed(let allowed):
            let list = allowed.map(\.rawValue).joined(separator: ", ")
            let allow = HTTPHeaders([HTTPHeader(name: "Allow", value: list)])
            answer(.text("\(target.path) allows \(list)\n", status: 405, headers: allow))
        case .notFound:
            answer(.text("there is no route for \(target.path)\n", status: 404))
        }
    }

    private func startTask(_ request: LocalServer.Request, _ handler: @escaping LocalServer.Router.Handler) {
        guard let core = context.core else { return close() }
        phase = .routing
        let exchange = exchange
        task = Task { await RouteRun(core: core, exchange: exchange, request: request).run(handler) }
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
