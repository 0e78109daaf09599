// Downloads files in parts from several mirrors, resumes what was interrupted,
// and checks the digests.

import Bluebonnet
import BluebonnetTesting
import FoundationEssentials

// snippet.mirror
struct File: Codable, Sendable {
    var name: String
    var sha256: String
}

struct MirrorError: Error {
    let name: String
    let failures: [RequestError]
}

struct Mirrors {
    let session: Session
    let bases: [URL]

    /// The files that all mirrors have.
    func index() async throws -> [File] {
        try await first("index.json") { url in
            await session.request(url)
                .validate().serializingDecodable([File].self).response.result
        }
    }

    /// Downloads a file into a directory, in parts from all mirrors; returns
    /// its URL.
    func download(_ file: File, to directory: URL) async throws -> URL {
        let urls = bases.map { $0.appending(path: file.name) }
        return try await session.parallelDownload(
            urls[0], to: directory.appending(path: file.name),
            options: [.createIntermediateDirectories, .removePreviousFile],
            checksum: .sha256(file.sha256),
            mirrors: Array(urls.dropFirst())
        ) { progress in
            if progress.completed == progress.total {
                print("    \(file.name): \(progress.completed) bytes")
            }
        }
    }

    /// Asks one mirror after the other.
    private func first<Value>(
        _ path: String, _ attempt: (URL) async -> Result<Value, RequestError>
    ) async throws -> Value {
        var failures: [RequestError] = []
        for base in bases {
            switch await attempt(base.appending(path: path)) {
            case .success(let value): return value
            case .failure(let error):
                if error.isCancellation { throw error }
                failures.append(error)
                print("    \(error)")
            }
        }
        throw MirrorError(name: path, failures: failures)
    }
}
// snippet.end

let digests = [
    "30bd6d97affa9196b48cf4f86569c1a6a2d2fcf7d8c25771526f5e5596e7ae2e",
    "4665fb6ada77ebc5c9a8d3e66c5318688b34ff686d544d92f220b1d6fc91e8a0",
    "892f2fe04ec507da2fe21530851fc8c60ae8a0d9b126b61d7168fd5dbb209a1b",
]
let files = digests.enumerated().map {
    File(name: "seeds-\($0.offset + 1).tar", sha256: $0.element)
}
/// The broken mirror has the list, but only the first file.
func makeServer(isBroken: Bool) async throws -> LocalServer {
    try await LocalServer { router in
        router.get("/index.json") { _ in .json(files) }
        for (index, file) in files.enumerated() where !isBroken || index == 0 {
            router.get(
                "/\(file.name)",
                .data(Data(repeating: 7, count: (index + 1) * 1_000_000)))
        }
    }
}
let servers = [
    try await makeServer(isBroken: true), try await makeServer(isBroken: false),
]
let mirrors = Mirrors(session: Session(), bases: servers.map { $0.url("/") })
let directory = URL.temporaryDirectory.appending(
    path: "bluebonnet-mirror-\(UInt32.random(in: 0 ... .max))")
for file in try await mirrors.index() {
    print(file.name)
    let url = try await mirrors.download(file, to: directory)
    let size = try FileManager.default.attributesOfItem(atPath: url.path)[.size]
    print("    stored, \(size ?? 0) bytes")
}
try FileManager.default.removeItem(at: directory)
await mirrors.session.shutdown()
