import FoundationEssentials
import Glibc
import Testing

@testable import Bluebonnet

@Suite struct FileSystemTests {
    @Test(arguments: [
        ("/a/b", "/a", "b"), ("/a", "/", "a"), ("/", "/", ""), ("/a/b/", "/a", "b"), ("/a//b", "/a", "b"),
        ("//", "/", ""), ("/a b/ü", "/a b", "ü"), ("a", ".", "a"), ("/a/b///", "/a", "b"),
    ])
    func `a path is split at its last slash`(_ path: String, parent: String, name: String) {
        #expect(FileSystem.parent(of: path) == parent && FileSystem.name(of: path) == name)
    }

    @Test func `a path is joined with one slash`() {
        #expect(FileSystem.path("b", in: "/a") == "/a/b" && FileSystem.path("b", in: "/") == "/b")
    }

    @Test func `an existing name is not used again`() throws {
        let directory = try TestDirectory()
        try directory.write("one", to: "a")
        try directory.write("other", to: "b")
        try directory.makeDirectory("d")
        for name in ["b", "d"] {
            #expect(throws: SystemError(EEXIST)) {
                try FileSystem.renameWithoutReplacing(directory.path("a"), to: directory.path(name))
            }
        }
        #expect(directory.text("a") == "one" && directory.text("b") == "other")
        try FileSystem.renameWithoutReplacing(directory.path("a"), to: directory.path("c"))
        #expect(directory.text("c") == "one" && directory.names == ["b", "c", "d"])
    }

    @Test func `missing directories are created, even by several tasks at the same time`() async throws {
        let directory = try TestDirectory()
        let path = directory.path("a/b/c/d")
        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask { #expect(throws: Never.self) { try FileSystem.makeDirectories(path) } }
            }
        }
        #expect(FileSystem.status(path, followingLinks: false)?.isDirectory == true)
        try directory.write("x", to: "f")
        #expect(throws: SystemError(ENOTDIR)) { try FileSystem.makeDirectories(directory.path("f")) }
    }

    @Test(.timeLimit(.minutes(10)))
    func `simultaneous downloads with the same suggested name have separate files`() async throws {
        let directory = try TestDirectory()
        let destination = DownloadDestination.directory(directory.url)
        let url = try #require(URL(string: "https://example.com/a.txt"))
        let files = await withTaskGroup { group in
            for index in 0..<16 {
                group.addTask { () -> String? in
                    let request = HTTPRequest(url: url)
                    guard let sink = try? DownloadFile.prepare(destination, for: request) else { return nil }
                    _ = sink.fields(for: request)
                    _ = sink.headReceived(HTTPResponse(url: url, statusCode: 200))
                    guard (try? sink.write(Data("\(index)".utf8))) != nil, case .file(let file) = try? sink.complete(),
                        let body = try? Data(contentsOf: file)
                    else { return nil }
                    return String(decoding: body, as: UTF8.self)
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(Set(files) == Set((0..<16).map { "\($0)" }))
        #expect(Set(directory.names) == Set(["a.txt"] + (2...16).map { "a \($0).txt" }))
    }
}
