import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Glibc
import Testing

/// Bodies that cannot be read, or that differ from their declaration.
@Suite(.timeLimit(.minutes(10))) struct UploadFaultTests {
    // MARK: Before anything is sent

    @Test func `a file that cannot be read is reported before anything is sent`() async throws {
        let server = try await LocalServer { $0.fallback(.ok) }
        let directory = try TestDirectory()
        try directory.makeDirectory("directory")
        #expect(unsafe symlink(directory.path("loop"), directory.path("loop")) == 0)
        #expect(unsafe mkfifo(directory.path("pipe"), 0o600) == 0)
        let session = TestHarness.session()
        func expect(_ file: URL, _ reason: RequestError.RequestBodyReason, saying words: String) async throws {
            try await TestHarness.expect(
                session.upload(file, to: server.url("/a?token=hidden")).serializingData(), in: session,
                failsWith: .requestBody(reason), saying: words)
        }
        try await expect(
            directory.url("none"), .fileUnreadable(path: directory.path("none")), saying: "No such file or directory")
        try await expect(
            directory.url("directory"), .fileIsDirectory(path: directory.path("directory")), saying: "is a directory")
        try await expect(
            directory.url("loop"), .fileUnreadable(path: directory.path("loop")), saying: "symbolic links")
        try await expect(
            directory.url("pipe"), .fileUnreadable(path: directory.path("pipe")), saying: "Not a regular file")
        // Its stated length is 0.
        try await expect(
            URL(filePath: "/proc/self/status"), .lengthMismatch(expected: 0, actual: 1), saying: "1 bytes instead of 0")
        let remote = try "https://example.com/file?token=hidden".asURL()
        try await expect(
            remote, .notAFileURL("https://example.com/file?token=<redacted>"), saying: "not a file's URL")
        if geteuid() != 0 {
            try directory.write("secret", to: "closed")
            #expect(unsafe chmod(directory.path("closed"), 0) == 0)
            try await expect(
                directory.url("closed"), .fileUnreadable(path: directory.path("closed")), saying: "Permission denied")
        }
        #expect(server.connectionCount == 0)
        await session.shutdown()
    }

    @Test func `a length below zero is reported before anything is sent`() async throws {
        let server = try await LocalServer { $0.fallback(.ok) }
        let session = TestHarness.session()
        let pieces = Pieces(1, of: 1)
        try await TestHarness.expect(
            session.upload(pieces, length: -1, to: server.url("/a")).serializingData(), in: session,
            failsWith: .requestBody(.lengthMismatch(expected: -1, actual: 0)))
        #expect(server.connectionCount == 0)
        #expect(pieces.record.begun == 0)
        await session.shutdown()
    }

    @Test func `a form's missing file is reported before anything is sent`() async throws {
        let server = try await LocalServer { $0.fallback(.ok) }
        let directory = try TestDirectory()
        let session = TestHarness.session()
        let task = session.upload(
            multipartFormData: { $0.append(directory.url("none.txt"), withName: "file") }, to: server.url("/a")
        ).serializingData()
        let error = try #require(await task.response.error)
        guard case .multipartEncoding(.bodyPartFileNotReachable(directory.path("none.txt"))) = error.kind else {
            Issue.record("\(error)")
            return
        }
        #expect(server.connectionCount == 0)
        await session.shutdown()
    }

    // MARK: A sequence that can be read once

    @Test func `a sequence that was sent is not sent again`() async throws {
        let server = try await LocalServer { $0.fallback(.ok) }
        let session = TestHarness.session()
        let body = RequestBody.stream(Pieces(3, of: 10))
        #expect(!body.isReplayable)
        _ = await session.upload(body, to: server.url("/a")).serializingData().response
        try await TestHarness.expect(
            session.upload(body, to: server.url("/a")).serializingData(), in: session,
            failsWith: .requestBody(.notReplayable), saying: "cannot be sent a second time")
        #expect(server.requestCount == 1)
        try await TestHarness.end(session, server)
    }

    @Test func `only one of several requests can send the same sequence`() async throws {
        let server = try await LocalServer { $0.fallback(.text("done")) }
        let session = TestHarness.session()
        let pieces = Pieces(3, of: 10)
        let body = RequestBody.stream(pieces, length: 30)
        let tasks = (1...8).map { _ in session.upload(body, to: server.url("/a")).serializingString() }
        var sent = 0
        for task in tasks {
            let answer = await task.response
            if answer.error == nil { sent += 1 } else { #expect(answer.error?.kind == .requestBody(.notReplayable)) }
        }
        #expect(sent == 1)
        #expect(pieces.record.begun == 1)
        #expect(server.requestCount == 1)
        try await TestHarness.end(session, server)
    }

    @Test func `a sequence that can be created again is sent any number of times`() async throws {
        let server = try await LocalServer { $0.fallback(.text("done")) }
        let session = TestHarness.session()
        let body = RequestBody.stream { Pieces(3, of: 10) }
        #expect(body.isReplayable)
        for number in 1...3 {
            #expect(try await session.upload(body, to: server.url("/a")).serializingString().value == "done")
            #expect(try await server.request(number).body == Pieces.bytes(30))
        }
        try await TestHarness.end(session, server)
    }
}
