import Bluebonnet
import FoundationEssentials

/// Handles one connection of a server: reads requests, starts their routes one after the other, and writes the
/// responses.
///
/// A connection runs on the event loop of a ``ServerCore``. Each event first changes the state. Then ``proceed()``
/// advances the connection as far as possible without waiting.
final class Connection {
    /// The current activity of the connection.
    private enum Phase {
        /// Waits for a request or reads a request.
        case reading
        /// A route creates the response.
        case routing
        /// A route writes the response body.
        case streaming(ResponseEncoder.Framing, left: Int?, keepsAlive: Bool)
        /// The rest of a response is being sent.
        case sending(keepsAlive: Bool)
        /// A script runs.
        case scripted(ScriptCursor)
        /// All responses were sent. Further bytes from the client are ignored, until the client closes the connection
        /// or a timeout expires.
        case draining
        case closed
    }

    /// Receives the result of a read.
    typealias Reader = CheckedContinuation<IncomingBody.ReadResult, Never>

    private let id: Int
    private let socket: Socket
    private let context: ServerContext
    private var phase = Phase.reading
    private var parser: RequestParser
    private var outgoing = OutgoingQueue()
    /// Whether the client has closed its sending side.
    private var peerHasEnded = false
    /// Whether the client has closed its sending side, but some of the client's bytes are still unread.
    private var peerIsEnding = false
    /// The task of the current route or of the current condition of a script.
    private var task: Task<Void, Never>?
    private var timer: TimerID?

    /// The current request, or the latest request if no request is being handled.
    private(set) var exchange: ExchangeID
    private var head: RequestHead?
    private var target = RequestTarget("/")
    private var match = RouteTable<LocalServer.Router.Endpoint>.Match.nothing
    /// The body of the request, for a route that waits for the whole body.
    private var body = Data()
    /// The body of the request, for a route that reads the body in pieces.
    ///
    /// The route may already respond while it reads.
    private var incoming: IncomingBody?
    private var continuePolicy = LocalServer.ContinuePolicy.immediately
    /// The tasks that wait for more bytes of ``incoming``, in order of arrival.
    private var readers: [Reader] = []
    /// The counter of the bytes of the streamed response body that the socket has accepted.
    private var bodySent: ByteCount?
    private var interest: Interest = .readable
    /// The interest in the end of the peer's data, which the system reports without a read (`EPOLLRDHUP`).
    private static let closing = Interest(rawValue: Readiness.peerClosed.rawValue)

    init(id: Int, socket: Socket, context: ServerContext) {
        self.id = id
        self.socket = socket
        self.context = context
        exchange = ExchangeID(connection: id, number: 0)
        parser = RequestParser(
            maximumHeadBytes: context.options.maximumHeadBytes, maximumBodyBytes: context.options.maximumBodyBytes)
    }

