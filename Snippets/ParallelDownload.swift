// Downloads a file in parts from a server that limits the rate of each
// connection, and several files as a group.

import Bluebonnet
import BluebonnetTesting
import FoundationEssentials

enum ParallelDownload {
    static func run() async throws {
        let film = Film()
        let server = try await LocalServer { router in
            router.get("/film") { film.response(to: $0) }
            router.get("/mirror/film") { film.response(to: $0) }
            router.get("/chapters/:number") {
                .text("chapter \($0.parameters["number"] ?? "")")
            }
        }
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "Bluebonnet-\(UInt64.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let session = Session()

        let clock = ContinuousClock()
        let one = try await clock.measure {
            try await single(session, server.url("/film"), to: folder, film)
        }
        let four = try await clock.measure {
            try await parts(session, server.url("/film"), to: folder, film)
        }
        print(
            "four connections are \(four * 2 < one ? "more than twice as fast" : "not much faster")"
        )
        try await mirrors(
            session, [server.url("/film"), server.url("/mirror/film")],
            to: folder,
            film)
        try await group(session, server, to: folder)
        await session.shutdown()
    }

    static func single(
        _ session: Session, _ url: URL, to folder: URL, _ film: Film
    )
        async throws
    {
        let file = folder.appending(path: "single")
        // snippet.checksum
        let request = session.download(url, to: .file(file))
            .validate().validate(checksum: .responseField)
        let saved = try await request.serializingURL().value
        // snippet.end
        print(
            "over one connection, every byte is in its place: \(try Data(contentsOf: saved) == film.bytes)"
        )
    }

    static func parts(
        _ session: Session, _ url: URL, to folder: URL, _ film: Film
    )
        async throws
    {
        let destination = folder.appending(path: "parts")
        // snippet.parts
        let file = try await session.parallelDownload(
            url, to: destination, parts: 4, checksum: .responseField
        ) {
            progress in
            // snippet.hide
            guard progress.fractionCompleted == 1 else { return }
            // snippet.show
            print("\(progress.completed) of \(progress.total ?? 0) bytes")
        }
        // snippet.end
        print(
            "in four parts, every byte is in its place: \(try Data(contentsOf: file) == film.bytes)"
        )
    }

    static func mirrors(
        _ session: Session, _ urls: [URL], to folder: URL, _ film: Film
    ) async throws {
        let destination = folder.appending(path: "mirrors")
        let (url, mirror) = (urls[0], urls[1])
        // snippet.mirrors
        let file = try await session.parallelDownload(
            url, to: destination,
            checksum: .sha256("68fntDtDiA8mLjY5bixmXYuBQjuXsxOyi/Wwh54oe4A="),
            mirrors: [mirror])
        // snippet.end
        print(
            "from two servers, every byte is in its place: \(try Data(contentsOf: file) == film.bytes)"
        )
    }

    static func group(_ session: Session, _ server: LocalServer, to folder: URL)
        async throws
    {
        let urls = (1...9).map { server.url("/chapters/\($0)") }
        // snippet.group
        let requests = urls.map { url in
            session.download(
                url, to: .file(folder.appending(path: url.lastPathComponent))
            ).validate()
        }
        let files = try await DownloadGroup(requests, limit: 3).files {
            transfer, finished in
            // snippet.hide
            guard finished == urls.count else { return }
            // snippet.show
            print(
                "\(finished) of \(urls.count) files, \(transfer.completed) bytes"
            )
        }
        // snippet.end
        print("the last one is \(files.last?.lastPathComponent ?? "missing")")
    }
}

/// A resource of the server, which is sent slowly over each connection, and
/// supports range requests.
struct Film: Sendable {
    let bytes = (0..<400).reduce(into: Data()) {
        $0.append(Data(repeating: UInt8($1 % 251), count: 10_000))
    }
    let digest = "sha-256=:68fntDtDiA8mLjY5bixmXYuBQjuXsxOyi/Wwh54oe4A=:"

    func response(to request: LocalServer.Request) -> LocalServer.Response {
        let isUnchanged =
            request.headers["If-Range"].map { $0 == #""film-1""# } ?? true
        // The range, such as "bytes=1000000-1999999".
        let range = isUnchanged ? request.headers["Range"] : nil
        let ends = (range ?? "").dropFirst("bytes=".count).split(separator: "-")
            .compactMap { Int($0) }
        let start = ends.first ?? 0
        let end = ends.count > 1 ? min(ends[1] + 1, bytes.count) : bytes.count
        var headers: HTTPHeaders = [
            "ETag": #""film-1""#, "Repr-Digest": digest,
        ]
        if range != nil {
            headers.update(
                name: "Content-Range",
                value: "bytes \(start)-\(end - 1)/\(bytes.count)")
        }
        return .stream(
            status: range == nil ? 200 : 206, headers: headers,
            length: end - start
        ) { writer in
            for position in stride(from: start, to: end, by: 50_000) {
                try await writer.write(
                    bytes[position..<min(position + 50_000, end)])
                try await Task.sleep(for: .milliseconds(10))
            }
        }
    }
}

try await ParallelDownload.run()
