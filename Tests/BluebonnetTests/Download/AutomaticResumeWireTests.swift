import BluebonnetTesting
import FoundationEssentials
import Synchronization
import TestSupport
import Testing

@testable import Bluebonnet

/// Downloads with and without automatic resumption.
@Suite(.timeLimit(.minutes(10))) struct AutomaticResumeWireTests {
    /// A clock that does not wait, and records the requested delays.
    private final class Delays: Sendable {
        private let kept = Mutex<[Duration]>([])

        var all: [Duration] { kept.withLock { $0 } }

        func sleep(_ delay: Duration) { kept.withLock { $0.append(delay) } }
    }

    private func download(
        _ origin: RangeOrigin, to destination: DownloadRequest.Destination, in session: Session,
        sleep: @escaping SessionContext.Sleep
    ) throws -> DownloadRequest {
        DownloadRequest(
            convertible: HTTPRequest(url: origin.url), context: session.context, destination: destination, sleep: sleep)
    }

    @Test func `repeatedly broken connections do not prevent the download`() async throws {
        let directory = try TestDirectory()
        let origin = try await RangeOrigin { $0.cuts = [10_000, 20_000, 1024, 30_000] }
        let session = TestHarness.session()
        let delays = Delays()
        let request = try download(
            origin, to: .file(directory.url("a"), options: .automaticallyResume), in: session,
            sleep: { delays.sleep($0) })
        let progress = request.validate().downloadProgressUpdates(bufferingPolicy: .unbounded)
        let answer = await request.serializingURL().response
        #expect(answer.value == directory.url("a"))
        expectSame(try Data(contentsOf: directory.url("a")), origin.body)
        #expect(origin.ranges == ["all", "bytes=10000-", "bytes=30000-", "bytes=31024-", "bytes=61024-"])
        #expect(origin.transmissions.map(\.count).reduce(0, +) == 100_000, "no byte twice")
        #expect(request.retryCount == 4 && request.requests.count == 5 && directory.names == ["a"])
        // Each attempt made progress, so all delays are as long as the first delay.
        #expect(delays.all.count == 4)
        #expect(delays.all.allSatisfy { $0 >= .milliseconds(500) && $0 <= .milliseconds(750) })
        var last: Int64 = 0
        for await value in progress {
            #expect(value.completed >= last && value.total == 100_000)
            last = value.completed
        }
        #expect(last == 100_000)
        try await TestHarness.end(session, origin.server)
    }

    @Test func `a download that always breaks at the same byte fails and can be resumed`() async throws {
        let directory = try TestDirectory()
        let origin = try await RangeOrigin { $0.cuts = [40_000] + Array(repeating: 0, count: 100) }
        let session = TestHarness.session()
        let delays = Delays()
        let request = try download(
            origin, to: .file(directory.url("a"), options: .automaticallyResume), in: session,
            sleep: { delays.sleep($0) })
        let answer = await request.serializingURL().response
        let error = try #require(answer.error)
        #expect(AutomaticResumption.isInterruption(error.kind) && error.attempts == 6)
        #expect(origin.ranges == ["all"] + Array(repeating: "bytes=40000-", count: 5))
        let expected: [Duration] = [0.5, 1, 2, 4, 8].map { .seconds($0) }
        #expect(delays.all.count == expected.count)
        for (delay, least) in zip(delays.all, expected) { #expect(delay >= least && delay <= least * 1.5) }
        #expect(directory.names == [".a.part", ".a.part.resume"])
        let data = try #require(answer.resumeData)
        origin.change { $0.cuts = [] }
        _ = try await session.download(resumingWith: data, to: .file(directory.url("a"))).serializingURL().value
        expectSame(try Data(contentsOf: directory.url("a")), origin.body)
        try await TestHarness.end(session, origin.server)
    }

    @Test func `a server that always sends the same bytes from the start makes no progress`() async throws {
        let directory = try TestDirectory()
        let origin = try await RangeOrigin {
            ($0.ignoresRanges, $0.cuts) = (true, Array(repeating: 5000, count: 100))
        }
        let session = TestHarness.session()
        let request = try download(
            origin, to: .file(directory.url("a"), options: .automaticallyResume), in: session, sleep: { _ in })
        let error = try #require(await request.serializingURL().response.error)
        #expect(AutomaticResumption.isInterruption(error.kind) && error.attempts == 6)
        #expect(origin.ranges == ["all"] + Array(repeating: "bytes=5000-", count: 5))
        try await TestHarness.end(session, origin.server)
    }

    @Test func `a file that has changed on the server makes progress again`() async throws {
        let directory = try TestDirectory()
        let origin = try await RangeOrigin { $0.cuts = [90_000] + Array(repeating: 8000, count: 10) }
        let session = TestHarness.session()
        let request = try download(
            origin, to: .file(directory.url("a"), options: .automaticallyResume), in: session,
            sleep: { _ in origin.change { $0.fields.update(name: "ETag", value: "\"two\"") } })
        _ = try await request.serializingURL().value
        expectSame(try Data(contentsOf: directory.url("a")), origin.body)
        #expect(request.retryCount == 11)
        try await TestHarness.end(session, origin.server)
    }

    @Test func `a download waits before it resumes`() async throws {
        let directory = try TestDirectory()
        let origin = try await RangeOrigin { $0.cuts = [40_000] }
        let session = TestHarness.session()
        let begin = ContinuousClock.now
        let request = session.download(origin.url, to: .file(directory.url("a"), options: .automaticallyResume))
        _ = try await request.serializingURL().value
        #expect(ContinuousClock.now - begin >= .milliseconds(500))
        #expect(origin.ranges == ["all", "bytes=40000-"])
        try await TestHarness.end(session, origin.server)
    }

    @Test(arguments: [true, false], [true, false])
    func `cancelling during the wait ends the download at once`(isHeeded: Bool, keepingFile: Bool) async throws {
        let directory = try TestDirectory()
        let origin = try await RangeOrigin { $0.cuts = [40_000] }
        let session = TestHarness.session()
        let (waits, gate) = (Gate(), Gate())
        let request = try download(
            origin, to: .file(directory.url("a"), options: .automaticallyResume), in: session,
            sleep: { _ in
                waits.open()
                // A task that is never cancelled, and a task that is cancelled.
                if isHeeded { await gate.wait() } else { await Task.detached { await gate.wait() }.value }
            })
        let task = request.serializingURL()
        await waits.wait()
        task.cancel(producingResumeData: keepingFile)
        let answer = await task.response
        gate.open()
        #expect(answer.error?.isCancellation == true && request.isCancelled)
        #expect((answer.resumeData != nil) == keepingFile)
        #expect(directory.names == (keepingFile ? [".a.part", ".a.part.resume"] : []))
        #expect(origin.server.requestCount == 1)
        try await TestHarness.end(session, origin.server)
    }

    @Test func `a download without automatic resumption does not resume`() async throws {
        let directory = try TestDirectory()
        let origin = try await RangeOrigin { $0.cuts = [40_000, 20_000] }
        let session = TestHarness.session()
        let first = await session.download(origin.url, to: .file(directory.url("a"))).serializingURL().response
        let data = try #require(first.resumeData)
        #expect(origin.server.requestCount == 1)
        // Nor does one that was resumed by hand.
        let second = await session.download(
            resumingWith: data, to: .file(directory.url("a"))
        ).serializingURL().response
        #expect(second.error.map { AutomaticResumption.isInterruption($0.kind) } == true)
        #expect(origin.ranges == ["all", "bytes=40000-"])
        let third = session.download(resumingWith: try #require(second.resumeData), to: .file(directory.url("a")))
        _ = try await third.serializingURL().value
        #expect(origin.ranges.last == "bytes=60000-")
        expectSame(try Data(contentsOf: directory.url("a")), origin.body)
        try await TestHarness.end(session, origin.server)
    }

    @Test(arguments: [true, false])
    func `a partial file of an earlier session is resumed if this is enabled`(isWanted: Bool) async throws {
        let directory = try TestDirectory()
        let origin = try await RangeOrigin { $0.cuts = [40_000] }
        let session = TestHarness.session()
        _ = await session.download(origin.url, to: .file(directory.url("a"))).serializingURL().response
        await session.shutdown()
        let next = TestHarness.session()
        let options: DownloadRequest.Options = isWanted ? .automaticallyResume : []
        let request = next.download(origin.url, to: .file(directory.url("a"), options: options))
        _ = try await request.serializingURL().value
        #expect(origin.ranges == ["all", isWanted ? "bytes=40000-" : "all"])
        expectSame(try Data(contentsOf: directory.url("a")), origin.body)
        #expect(directory.names == ["a"])
        try await TestHarness.end(next, origin.server)
    }

    @Test func `a partial file of another URL is not resumed`() async throws {
        let directory = try TestDirectory()
        let origin = try await RangeOrigin { $0.cuts = [40_000] }
        let session = TestHarness.session()
        _ = await session.download(origin.url, to: .file(directory.url("a"))).serializingURL().response
        let request = session.download(
            origin.server.url("/other.bin"), to: .file(directory.url("a"), options: .automaticallyResume))
        _ = try await request.serializingURL().value
        #expect(origin.ranges == ["all", "all"])
        expectSame(try Data(contentsOf: directory.url("a")), origin.body)
        #expect(directory.names == ["a"])
        try await TestHarness.end(session, origin.server)
    }
}
