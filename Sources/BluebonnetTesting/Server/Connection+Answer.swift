import Bluebonnet
import FoundationEssentials

/// Answering requests: whole responses, and bodies that are written piece by piece.
extension Connection {
    private var responseContext: ResponseEncoder.Context {
        ResponseEncoder.Context(
            method: head?.method ?? .get, version: head?.version ?? .http1_1,
            keepsAlive: head?.keepsAlive == true && incoming?.isLast != true)
    }

    /// Begins the answer to the current request; a streamed body is then written with ``writeBody(_:_:)``.
    func answer(_ response: LocalServer.Response) {
        if case .script(let steps) = response.body.storage {
            abandonBody()
            phase = .scripted(ScriptCursor(steps))
            return
        }
        send(response, to: responseContext)
    }

    func send(_ response: LocalServer.Response, to context: ResponseEncoder.Context) {
        switch response.body.storage {
        case .script: break
        case .data(let data):
            let encoder = ResponseEncoder(response, length: data.count, to: context)
            let sentData = encoder.framing == .none ? Data() : data
            // One system call for a small response; no copy of a large one.
            if sentData.count <= 16 * 1024 {
                outgoing.append(encoder.head + sentData)
            } else {
                outgoing.append(encoder.head)
                outgoing.append(sentData)
            }
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
        // An empty chunk would be the last one.
        guard !data.isEmpty else { return waiter.resume(returning: nil) }
        if case .length(let promised) = framing, let left {
            guard data.count <= left else { return waiter.resume(returning: .bodyTooLong(promised: promised)) }
            phase = .streaming(framing, left: left - data.count, keepsAlive: keepsAlive)
        }
        if framing == .chunked {
            outgoing.append(ResponseEncoder.chunkHead(data.count))
            outgoing.append(body: data)
            outgoing.append(ResponseEncoder.chunkEnd)
        } else {
            outgoing.append(body: data)
        }
        outgoing.notify(waiter)
        proceed()
    }

    func endBody(failed: Bool) {
        guard case .streaming(let framing, let left, let keepsAlive) = phase else { return }
        let isComplete = !failed && (left ?? 0) == 0
        if isComplete, framing == .chunked { outgoing.append(ResponseEncoder.lastChunk) }
        // A body that is not complete must not look so.
        phase = .sending(keepsAlive: isComplete && keepsAlive)
        proceed()
    }
}

extension LocalServer.Response {
    /// Whether user code has to run to send it.
    func needsTask(for method: HTTPMethod) -> Bool {
        guard case .stream = body.storage else { return false }
        return method != .head
    }
}
