import BluebonnetTesting
import FoundationEssentials

@testable import Bluebonnet

/// Servers that accept WebSockets and then follow a script.
enum WebSocketFixture {
    typealias Step = LocalServer.Script.Step

    /// Starts a server whose path `/socket` accepts a WebSocket and performs steps.
    static func server(_ steps: Step...) async throws -> LocalServer {
        try await LocalServer { router in
            router.get("/socket") { request in .script(LocalServer.Script([accept(request)] + steps)) }
        }
    }

    /// The step that accepts a handshake.
    static func accept(_ request: LocalServer.Request, _ fields: HTTPHeaders = [:]) -> Step {
        .acceptWebSocket(request, headers: fields)
    }

    /// A frame of a server with a payload of less than 64 KiB.
    static func frame(_ first: UInt8, _ payload: [UInt8]) -> [UInt8] {
        let count = payload.count
        return [first] + (count < 126 ? [UInt8(count)] : [126, UInt8(count >> 8), UInt8(count & 255)]) + payload
    }

    static func text(_ text: String) -> Step { .webSocketMessage(.text(text)) }

    static func close(_ code: WebSocketCloseCode, _ reason: String = "") -> Step {
        .webSocketClose(code, reason: reason)
    }

    /// Waits for a frame of the client with a payload of this size.
    static func received(_ size: Int) -> Step { .waitForWebSocketFrame(ofSize: size) }

    /// The messages of a loop that runs to the end, and its error.
    static func messages(_ task: WebSocketTask) async -> ([WebSocketMessage], RequestError?) {
        var messages: [WebSocketMessage] = []
        do throws(RequestError) {
            for try await message in task.messages { messages.append(message) }
            return (messages, nil)
        } catch {
            return (messages, error)
        }
    }

    static func request(_ session: Session, _ server: LocalServer, _ path: String = "/socket") -> WebSocketRequest {
        session.webSocket("ws://127.0.0.1:\(server.port)\(path)", configuration: plain)
    }

    static let plain = WebSocketRequest.Configuration(compressesMessages: false)
}
