import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// Processes that are killed during a download, and processes that resume their partial files.
@Suite(.timeLimit(.minutes(10))) struct KillAndResumeTests {
    private static let program = "DownloadProgram"

    private func expectComplete(_ outcome: Subprocess.Outcome, _ lastRange: String?) {
        #expect(outcome.code == 0)
        let ranges = String(decoding: outcome.output, as: UTF8.self).split(separator: "\n").map(String.init)
        if let lastRange { #expect(ranges == [lastRange]) }
    }

    @Test func `a process that is killed 20 times receives no byte twice`() async throws {
        let directory = try TestDirectory()
        let (path, partial) = (directory.path("a"), directory.path(".a.part"))
        let size = 2_000_003
        let origin = try await RangeOrigin { $0.body = .pattern(count: size) }
        let watch = DestinationObserver(path)
        var left: Int64 = 0
        for kill in 1...20 {
            // Anywhere in the next part of the missing bytes; the first time, when there are enough to resume.
            let step = Int.random(in: 1...(size - Int(left)) / (22 - kill))
            let target = max(Int(left) + step, 2 * RangeOrigin.pieceSize)
            let program = try RunningProgram(Self.program, [origin.url.absoluteString, path])
            origin.change {
                $0.pace = { position in
                    // The file has all that was sent before this piece, which may be lost.
                    guard position >= target else { return await waitForSize(of: partial, atLeast: position) }
                    program.kill()
                    // Nothing more is sent until the server notices.
                    await Gate().wait()
                }
            }
            #expect(await program.outcome().code == -9)
            let status = try #require(FileSystem.status(partial, followingLinks: false))
            #expect(status.size >= left && status.size < Int64(size))
            left = status.size
            #expect(directory.names == [".a.part", ".a.part.resume"])
            expectSame(try Data(contentsOf: directory.url(".a.part")), origin.body.prefix(Int(left)))
        }
        origin.change { $0.pace = { _ in } }
        let program = try RunningProgram(Self.program, [origin.url.absoluteString, path])
        expectComplete(await program.outcome(), "bytes=\(left)-")
        expectSame(try Data(contentsOf: directory.url("a")), origin.body)
        #expect(directory.names == ["a"])
        #expect(await watch.sizes().isSubset(of: [Int64(size)]))
        #expect(origin.transmissions.count == 21)
        let sent = origin.transmissions.map(\.count).reduce(0, +)
        #expect(sent >= size && sent <= size + 20 * RangeOrigin.pieceSize, "\(origin.transmissions)")
    }

    @Test func `a process that is killed 20 times receives no byte of nginx twice`() async throws {
        let directory = try TestDirectory()
        let (path, partial) = (directory.path("a"), directory.path(".a.part"))
        let (size, rate) = (1_048_576, 32 * 1024)
        let target = "/rate/\(rate)/bytes/\(size)?\(FileName.token())"
        let arguments = [try TestServers.nginx.url(target).absoluteString, path]
        let watch = DestinationObserver(path)
        var left = 0
        var expected = ["-"]
        for kill in 1...20 {
            let program = try RunningProgram(Self.program, arguments)
            await waitForSize(of: partial, atLeast: left + Int.random(in: 1...(size - left) / (22 - kill)))
            program.kill()
            #expect(await program.outcome().code == -9)
            left = Int(try #require(FileSystem.status(partial, followingLinks: false)).size)
            expected.append("bytes=\(left)-")
        }
        let program = try RunningProgram(Self.program, arguments)
        expectComplete(await program.outcome(), "bytes=\(left)-")
        expectSame(try Data(contentsOf: directory.url("a")), .pattern(count: size))
        #expect(await watch.sizes().isSubset(of: [Int64(size)]))
        // The server's log shows that each process requested the missing bytes, and that at most the bytes in flight
        // were lost.
        var lines: [[Substring]] = []
        while lines.count < expected.count {
            let log = String(decoding: try Data(contentsOf: URL(filePath: TestServers.ratesLog())), as: UTF8.self)
            lines = log.split(separator: "\n").map { $0.split(separator: " ") }.filter { $0.last == target[...] }
            await Task.yield()
        }
        #expect(lines.map { String($0[0]) } == expected)
        let sent = lines.compactMap { Int($0[1]) }.reduce(0, +)
        // The bytes of one second, and a download that is about to end.
        #expect(sent >= size && sent <= size + 20 * 2 * rate, "\(lines)")
    }

    @Test(arguments: [TestServers.nginx, .nginxTLS])
    func `a download of a killed process resumes at any size`(server: TestServers) async throws {
        let directory = try TestDirectory()
        let (path, partial) = (directory.path("a"), directory.path(".a.part"))
        let size = 16_777_216
        let authority = try TestCertificates().authority
        var arguments = [try server.url("/bytes/\(size)").absoluteString, path, authority]
        let watch = DestinationObserver(path)
        // The first time at a server that takes so long that it cannot be missed.
        let slow = try RunningProgram(
            Self.program, [try server.url("/slow/bytes/\(size)").absoluteString, path, authority])
        await waitForSize(of: partial, atLeast: 1)
        slow.kill()
        #expect(await slow.outcome().code == -9)
        var left = try #require(FileSystem.status(partial, followingLinks: false)?.size)
        // The same file with the same validator, of which the process shall not think that it is another.
        arguments[0] = try server.url("/bytes/\(size)").absoluteString
        var data = try #require(ResumeSidecar(besides: partial).read())
        data.url = try server.url("/bytes/\(size)")
        try ResumeSidecar(besides: partial).write(data)
        var kills = 1
        while kills < 20 {
            let target = Int(left) + Int.random(in: 1...max(1, (size - Int(left)) / 4))
            let program = try RunningProgram(Self.program, arguments)
            while FileSystem.status(path, followingLinks: false) == nil,
                FileSystem.status(partial, followingLinks: false)?.size ?? 0 < Int64(target)
            {
                await Task.yield()
            }
            program.kill()
            _ = await program.outcome()
            // It may have been faster.
            guard let status = FileSystem.status(partial, followingLinks: false) else { break }
            #expect(status.size >= left, "the bytes on the disk are not fetched again")
            left = status.size
            kills += 1
        }
        let wasFaster = FileSystem.status(path, followingLinks: false) != nil
        if !wasFaster {
            let program = try RunningProgram(Self.program, arguments)
            expectComplete(await program.outcome(), left < Int64(size) ? "bytes=\(left)-" : nil)
        }
        expectSame(try Data(contentsOf: directory.url("a")), .pattern(count: size))
        #expect(await watch.sizes().isSubset(of: [Int64(size)]))
        // A process that is killed right after it has renamed the file leaves its sidecar. That sidecar is not used.
        #expect(directory.names.first { !wasFaster || $0 != ".a.part.resume" } == "a")
        #expect(FileSystem.status(partial, followingLinks: false) == nil)
    }

    @Test func `a changed file is downloaded from its beginning`() async throws {
        let directory = try TestDirectory()
        let path = directory.path("a")
        let session = TestHarness.session()
        let url = try TestServers.nginx.url("/stored/killed-\(FileName.token())")
        let (old, new) = (Data.pattern(count: 300_000), Data(Data.pattern(count: 200_000).reversed()))
        func put(_ body: Data) async throws {
            let request = session.upload(body, to: url, method: .put).validate()
            _ = try await request.serializingData(emptyResponseCodes: [201, 204]).value
        }
        try await put(old)
        // The state after a process was killed while it downloaded the old file.
        let probe = await session.download(url, to: .file(directory.url("probe"))).serializingURL().response
        let response = try #require(probe.response)
        try FileManager.default.removeItem(atPath: directory.path("probe"))
        let partial = directory.path(".a.part")
        let data = try #require(ResumeData(request: HTTPRequest(url: url), response: response, path: partial))
        try old.prefix(100_000).write(to: directory.url(".a.part"))
        try ResumeSidecar(besides: partial).write(data)
        try await put(new)
        let program = try RunningProgram(Self.program, [url.absoluteString, path])
        expectComplete(await program.outcome(), "bytes=100000-")
        expectSame(try Data(contentsOf: directory.url("a")), new)
        #expect(directory.names == ["a"])
        _ = try await session.request(url, method: .delete).serializingData(emptyResponseCodes: [204]).value
        await session.shutdown()
    }
}
