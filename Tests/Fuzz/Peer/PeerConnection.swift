/// Understands what a client sends, as one version of HTTP, and says which scripts run.
protocol Driver: AnyObject {
    /// What is sent before the client has said anything.
    func opening() -> [Step]
    /// Takes bytes of the client's; returns what has to be sent at once.
    func received(_ bytes: ArraySlice<UInt8>) -> [UInt8]
    /// The next bytes to send and the step's other effects, when nothing waits to be sent.
    func next(at time: Int) -> Action
}

/// The next action of a connection.
enum Action {
    case send([UInt8])
    /// Nothing before this time, or before the client sends more.
    case wait(until: Int)
    case halfClose
    case close
    case end
    case reset
}

/// Runs the steps of scripts, one after the other.
struct ScriptRun {
    private var steps: [Step]
    private var index = 0
    private var waitsUntil: Int?
    private var dribbled = 0
    var requestIsComplete: Bool

    init(_ steps: [Step], requestIsComplete: Bool) {
        self.steps = steps
        self.requestIsComplete = requestIsComplete
    }

    var isDone: Bool { index >= steps.count }

    /// `nil`: wait for the client.
    mutating func next(at time: Int) -> Action? {
        while index < steps.count {
            switch steps[index] {
            case .send(let bytes):
                index += 1
                if !bytes.isEmpty { return .send(bytes) }
            case .dribble(let bytes, let pause):
                if let waitsUntil, time < waitsUntil { return .wait(until: waitsUntil) }
                guard dribbled < bytes.count else {
                    advance()
                    continue
                }
                dribbled += 1
                waitsUntil = time + pause
                return .send([bytes[dribbled - 1]])
            case .flood(let bytes, let milliseconds):
                let end = waitsUntil ?? time + milliseconds
                waitsUntil = end
                if time < end { return .send(bytes) }
                advance()
            case .wait(let milliseconds):
                let end = waitsUntil ?? time + milliseconds
                waitsUntil = end
                if time < end { return .wait(until: end) }
                advance()
            case .awaitRequest:
                guard requestIsComplete else { return nil }
                advance()
            case .halfClose:
                advance()
                return .halfClose
            case .close:
                advance()
                return .close
            case .end:
                advance()
                return .end
            case .reset:
                advance()
                return .reset
            }
        }
        return nil
    }

    private mutating func advance() {
        index += 1
        waitsUntil = nil
        dribbled = 0
    }
}

/// One connection of the peer, on a thread of its own: sends what its driver says, and hands it what comes in.
struct PeerConnection {
    let channel: any ByteChannel
    let driver: any Driver
    let isStopping: () -> Bool

    func run() {
        var output: [UInt8] = []
        var sent = 0
        var input = [UInt8](repeating: 0, count: 65_536)
        var readEnded = false
        let end = now() + 60_000
        while !isStopping(), now() < end {
            var deadline = now() + 100
            if sent >= output.count {
                output.removeAll(keepingCapacity: true)
                sent = 0
                switch driver.next(at: now()) {
                case .send(let bytes): output = bytes
                case .wait(let time):
                    if readEnded { return }
                    deadline = min(deadline, time)
                case .halfClose: PeerSocket.halfClose(channel.descriptor)
                case .close: return
                case .end: return channel.end()
                case .reset: return PeerSocket.resetOnClose(channel.descriptor)
                }
            }
            writing: while sent < output.count {
                switch channel.write(output[sent...]) {
                case .done(let count):
                    sent += count
                    // The next step may have something to send as well.
                    deadline = 0
                case .failed, .ended: return
                case .wantsRead, .wantsWrite: break writing
                }
            }
            let isBusy = sent < output.count
            // Input from the client is checked between any two pieces.
            let ready = PeerSocket.wait(
                for: [(readEnded ? -1 : channel.descriptor, isBusy)],
                milliseconds: isBusy ? 20 : max(0, deadline - now()))
            guard !readEnded, !ready.isEmpty || channel is TLSChannel else { continue }
            switch channel.read(into: &input) {
            case .done(let count):
                output += driver.received(input[..<count])
            case .ended: readEnded = true
            case .failed: return
            case .wantsRead, .wantsWrite: break
            }
        }
    }
}
