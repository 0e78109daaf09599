import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// File systems that fail while a download is under way.
@Suite(.timeLimit(.minutes(10))) struct DownloadFaultTests {
    /// Begins a download to a file; the gate pauses it after a part was received.
    private func held(
        _ origin: RangeOrigin, by gate: Gate, to destination: DownloadRequest.Destination, partial: String,
        in session: Session
    ) async -> DownloadTask<URL> {
        origin.change { $0.pace = { position in if position > 40_000 { await gate.wait() } } }
        let task = session.download(origin.url, to: destination).validate().serializingURL()
        await waitForSize(of: partial, atLeast: 40_000)
        return task
    }

    @Test(arguments: [true, false])
    func `a full disk is a clear error, and the written part can be resumed`(isAutomatic: Bool) async throws {
        let directory = try TestDirectory()
        // Without the right to mount, there is no small disk.
        guard directory.mountSmallDisk() else { return }
        // The body is larger than the disk and the session's buffers together. Otherwise, the response may be complete
        // when the disk is full.
        let size = 4 << 20
        let origin = try await RangeOrigin { $0.body = .pattern(count: size) }
        let session = TestHarness.session()
        let options: DownloadRequest.Options = isAutomatic ? .automaticallyResume : []
        let task = session.download(
            origin.url, to: .file(directory.url("a"), options: options)
        ).validate().serializingURL()
        let error = try #require(await task.response.error)
        #expect(error.kind == .download(.cannotWriteFile(path: directory.path(".a.part"))))
        #expect(error.detail == "No space left on device")
        #expect(error.description.hasSuffix("[GET \(origin.url)]"))
        #expect(origin.server.requestCount == 1, "trying again makes no room")
        #expect(directory.names == [".a.part", ".a.part.resume"])
        // The server does not wait for a client that has stopped reading.
        try await origin.server.waitForOpenConnections(atMost: 0)
        let data = try #require(error.resumeData)
        let count = try ResumeData(decoding: data).bytes
        #expect(count > 0 && count < size)
        try directory.enlargeDisk()
        _ = try await session.download(resumingWith: data, to: .file(directory.url("a"))).serializingURL().value
        #expect(origin.ranges == ["all", "bytes=\(count)-"])
        expectSame(try Data(contentsOf: directory.url("a")), origin.body)
        #expect(directory.names == ["a"])
        try await TestHarness.end(session, origin.server)
    }

    @Test func `a removed directory is a clear error and is not created again`() async throws {
        let directory = try TestDirectory()
        let origin = try await RangeOrigin()
        let session = TestHarness.session()
        let gate = Gate()
        try directory.makeDirectory("inner")
        let task = await held(
            origin, by: gate, to: .file(directory.url("inner/a"), options: .createIntermediateDirectories),
            partial: directory.path("inner/.a.part"), in: session)
        try FileManager.default.removeItem(atPath: directory.path("inner"))
        gate.open()
        let answer = await task.response
        #expect(
            answer.error?.kind
                == .download(
                    .cannotMoveFile(from: directory.path("inner/.a.part"), to: directory.path("inner/a"))))
        #expect(answer.error?.detail == "No such file or directory")
        #expect(directory.names == [])
        try await TestHarness.end(session, origin.server)
    }

    @Test(arguments: [DownloadOptions(), .automaticallyResume], [false, true])
    func `a removed partial file leaves nothing, and a retry starts a new file`(
        options: DownloadOptions, isRetried: Bool
    ) async throws {
        let directory = try TestDirectory()
        let origin = try await RangeOrigin()
        let session = TestHarness.session()
        let checks = Counter()
        let request = session.download(origin.url, to: .file(directory.url("a"), options: options))
            .validate { _, _, fileURL in
                if checks.next() == 1 { try FileManager.default.removeItem(at: try #require(fileURL)) }
                return .success(())
            }
            .retry { request, _, _ in isRetried && request.retryCount == 0 ? .retry : .doNotRetry }
        let answer = await request.serializingURL().response
        #expect(origin.transmissions.map(\.start) == (isRetried ? [0, 0] : [0]))
        #expect(answer.resumeData == nil && directory.names == (isRetried ? ["a"] : []))
        if isRetried {
            expectSame(try Data(contentsOf: try answer.result.get()), origin.body)
        } else {
            let (from, to) = (directory.path(".a.part"), directory.path("a"))
            #expect(answer.error?.kind == .download(.cannotMoveFile(from: from, to: to)))
        }
        try await TestHarness.end(session, origin.server)
    }

    @Test(arguments: [true, false])
    func `a file that appears meanwhile is replaced only if this is enabled`(isReplaced: Bool) async throws {
        let directory = try TestDirectory()
        let origin = try await RangeOrigin()
        let session = TestHarness.session()
        let gate = Gate()
        let options: DownloadRequest.Options = isReplaced ? .removePreviousFile : []
        let task = await held(
            origin, by: gate, to: .file(directory.url("a"), options: options), partial: directory.path(".a.part"),
            in: session)
        try directory.write("another program's", to: "a")
        gate.open()
        let answer = await task.response
        if isReplaced {
            #expect(answer.value == directory.url("a") && directory.names == ["a"])
            expectSame(try Data(contentsOf: directory.url("a")), origin.body)
        } else {
            #expect(answer.error?.kind == .download(.destinationExists(path: directory.path("a"))))
            #expect(directory.text("a") == "another program's")
            // The file is complete: resuming moves it to another place.
            #expect(directory.names == [".a.part", ".a.part.resume", "a"])
            let data = try #require(answer.resumeData)
            _ = try await session.download(resumingWith: data, to: .file(directory.url("b"))).serializingURL().value
            #expect(origin.ranges.last == "bytes=99999-" && origin.transmissions.last?.count == 1)
            expectSame(try Data(contentsOf: directory.url("b")), origin.body)
            #expect(directory.names == ["a", "b"])
        }
        try await TestHarness.end(session, origin.server)
    }

    @Test func `a directory at the destination is a clear error`() async throws {
        let directory = try TestDirectory()
        let origin = try await RangeOrigin()
        let session = TestHarness.session()
        let gate = Gate()
        let task = await held(
            origin, by: gate, to: .file(directory.url("a"), options: .removePreviousFile),
            partial: directory.path(".a.part"), in: session)
        try directory.makeDirectory("a")
        gate.open()
        let answer = await task.response
        #expect(answer.error?.kind == .download(.destinationIsDirectory(path: directory.path("a"))))
        #expect(answer.resumeData != nil && directory.names == [".a.part", ".a.part.resume", "a"])
        try await TestHarness.end(session, origin.server)
    }

    @Test func `nothing is downloaded to a directory that is not writable`() async throws {
        let directory = try TestDirectory()
        try directory.makeReadOnly()
        let origin = try await RangeOrigin()
        let session = TestHarness.session()
        for destination in [DownloadRequest.Destination.file(directory.url("a")), .directory(directory.url)] {
            let error = try #require(
                await session.download(origin.url, to: destination).serializingURL().response.error)
            guard case .download(.cannotCreateFile(let path)) = error.kind else {
                Issue.record(error)
                continue
            }
            #expect(path.hasPrefix(directory.path))
            #expect(["Read-only file system", "Permission denied"].contains(error.detail))
        }
        #expect(origin.server.requestCount == 0)
        directory.makeWritable()
        try await TestHarness.end(session, origin.server)
    }

    @Test(arguments: [true, false])
    func `two downloads to one destination are not mixed`(isReplacing: Bool) async throws {
        let directory = try TestDirectory()
        let origins = [
            try await RangeOrigin(), try await RangeOrigin { $0.body = Data($0.body.prefix(90_000).reversed()) },
        ]
        let session = TestHarness.session()
        let gate = Gate()
        for origin in origins {
            origin.change { $0.pace = { position in if position > 40_000 { await gate.wait() } } }
        }
        let options: DownloadRequest.Options =
            isReplacing ? [.removePreviousFile, .automaticallyResume] : .automaticallyResume
        let tasks = origins.map { origin in
            session.download(origin.url, to: .file(directory.url("a"), options: options)).serializingURL()
        }
        for origin in origins { _ = try await origin.server.nextRequest() }
        let watch = DestinationObserver(directory.path("a"))
        gate.open()
        let answers = [await tasks[0].response, await tasks[1].response]
        #expect(await watch.sizes().isSubset(of: [100_000, 90_000]))
        let body = try Data(contentsOf: directory.url("a"))
        #expect(origins.contains { $0.body == body })
        if isReplacing {
            #expect(answers.allSatisfy { $0.value == directory.url("a") })
            #expect(directory.names == ["a"])
        } else {
            #expect(answers.count { $0.value != nil } == 1)
            let loser = try #require(answers.first { $0.value == nil })
            #expect(loser.error?.kind == .download(.destinationExists(path: directory.path("a"))))
            // Its bytes are kept, and found by its resume data.
            let data = try #require(loser.resumeData)
            _ = try await session.download(resumingWith: data, to: .file(directory.url("b"))).serializingURL().value
            let other = try Data(contentsOf: directory.url("b"))
            #expect(other != body && origins.contains { $0.body == other })
            #expect(directory.names == ["a", "b"])
        }
        for origin in origins { try await origin.server.waitForOpenConnections(atMost: 1) }
        await session.shutdown()
    }

    @Test func `a download that is resumed while it runs starts its own file`() async throws {
        let directory = try TestDirectory()
        let origin = try await RangeOrigin { $0.cuts = [45_000] }
        let session = TestHarness.session()
        let failed = await session.download(origin.url, to: .file(directory.url("a"))).serializingURL().response
        let data = try #require(failed.resumeData)
        let gate = Gate()
        origin.change { $0.pace = { _ in await gate.wait() } }
        let first = session.download(resumingWith: data, to: .file(directory.url("a"))).serializingURL()
        _ = try await origin.server.request(2)
        let second = session.download(resumingWith: data, to: .file(directory.url("b"))).serializingURL()
        _ = try await origin.server.request(3)
        gate.open()
        _ = try await (first.value, second.value)
        #expect(origin.ranges == ["all", "bytes=45000-", "all"])
        for name in ["a", "b"] { expectSame(try Data(contentsOf: directory.url(name)), origin.body) }
        #expect(directory.names == ["a", "b"])
        try await TestHarness.end(session, origin.server)
    }
}
