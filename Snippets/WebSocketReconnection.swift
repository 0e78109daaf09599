// Follows a feed over a WebSocket that reconnects, and sends a large message in
// pieces.

import Bluebonnet
import BluebonnetTesting
import FoundationEssentials

enum Feed {
    static func run() async throws {
        let server = try await LocalServer { router in
            router.get("/feed") { request in
                // The first connection is lost after a message.
                request.sequence == 1
                    ? .webSocket(request, first: [.text("1"), .disconnect])
                    : .webSocket(request) { message in
                        [.message(message), .text("2"), .close(.normalClosure)]
                    }
            }
            router.webSocket("/backup") { message in
                guard case .binary(let data) = message else {
                    return [.close(.unsupportedData)]
                }
                return [.text("\(data.count) bytes"), .binary(data)]
            }
        }
        let session = Session()
        try await follow(session, "ws://127.0.0.1:\(server.port)/feed")
        try await backUp(session, "ws://127.0.0.1:\(server.port)/backup")
        await session.shutdown()
        await server.stop()
    }

    static func follow(_ session: Session, _ url: String) async throws {
        // snippet.reconnecting
        var last = "nothing"
        let feed = session.reconnectingWebSocket(
            url, configuration: .init(pingInterval: .seconds(20)),
            reconnection: WebSocketReconnection(
                reconnectionTime: .milliseconds(100), maximumAttempts: 10))
        for try await event in feed.events {
            switch event {
            case .opened(let task):
                // Messages are not repeated. The server of this feed is asked
                // for those that were missed. If this fails, the connection was
                // lost again, and the next event is `.disconnected`.
                if last != "nothing" { try? await task.send("since \(last)") }
            case .message(.text(let text)):
                print("received", text)
                last = text
            case .message: break
            case .disconnected(let error, _):
                print(
                    "lost:",
                    error?.kind == .webSocket(.closed(.abnormalClosure)))
            }
        }
        // snippet.end
    }

    static func backUp(_ session: Session, _ url: String) async throws {
        // snippet.pieces
        let parts = AsyncStream { continuation in
            for byte in UInt8(1)...4 {
                continuation.yield(Data(repeating: byte, count: 100_000))
            }
            continuation.finish()
        }
        let task = session.webSocket(url).webSocketTask()
        try await task.send(binary: parts)
        var received = 0
        for try await piece in task.pieces {
            switch piece {
            case .text(let text, _): print("the server has", text)
            case .binary(let bytes, let isFinal):
                received += bytes.count
                if isFinal { try await task.close() }
            }
        }
        print("received", received, "bytes")
        // snippet.end
    }
}

try await Feed.run()
