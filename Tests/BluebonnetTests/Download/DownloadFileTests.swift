import FoundationEssentials
import Testing

@testable import Bluebonnet

/// How the body of one exchange is handled, and where it is written.
@Suite struct DownloadFileTests: DownloadFileFixture {
    // MARK: One exchange

    @Test func `a body is saved to its file`() throws {
        let directory = try TestDirectory()
        let sink = try prepare(.file(directory.url("a")))
        #expect(sink.fields(for: request) == ["Accept-Encoding": "identity"])
        #expect(sink.headReceived(try response(200, Self.tagged)).isWrite)
        #expect(sink.total == 10 && sink.completed == 0)
        try write("01234", "56789", to: sink)
        #expect(sink.completed == 10 && sink.fetched == 10)
        #expect(directory.names == [".a.part", ".a.part.resume"], "not under its name before it is complete")
        #expect(try sink.complete() == .file(directory.url("a")))
        #expect(directory.names == ["a"] && directory.text("a") == "0123456789")
        #expect(sink.interrupted() == nil && sink.resumeData == nil)
    }

    @Test func `an empty body is saved as an empty file`() throws {
        let directory = try TestDirectory()
        let sink = try prepare(.file(directory.url("a")))
        try exchange(sink, try response(200, [:]))
        #expect(try sink.complete() == .file(directory.url("a")))
        #expect(directory.text("a")?.isEmpty == true && directory.names == ["a"])
    }

    @Test func `a body with any status is saved if no validator refuses it`() throws {
        let directory = try TestDirectory()
        let sink = try prepare(.file(directory.url("a")))
        try exchange(sink, try response(404, [:]), "sorry")
        _ = try sink.complete()
        #expect(directory.text("a") == "sorry")
    }

    @Test func `an unrequested part is not treated as the whole body`() throws {
        let directory = try TestDirectory()
        let sink = try prepare(.file(directory.url("a")))
        _ = sink.fields(for: request)
        let action = sink.headReceived(try response(206, ["Content-Range": "bytes 0-1/10"]))
        #expect(action.refusal == .invalidResponse(.malformed))
        #expect(sink.interrupted() == nil && directory.names.isEmpty)
    }

    @Test func `a part that the user requested is the body`() throws {
        let directory = try TestDirectory()
        let request = HTTPRequest(url: request.url, headers: ["Range": "bytes=0-1", "Accept-Encoding": "gzip"])
        let sink = try DownloadFile.prepare(
            .file(directory.url("a"), options: .automaticallyResume), for: request)
        #expect(sink.fields(for: request) == [:])
        let head = try response(206, ["Content-Range": "bytes 0-1/10", "ETag": "\"a\""])
        #expect(sink.headReceived(head).isWrite)
        try write("01", to: sink)
        #expect(!sink.canResume && sink.resumeData == nil)
        _ = try sink.complete()
        #expect(directory.text("a") == "01")
    }

    // MARK: Interruptions

    @Test func `a partial file is kept only if it can be resumed`() throws {
        let directory = try TestDirectory()
        for (name, headers) in [("a", Self.tagged), ("b", [:]), ("c", ["ETag": "W/\"a\""])] as [(String, HTTPHeaders)] {
            let sink = try prepare(.file(directory.url(name)))
            try exchange(sink, try response(200, headers), "0123")
            #expect((sink.interrupted() != nil) == (name == "a"))
            #expect(sink.interrupted() == nil, "once only")
        }
        #expect(directory.names == [".a.part", ".a.part.resume"])
    }

    @Test func `no file is left before a body arrives`() throws {
        let directory = try TestDirectory()
        #expect(try prepare(.file(directory.url("a"))).interrupted() == nil)
        let sink = try prepare(.file(directory.url("a")))
        _ = sink.fields(for: request)
        _ = sink.headReceived(try response(200, Self.tagged))
        #expect(sink.interrupted() == nil)
        #expect(directory.names.isEmpty)
    }

    @Test func `a released sink leaves the same files as an interrupted one`() throws {
        let directory = try TestDirectory()
        do {
            let (kept, dropped) = (try prepare(.file(directory.url("a"))), try prepare(.file(directory.url("b"))))
            try exchange(kept, try response(200, Self.tagged), "0123")
            try exchange(dropped, try response(200, [:]), "0123")
        }
        #expect(directory.names == [".a.part", ".a.part.resume"])
    }

