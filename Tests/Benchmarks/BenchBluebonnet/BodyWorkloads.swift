import BenchSupport
import Bluebonnet
import FoundationEssentials

/// Moves bodies as a user writes it.
struct BodyWorkloads {
    private let client: BenchClient
    private let session: Session

    init(_ client: BenchClient, _ session: Session) {
        self.client = client
        self.session = session
    }

    func run() async throws {
        switch client.workload {
        case .downloadChunks: try await client.runJobs { try await count($0) }
        case .downloadFile: try await client.runJobs { try await download($0) }
        case .uploadFile: try await client.runJobs { try await uploadFile($0) }
        case .uploadSequence: try await client.runJobs { try await uploadSequence($0) }
        case .lines: try await client.runJobs { try await decode($0) }
        case .linesInMemory: try await client.decodeLinesInMemory()
        default: throw BenchFailure("\(client.workload) is not for here")
        }
    }

    private func count(_ job: Job) async throws -> BenchClient.BenchResponse {
        let task = session.streamRequest(job.url).streamTask()
        var length = 0
        for try await chunk in task.bytes { length += chunk.count }
        return .init(status: try await task.response.statusCode, length: length)
    }

    private func decode(_ job: Job) async throws -> BenchClient.BenchResponse {
        let task = session.streamRequest(job.url).streamTask()
        var counter = EventCounter()
        for try await event in task.decodables(of: Event.self) { try counter.add(event) }
        return .init(status: try await task.response.statusCode, length: counter.count)
    }

    private func download(_ job: Job) async throws -> BenchClient.BenchResponse {
        guard let file = job.file else { throw BenchFailure("file=PATH?") }
        let response = await session.download(job.url, to: .file(file)).serializingURL().response
        let size = try FileManager.default.attributesOfItem(atPath: try response.result.get().path)[.size]
        return .init(status: response.response?.statusCode, length: (size as? any BinaryInteger).map { Int($0) } ?? -1)
    }

    private func uploadFile(_ job: Job) async throws -> BenchClient.BenchResponse {
        guard let file = job.file else { throw BenchFailure("file=PATH?") }
        return try answer(await session.upload(file, to: job.url).serializingString().response)
    }

    private func uploadSequence(_ job: Job) async throws -> BenchClient.BenchResponse {
        let upload = session.upload(UploadChunks(length: job.length), length: Int64(job.length), to: job.url)
        return try answer(await upload.serializingString().response)
    }

    /// The sink responds with the number of received bytes.
    private func answer(_ response: DataResponse<String, RequestError>) throws -> BenchClient.BenchResponse {
        let text = try response.result.get().split(separator: "\n").first ?? ""
        return .init(status: response.response?.statusCode, length: Int(text) ?? -1)
    }
}
