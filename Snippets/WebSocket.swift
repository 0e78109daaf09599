// Chats over a WebSocket with a server that sends each line back.
//
// The program sends the lines of its standard input until it ends (^D). With a
// URL as the argument, it chats with this server; without an argument, with a
// server of its own.

import Bluebonnet
import BluebonnetTesting

enum Chat {
    static func run() async throws {
        let session = Session()
        if let address = CommandLine.arguments.dropFirst().first {
            try await talk(session, address)
        } else {
            // snippet.server
            let server = try await LocalServer { router in
                router.webSocket("/echo")
            }
            // snippet.end
            let url = "ws://127.0.0.1:\(server.port)/echo"
            try await greet(session, url)
            try await talk(session, url)
        }
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

    // The main actor waits for lines, and the messages are printed elsewhere.
    @MainActor static func talk(_ session: Session, _ url: String) async throws
    {
        // snippet.chat
        let task = session.webSocket(
            url, configuration: .init(pingInterval: .seconds(30))
        ).webSocketTask()
        let reader = Task { @concurrent in
            for try await message in task.messages {
                if case .text(let text) = message { print("<", text) }
            }
            print(
                "closed with", task.closeCode?.rawValue ?? 0,
                task.closeReason ?? ""
            )
        }
        let latency = try await task.ping()
        print(
            "connected, a ping takes \(latency); enter lines, and ^D to leave")
        while let line = readLine() { try await task.send(line) }
        try await task.close(reason: "good night")
        try await reader.value
        // snippet.end
    }
}

try await Chat.run()