    func begin(_ script: LocalServer.Script?) {
        // The retain cycle ends when the connection is closed, because closing also unwatches the descriptor.
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
        // The connection may be closed now, and its descriptor number may be in use again.
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
            context.record.change { $0.traffic.bytesReceived += count }
            if case .draining = phase { return }
            parser.append(context.readBuffer[..<count])
        case .wouldBlock: break
        case .ended: peerEnded()
        case .failed: close()
        }
    }

    private func peerEnded() {
        peerHasEnded = true
        // Either the client has disconnected, or it has closed only its sending side and waits for the response. Only a
        // write would show the difference.
        task?.cancel()
        switch phase {
        case .draining: close()
        case .scripted(let cursor) where cursor.isStalled: close()
        default: break
        }
    }

    private func flush() {
        guard !outgoing.isEmpty else { return }
        let outcome = outgoing.send(on: socket)
        let counts = outgoing.takeCounts()
        if counts.all > 0 { context.record.change { $0.traffic.bytesSent += counts.all } }
        bodySent?.add(counts.body)
        switch outcome {
        case .sent: for waiter in outgoing.takeWaiters() { waiter.resume(returning: nil) }
        case .blocked: break
        case .failed: close()
        }
    }

    /// Advances the connection as far as possible.
    private func proceed() {
        while advance() {}
        updateInterest()
    }

    /// Performs one step; returns whether another step may be possible.
    private func advance() -> Bool {
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
            // The rest of the body must be read before the next request.
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
            if !peerHasEnded { wanted.insert(cursor.waitsForBytes ? .readable : Self.closing) }
        case .routing, .streaming, .sending:
            // Reading shows whether the client has disconnected. The amount is limited, because the client may already
            // send further requests.
            let isBody = incoming?.isOpen == true
            let hasRoom = isBody ? incoming?.hasRoom == true : parser.bufferedCount < 256 * 1024
            if !peerHasEnded, hasRoom { wanted.insert(.readable) }
            if isBody, !hasRoom, !peerIsEnding { wanted.insert(Self.closing) }
        }
        guard wanted != interest else { return }
        interest = wanted
        context.loop.setInterest(wanted, of: socket.descriptor)
    }

    /// Closes the connection after a delay, because the system resets a connection that is closed with unread bytes.
    private func drain() {
        abandonBody()
        guard !peerHasEnded else { return close() }
        phase = .draining
        socket.shutDownWriting()
        timer = context.loop.schedule(after: .seconds(1)) { [weak self] in self?.close() }
    }

    // MARK: Reading requests and finding their routes

    /// Continues to read a request; returns whether another step may be possible.
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
        match = context.router.table.match(head.method, target.path)
        body = Data()
        if case .found(.streaming(let route), let parameters) = match {
            var request = LocalServer.Request(head, target: target, body: body, trailers: [:], connection: id)
            request.parameters = parameters
            exchange = exchange.next
            return beginStreaming(head, route, request)
        }
        if case .length(let length) = head.framing { body.reserveCapacity(min(length, 1024 * 1024)) }
        guard head.expectsContinue, head.framing != .none, parser.bufferedCount == 0 else { return }
        if case .found = match { return outgoing.append(ResponseEncoder.continue) }
        // The server sends the final response instead of 100 (Continue). No request can follow on this connection,
        // because the body may still arrive.
        self.head?.keepsAlive = false
        complete([:])
    }

    private func complete(_ trailers: HTTPHeaders) {
        guard let head else { return }
        // The response was a script, which may not have read the end of the body.
        if case .found(.streaming, _) = match { return }
        var request = LocalServer.Request(head, target: target, body: body, trailers: trailers, connection: id)
        body = Data()
        request.sequence = record(request)
        exchange = exchange.next
        switch match {
        case .found(.fixed(let response), _):
            answer(response)
        case .found(.handler(let handler), let parameters):
            request.parameters = parameters
            startTask(request, handler)
        case .found(.streaming, _):
            break
        case .otherMethods(let allowed):
            let list = allowed.map(\.rawValue).joined(separator: ", ")
            let allow = HTTPHeaders([HTTPHeader(name: "Allow", value: list)])
            answer(.text("\(target.path) allows \(list)\n", status: 405, headers: allow))
        case .nothing:
            answer(.text("there is no route for \(target.path)\n", status: 404))
        }
    }

    private func startTask(_ request: LocalServer.Request, _ handler: @escaping LocalServer.Router.Handler) {
        guard let core = context.core else { return close() }
        phase = .routing
        let exchange = exchange
        task = Task { await core.answer(request, of: exchange, with: handler) }
    }

    // MARK: Bodies that a route reads in pieces, possibly while it answers

    /// Starts a streaming route after the head of its request has been read.
    private func beginStreaming(
        _ head: RequestHead, _ route: LocalServer.Router.StreamingRoute, _ request: LocalServer.Request
    ) {
        guard let core = context.core else { return close() }
        let expects = head.expectsContinue && head.framing != .none && parser.bufferedCount == 0
        let counts = IncomingBody.Counts()
        continuePolicy = route.continues
        incoming = IncomingBody(of: request, awaitsContinue: expects, options: context.options, counts: counts)
        if route.continues == .immediately { sendContinue() }
        let length: Int? =
            switch head.framing {
            case .none: 0
            case .length(let length): length
            case .chunked: nil
            }
        let reader = LocalServer.BodyReader(length: length, core: core, exchange: exchange, counts: counts)
        startTask(request) { try await route.handler($0, reader) }
    }

    /// Resumes a reader with the next bytes of the body as soon as they are available.
    func readBody(_ reader: Reader) {
        guard incoming != nil else { return reader.resume(returning: .failure(.connectionClosed)) }
        readers.append(reader)
        if continuePolicy == .whenRead, case .routing = phase { sendContinue() }
        answerReaders()
        proceed()
    }

    /// Moves received bytes of the body to ``incoming``, as far as ``incoming`` has room.
    private func receiveBody() {
        guard incoming != nil else { return }
        if case .sending = phase { incoming?.answered() }
        while incoming?.hasRoom == true {
            switch parser.next() {
            case .body(let piece):
                incoming?.pieceReceived(piece)
                answerReaders()
            case .end:
                incoming?.completed()
                recordIncoming()
            case .failed(let failure):
                incoming?.failed(.malformedBody(status: failure.status, reason: failure.reason))
                recordIncoming()
            case .needsBytes where peerHasEnded:
                incoming?.failed(.connectionClosed)
                recordIncoming()
            case .needsBytes, .head:
                return answerReaders()
            }
        }
        answerReaders()
    }

    /// Discards the rest of the body.
    private func abandonBody() {
        guard incoming != nil else { return }
        incoming?.failed(.connectionClosed)
        incoming?.answered()
        recordIncoming()
        answerReaders()
        incoming = nil
    }

    private func sendContinue() {
        guard incoming?.awaitsContinue == true else { return }
        outgoing.append(ResponseEncoder.continue)
        incoming?.continueSent()
    }

    private func answerReaders() {
        while !readers.isEmpty, let answer = incoming?.read() {
            readers.removeFirst().resume(returning: answer)
        }
    }

    private func recordIncoming() {
        if let request = incoming?.takeRecord() { record(request) }
    }

    /// Records a request; returns its number.
    @discardableResult
    private func record(_ request: LocalServer.Request) -> Int {
        context.record.change { $0.requestReceived(request) }
    }

    // MARK: Answering with whole responses and with streamed bodies

    /// Begins the response of a route, which then writes a streamed body with ``writeBody(_:_:)``.
    func answer(_ response: LocalServer.Response, counting sent: ByteCount) {
        bodySent = sent
        answer(response)
        proceed()
    }

    private func answer(_ response: LocalServer.Response) {
        if case .script(let steps) = response.body {
            abandonBody()
            phase = .scripted(ScriptCursor(steps))
            return
        }
        let keepsAlive = head?.keepsAlive == true && incoming?.isLast != true
        send(
            response,
            to: ResponseEncoder.Context(
                method: head?.method ?? .get, version: head?.version ?? .http1_1, keepsAlive: keepsAlive))
    }

    private func send(_ response: LocalServer.Response, to context: ResponseEncoder.Context) {
        switch response.body {
        case .script: break
        case .data(let data):
            let encoder = ResponseEncoder(response, length: data.count, to: context)
            let sentData = encoder.framing == .none ? Data() : data
            // A small response needs one system call. A large body is not copied.
            let isSmall = sentData.count <= 16 * 1024
            outgoing.append(isSmall ? encoder.head + sentData : encoder.head)
            if !isSmall { outgoing.append(sentData) }
            phase = .sending(keepsAlive: encoder.keepsAlive)
        case .stream(let length, _):
            let encoder = ResponseEncoder(response, length: length, to: context)
            outgoing.append(encoder.head)
            phase =
                encoder.framing == .none
                ? .sending(keepsAlive: encoder.keepsAlive)
                : .streaming(encoder.framing, left: length, keepsAlive: encoder.keepsAlive)
        }
    }

    func writeBody(_ data: Data, _ waiter: OutgoingQueue.Waiter) {
        guard case .streaming(let framing, let left, let keepsAlive) = phase else {
            return waiter.resume(returning: .connectionClosed)
        }
        // An empty chunk would end a chunked body.
        guard !data.isEmpty else { return waiter.resume(returning: nil) }
        if case .length(let promised) = framing, let left {
            guard data.count <= left else { return waiter.resume(returning: .bodyTooLong(promised: promised)) }
            phase = .streaming(framing, left: left - data.count, keepsAlive: keepsAlive)
        }
        if framing == .chunked { outgoing.append(ResponseEncoder.chunkHead(data.count)) }
        outgoing.append(data, isBody: true)
        if framing == .chunked { outgoing.append(ResponseEncoder.chunkEnd) }
        outgoing.notify(waiter)
        proceed()
    }

    func endBody(failed: Bool) {
        guard case .streaming(let framing, let left, let keepsAlive) = phase else { return }
        let isComplete = !failed && (left ?? 0) == 0
        if isComplete, framing == .chunked { outgoing.append(ResponseEncoder.lastChunk) }
        // After an incomplete body, the connection must be closed, so that the client notices the error.
        phase = .sending(keepsAlive: isComplete && keepsAlive)
        proceed()
    }

    // MARK: Scripts

    /// Advances a script by one step; returns whether another step may be possible.
    private func runScript() -> Bool {
        guard case .scripted(var cursor) = phase else { return false }
        let action = cursor.next(reading: &parser, isSent: outgoing.isEmpty, peerHasEnded: peerHasEnded)
        phase = .scripted(cursor)
        switch action {
        case .nextStep: return true
        case .nothing: return false
        case .send(let bytes, let pause):
            outgoing.append(bytes)
            flush()
            if let pause { satisfyCursor(after: pause) }
            return true
        case .pause(let duration): satisfyCursor(after: duration)
        case .wait(let condition): satisfyCursor(when: condition)
        case .record(let head, let body, let trailers):
            target = RequestTarget(head.target)
            record(LocalServer.Request(head, target: target, body: body, trailers: trailers, connection: id))
        case .halfClose: socket.shutDownWriting()
        case .serve: phase = .reading
        case .closeAfterReading:
            // Read first, so that the client receives an orderly close (`FIN`) and not a reset. If the client continues
            // to send, it still receives a reset.
            for _ in 0..<64 { guard case .done = socket.read(into: &context.readBuffer) else { break } }
            close()
        case .close: close()
        case .reset: close(resetting: true)
        }
        return true
    }

    private func satisfyCursor(after duration: Duration) {
        timer = context.loop.schedule(after: duration) { [weak self] in
            self?.timer = nil
            self?.satisfyCursor()
        }
    }

    private func satisfyCursor(when condition: @escaping @Sendable () async -> Void) {
        guard let core = context.core else { return close() }
        let exchange = exchange
        task = Task {
            await condition()
            core.submit(to: exchange) { $0?.satisfyCursor() }
        }
    }

    private func satisfyCursor() {
        guard case .scripted(var cursor) = phase else { return }
        task = nil
        cursor.isSatisfied = true
        phase = .scripted(cursor)
        proceed()
    }
}
