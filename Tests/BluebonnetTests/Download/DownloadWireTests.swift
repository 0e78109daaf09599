import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// Downloads to every kind of destination, against nginx, httpbin and `LocalServer`.
@Suite(.timeLimit(.minutes(10))) struct DownloadWireTests {
    @Test(arguments: [TestServers.nginx, .nginxTLS], [0, 1, 1024, 65_536, 1_048_576, 16_777_216])
    func `a file is saved to its destination without changes`(server: TestServers, size: Int) async throws {
        let directory = try TestDirectory()
        let session = try TestHarness.trustingSession()
        let file = directory.url("a")
        let request = session.download(try server.url("/bytes/\(size)"), to: .file(file)).validate()
        let answer = await request.serializingURL().response
        #expect(try answer.result.get() == file)
        #expect(answer.fileURL == file && request.fileURL == file)
        #expect(answer.resumeData == nil && request.resumeData == nil)
        #expect(answer.response?.statusCode == 200 && request.response?.statusCode == 200)
        #expect(answer.response?.httpVersion == (server == .nginx ? .http1_1 : .http2))
        #expect(answer.request?.headers["Accept-Encoding"] == "identity")
        let received = try #require(answer.metrics?.bytesReceived)
        #expect(received >= size && received < size + 4096, "the body once, and the head")
        #expect(request.isFinished && request.error == nil && request.retryCount == 0)
        #expect(request.downloadProgress.completed == Int64(size))
        #expect(request.downloadProgress.total == Int64(size))
        expectSame(try Data(contentsOf: file), .pattern(count: size))
        #expect(directory.names == ["a"])
        await session.shutdown()
    }

    /// Before, the file was moved to its destination, although every task received the cancellation.
    @Test func `a download that is cancelled by its validator leaves no file`() async throws {
        let directory = try TestDirectory()
        let session = TestHarness.session()
        let request = session.download(try TestServers.nginx.url("/bytes/1024"), to: .file(directory.url("a")))
        let answer = await request.validate { [weak request] _, _, _ in
            request?.cancel(producingResumeData: false)
            return .success(())
        }.serializingURL().response
        #expect(answer.error?.kind == .cancelled)
        #expect(answer.fileURL == nil && answer.resumeData == nil)
        #expect(directory.names.isEmpty, "\(directory.names)")
        await session.shutdown()
    }

    @Test func `directories are created if this is enabled`() async throws {
        let directory = try TestDirectory()
        let session = TestHarness.session()
        let url = try TestServers.nginx.url("/bytes/1024")
        let file = directory.url("one/two/a")
        let error = await session.download(url, to: .file(file)).serializingURL().response.error
        #expect(error?.kind == .download(.cannotCreateFile(path: file.path)))
        #expect(error?.detail == "No such file or directory")
        let made = session.download(url, to: .file(file, options: .createIntermediateDirectories))
        #expect(try await made.serializingURL().value == file)
        expectSame(try Data(contentsOf: file), .pattern(count: 1024))
        await session.shutdown()
    }

    @Test func `an existing file is replaced atomically if this is enabled`() async throws {
        let directory = try TestDirectory()
        let origin = try await RangeOrigin()
        let session = TestHarness.session()
        try directory.write("old", to: "a")
        let error = await session.download(origin.url, to: .file(directory.url("a"))).serializingURL().response.error
        #expect(error?.kind == .download(.destinationExists(path: directory.path("a"))))
        #expect(error?.attempts == 1 && origin.server.requestCount == 0, "nothing is fetched for nothing")
        let watch = DestinationObserver(directory.path("a"))
        let request = session.download(origin.url, to: .file(directory.url("a"), options: .removePreviousFile))
        _ = try await request.serializingURL().value
        #expect(await watch.sizes().isSubset(of: [3, 100_000]))
        expectSame(try Data(contentsOf: directory.url("a")), origin.body)
        #expect(directory.names == ["a"])
        try await TestHarness.end(session, origin.server)
    }

    /// The name that a server suggests, and the name of the file.
    static let names: [(disposition: String?, name: String)] = [
        (nil, "file.bin"), ("attachment; filename=\"report.pdf\"", "report.pdf"),
        ("attachment; filename*=UTF-8''na%C3%AFve.txt; filename=\"x\"", "naïve.txt"),
        ("attachment; filename=\"../../etc/passwd\"", "passwd"), ("attachment; filename=\".bashrc\"", "bashrc"),
    ]

    @Test(arguments: names)
    func `in a directory, a file has the suggested name`(
        disposition: String?, name: String
    ) async throws {
        let directory = try TestDirectory()
        let origin = try await RangeOrigin {
            if let disposition { $0.fields.update(name: "Content-Disposition", value: disposition) }
        }
        let session = TestHarness.session()
        for _ in 1...2 {
            let file = try await session.download(origin.url, to: .directory(directory.url)).serializingURL().value
            expectSame(try Data(contentsOf: file), origin.body)
        }
        let parts = name.split(separator: ".", maxSplits: 1)
        let second = parts.count > 1 ? "\(parts[0]) 2.\(parts[1])" : "\(name) 2"
        #expect(Set(directory.names) == [name, second])
        try await TestHarness.end(session, origin.server)
    }

    @Test func `a temporary file is readable by its owner only`() async throws {
        let session = TestHarness.session()
        let file = try await session.download(try TestServers.nginx.url("/bytes/1024")).serializingURL().value
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(FileSystem.parent(of: file.path) == FileSystem.temporaryDirectory)
        #expect(FileSystem.status(file.path, followingLinks: false)?.mode == 0o600)
        expectSame(try Data(contentsOf: file), .pattern(count: 1024))
        await session.shutdown()
    }

    @Test func `a destination is selected when the response is known`() async throws {
        let directory = try TestDirectory()
        let session = TestHarness.session()
        let folder = directory.url
        let destination = DownloadRequest.Destination.custom { temporaryURL, response in
            let size = FileSystem.status(temporaryURL.path, followingLinks: false)?.size ?? -1
            return (folder.appending(path: "new/\(response.statusCode)-\(size)"), .createIntermediateDirectories)
        }
        let url = try TestServers.nginx.url("/bytes/65536")
        let file = try await session.download(url, to: destination).serializingURL().value
        #expect(file.lastPathComponent == "200-65536")
        expectSame(try Data(contentsOf: file), .pattern(count: 65_536))
        let error = await session.download(url, to: destination).serializingURL().response.error
        #expect(error?.kind == .download(.destinationExists(path: file.path)))
        await session.shutdown()
    }

    @Test(arguments: [HTTPMethod.head, .get])
    func `a response without a body is saved as an empty file`(method: HTTPMethod) async throws {
        let directory = try TestDirectory()
        let server = try await LocalServer { $0.fallback(.status(204)) }
        let session = TestHarness.session()
        let url = method == .head ? try TestServers.nginx.url("/bytes/1024") : server.url("/a")
        let request = session.download(url, method: method, to: .file(directory.url("a"))).validate()
        #expect(try await request.serializingData().value.isEmpty)
        #expect(try await request.serializingURL().value == directory.url("a"))
        #expect(directory.text("a")?.isEmpty == true && directory.names == ["a"])
        await session.shutdown()
    }

    @Test func `parameters are encoded as the method requires`() async throws {
        let session = TestHarness.session()
        let url = try TestServers.httpbin.url("/anything")
        for method in [HTTPMethod.get, .post] {
            let request = session.download(url, method: method, parameters: ["name": "Ada"])
            let task = request.validate().serializingJSON()
            let json = try await task.value
            #expect(json[method == .get ? "args" : "form"]?["name"]?.string == "Ada")
            #expect(json["method"]?.string == method.rawValue)
            if let file = request.fileURL { try FileManager.default.removeItem(at: file) }
        }
        await session.shutdown()
    }

    @Test func `the progress increases to the total`() async throws {
        let directory = try TestDirectory()
        let session = TestHarness.session()
        let url = try TestServers.nginx.url("/bytes/16777216")
        let task = session.download(url, to: .file(directory.url("a"))).validate().serializingURL()
        var last = TransferProgress()
        for await progress in task.downloadProgressUpdates() {
            #expect(progress.completed >= last.completed && progress.total == 16_777_216)
            last = progress
        }
        #expect(last.completed == 16_777_216 && last.fractionCompleted == 1)
        _ = try await task.value
        await session.shutdown()
    }

    @Test func `a compressed response is saved decoded if the request asks for compression`() async throws {
        let directory = try TestDirectory()
        let session = TestHarness.session()
        let url = try TestServers.nginx.url("/gzip/bytes/65536")
        for (name, headers) in [("plain", nil), ("gzip", ["Accept-Encoding": "gzip"] as HTTPHeaders?)] {
            let request = session.download(url, headers: headers, to: .file(directory.url(name))).validate()
            _ = try await request.serializingURL().value
            expectSame(try Data(contentsOf: directory.url(name)), .pattern(count: 65_536))
            #expect(request.response?.headers["Content-Encoding"] == (name == "gzip" ? "gzip" : nil))
        }
        #expect(directory.names == ["gzip", "plain"])
        await session.shutdown()
    }

    @Test func `descriptions contain the status and the file`() async throws {
        let directory = try TestDirectory()
        let session = TestHarness.session()
        let url = try TestServers.nginx.url("/bytes/1024")
        let request = session.download(url, to: .file(directory.url("a")))
        #expect(request.description == "No request created yet.")
        let answer = await request.serializingURL().response
        #expect(request.description == "GET \(url) (200)")
        #expect(request.debugDescription.hasSuffix("\n# 200") && request.debugDescription.contains("curl"))
        #expect(answer.debugDescription.contains("[File]: \"\(directory.path("a"))\""))
        #expect(answer.debugDescription.contains("[Resume Data]: None"))
        await session.shutdown()
    }
}
