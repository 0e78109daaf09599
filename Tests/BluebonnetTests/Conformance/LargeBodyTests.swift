import Bluebonnet
import FoundationEssentials
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10)), .serialized)
struct `Conformance of large bodies` {
    static let size = 64 << 20

    @Test(arguments: [TestServers.nginx, .nginxTLS])
    func `64 MiB are stored and come back`(server: TestServers) async throws {
        let body = Data.pattern(count: Self.size)
        let path = "/stored/\(UUID().uuidString)"
        let put = try await server.answer(path, method: .put, body: body)
        #expect(put.status == 201)
        #expect(put.metrics.bytesSent >= Self.size)
        let stored = try await server.answer(path)
        expectSame(stored.body, body)
        #expect(stored.head.expectedContentLength == Int64(Self.size))
        #expect(stored.metrics.bytesReceived >= Self.size)
        let part = try await server.answer(path, headers: ["Range": "bytes=\(Self.size - 1000)-"])
        #expect(part.status == 206)
        expectSame(part.body, body.suffix(1000))
        #expect(try await server.answer(path, method: .delete).status == 204)
    }

    @Test func `64 MiB are echoed while they are sent`() async throws {
        let body = Data.pattern(count: Self.size)
        let answer = try await TestServers.nghttpd.answer("/echo", method: .post, body: body)
        expectSame(answer.body, body)
    }

    @Test(arguments: [TestServers.nginx, .nginxTLS])
    func `64 MiB of zeros arrive, with progress`(server: TestServers) async throws {
        let request = Session.conformance.request(
            try server.url("/bytes/1073741824"), headers: ["Range": "bytes=0-\(Self.size - 1)"])
        let updates = request.downloadProgressUpdates()
        async let answer = server.answer(request)
        var last: TransferProgress?
        for await progress in updates {
            #expect(progress.completed >= last?.completed ?? 0)
            last = progress
        }
        #expect(try await answer.status == 206)
        let (isAllZeros, count) = (try await answer.body.allSatisfy { $0 == 0 }, try await answer.body.count)
        #expect(isAllZeros && count == Self.size)
        #expect(last == TransferProgress(completed: Int64(Self.size), total: Int64(Self.size)))
    }

    @Test(arguments: [TestServers.nginx, .nginxTLS])
    func `many large bodies at the same time arrive completely`(server: TestServers) async throws {
        try await withThrowingTaskGroup { group in
            for number in 0..<8 {
                group.addTask {
                    let answer = try await server.answer("/bytes/16777216?\(number)")
                    expectSame(answer.body, Data.pattern(count: 16 << 20))
                }
            }
            try await group.waitForAll()
        }
    }
}
