// Uploads bytes, a file and a sequence with progress, and a body that the
// server refuses.
//
// The arguments are a URL and a file, which is sent to the URL with PUT.
// Without arguments, the program uses its own server.

import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Glibc

/// The server's description of a received body.
struct Receipt: Codable, Sendable {
    var bytes: Int
    var isChunked: Bool
}

enum Upload {
    static func run() async throws {
        let server = try await LocalServer { router in
            router.streaming("/notes/:name", method: .put, continue: .whenRead)
            {
                request, body in
                var count = 0
                for try await piece in body { count += piece.count }
                return .json(
                    Receipt(
                        bytes: count,
                        isChunked: request.headers.contains("Transfer-Encoding")
                    ))
            }
            router.streaming("/full", method: .put, continue: .whenRead) {
                _, _ in
                .text(
                    "there is no room", status: 413,
                    headers: ["Connection": "close"])
            }
        }
        let session = Session()
        try await data(session, server)
        try await file(session, server)
        try await sequence(session, server)
        try await sequenceAnew(session, server)
        await refused(session, server)
        await session.shutdown()
    }

    static func data(_ session: Session, _ server: LocalServer) async throws {
        // snippet.data
        let receipt =
            try await session
            .upload(
                Data("a short note".utf8), to: server.url("/notes/1"),
                method: .put,
                headers: [.contentType("text/plain")]
            )
            .validate()
            .serializingDecodable(Receipt.self)
            .value
        // snippet.end
        show("Bytes in memory", receipt)
    }

    static func file(_ session: Session, _ server: LocalServer) async throws {
        let file = FileManager.default.temporaryDirectory.appending(
            path: "Bluebonnet-\(UInt64.random(in: 0 ... .max))")
        try Data(repeating: 0x2e, count: 40_000_000).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        // snippet.file
        let request = session.upload(
            file, to: server.url("/notes/2"), method: .put
        )
        .validate()
        let task = request.serializingDecodable(Receipt.self)
        for await progress in request.uploadProgressUpdates() {
            Progress.draw(progress)
        }
        let receipt = try await task.value
        // snippet.end
        Progress.end()
        show("A file", receipt)
    }

    static func sequence(_ session: Session, _ server: LocalServer) async throws
    {
        // snippet.sequence
        let (readings, continuation) = AsyncStream.makeStream(of: Data.self)
        let request = session.upload(
            readings, to: server.url("/notes/3"), method: .put
        ).validate()
        // Starts the request.
        let task = request.serializingDecodable(Receipt.self)
        for number in 1...1000 {
            continuation.yield(Data("reading \(number)\n".utf8))
        }
        continuation.finish()
        let receipt = try await task.value
        // snippet.end
        show("A sequence", receipt)
    }

    static func sequenceAnew(_ session: Session, _ server: LocalServer)
        async throws
    {
        // snippet.replayable
        let body = RequestBody.stream(length: 8_000_000) {
            Zeros(count: 8_000_000)
        }
        print("It can be sent again:    \(body.isReplayable)")
        let receipt = try await session.upload(
            body, to: server.url("/notes/4"), method: .put
        )
        .validate()
        .serializingDecodable(Receipt.self)
        .value
        // snippet.end
        show("Known length", receipt)
    }

    static func refused(_ session: Session, _ server: LocalServer) async {
        let film = Data(count: 20_000_000)
        // snippet.refused
        let request = session.upload(
            film, to: server.url("/full"), method: .put
        )
        .validate()
        let response = await request.serializingData().response
        print(
            "Refused:                 \(response.error?.statusCode ?? 0),",
            "\(request.uploadProgress.completed) bytes sent")
        // snippet.end
    }

    static func put(_ path: String, to address: String) async -> Int32 {
        let session = Session()
        let request = session.upload(
            URL(filePath: path), to: address, method: .put
        )
        .validate()
        let task = request.serializingString(emptyResponseCodes: Set(200..<300))
        for await progress in request.uploadProgressUpdates() {
            Progress.draw(progress)
        }
        Progress.end()
        let response = await task.response
        print("\(response.result)")
        await session.shutdown()
        return response.error == nil ? 0 : 1
    }

    static func show(_ title: String, _ receipt: Receipt) {
        let title =
            title + ":"
            + String(repeating: " ", count: max(1, 24 - title.count))
        print(
            "\(title)\(receipt.bytes) bytes\(receipt.isChunked ? ", in chunks, since their number was not known" : "")"
        )
    }
}

// snippet.zeros
/// Zeros in pieces, which are created on demand.
struct Zeros: AsyncSequence, Sendable {
    var count: Int

    func makeAsyncIterator() -> Iterator { Iterator(rest: count) }

    struct Iterator: AsyncIteratorProtocol {
        var rest: Int

        mutating func next() async -> Data? {
            guard rest > 0 else { return nil }
            let count = Swift.min(rest, 100_000)
            rest -= count
            return Data(count: count)
        }
    }
}
// snippet.end

// snippet.hide

/// Shows the progress of a body in a line that is updated, if the output is a
/// terminal.
enum Progress {
    static let isTerminal = isatty(STDOUT_FILENO) == 1

    static func draw(_ progress: TransferProgress) {
        guard isTerminal else { return }
        let part =
            progress.fractionCompleted.map { ", \(Int($0 * 100)) %" } ?? ""
        let rate =
            progress.bytesPerSecond.map { ", \(Int($0 / 1_000_000)) MB/s" }
            ?? ""
        print(
            "\rsent \(progress.completed) bytes\(part)\(rate)\u{1B}[K",
            terminator: "")
        fflush(nil)
    }

    static func end() {
        if isTerminal { print("\r\u{1B}[K", terminator: "") }
    }
}

// snippet.show

let arguments = Array(CommandLine.arguments.dropFirst())
switch arguments.count {
case 0: try await Upload.run()
case 2: exit(await Upload.put(arguments[1], to: arguments[0]))
default:
    print("Usage: Upload [URL FILE]")
    exit(64)
}
