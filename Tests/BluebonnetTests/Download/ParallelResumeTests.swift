import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// Mirrors of parallel downloads.
@Suite(.timeLimit(.minutes(10))) struct ParallelMirrorTests {
    @Test(arguments: [nil, DownloadChecksum.responseField])
    func `mirrors need a stated checksum`(checksum: DownloadChecksum?) async throws {
        let directory = try TestDirectory()
        let origin = try await Parallel.origin()
        let session = TestHarness.session()
        let error = await Parallel.failure {
            try await session.parallelDownload(
                origin.url, to: directory.url("a"), checksum: checksum, mirrors: [origin.server.url("/b")])
        }
        #expect(error?.kind == .invalidRequest(.configuration("mirrors need a stated checksum")))
        #expect(origin.server.requestCount == 0 && directory.names == [])
        try await TestHarness.end(session, origin.server)
    }

    @Test func `mirrors share the parts, and receive no secrets and no validator of another URL`() async throws {
        let directory = try TestDirectory()
        let origin = try await Parallel.origin()
        let mirror = try await Parallel.origin { $0.fields = ["ETag": "\"mirror\""] }
        let session = TestHarness.session()
        let file = try await session.parallelDownload(
            origin.url, to: directory.url("a"), headers: ["Authorization": "Bearer s3cret", "X-Kind": "harmless"],
            checksum: Parallel.checksum, mirrors: [mirror.url],
            interceptor: Adapter { request, _ in
                // An adapter does not know which URL is a mirror.
                var request = request
                request.headers.update(name: "Authorization", value: "Bearer s3cret")
                return request
            })
        expectSame(try Data(contentsOf: file), Parallel.body)
        #expect(Set(origin.ranges) == ["bytes=0-", "bytes=600000-899999"])
        #expect(Set(mirror.ranges) == ["bytes=300000-599999", "bytes=900000-1199999"])
        for request in origin.server.requests { #expect(request.headers["Authorization"] == "Bearer s3cret") }
        for request in mirror.server.requests {
            #expect(request.headers["Authorization"] == nil && request.headers["If-Range"] == nil)
            #expect(request.headers["X-Kind"] == "harmless")
        }
        try await TestHarness.end(session, origin.server)
    }

    /// The responses of a source that does not work: the first URL or the mirror.
    @Test(arguments: [true, false], [404, 200, 206])
    func `a source that fails is replaced by another`(isMirror: Bool, status: Int) async throws {
        let directory = try TestDirectory()
        let (origin, mirror) = (try await Parallel.origin(), try await Parallel.origin())
        (isMirror ? mirror : origin).change {
            $0.exception = { _ in
                .text("nothing", status: status, headers: ["Content-Range": "bytes 7-13/20", "ETag": "\"x\""])
            }
        }
        let session = TestHarness.session()
        // The first URL decides; a response with the status code 200 is the file, which then has another checksum.
        let isWrongFile = !isMirror && status == 200
        let download = { @Sendable [urls = [origin.url, mirror.url], file = directory.url("a")] in
            try await session.parallelDownload(urls[0], to: file, checksum: Parallel.checksum, mirrors: [urls[1]])
        }
        if isWrongFile {
            let error = await Parallel.failure(download)
            #expect(error?.kind == .download(.checksumMismatch) && directory.names == [])
        } else {
            expectSame(try Data(contentsOf: try await download()), Parallel.body)
        }
        await session.shutdown()
    }
}

/// Parallel downloads that are interrupted and resumed.
@Suite(.timeLimit(.minutes(10))) struct ParallelResumeTests {
    enum Interruption: CaseIterable {
        case cancelTask, cancelRequests, shutdown, error
    }

    @Test(arguments: Interruption.allCases)
    func `an interrupted download continues without the bytes that are there`(
        _ interruption: Interruption
    ) async throws {
        let directory = try TestDirectory()
        let (gate, reached) = (Gate(), Gate())
        let origin = try await Parallel.origin {
            // Each part stops after about a third.
            $0.pace = { position in if position % 300_000 > 100_000 { await gate.wait() } }
        }
        let session = TestHarness.session()
        let task = Task { [url = origin.url, file = directory.url("a")] in
            try await session.parallelDownload(url, to: file) { progress in
                if progress.completed > 0 { reached.open() }
            }
        }
        await reached.wait()
        while origin.transmissions.count < 4 { await Task.yield() }
        switch interruption {
        case .cancelTask: task.cancel()
        case .cancelRequests: await session.cancelAllRequests()
        case .shutdown:
            let end = Task { await session.shutdown() }
            end.cancel()
            await end.value
        case .error:
            // The parts try again, and are then refused.
            origin.change { $0.exception = { _ in .status(403) } }
            await origin.server.closeConnections(resetting: true)
        }
        let error = await Parallel.failure { try await task.value }
        if interruption == .error { #expect(error?.statusCode == 403) }
        if interruption == .cancelTask { #expect(error?.isCancellation == true) }
        gate.open()
        origin.change {
            $0.pace = { _ in }
            $0.exception = { _ in nil }
        }
        #expect(directory.names == [".a.part", ".a.part.resume"])
        let state = try #require(Parallel.state(of: directory.path(".a.part"), origin.url))
        #expect(state.completed > 0 && state.completed < Parallel.size)
        let count = origin.server.requestCount
        let next = TestHarness.session()
        // The number of parts is that of the earlier download.
        let file = try await next.parallelDownload(
            origin.url, to: directory.url("a"), parts: 2, checksum: Parallel.checksum)
        expectSame(try Data(contentsOf: file), Parallel.body)
        #expect(directory.names == ["a"])
        let missing = state.parts.filter { $0.position < $0.end }
        #expect(
            Set(origin.ranges.dropFirst(count)) == Set(missing.map { "bytes=\($0.position)-\($0.end - 1)" }))
        let sent = origin.transmissions.suffix(missing.count).map(\.count).reduce(0, +)
        #expect(sent == Parallel.size - Int(state.completed))
        await session.shutdown()
        try await TestHarness.end(next, origin.server)
    }

    @Test func `a state of another file is not continued`() async throws {
        let directory = try TestDirectory()
        let origin = try await Parallel.origin { $0.cuts = [100_000] }
        let session = TestHarness.session { $0.sleep = { _ in throw CancellationError() } }
        let error = await Parallel.failure { try await session.parallelDownload(origin.url, to: directory.url("a")) }
        #expect(error != nil && directory.names == [".a.part", ".a.part.resume"])
        let other = Data(Parallel.body.reversed())
        origin.change {
            $0.body = other
            $0.fields.update(name: "ETag", value: "\"two\"")
        }
        let file = try await session.parallelDownload(origin.url, to: directory.url("a"))
        expectSame(try Data(contentsOf: file), other)
        #expect(directory.names == ["a"])
        try await TestHarness.end(session, origin.server)
    }

    @Test func `an ordinary download does not continue a parallel one`() async throws {
        let directory = try TestDirectory()
        let origin = try await Parallel.origin { $0.cuts = [100_000] }
        let session = TestHarness.session { $0.sleep = { _ in throw CancellationError() } }
        _ = await Parallel.failure { try await session.parallelDownload(origin.url, to: directory.url("a")) }
        #expect(directory.names == [".a.part", ".a.part.resume"])
        let file = try await session.download(
            origin.url, to: .file(directory.url("a"), options: .automaticallyResume)
        ).serializingURL().value
        expectSame(try Data(contentsOf: file), Parallel.body)
        #expect(origin.ranges.last == "all" && directory.names == ["a"])
        try await TestHarness.end(session, origin.server)
    }

    @Test func `a second download to the same file fails while the first one runs`() async throws {
        let directory = try TestDirectory()
        let (gate, reached) = (Gate(), Gate())
        let origin = try await Parallel.origin { $0.pace = { _ in await gate.wait() } }
        let session = TestHarness.session()
        async let first = session.parallelDownload(origin.url, to: directory.url("a")) { progress in
            if progress.completed > 0 { reached.open() }
        }
        await reached.wait()
        let error = await Parallel.failure { try await session.parallelDownload(origin.url, to: directory.url("a")) }
        #expect(error?.kind == .download(.cannotCreateFile(path: directory.path("a"))))
        gate.open()
        let file = try await first
        expectSame(try Data(contentsOf: file), Parallel.body)
        try await TestHarness.end(session, origin.server)
    }

    @Test func `the file of a process that is killed 20 times is the same`() async throws {
        let directory = try TestDirectory()
        let size = 8_000_003
        let origin = try await RangeOrigin { $0.body = .pattern(count: size) }
        let watch = DestinationObserver(directory.path("a"))
        let arguments = [origin.url.absoluteString, directory.path("a"), "", "4"]
        for _ in 1...20 {
            let program = try RunningProgram("DownloadProgram", arguments)
            let left = Locked(Int.random(in: 1...size / 24 / RangeOrigin.pieceSize))
            origin.change {
                $0.pace = { _ in
                    let isEnd = left.withLock { left in
                        left -= 1
                        return left <= 0
                    }
                    guard isEnd else { return }
                    program.kill()
                    await Gate().wait()
                }
            }
            #expect(await program.outcome().code == -9)
            #expect(directory.names.contains(".a.part") && !directory.names.contains("a"))
        }
        origin.change { $0.pace = { _ in } }
        let program = try RunningProgram("DownloadProgram", arguments)
        #expect(await program.outcome().code == 0)
        expectSame(try Data(contentsOf: directory.url("a")), origin.body)
        #expect(directory.names == ["a"])
        #expect(await watch.sizes().isSubset(of: [Int64(size)]))
    }
}
