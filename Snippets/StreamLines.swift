// Reads a response line by line and value by value while it arrives.
//
// With a URL as the argument, the program prints the lines of the response of
// this URL.

import Bluebonnet
import BluebonnetTesting
import FoundationEssentials

struct Reading: Codable, Sendable {
    var station: String
    var celsius: Double
}

enum StreamLines {
    static func run() async throws {
        if let address = CommandLine.arguments.dropFirst().first {
            return try await lines(of: address, Session.default)
        }
        let server = try await LocalServer { router in
            router.get("/poem") { _ in
                .stream(headers: ["Content-Type": "text/plain; charset=utf-8"])
                {
                    writer in
                    // The network can split the body at any position, even
                    // inside a character.
                    for piece in [
                        "Lupinus texensis,\nblue a", "s the day,\r\nhält",
                        " sich an kein", "e Zeile",
                    ] {
                        try await writer.write(piece)
                        try await Task.sleep(for: .milliseconds(40))
                    }
                }
            }
            router.get("/readings") { _ in
                .stream(headers: ["Content-Type": "application/x-ndjson"]) {
                    writer in
                    for number in 1...6 {
                        let celsius = number == 4 ? #""cold""# : "\(number * 3)"
                        try await writer.write(
                            "{\"station\": \"north \(number)\", \"celsius\": \(celsius)}\n"
                        )
                    }
                }
            }
            router.get("/endless", .endless(Data("one more line\n".utf8)))
        }
        let session = Session()
        try await lines(of: server.url("/poem"), session)
        await values(session, server)
        await events(session, server)
        try await beginning(session, server)
        try await twoReaders(session, server)
        await session.shutdown()
    }

    static func lines(of url: any URLConvertible, _ session: Session)
        async throws
    {
        // snippet.lines
        let task = session.streamRequest(url).validate().streamTask()
        for try await line in task.lines {
            print(line)
        }
        // snippet.end
    }

    static func values(_ session: Session, _ server: LocalServer) async {
        print("\nValues, up to the first line that has none:")
        // snippet.decodables
        let task = session.streamRequest(server.url("/readings"))
            .validate().streamTask()
        do {
            for try await reading in task.decodables(of: Reading.self) {
                print("\(reading.station): \(reading.celsius)°")
            }
        } catch {
            // `error` is a RequestError.
            print("\(error.kind): \(error.detail ?? "")")
        }
        // snippet.end
    }

    static func events(_ session: Session, _ server: LocalServer) async {
        print("\nValues and errors, line by line:")
        // snippet.events
        let task = session.streamRequest(server.url("/readings"))
            .validate().streamTask()
        for await event in task.streamingDecodables(Reading.self) {
            switch event.event {
            case .stream(.success(let reading)):
                print("\(reading.station): \(reading.celsius)°")
            case .stream(.failure(let error)):
                print("a line is left out: \(error.kind)")
            case .complete(let completion):
                print(
                    "the end: \(completion.error?.kind.description ?? "all is well")"
                )
            }
        }
        // snippet.end
    }

    static func beginning(_ session: Session, _ server: LocalServer)
        async throws
    {
        print("\nThree lines of a body that never ends:")
        // snippet.early
        let task = session.streamRequest(server.url("/endless"))
            .validate().streamTask()
        for try await line in task.lines.prefix(3) {
            print(line)
        }
        // The last reader has stopped, so the request is cancelled and its
        // connection is closed.
        // snippet.end
        try await server.waitForOpenConnections(atMost: 0)
        print("and the connection is closed")
    }

    static func twoReaders(_ session: Session, _ server: LocalServer)
        async throws
    {
        // snippet.readers
        let task = session.streamRequest(server.url("/readings"))
            .validate().streamTask()
        let readers = task.readers(2)
        async let lineCount = readers[0].lines.reduce(0) { count, _ in count + 1
        }
        async let byteCount = readers[1].bytes.reduce(0) { count, piece in
            count + piece.count
        }
        let counts = try await (lineCount, byteCount)
        // snippet.end
        print(
            "\nTwo readers of one response: \(counts.0) lines, \(counts.1) bytes"
        )
    }
}

try await StreamLines.run()
