import BluebonnetTesting
import FoundationEssentials
import Testing

@testable import Bluebonnet

/// The exchanges that have the default total limit of 10 minutes, as the engine computes it.
@Suite(.timeLimit(.minutes(10))) struct DefaultTotalTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let isLimited: Bool
        let start: @Sendable (Session, URL) -> any Request
    }

    static let rows: [Row] = [
        Row("GET", true) { $0.request($1) },
        Row("POST with a short body", true) { $0.upload(Data("a".utf8), to: $1) },
        Row("PUT of 2 MiB", true) { $0.upload(Data(count: 2 << 20), to: $1, method: .put) },
        Row("a head handler", true) { $0.request($1).onHTTPResponse { _ in .allow } },
        Row("a total limit of none", false) { $0.request($1) { $0.timeouts.total = nil } },
        Row("upload of a file", false) { $0.upload(URL(filePath: "/etc/passwd"), to: $1) },
        Row("upload of a sequence", false) {
            $0.upload(AsyncStream<Data> { $0.yield(Data("a".utf8)) }, to: $1)
        },
        Row("multipart form", false) { $0.upload(multipartFormData: { $0.append("a", withName: "b") }, to: $1) },
        Row("stream", false) { $0.streamRequest($1) },
        Row("download", false) { $0.download($1) },
    ]

    @Test(arguments: rows)
    func `only exchanges with both bodies in memory have the default total limit`(row: Row) async throws {
        let server = try await LocalServer.scripted(.waitForRequest, .stall)
        let transport = CurlTransport()
        let session = Session(transport: transport)
        let request = row.start(session, server.url("/a"))
        request.resume()
        try await server.waitForConnections(atLeast: 1)
        #expect(await transport.engines[0].totalLimits() == [row.isLimited])
        request.cancel()
        try await TestHarness.end(session, server)
    }
}

extension DefaultTotalTests.Row {
    fileprivate init(
        _ description: String, _ isLimited: Bool, _ start: @escaping @Sendable (Session, URL) -> any Request
    ) {
        testDescription = description
        self.isLimited = isLimited
        self.start = start
    }
}

extension TransferEngine {
    /// Whether each transfer would exceed its total limit after 10 minutes without a suspension or a silence.
    fileprivate func totalLimits() -> [Bool] {
        transfers.values.map { transfer in
            let end = transfer.limits.startedAt + 600 * 1_000_000_000
            let snapshot = TransferLimits.TransferSnapshot(now: end, isSuspended: true, lastActivity: end)
            return transfer.limits.verdict(in: snapshot) == .exceeded(.total)
        }
    }
}
