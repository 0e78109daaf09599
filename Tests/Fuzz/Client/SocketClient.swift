import Bluebonnet
import Foundation

/// Opens a WebSocket, and reads, sends, pings and closes as its plan says.
struct SocketClient {
    let session: Session
    let plan: ExchangePlan

    /// Runs until the socket has ended; every call must return.
    func run(_ request: HTTPRequest, _ interfering: (WebSocketRequest, () async -> Outcome) async -> Outcome) async
        -> Outcome
    {
        var configuration = WebSocketRequest.Configuration(
            closeTimeout: .milliseconds(300), maximumMessageBytes: plan.settings.maximumBody,
            compressesMessages: plan.offersCompression)
        if plan.seed >> 20 & 7 == 0 { configuration.pingInterval = .milliseconds(150) }
        if plan.seed >> 23 & 7 == 0 { configuration.idleTimeout = .milliseconds(400) }
        let task = session.webSocket(request, configuration: configuration)
            .webSocketTask(automaticallyClosing: plan.seed >> 26 & 3 != 0)
        return await interfering(task.request) { await converse(task) }
    }

    private func converse(_ task: WebSocketTask) async -> Outcome {
        // Whether the client has closed the socket before its end.
        let isDisturbed = Locked(false)
        let others = Task {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await send(task, isDisturbed) }
                if plan.seed >> 28 & 3 == 0 { group.addTask { _ = try? await task.ping() } }
            }
        }
        let patience = Task {
            try await Task.sleep(for: .milliseconds(900))
            isDisturbed.withLock { $0 = true }
            try? await task.close(code: 3000, reason: "enough")
            task.request.cancel()
        }
        var outcome = await read(task)
        if outcome.wasLeft { try? await task.close() }
        // A socket that was left without closing stays open until its client closes it.
        if task.request.isResumed { task.request.cancel() }
        await others.value
        patience.cancel()
        try? await task.close()
        outcome.wasLeft = outcome.wasLeft || isDisturbed.withLock { $0 }
        outcome.response = task.request.response
        return outcome
    }

    private func read(_ task: WebSocketTask) async -> Outcome {
        var outcome = Outcome()
        var messages = 0
        do throws(RequestError) {
            for try await message in task.messages {
                switch message {
                case .text(let text): outcome.bytes += Array(text.utf8)
                case .binary(let data): outcome.bytes += Array(data)
                @unknown default: break
                }
                messages += 1
                switch plan.interference {
                case .leave(let count) where messages > count:
                    outcome.wasLeft = true
                    return outcome
                case .dawdle(let milliseconds) where messages < 20:
                    try? await Task.sleep(for: .milliseconds(milliseconds))
                default: break
                }
            }
        } catch {
            outcome.error = error
        }
        return outcome
    }

    /// Sends some messages; the peer reads them, and does not answer.
    private func send(_ task: WebSocketTask, _ isDisturbed: Locked<Bool>) async {
        for number in 0..<Int(plan.seed >> 32 & 7) {
            let size = [0, 5, 200, 70_000, 400_000][Int(plan.seed >> 36 & 0xff) % 5]
            let sender = Task {
                if number.isMultiple(of: 2) {
                    try await task.send(String(repeating: "z", count: size))
                } else {
                    try await task.send(Data(repeating: 90, count: size))
                }
            }
            // Sometimes, the task of a sender is cancelled.
            if plan.seed >> 44 & 7 == 0, number == 2 { sender.cancel() }
            let result = await sender.result
            // A message that was sent in part closes the socket.
            if sender.isCancelled { isDisturbed.withLock { $0 = true } }
            guard case .success = result else { return }
        }
    }
}
