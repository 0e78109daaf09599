// Compresses large request bodies from memory and from a file.

import Bluebonnet
import BluebonnetTesting
import FoundationEssentials

enum CompressUpload {
    static func run() async throws {
        let server = try await LocalServer { router in
            router.post("/log") { request in
                .text(
                    "\(request.bodyLength) bytes, \(request.headers["Content-Encoding"] ?? "as they are")"
                )
            }
        }
        let session = Session()
        try await request(session, server.url("/log"))
        try await file(session, server.url("/log"))
        await session.shutdown()
        try await all(server.url("/log"))
    }

    static func request(_ session: Session, _ url: URL) async throws {
        let log = Data(
            String(repeating: "nothing to report\n", count: 10_000).utf8)
        // snippet.data
        let answer = try await session.upload(log, to: url)
            .adapt(using: .gzipCompressor)
            .validate()
            .serializingString()
            .value
        // snippet.end
        print("\(log.count) bytes: \(answer)")
    }

    static func file(_ session: Session, _ url: URL) async throws {
        let file = FileManager.default.temporaryDirectory.appending(
            path: "Log-\(UInt64.random(in: 0 ... .max))")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(
            String(repeating: "nothing to report\n", count: 1_000_000).utf8
        )
        .write(to: file)
        // snippet.file
        // The file is compressed while it is sent, so the whole file is never
        // in memory.
        let answer = try await session.upload(file, to: url)
            .adapt(using: .deflateCompressor)
            .validate()
            .serializingString()
            .value
        // snippet.end
        print("A file of 18 MB: \(answer)")
    }

    static func all(_ url: URL) async throws {
        // snippet.session
        let session = Session(
            interceptor: DeflateRequestCompressor(
                format: .gzip, duplicateHeaderBehavior: .skip
            ) { $0.count > 1024 })
        // snippet.end
        for count in [100, 10_000] {
            let answer = try await session.upload(Data(count: count), to: url)
                .validate().serializingString().value
            print("\(count) zeros: \(answer)")
        }
        await session.shutdown()
    }
}

try await CompressUpload.run()
