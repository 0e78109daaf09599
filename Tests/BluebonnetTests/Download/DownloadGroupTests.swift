import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// Groups of downloads with one progress.
@Suite(.timeLimit(.minutes(10))) struct DownloadGroupTests {
    /// Counts the requests that run at the same time.
    private final class Counter: Sendable {
        private let state = Locked((running: 0, most: 0))

        var most: Int { state.withLock { $0.most } }

        func change(by number: Int) {
            state.withLock { state in
                state.running += number
                state.most = max(state.most, state.running)
            }
        }
    }

    private static func requests(
        _ session: Session, _ server: LocalServer, _ directory: borrowing TestDirectory, count: Int
    ) -> [DownloadRequest] {
        (0..<count).map { session.download(server.url("/\($0)"), to: .file(directory.url("\($0)"))).validate() }
    }

    @Test(arguments: [(0, 3), (1, 3), (3, 3), (7, 3), (7, 1), (7, 0), (7, Int.max)])
    func `a limited number of downloads runs at the same time`(count: Int, limit: Int) async throws {
        let directory = try TestDirectory()
        let counter = Counter()
        let server = try await LocalServer { router in
            router.get("/:name") { request in
                counter.change(by: 1)
                for _ in 0..<5 { await Task.yield() }
                counter.change(by: -1)
                return .text(request.path)
            }
        }
        let session = TestHarness.session(startRequestsImmediately: limit != 1)
        let progress = Locked<[(TransferProgress, Int)]>([])
        let files = try await DownloadGroup(Self.requests(session, server, directory, count: count), limit: limit)
            .files { transfer, finished in progress.withLock { $0.append((transfer, finished)) } }
        #expect(files.map(\.lastPathComponent) == (0..<count).map { "\($0)" })
        for index in 0..<count { #expect(directory.text("\(index)") == "/\(index)") }
        #expect(counter.most <= max(1, limit) && (count == 0 || counter.most > 0))
        let values = progress.withLock { $0 }
        if count > 0 {
            #expect(values.last?.0.completed == Int64(2 * count) && values.last?.0.total == Int64(2 * count))
            #expect(values.last?.1 == count)
        }
        try await TestHarness.end(session, server)
    }

    @Test func `a failure cancels the other downloads, or is collected`() async throws {
        let directory = try TestDirectory()
        let gate = Gate()
        let server = try await LocalServer { router in
            router.get("/1", .status(404))
            router.get("/:name") { request in
                if request.path == "/0" { await gate.wait() }
                return .text(request.path)
            }
        }
        let session = TestHarness.session()
        do {
            _ = try await DownloadGroup(Self.requests(session, server, directory, count: 4), limit: 2).files()
            Issue.record("nothing failed")
        } catch {
            #expect(error.statusCode == 404)
        }
        #expect(!directory.names.contains("0") && !directory.names.contains("3"))
        gate.open()
        let results = await DownloadGroup(
            (0..<3).map { session.download(server.url("/\($0)"), to: .temporary).validate() }
        ).results()
        #expect(results.count == 3)
        for (index, result) in results.enumerated() {
            switch result {
            case .success(let file):
                let text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
                #expect(text == "/\(index)")
                try FileManager.default.removeItem(at: file)
            case .failure(let error): #expect(index == 1 && error.statusCode == 404)
            }
        }
        try await TestHarness.end(session, server)
    }

    @Test func `cancelling the task cancels all downloads`() async throws {
        let directory = try TestDirectory()
        let gate = Gate()
        let server = try await LocalServer { router in
            router.get("/:name") { _ in
                await gate.wait()
                return .ok
            }
        }
        let session = TestHarness.session()
        let requests = Self.requests(session, server, directory, count: 5)
        let task = Task { await DownloadGroup(requests, limit: 2).results() }
        for _ in 1...2 { _ = try await server.nextRequest() }
        task.cancel()
        let results = await task.value
        #expect(results.count == 5)
        for result in results {
            guard case .failure(let error) = result else {
                Issue.record("\(result)")
                continue
            }
            #expect(error.isCancellation)
        }
        #expect(server.requestCount == 2 && directory.names == [])
        gate.open()
        try await TestHarness.end(session, server)
    }
}
