import BenchSupport
import Foundation
import FoundationNetworking

/// Transfers bodies with `URLSession`.
///
/// `URLSession` has no async sequences on Linux, so a delegate receives the bytes.
struct BodyWorkloads {
    private let client: BenchClient
    private let session: URLSession
    private let delegate = BodyDelegate()

    init(_ client: BenchClient, _ configuration: URLSessionConfiguration) {
        self.client = client
        session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    }

    func run() async throws {
        switch client.workload {
        case .downloadChunks:
            try await client.runJobs { try await transfer($0.url) { $0.count } }
        case .downloadFile:
            try await client.runJobs { try await download($0) }
        case .uploadFile:
            try await client.runJobs { try await upload($0) }
        case .lines:
            try await client.runJobs { job in
                let lines = LineDecoder()
                return try await transfer(job.url) { try lines.decode($0) }
            }
        case .linesInMemory:
            try await client.decodeLinesInMemory()
        default:
            throw BenchFailure("URLSession has no \(client.workload.rawValue)")
        }
    }

    /// Has the delegate count what a closure makes of each piece of the body.
    private func transfer(
        _ url: URL, _ count: @escaping @Sendable (Data) throws -> Int
    ) async throws -> BenchClient.BenchResponse {
        let (status, length) = try await delegate.result(of: session.dataTask(with: url), count)
        return .init(status: status, length: length)
    }

    private func download(_ job: Job) async throws -> BenchClient.BenchResponse {
        guard let file = job.file else { throw BenchFailure("file=PATH?") }
        let (temporary, response) = try await session.download(from: job.url)
        try? FileManager.default.removeItem(at: file)
        try FileManager.default.moveItem(at: temporary, to: file)
        let length = try FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int
        return .init(status: (response as? HTTPURLResponse)?.statusCode, length: length ?? -1)
    }

    private func upload(_ job: Job) async throws -> BenchClient.BenchResponse {
        guard let file = job.file else { throw BenchFailure("file=PATH?") }
        var request = URLRequest(url: job.url)
        request.httpMethod = "PUT"
        let (body, response) = try await session.upload(for: request, fromFile: file)
        let text = String(decoding: body, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        return .init(status: (response as? HTTPURLResponse)?.statusCode, length: Int(text) ?? -1)
    }
}
