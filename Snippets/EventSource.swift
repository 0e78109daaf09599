// Receives server-sent events from a server that closes its connections, and
// reconnects each time.
//
// With a URL as the argument, the program prints the events of this URL until
// ^C.

import Bluebonnet
import BluebonnetTesting

enum News {
    static func run() async throws {
        if let address = CommandLine.arguments.dropFirst().first {
            return try await read(Session.default, address)
        }
        let server = try await LocalServer { router in
            router.get("/news") { request in
                let last =
                    request.headers["Last-Event-ID"].flatMap { Int($0) } ?? 0
                // 204 tells the client not to reconnect.
                guard last < 6 else { return .status(204) }
                return .stream(headers: ["Content-Type": "text/event-stream"]) {
                    writer in
                    try await writer.write("retry: 50\n\n")
                    for number in last + 1...last + 2 {
                        try await writer.write(
                            "id: \(number)\ndata: headline \(number)\n\n")
                    }
                    // The third event is incomplete. The server sends it again
                    // on the next connection.
                    try await writer.write("id: \(last + 3)\ndata: head")
                }
            }
        }
        let session = Session()
        try await read(session, "\(server.url("/news"))")
        print(
            "\nThe server was asked \(server.requestCount) times, each time for what follows an event:"
        )
        for request in server.requests {
            print(
                "    Last-Event-ID: \(request.headers["Last-Event-ID"] ?? "none")"
            )
        }
        try await readBusy(session)
        await session.shutdown()
    }

    /// A server that is busy at first, and ends with an event of a last type.
    static func readBusy(_ session: Session) async throws {
        let server = try await LocalServer { router in
            router.get("/answer") { request in
                guard request.sequence > 1 else {
                    return .status(429, headers: ["Retry-After": "1"])
                }
                return .text(
                    ": thinking\ndata: hello\n\nevent: message_stop\ndata:\n\n",
                    contentType: "text/event-stream")
            }
        }
        let url = server.url("/answer")
        // snippet.busy
        var configuration = EventSource.Configuration()
        configuration.reconnectingStatusCodes = [429, 503]
        configuration.finalEvent = "message_stop"
        let source = session.eventSource(url, configuration: configuration)
        for try await entry in source.entries {
            switch entry {
            case .event(let event): print(event.event, event.data)
            case .comment(let text): print("the server says:", text)
            }
        }
        // snippet.end
        await server.stop()
    }

    static func read(_ session: Session, _ url: String) async throws {
        // snippet.source
        let source = session.eventSource(url)
        let states = source.states
        let watcher = Task {
            for await state in states {
                print("    \(state)")
                if state == .closed { break }
            }
        }
        for try await event in source {
            print("\(event.id): \(event.data)")
        }
        await watcher.value
        // snippet.end
    }
}

try await News.run()
