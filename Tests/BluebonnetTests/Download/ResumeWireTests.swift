import BluebonnetTesting
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@testable import Bluebonnet

/// Downloads that are interrupted, and resumed with their resume data.
@Suite(.timeLimit(.minutes(10))) struct ResumeWireTests {
    /// The cause of the interruption.
    enum Interruption: CaseIterable {
        case cancel, cancelTask, lostConnection, shutdown
    }

    /// Downloads until the interruption, and returns how that ended.
    private func interrupted(
        _ origin: RangeOrigin, by interruption: Interruption, in session: Session, headers: HTTPHeaders? = nil,
        to destination: DownloadRequest.Destination, partial: String
    ) async throws -> DownloadResponse<URL, RequestError> {
        let gate = Gate()
        origin.change {
            $0.pace = { position in if position > 40_000, interruption != .lostConnection { await gate.wait() } }
            if interruption == .lostConnection { $0.cuts = [45_000] }
        }
        let request = session.download(origin.url, headers: headers, to: destination).validate()
        let task = request.serializingURL()
        let waiter = Task { await task.response }
        if interruption != .lostConnection { await waitForSize(of: partial, atLeast: 40_000) }
        switch interruption {
        case .cancel: request.cancel()
        case .cancelTask: waiter.cancel()
        case .lostConnection: break
        case .shutdown:
            let end = Task { await session.shutdown() }
            end.cancel()
            await end.value
        }
        let answer = await waiter.value
        gate.open()
        origin.change { $0.pace = { _ in } }
        #expect(request.resumeData == answer.resumeData && request.error?.resumeData == answer.resumeData)
        #expect(answer.error?.resumeData == answer.resumeData && answer.fileURL == nil)
        return answer
    }

    @Test(arguments: Interruption.allCases, [true, false])
    func `an interrupted download resumes at its end`(_ interruption: Interruption, inNewSession: Bool) async throws {
        let directory = try TestDirectory()
        let origin = try await RangeOrigin()
        let session = TestHarness.session()
        let file = directory.url("a")
        let answer = try await interrupted(
            origin, by: interruption, in: session, to: .file(file), partial: directory.path(".a.part"))
        switch interruption {
        case .cancel, .cancelTask, .shutdown: #expect(answer.error?.isCancellation == true)
        case .lostConnection: #expect(answer.error.map { AutomaticResumption.isInterruption($0.kind) } == true)
        }
        let data = try #require(answer.resumeData)
        let partial = try ResumeData(decoding: data)
        #expect(partial.bytes >= 40_000 && partial.bytes < 100_000 && partial.total == 100_000)
        #expect(directory.names == [".a.part", ".a.part.resume"])
        let next = inNewSession || interruption == .shutdown ? TestHarness.session() : session
        let request = next.download(resumingWith: data, to: .file(file)).validate()
        let progress = request.downloadProgressUpdates(bufferingPolicy: .unbounded)
        #expect(try await request.serializingURL().value == file)
        expectSame(try Data(contentsOf: file), origin.body)
        #expect(directory.names == ["a"])
        #expect(origin.ranges == ["all", "bytes=\(partial.bytes)-"])
        #expect(origin.transmissions.last == .init(start: Int(partial.bytes), count: 100_000 - Int(partial.bytes)))
        for await value in progress { #expect(value.completed > partial.bytes && value.total == 100_000) }
        #expect(request.downloadProgress.completed == 100_000 && request.response?.statusCode == 206)
        await session.shutdown()
        try await TestHarness.end(next, origin.server)
    }

    @Test(arguments: [(size: 8192, isComplete: true), (100, false)])
    func `a server may send the rest in many parts, which are not tiny`(size: Int, isComplete: Bool) async throws {
        let directory = try TestDirectory()
        let origin = try await RangeOrigin { ($0.cuts, $0.largestPart) = ([45_000], size) }
        let session = TestHarness.session()
        let answer = await session.download(origin.url, to: .file(directory.url("a"))).serializingURL().response
        let data = try #require(answer.resumeData)
        let rest = await session.download(resumingWith: data, to: .file(directory.url("a"))).serializingURL().response
        #expect((rest.error == nil) == isComplete, "\(rest)")
        if isComplete { expectSame(try Data(contentsOf: directory.url("a")), origin.body) }
        // One interrupted, and the parts; or three times in a row without progress.
        #expect(origin.ranges.count <= (isComplete ? 9 : 6), "\(origin.ranges)")
        try await TestHarness.end(session, origin.server)
    }

    @Test func `a temporary download can be resumed to any destination`() async throws {
        let directory = try TestDirectory(in: "/dev/shm")
        let origin = try await RangeOrigin { $0.cuts = [45_000] }
        let session = TestHarness.session()
        let answer = await session.download(origin.url).serializingURL().response
        let data = try #require(answer.resumeData)
        let file = try await session.download(resumingWith: data, to: .directory(directory.url)).serializingURL().value
        #expect(file.path == directory.path("file.bin"))
        expectSame(try Data(contentsOf: file), origin.body)
        let partial = try ResumeData(decoding: data).path
        #expect(FileSystem.status(partial, followingLinks: false) == nil)
        #expect(FileSystem.status(partial + ".resume", followingLinks: false) == nil)
        try await TestHarness.end(session, origin.server)
    }

    @Test func `resume data contains no secrets`() async throws {
        let directory = try TestDirectory()
        let origin = try await RangeOrigin { behaviour in
            behaviour.exception = {
                $0.headers["Authorization"] == "Bearer s3cret" ? nil : .text("who are you?", status: 401)
            }
        }
        let session = TestHarness.session()
        let headers: HTTPHeaders = [
            "Authorization": "Bearer s3cret", "Cookie": "session=s3cret", "X-Api-Key": "s3cret", "X-Kind": "harmless",
        ]
        let answer = try await interrupted(
            origin, by: .cancel, in: session, headers: headers, to: .file(directory.url("a")),
            partial: directory.path(".a.part"))
        let data = try #require(answer.resumeData)
        let texts = [String(decoding: data, as: UTF8.self), directory.text(".a.part.resume") ?? ""]
        for text in texts { #expect(!text.contains("s3cret") && text.contains("harmless")) }
        let refused = await session.download(resumingWith: data, to: .file(directory.url("a"))).serializingURL()
            .response
        #expect(refused.error?.kind == .download(.cannotResume(statusCode: 401)))
        let again = try #require(refused.resumeData)
        let request = session.download(
            resumingWith: again, headers: ["Authorization": "Bearer s3cret"], to: .file(directory.url("a")))
        _ = try await request.serializingURL().value
        expectSame(try Data(contentsOf: directory.url("a")), origin.body)
        let last = try #require(origin.server.requests.last)
        #expect(last.headers["X-Kind"] == "harmless" && last.headers["Cookie"] == nil)
        #expect(origin.transmissions.last?.start ?? 0 >= 40_000)
        try await TestHarness.end(session, origin.server)
    }

    @Test(arguments: [true, false])
    func `cancelling without resume data leaves no file`(byTask: Bool) async throws {
        let directory = try TestDirectory()
        let origin = try await RangeOrigin()
        let gate = Gate()
        origin.change { $0.pace = { position in if position > 40_000 { await gate.wait() } } }
        let session = TestHarness.session()
        let task = session.download(origin.url, to: .file(directory.url("a"))).serializingURL()
        await waitForSize(of: directory.path(".a.part"), atLeast: 40_000)
        if byTask {
            task.cancel(producingResumeData: false)
        } else {
            task.request.cancel(producingResumeData: false)
        }
        let answer = await task.response
        gate.open()
        #expect(answer.error?.isCancellation == true && answer.resumeData == nil && task.request.resumeData == nil)
        #expect(directory.names == [])
        try await TestHarness.end(session, origin.server)
    }

    /// The ways to cancel a resumed download before it has sent a request.
    enum Moment {
        /// Before it was started, with all requests.
        case beforeStart
        /// While its request is adapted, before its file is opened.
        case whileAdapting
    }

    @Test(arguments: [(Moment.beforeStart, true), (.whileAdapting, true), (.whileAdapting, false)])
    func `a resumed download that is cancelled at once keeps its data by default`(
        _ moment: Moment, isWanted: Bool
    ) async throws {
        let directory = try TestDirectory()
        let origin = try await RangeOrigin { $0.cuts = [45_000] }
        let session = TestHarness.session()
        let failed = await session.download(origin.url, to: .file(directory.url("a"))).serializingURL().response
        let data = try #require(failed.resumeData)
        let left = try ResumeData(decoding: data)
        let made = Locked<DownloadRequest?>(nil)
        let adapter = Adapter { request, _ in
            if moment == .whileAdapting { made.withLock { $0 }?.cancel(producingResumeData: isWanted) }
            return request
        }
        let request = session.download(resumingWith: data, interceptor: adapter, to: .file(directory.url("a")))
        made.withLock { $0 = request }
        if moment == .beforeStart { await session.cancelAllRequests() }
        let task = request.serializingURL()
        let answer = await task.response
        made.withLock { $0 = nil }
        #expect(answer.error?.kind == .cancelled)
        if isWanted {
            #expect(answer.resumeData == data && request.resumeData == data && answer.error?.resumeData == data)
            #expect(directory.names == [".a.part", ".a.part.resume"])
            let next = session.download(resumingWith: data, to: .file(directory.url("a")))
            #expect(try await next.serializingURL().value == directory.url("a"))
            expectSame(try Data(contentsOf: directory.url("a")), origin.body)
            #expect(origin.ranges == ["all", "bytes=\(left.bytes)-"])
        } else {
            #expect(answer.resumeData == nil && directory.names == [])
        }
        try await TestHarness.end(session, origin.server)
    }

    static let junk = [
        "", "junk", "{}", #"{"version":2}"#,
        #"{"version":1,"id":"a","url":"http://127.0.0.1:1/","headers":[],"entityTag":"\"a\"","path":"/etc/passwd","bytes":1}"#,
        #"{"version":1,"id":"a","url":"file:///a","headers":[],"entityTag":"\"a\"","path":"/tmp/.a.part","bytes":1}"#,
    ]

    @Test(arguments: junk)
    func `invalid resume data is a clear error`(text: String) async throws {
        let directory = try TestDirectory()
        let transport = StubTransport { _ in .ok }
        let session = Session(transport: transport)
        let request = session.download(resumingWith: Data(text.utf8), to: .file(directory.url("a")))
        let answer = await request.serializingURL().response
        #expect(answer.error?.kind == .download(.resumeDataInvalid) && answer.error?.attempts == 1)
        #expect(directory.names == [] && transport.requestCount == 0)
        await session.shutdown()
    }

    @Test(arguments: [true, false])
    func `the whole file is downloaded if the partial file is missing`(isCut: Bool) async throws {
        let directory = try TestDirectory()
        let origin = try await RangeOrigin { $0.cuts = [45_000] }
        let session = TestHarness.session()
        let failed = await session.download(origin.url, to: .file(directory.url("a"))).serializingURL().response
        let data = try #require(failed.resumeData)
        if isCut {
            // The length of the file counts, not the length in the data.
            #expect(unsafe truncate(directory.path(".a.part"), 30_000) == 0)
        } else {
            try FileManager.default.removeItem(atPath: directory.path(".a.part"))
        }
        let request = session.download(resumingWith: data, to: .file(directory.url("a")))
        _ = try await request.serializingURL().value
        expectSame(try Data(contentsOf: directory.url("a")), origin.body)
        #expect(origin.ranges == ["all", isCut ? "bytes=30000-" : "all"])
        #expect(directory.names == ["a"])
        try await TestHarness.end(session, origin.server)
    }

    @Test(arguments: [TestServers.nginx, .nginxTLS])
    func `a server with range support sends the rest`(server: TestServers) async throws {
        let directory = try TestDirectory()
        let session = try TestHarness.trustingSession()
        let file = directory.url("a")
        // The slow copy of the same file is cancelled before the end.
        let task = session.download(try server.url("/slow/bytes/1048576"), to: .file(file)).validate().serializingURL()
        await waitForSize(of: directory.path(".a.part"), atLeast: 1)
        task.cancel()
        let answer = await task.response
        var partial = try ResumeData(decoding: try #require(answer.resumeData))
        #expect(partial.bytes < 1_048_576)
        // The rest is sent by the fast server, which has the same validator.
        partial.url = try server.url("/bytes/1048576")
        try ResumeSidecar(besides: partial.path).write(partial)
        let request = session.download(resumingWith: partial.encoded(), to: .file(file)).validate()
        _ = try await request.serializingURL().value
        #expect(request.response?.statusCode == 206)
        let received = try #require(request.metrics?.bytesReceived)
        #expect(received < 1_048_576 - partial.bytes + 4096, "the rest, and the head")
        expectSame(try Data(contentsOf: file), .pattern(count: 1_048_576))
        #expect(directory.names == ["a"])
        await session.shutdown()
    }
}
