import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

/// Bodies that are 1,000 to 600,000 times as large as the received bytes.
@Suite(.timeLimit(.minutes(10)), .serialized) struct CompressibleBodyTests {
    @Test(arguments: CompressibleBody.codings)
    func `other requests complete while 100 MiB of compressible bytes are decoded`(
        _ coding: String
    ) async throws {
        let server = try await CompressibleBody.server()
        let session = TestHarness.session()
        let task = session.request(server.url("/\(coding)")).serializingData()
        let (body, others) = try await withThrowingTaskGroup(of: Int.self) { group in
            group.addTask {
                var count = 0
                while !task.request.isFinished {
                    let answer = try await session.request(server.url("/small")).serializingString().value
                    #expect(answer == "small")
                    count += 1
                }
                return count
            }
            let body = try await task.value
            return (body, try await group.next())
        }
        #expect(body == CompressibleBody.decoded)
        print("compressible: \(others ?? 0) requests while \(coding) was collected")
        // Decoded all at once, it lets one through; other tests take the threads from these requests at times.
        #expect(try #require(others) >= 3)
        try await TestHarness.end(session, server)
    }

    @Test(arguments: CompressibleBody.codings)
    func `100 MiB of compressible bytes are saved to a file`(_ coding: String) async throws {
        let directory = try TestDirectory()
        let server = try await CompressibleBody.server()
        let session = TestHarness.session()
        let file = directory.url("a")
        let headers: HTTPHeaders = ["Accept-Encoding": coding]
        let download = session.download(server.url("/\(coding)"), headers: headers, to: .file(file))
        #expect(try await download.serializingURL().value == file)
        #expect(try Data(contentsOf: file) == CompressibleBody.decoded)
        try await TestHarness.end(session, server)
    }

    @Test(arguments: CompressibleBody.codings)
    func `the limit of a body in memory applies to the decoded bytes`(_ coding: String) async throws {
        let server = try await CompressibleBody.server()
        let session = TestHarness.session { $0.maximumResponseBytes = 10 << 20 }
        let task = session.request(server.url("/\(coding)")).serializingData()
        try await TestHarness.expect(
            task, in: session, failsWith: .invalidResponse(.bodyTooLarge(limit: 10 << 20)))
        #expect(task.request.downloadProgress.completed <= 10 << 20)
        try await TestHarness.end(session, server)
    }

    @Test(arguments: CompressibleBody.codings)
    func `the undecoded rest waits while the request is suspended`(_ coding: String) async throws {
        let server = try await CompressibleBody.server()
        let session = TestHarness.session()
        let task = session.streamRequest(server.url("/\(coding)")).streamTask()
        var iterator = task.bytes.makeAsyncIterator()
        var count = try #require(try await iterator.next()).count
        while count < CompressibleBody.size {
            if count < 10 << 20 {
                task.request.suspend()
                let before = try await StreamFixture.settled(session) { Int(task.request.downloadProgress.completed) }
                task.request.resume()
                #expect(before < CompressibleBody.size)
            }
            count += try #require(try await iterator.next()).count
        }
        #expect(try await iterator.next() == nil)
        try await TestHarness.end(session, server)
    }

    @Test(arguments: CompressibleBody.codings)
    func `a request can end while there is more to decode`(_ coding: String) async throws {
        let server = try await CompressibleBody.server()
        let session = TestHarness.session()
        var limited = HTTPRequest(url: server.url("/\(coding)"))
        limited.timeouts = Timeouts(total: .seconds(1))
        let cancelled = HTTPRequest(url: limited.url)
        for (request, end) in [(limited, RequestError.Kind.timedOut(.total)), (cancelled, .cancelled)] {
            let task = session.streamRequest(request).streamTask()
            var iterator = task.bytes.makeAsyncIterator()
            var count = try #require(try await iterator.next()).count
            if end == .cancelled { task.cancel() }
            while !task.request.isFinished, !task.request.isCancelled {
                _ = try await StreamFixture.settled(session) { Int(task.request.downloadProgress.completed) }
            }
            let error = await #expect(throws: RequestError.self) {
                while let piece = try await iterator.next() { count += piece.count }
            }
            #expect(error?.kind == end)
            #expect(count < 4 << 20)
        }
        try await TestHarness.end(session, server)
    }

    @Test(arguments: CompressibleBody.codings)
    func `a slow reader receives every byte, and its unread bytes are bounded`(_ coding: String) async throws {
        let result = try await ExitTestInput.pass(coding) {
            await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
                let coding = try ExitTestInput.value(as: String.self)
                let server = try await CompressibleBody.server()
                let session = TestHarness.session()
                _ = try await StreamFixture.settled(session) { 0 }
                try PeakMemory.begin()
                let before = try PeakMemory.residentKiB()
                let task = session.streamRequest(server.url("/\(coding)")).streamTask()
                var iterator = task.bytes.makeAsyncIterator()
                let line = Data((CompressibleBody.line + "\n").utf8)
                let pattern = line + line + line + line + line + line
                var count = 0
                while let piece = try await iterator.next() {
                    let offset = count % line.count
                    #expect(piece == pattern[offset..<offset + piece.count])
                    count += piece.count
                    // Other requests continue, and while they run, the body is not read.
                    guard count < 20 << 20 else { continue }
                    let waiting = try await StreamFixture.settled(session) {
                        Int(task.request.downloadProgress.completed)
                    }
                    #expect(waiting - count <= (1024 + 512 + 64) << 10)
                }
                #expect(count == CompressibleBody.size)
                let growth = try PeakMemory.residentKiB() - before
                print("stalled: \(coding) by bytes, \(growth) KiB more")
                #expect(Sanitizer.current != nil || growth < 16 << 10)
                try await TestHarness.end(session, server)
            }
        }
        report(result)
    }

    @Test(arguments: CompressibleBody.codings)
    func `lines and files use bounded memory`(_ coding: String) async throws {
        let result = try await ExitTestInput.pass(coding) {
            await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
                let coding = try ExitTestInput.value(as: String.self)
                let server = try await CompressibleBody.server()
                let session = TestHarness.session()
                _ = try await StreamFixture.settled(session) { 0 }
                try PeakMemory.begin()
                let before = try PeakMemory.residentKiB()
                let expected = CompressibleBody.line
                var count = 0
                for try await line in session.streamRequest(server.url("/\(coding)")).streamTask().lines {
                    #expect(line == expected)
                    count += 1
                }
                #expect(count == CompressibleBody.lineCount)
                let ofLines = try PeakMemory.residentKiB() - before
                let directory = try TestDirectory()
                let url = server.url("/\(coding)")
                _ = try await session.download(url, to: .file(directory.url("a"))).serializingURL().value
                let ofBoth = try PeakMemory.residentKiB() - before
                print("stalled: \(coding) by lines, \(ofLines) KiB more; and to a file, \(ofBoth) KiB")
                #expect(Sanitizer.current != nil || ofBoth < 20 << 10)
                try await TestHarness.end(session, server)
            }
        }
        report(result)
    }

    /// Shows the figures that the process printed.
    private func report(_ result: ExitTest.Result?) {
        let output = String(decoding: result?.standardOutputContent ?? [], as: UTF8.self)
        for line in output.split(separator: "\n") where line.contains("stalled:") { print(line) }
    }
}
