// Checks the head of a response before the body is read.

import Bluebonnet
import BluebonnetTesting
import FoundationEssentials

enum ResponseHeadFirst {
    static func run() async throws {
        let server = try await LocalServer { router in
            router.get("/readme", .text("Read me.\n"))
            router.get(
                "/photo",
                .data(Data(count: 2_000_000), contentType: "image/png"))
            router.get("/film") { _ in
                .stream(
                    headers: ["Content-Type": "video/mp4"],
                    length: 4_000_000_000
                ) { writer in
                    while true { try await writer.write(Data(count: 100_000)) }
                }
            }
        }
        let session = Session()
        for path in ["/readme", "/photo", "/film"] {
            print("\(path): \(try await look(session, server.url(path)))")
        }
        await limited(session, server)
        try await hints(session)
        await session.shutdown()
    }

    static func look(_ session: Session, _ url: URL) async throws -> String {
        // snippet.head
        let task = session.streamRequest(url).validate().streamTask()
        let response = try await task.response  // the body is not read yet
        switch (response.mimeType, response.expectedContentLength) {
        case ("text/plain", _):
            var lines: [String] = []
            for try await line in task.lines { lines.append(line) }
            return "\(lines)"
        case (_, let length?) where length > 10_000_000:
            task.cancel()
            return "\(length) bytes are too many"
        default:
            var count = 0
            for try await piece in task.bytes { count += piece.count }
            return "\(count) bytes of \(response.mimeType ?? "something")"
        }
        // snippet.end
    }

    static func hints(_ session: Session) async throws {
        let server = try await LocalServer { router in
            router.get(
                "/page",
                .script(
                    .text("HTTP/1.1 103 Early Hints\r\n"),
                    .text("Link: </style.css>; rel=preload\r\n\r\n"),
                    .text("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n"),
                    .text("a page\n")))
        }
        let url = server.url("/page")
        // snippet.hints
        let request = session.request(url)
        let preloads = Task {
            for await response in request.informationalResponses() {
                print(response.statusCode, response.links.map(\.target.path))
            }
        }
        let page = try await request.serializingString().value
        // snippet.end
        await preloads.value
        print(page, terminator: "")
        await server.stop()
    }

    static func limited(_ session: Session, _ server: LocalServer) async {
        // snippet.handler
        let request = session.request(server.url("/film"))
            .onHTTPResponse { response in
                response.expectedContentLength ?? 0 > 10_000_000
                    ? .cancel : .allow
            }
        let error = await request.serializingData().response.error
        // snippet.end
        print(
            "A request that collects its body, with a limit of its own: \(error.map { "\($0.kind)" } ?? "no error")"
        )
    }
}

try await ResponseHeadFirst.run()
