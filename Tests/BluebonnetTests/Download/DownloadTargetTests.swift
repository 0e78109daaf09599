import BluebonnetTesting
import FoundationEssentials
import Glibc
import Testing

@testable import Bluebonnet

/// What may be wrong with a destination is known before anything is fetched.
@Suite struct DownloadTargetTests {
    @Test func `an existing file is refused unless it may be replaced`() throws {
        let directory = try TestDirectory()
        try directory.write("old", to: "a.txt")
        let path = directory.path("a.txt")
        #expect(reason(.file(directory.url("a.txt"))) == .destinationExists(path: path))
        #expect(throws: Never.self) {
            try DownloadTarget(.file(directory.url("a.txt"), options: .removePreviousFile))
        }
    }

    @Test func `an existing link counts as a file`() throws {
        let directory = try TestDirectory()
        try FileManager.default.createSymbolicLink(
            atPath: directory.path("dangling"), withDestinationPath: directory.path("nowhere"))
        try FileManager.default.createSymbolicLink(
            atPath: directory.path("directory"), withDestinationPath: directory.path)
        #expect(reason(.file(directory.url("dangling"))) == .destinationExists(path: directory.path("dangling")))
        let url = directory.url("directory")
        #expect(
            reason(.file(url, options: .removePreviousFile))
                == .destinationIsDirectory(path: directory.path("directory")))
    }

    @Test(arguments: [[], .removePreviousFile] as [DownloadOptions])
    func `a directory is never replaced`(_ options: DownloadOptions) throws {
        let directory = try TestDirectory()
        try directory.makeDirectory("d")
        let path = directory.path("d")
        for url in [directory.url("d"), URL(filePath: path, directoryHint: .isDirectory)] {
            #expect(reason(.file(url, options: options)) == .destinationIsDirectory(path: path))
        }
        #expect(reason(.file(URL(filePath: "/"), options: options)) == .destinationIsDirectory(path: "/"))
        #expect(reason(.file(directory.url(".."), options: options)) != nil)
    }

    /// A superuser could replace a device by a file.
    ///
    /// All that replaces files is tried: downloads, cookies, archives.
    @Test(arguments: ["pipe", "link", "null"])
    func `a device or a pipe is never replaced`(_ name: String) async throws {
        let directory = try TestDirectory()
        #expect(unsafe mkfifo(directory.path("pipe"), 0o600) == 0)
        for (link, target) in [("link", directory.path("pipe")), ("null", "/dev/null")] {
            try FileManager.default.createSymbolicLink(atPath: directory.path(link), withDestinationPath: target)
        }
        let names = directory.names
        let (url, path) = (directory.url(name), directory.path(name))
        for options in [[], .removePreviousFile] as [DownloadOptions] {
            #expect(reason(.file(url, options: options)) == .cannotCreateFile(path: path))
        }
        let session = Session(transport: StubTransport { _ in .text("a") })
        await #expect(throws: RequestError.self) { try await session.cookies.save(to: url) }
        await #expect(throws: RequestError.self) { try await HARRecorder(CurlTransport()).save(to: url) }
        await session.shutdown()
        #expect(FileSystem.status(path, followingLinks: true)?.isSpecial == true && directory.names == names)
    }

    @Test(arguments: ["https://example.com/a", "file:///tmp/a%00b", "data:,x"])
    func `a URL that is not a file URL is refused`(_ text: String) throws {
        let url = try #require(URL(string: text))
        #expect(reason(.file(url)) == .destinationInvalid(url.absoluteString))
        #expect(reason(.directory(url)) == .destinationInvalid(url.absoluteString))
    }

    @Test func `a missing directory is created only if this is enabled`() throws {
        let directory = try TestDirectory()
        let path = directory.path("x/y/z.txt")
        #expect(reason(.file(directory.url("x/y/z.txt"))) == .cannotCreateFile(path: path))
        #expect(reason(.directory(directory.url("x/y"))) == .cannotCreateFile(path: directory.path("x/y")))
        #expect(directory.names.isEmpty)
        _ = try DownloadTarget(.file(directory.url("x/y/z.txt"), options: .createIntermediateDirectories))
        _ = try DownloadTarget(.directory(directory.url("p/q"), options: .createIntermediateDirectories))
        #expect(FileSystem.status(directory.path("x/y"), followingLinks: false)?.isDirectory == true)
        #expect(FileSystem.status(directory.path("p/q"), followingLinks: false)?.isDirectory == true)
    }

    @Test func `the error contains the system's error`() throws {
        let directory = try TestDirectory()
        do {
            _ = try DownloadTarget(.file(directory.url("x/y")))
            Issue.record("nothing was thrown")
        } catch {
            #expect(error.detail == "No such file or directory")
            #expect("\(error)".contains("cannot be made"))
        }
    }

    @Test(arguments: [[], .createIntermediateDirectories] as [DownloadOptions])
    func `a directory below a file cannot be created`(_ options: DownloadOptions) throws {
        let directory = try TestDirectory()
        try directory.write("x", to: "f")
        #expect(reason(.file(directory.url("f/a"), options: options)) == .cannotCreateFile(path: directory.path("f/a")))
        #expect(
            reason(.file(directory.url("f/b/a"), options: options)) == .cannotCreateFile(path: directory.path("f/b/a")))
        #expect(
            reason(.directory(directory.url("f"), options: options)) == .cannotCreateFile(path: directory.path("f")))
    }

    @Test func `a file with a name that is too long cannot be created`() throws {
        let directory = try TestDirectory()
        let url = directory.url(String(repeating: "x", count: 300) + "/a")
        #expect(reason(.file(url, options: .createIntermediateDirectories)) != nil)
    }

    @Test func `no partial file can be created in a read-only directory`() throws {
        let directory = try TestDirectory()
        try directory.makeReadOnly()
        let file = try DownloadTarget(.file(directory.url("a")))
        #expect(downloadReason { _ = try file.openPartialFile() } == .cannotCreateFile(path: directory.path(".a.part")))
        let any = try DownloadTarget(.directory(directory.url))
        guard case .cannotCreateFile = downloadReason({ _ = try any.openPartialFile() }) else {
            return #expect(Bool(false))
        }
        #expect(
            reason(.file(directory.url("x/a"), options: .createIntermediateDirectories))
                == .cannotCreateFile(path: directory.path("x/a")))
        #expect(directory.names.isEmpty)
    }

    private func reason(_ destination: DownloadDestination) -> RequestError.DownloadReason? {
        downloadReason { _ = try DownloadTarget(destination) }
    }
}
