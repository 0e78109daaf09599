// Downloads files from the first mirror that works, resumes what was interrupted, and checks the digests.

import Bluebonnet
import BluebonnetTesting
import FoundationEssentials

// snippet.mirror
struct File: Codable, Sendable {
    var name: String
    var size: Int
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
            await session.request(url).validate().serializingDecodable([File].self).response.result
        }
    }

    /// Downloads a file into a directory; returns its URL.
    func download(_ file: File, to directory: URL) async throws -> URL {
        let target = directory.appending(path: file.name)
        return try await first(file.name) { url in
            let destination = DownloadRequest.Destination.file(
                target, options: [.createIntermediateDirectories, .removePreviousFile, .automaticallyResume])
            let request = session.download(url, to: destination).validate()
            let printer = Task {
                for await progress in request.downloadProgressUpdates() where progress.completed == progress.total {
                    print("    \(file.name): \(progress.completed) bytes from port \(url.port ?? 80)")
                }
            }
            let result = await request.serializingURL().response.result
            await printer.value
            return result
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

let files = (1...3).map { File(name: "seeds-\($0).tar", size: $0 * 1_000_000) }
/// The broken mirror has the list, but only the first file.
func makeServer(isBroken: Bool) async throws -> LocalServer {
    try await LocalServer { router in
        router.get("/index.json") { _ in .json(files) }
        for file in files where !isBroken || file.name == "seeds-1.tar" {
            router.get("/\(file.name)", .data(Data(repeating: 7, count: file.size)))
        }
    }
}
let servers = [try await makeServer(isBroken: true), try await makeServer(isBroken: false)]
let mirrors = Mirrors(session: Session(), bases: servers.map { $0.url("/") })
let directory = URL.temporaryDirectory.appending(path: "bluebonnet-mirror-\(UInt32.random(in: 0 ... .max))")
for file in try await mirrors.index() {
    print(file.name)
    let url = try await mirrors.download(file, to: directory)
    let size = try FileManager.default.attributesOfItem(atPath: url.path)[.size]
    print("    stored, \(size ?? 0) bytes")
}
try FileManager.default.removeItem(at: directory)
await mirrors.session.shutdown()
