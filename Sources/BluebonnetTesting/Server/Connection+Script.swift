import Bluebonnet
import FoundationEssentials

extension Connection {
    /// Takes a script one step further; says whether more may be possible.
    func runScript() -> Bool {
        guard case .scripted(var cursor) = phase else { return false }
        guard let step = cursor.step else {
            closeAfterReading()
            return false
        }
        let isDone = run(step, &cursor)
        // The step may have ended the script, or the connection.
        guard case .scripted = phase else { return isDone }
        if isDone { cursor.advance() }
        phase = .scripted(cursor)
        return isDone
    }

    private func run(_ step: ScriptCursor.Kind, _ cursor: inout ScriptCursor) -> Bool {
        switch step {
        case .send(let bytes):
            if cursor.begin() {
                outgoing.append(bytes)
                flush()
            }
            return outgoing.isEmpty
        case .drip(let bytes, let piece, let interval):
            return drip(bytes, piece, interval, &cursor)
        case .pause(let duration):
            if cursor.begin() { satisfyCursor(after: duration) }
            return cursor.isSatisfied
        case .wait(let condition):
            if cursor.begin() { satisfyCursor(when: condition) }
            return cursor.isSatisfied
        case .waitForHead:
            return readRequest(&cursor, headOnly: true)
        case .waitForRequest:
            return readRequest(&cursor, headOnly: false)
        case .waitForBytes(let count):
            cursor.progress += parser.takeRawBytes(count - cursor.progress).count
            return cursor.progress >= count || closeIfPeerHasEnded()
        case .waitForClose:
            _ = parser.takeRawBytes(.max)
            return peerHasEnded
        case .halfClose:
            socket.shutDownWriting()
            return true
        case .reset:
            close(resetting: true)
            return false
        case .close:
            closeAfterReading()
            return false
        case .stall:
            if peerHasEnded { close() }
            return false
        case .serve:
            phase = .reading
            return true
        }
    }

    private func drip(_ bytes: [UInt8], _ piece: Int, _ interval: Duration, _ cursor: inout ScriptCursor) -> Bool {
        guard cursor.begin() || cursor.isSatisfied else { return false }
        guard cursor.progress < bytes.count else { return true }
        let end = min(bytes.count, cursor.progress + piece)
        outgoing.append(Array(bytes[cursor.progress..<end]))
        cursor.progress = end
        cursor.isSatisfied = false
        flush()
        satisfyCursor(after: interval)
        return false
    }

    // MARK: Waiting

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
            core.submit { $0.connection(exchange)?.satisfyCursor() }
        }
    }

    private func satisfyCursor() {
        guard case .scripted(var cursor) = phase else { return }
        task = nil
        cursor.isSatisfied = true
        phase = .scripted(cursor)
        proceed()
    }

    // MARK: Reading

    /// Reads a request, or its head; says whether it is there.
    private func readRequest(_ cursor: inout ScriptCursor, headOnly: Bool) -> Bool {
        while true {
            switch parser.next() {
            case .needsBytes:
                return closeIfPeerHasEnded()
            case .head(let head):
                cursor.request = ScriptCursor.PartialRequest(head: head)
                guard headOnly else { continue }
                cursor.request?.isRecorded = true
                record(head, body: Data(), trailers: [:])
                return true
            case .body(let piece):
                if cursor.request?.isRecorded == false { cursor.request?.body.append(contentsOf: piece) }
            case .end(let trailers):
                let request = cursor.request
                cursor.request = nil
                if let request, !request.isRecorded { record(request.head, body: request.body, trailers: trailers) }
                guard headOnly else { return true }
            case .failed:
                close()
                return false
            }
        }
    }

    private func record(_ head: RequestHead, body: Data, trailers: HTTPHeaders) {
        let target = RequestTarget(head.target)
        _ = context.record.requestReceived(
            LocalServer.Request(head, target: target, body: body, trailers: trailers, connection: id))
    }

    /// Ends the script when what it waits for cannot come any more; never says that the step is done.
    private func closeIfPeerHasEnded() -> Bool {
        if peerHasEnded { close() }
        return false
    }

    /// Closes so that the client sees an orderly end (`FIN`), unless it goes on sending.
    private func closeAfterReading() {
        for _ in 0..<64 {
            guard case .done = socket.read(into: &context.readBuffer) else { break }
        }
        close()
    }
}
