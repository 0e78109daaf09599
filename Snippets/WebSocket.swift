// Sends a message to a server over a WebSocket, and receives its echo.
//
// With a URL as the argument, the program sends the lines of its standard input to this server until the input ends.

import Bluebonnet
import BluebonnetTesting

enum Chat {
    static func run() async throws {
        if let address = CommandLine.arguments.dropFirst().first { return try await talk(Session.default, address) }
        // This server echoes one message of five bytes, and answers the close frame.
        let server = try await LocalServer { router in
            router.get("/echo") { request in
                .script(
                    .acceptWebSocket(request), .waitForWebSocketFrame(ofSize: 5), .webSocketMessage(.text("hello")),
                    .waitForWebSocketFrame(ofSize: 2), .webSocketClose(.normalClosure))
            }
        }
        let session = Session()
        try await greet(session, "ws://127.0.0.1:\(server.port)/echo")
        await session.shutdown()
    }

    static func greet(_ session: Session, _ url: String) async throws {
        // snippet.socket
        let task = session.webSocket(url).webSocketTask()
        try await task.send("hello")
        for try await message in task.messages {
            print("received", message)
            // Leaving the loop closes the WebSocket.
            break
        }
        // snippet.end
    }

    static func talk(_ session: Session, _ url: String) async throws {
        // snippet.chat
        let task = session.webSocket(url).webSocketTask()
        let reader = Task {
            for try await message in task.messages { print("<", message) }
        }
        while let line = readLine() { try await task.send(line) }
        try await task.close(reason: "good night")
        try await reader.value
        // snippet.end
    }
}

try await Chat.run()