    @Test func `the partial file is kept when the file system fails`() throws {
        let directory = try TestDirectory()
        let sink = try prepare(.file(directory.url("a")))
        try exchange(sink, try response(200, [:]), "0123456789")
        try directory.makeDirectory("a")
        #expect(downloadReason { _ = try sink.complete() } == .destinationIsDirectory(path: directory.path("a")))
        #expect(sink.interrupted() == nil && directory.text(".a.part") == "0123456789")
    }

    // MARK: Destinations

    @Test(
        arguments: [
            ("attachment; filename=\"report.pdf\"", "report.pdf"),
            ("attachment; filename=\"../../evil.sh\"", "evil.sh"),
            ("attachment; filename=\"..\"", "name.bin"), ("attachment; filename=\".ssh\"", "ssh"),
            ("attachment; filename*=UTF-8''na%C3%AFve%2f..%2fx.txt", "x.txt"), ("inline", "name.bin"),
        ] as [(String, String)])
    func `in a directory, the file has the name that the response proposes`(_ disposition: String, name: String) throws
    {
        let directory = try TestDirectory()
        let sink = try prepare(.directory(directory.url))
        try exchange(sink, try response(200, ["Content-Disposition": disposition]), "x")
        #expect(try sink.complete() == .file(directory.url(name)))
        #expect(directory.names == [name])
    }

    @Test func `in a directory, a number is added to an existing name unless the file is replaced`() throws {
        let directory = try TestDirectory()
        try directory.makeDirectory("name 2.bin")
        for (index, expected) in ["name.bin", "name 3.bin", "name 4.bin"].enumerated() {
            let sink = try prepare(.directory(directory.url))
            try exchange(sink, try response(200, [:]), "\(index)")
            #expect(try sink.complete() == .file(directory.url(expected)))
        }
        let sink = try prepare(.directory(directory.url, options: .removePreviousFile))
        try exchange(sink, try response(200, [:]), "new")
        #expect(try sink.complete() == .file(directory.url("name.bin")))
        #expect(directory.names == ["name 2.bin", "name 3.bin", "name 4.bin", "name.bin"])
        #expect(directory.text("name.bin") == "new" && directory.text("name 3.bin") == "1")
    }

    @Test func `a temporary file is new and readable by its owner only`() throws {
        let sinks = [try prepare(.temporary), try prepare(.temporary(options: .automaticallyResume))]
        var paths: Set<String> = []
        for sink in sinks {
            try exchange(sink, try response(200, [:]), "x")
            guard case .file(let url) = try sink.complete() else { return #expect(Bool(false)) }
            let path = url.path(percentEncoded: false)
            #expect(FileSystem.parent(of: path) == FileSystem.temporaryDirectory)
            #expect(FileSystem.status(path, followingLinks: false)?.mode == 0o600)
            paths.insert(path)
            FileSystem.remove(path)
        }
        #expect(paths.count == 2)
    }

    @Test func `a closure selects the destination when the body is complete`() throws {
        let directory = try TestDirectory()
        let (target, refused) = (directory.url("x/y.txt"), try #require(URL(string: "https://example.com/x")))
        let sink = try prepare(
            .custom { temporaryURL, response in
                let text = (try? Data(contentsOf: temporaryURL)).map { String(decoding: $0, as: UTF8.self) }
                guard text == "body", response.statusCode == 200 else { return (refused, []) }
                return (target, [.createIntermediateDirectories])
            })
        try exchange(sink, try response(200, [:]), "body")
        #expect(try sink.complete() == .file(target))
        #expect(directory.text("x/y.txt") == "body")
        #expect(directory.mode("x/y.txt").map { $0 & 0o400 } == 0o400)
    }

    @Test func `the destination of a closure is checked and can be selected again`() throws {
        let directory = try TestDirectory()
        try directory.write("old", to: "a")
        let missing = directory.url("no/where")
        for (url, reason) in [
            (directory.url("a"), .destinationExists(path: directory.path("a"))),
            (directory.url, .destinationIsDirectory(path: directory.path)),
            (missing, .cannotCreateFile(path: directory.path("no/where"))),
            (try #require(URL(string: "https://example.com/")), .destinationInvalid("https://example.com/")),
        ] as [(URL, RequestError.DownloadReason)] {
            let sink = try prepare(.custom { _, _ in (url, []) })
            try exchange(sink, try response(200, Self.tagged), "0123456789")
            #expect(downloadReason { _ = try sink.complete() } == reason)
            let data = try #require(sink.interrupted())
            let path = try ResumeData(decoding: data).path
            #expect(FileSystem.status(path, followingLinks: false)?.size == 10)
            FileSystem.remove(path)
            FileSystem.remove(path + ".resume")
        }
        #expect(directory.text("a") == "old" && directory.names == ["a"])
    }
}
