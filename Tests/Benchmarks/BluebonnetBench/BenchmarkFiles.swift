import BenchSupport
import Foundation

/// The files from which bodies are read and to which bodies are written.
///
/// What nginx serves lies in a folder of the servers, and is read once so that it is in the page cache. What clients
/// write goes to memory (`/dev/shm`), where there is one: the disk is not what is measured.
struct BenchmarkFiles {
    static let largeLength = 1024 * 1024 * 1024
    static let lineCount = 1_000_000
    private static let smallLength = 1024 * 1024
    private static let smallLineCount = 1000

    /// The folder that nginx serves.
    let served: URL
    private let written: URL

    /// Creates the folders.
    init(in folder: URL) throws {
        served = folder.appending(path: "files")
        let memory = URL(filePath: "/dev/shm")
        let isThere = FileManager.default.isWritableFile(atPath: memory.path)
        written = isThere ? memory.appending(path: folder.lastPathComponent) : folder.appending(path: "written")
        for directory in [served, written] {
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        }
    }

    /// Creates the missing files of a case.
    func prepare(for workload: Workload) throws {
        switch workload {
        case .requests, .socketEcho, .socketSend, .socketReceive, .socketIdle: break
        case .lines, .linesInMemory:
            try makeLines("warmup-lines", Self.smallLineCount)
            try makeLines("lines", Self.lineCount)
        case .downloadChunks, .downloadFile, .uploadFile, .uploadSequence:
            try makeSparse("warmup-large", Self.smallLength)
            try makeSparse("large", Self.largeLength)
        }
    }

    /// Removes the files outside of the servers' folder.
    func remove() {
        try? FileManager.default.removeItem(at: written)
    }

    /// Removes the output of a client.
    func removeWritten() {
        for file in [destination, warmupDestination] { try? FileManager.default.removeItem(at: file) }
    }

    /// The arguments that tell a client which files and lengths a case has.
    func arguments(for benchmark: BenchmarkCase, _ client: BenchmarkClient) -> [String] {
        let workload = client == .memory ? .linesInMemory : benchmark.workload
        let names = ["workload=\(workload.rawValue)"]
        switch workload {
        case .requests: return []
        case .socketEcho, .socketSend, .socketReceive, .socketIdle: return names
        case .lines, .linesInMemory:
            return names + ["warmup-length=\(Self.smallLineCount)", "file=\(served.appending(path: "lines").path)"]
        case .downloadFile:
            return names + [
                "warmup-length=\(Self.smallLength)", "file=\(destination.path)",
                "warmup-file=\(warmupDestination.path)",
            ]
        case .downloadChunks, .uploadFile, .uploadSequence:
            return names + [
                "warmup-length=\(Self.smallLength)", "file=\(source.path)",
                "warmup-file=\(served.appending(path: "warmup-large").path)",
            ]
        }
    }

    /// The arguments of the curl command for a case.
    func command(for benchmark: BenchmarkCase, _ url: String) -> [String] {
        let direction =
            benchmark.workload == .uploadFile ? ["-T", source.path, "-o", "/dev/null"] : ["-o", destination.path]
        return ["curl", "--fail", "--silent", "--noproxy", "*", "--write-out", "%{time_total}"] + direction + [url]
    }

    private var source: URL { served.appending(path: "large") }
    private var destination: URL { written.appending(path: "download") }
    private var warmupDestination: URL { written.appending(path: "warmup-download") }

    private func makeSparse(_ name: String, _ length: Int) throws {
        let file = served.appending(path: name)
        guard !FileManager.default.fileExists(atPath: file.path) else { return }
        try ChildProcess.run("truncate", ["-s", "\(length)", file.path])
        try ChildProcess.run("dd", ["if=\(file.path)", "of=/dev/null", "bs=1M", "status=none"])
    }

    private func makeLines(_ name: String, _ count: Int) throws {
        let file = served.appending(path: name)
        guard !FileManager.default.fileExists(atPath: file.path) else { return }
        guard FileManager.default.createFile(atPath: file.path, contents: nil) else {
            throw BenchFailure("\(file.path) cannot be made")
        }
        let handle = try FileHandle(forWritingTo: file)
        for start in stride(from: 0, to: count, by: Self.smallLineCount) {
            let numbers = start + 1...start + Self.smallLineCount
            try handle.write(contentsOf: Data(numbers.map { Event.line($0) + "\n" }.joined().utf8))
        }
        try handle.close()
    }
}
