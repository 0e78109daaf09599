// Sends the body of one response as the body of another request, and standard
// input as a body.
//
// With a URL as the argument, the program uploads its standard input: `du -h |
// ./Snippets/run Pipe http://…`.

import Bluebonnet
import BluebonnetTesting
import FoundationEssentials

enum Pipe {
    static func run() async throws {
        let session = Session()
        if let address = CommandLine.arguments.dropFirst().first {
            return try await upload(session, to: address)
        }
        let server = try await LocalServer { router in
            router.get("/source") { _ in
                .stream(headers: ["Content-Length": "\(64 << 20)"]) { writer in
                    for _ in 1...64 {
                        try await writer.write(
                            Data(repeating: 0x62, count: 1 << 20))
                    }
                }
            }
            router.streaming("/target", method: .put) { _, body in
                var count = 0
                for try await piece in body { count += piece.count }
                return .text("\(count) bytes")
            }
        }
        print(
            "received:",
            try await copy(
                session, from: server.url("/source"), to: server.url("/target"))
        )
        await session.shutdown()
    }

    // snippet.copy
    /// Copies a resource.
    ///
    /// Neither the program nor the network holds more than a few MiB of it: the
    /// slower side sets the pace.
    static func copy(_ session: Session, from source: URL, to target: URL)
        async throws -> String
    {
        let download = session.streamRequest(source).validate().streamTask()
        let length = try await download.response.expectedContentLength
        return try await session.upload(
            download.bytes, length: length, to: target, method: .put
        )
        .validate().serializingString().value
    }
    // snippet.end

    // snippet.standard-input
    /// Uploads standard input until it ends; a pipe that writes slowly is sent
    /// slowly.
    static func upload(_ session: Session, to address: String) async throws {
        let upload = session.upload(
            .fileDescriptor(0), to: address, method: .put)
        try await upload.validate().serializingNothing().value
    }
    // snippet.end
}

try await Pipe.run()
