// Reads the server-sent events of one response.
//
// With a URL as the argument, the program prints the events of this URL until
// the response ends.

import Bluebonnet
import BluebonnetTesting

struct Score: Codable, Sendable {
    var home: Int
    var guests: Int
}

enum ServerSentEvents {
    static func run() async throws {
        let server = try await LocalServer { router in
            router.get("/game") { _ in
                .stream(headers: ["Content-Type": "text/event-stream"]) {
                    writer in
                    try await writer.write(
                        ": a comment, which keeps the connection awake\n\n")
                    try await writer.write("data: The game has begun.\n\n")
                    for goals in 1...3 {
                        try await Task.sleep(for: .milliseconds(40))
                        try await writer.write("id: \(goals)\nevent: score\n")
                        try await writer.write(
                            "data: {\"home\": \(goals), \"guests\": 0}\n\n")
                    }
                    try await writer.write(
                        "data: It is over.\ndata: Good night.\n\n")
                }
            }
        }
        let session = Session()
        try await events(
            of: CommandLine.arguments.dropFirst().first
                ?? "\(server.url("/game"))",
            session)
        await session.shutdown()
    }

    static func events(of url: String, _ session: Session) async throws {
        // snippet.events
        let task = session.streamRequest(
            url, headers: [.accept("text/event-stream")]
        ).validate().streamTask()
        for try await event in task.serverSentEvents {
            if event.event == "score" {
                let score = try event.decodeData(as: Score.self)
                print("\(score.home) : \(score.guests)")
            } else {
                print(event.data)
            }
        }
        // snippet.end
    }
}

try await ServerSentEvents.run()
