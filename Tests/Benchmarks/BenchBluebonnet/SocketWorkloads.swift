import BenchSupport
import Bluebonnet
import FoundationEssentials

/// Moves the messages of WebSockets as a user writes it.
struct SocketWorkloads {
    private let client: BenchClient
    private let session: Session

    init(_ client: BenchClient, _ session: Session) {
        self.client = client
        self.session = session
    }

    func run() async throws {
        switch client.workload {
        case .socketEcho: try await echo()
        case .socketSend: try await send()
        case .socketReceive: try await receive()
        case .socketIdle: try await idle()
        default: throw BenchFailure("\(client.workload) is not for here")
        }
    }

    /// Opens sockets, 64 at a time.
    private func open(_ count: Int) async throws -> [WebSocketTask] {
        let configuration = WebSocketRequest.Configuration(maximumMessageBytes: .max, compressesMessages: false)
        let sockets = (0..<count).map { _ in
            session.webSocket(client.url, configuration: configuration).webSocketTask(automaticallyClosing: false)
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for start in 0..<min(64, count) {
                group.addTask {
                    for index in stride(from: start, to: count, by: 64) { _ = try await sockets[index].response }
                }
            }
            try await group.waitForAll()
        }
        return sockets
    }

    private func idle() async throws {
        var sockets = try await open(client.warmup)
        let count = client.sockets - sockets.count
        sockets += try await client.measure(count) { try await open(count) }
        guard !sockets.contains(where: { $0.closeCode != nil }) else { throw BenchFailure("a socket was closed") }
    }

    private func echo() async throws {
        let sockets = try await open(max(client.sockets, client.concurrency))
        try await echo(client.warmup, on: sockets.prefix(client.concurrency))
        try await client.measure(client.requests) {
            try await echo(client.requests, on: sockets.prefix(client.concurrency))
        }
    }

    /// Sends messages on some sockets, each when the one before has come back.
    private func echo(_ count: Int, on sockets: ArraySlice<WebSocketTask>) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, socket) in sockets.enumerated() {
                let share = count / sockets.count + (index < count % sockets.count ? 1 : 0)
                let data = Data(count: client.length)
                let message: WebSocketMessage =
                    client.sendsText ? .text(String(decoding: data, as: UTF8.self)) : .binary(data)
                if share > 0 { group.addTask { try await echo(message, share, socket) } }
            }
            try await group.waitForAll()
        }
    }

    private func echo(_ message: WebSocketMessage, _ count: Int, _ socket: WebSocketTask) async throws {
        var left = count
        try await socket.send(message)
        for try await answer in socket.messages {
            guard answer.length == client.length else { throw BenchFailure("a message is wrong") }
            left -= 1
            if left == 0 { break }
            try await socket.send(message)
        }
    }

    /// Sends binary messages of 64 KiB; the server answers a text with the length of all of them.
    private func send() async throws {
        let socket = try await open(1)[0]
        let piece = Data(count: 64 * 1024)
        try await client.measure(1) {
            for _ in 0..<client.length / piece.count { try await socket.send(piece) }
            try await socket.send("length?")
            for try await message in socket.messages {
                guard message == .text("\(client.length)") else { throw BenchFailure("the length is wrong") }
                break
            }
        }
    }

    private func receive() async throws {
        let socket = try await open(1)[0]
        try await client.measure(1) {
            var length = 0
            for try await message in socket.messages {
                length += message.length
                if length == client.length { break }
            }
            guard length == client.length else { throw BenchFailure("the length is wrong") }
        }
    }
}

extension WebSocketMessage {
    /// The number of bytes of the message.
    fileprivate var length: Int {
        switch self {
        case .text(let text): text.utf8.count
        case .binary(let data): data.count
        }
    }
}
