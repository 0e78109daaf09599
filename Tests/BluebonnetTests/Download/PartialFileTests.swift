import FoundationEssentials
import Glibc
import Testing

@testable import Bluebonnet

@Suite struct PartialFileTests {
    // MARK: Opening

    @Test func `a partial file is next to its destination, and its description is readable by its owner only`() throws {
        let directory = try TestDirectory()
        let partial = try #require(try PartialFile.named(".a.part", in: directory.path))
        try partial.restart(try sample(partial))
        #expect(directory.names == [".a.part", ".a.part.resume"])
        #expect(directory.mode(".a.part.resume") == 0o600)
        #expect(partial.size == 0 && partial.keep() == nil)
    }

    @Test func `the description of a partial file is stored before the body`() throws {
        let directory = try TestDirectory()
        let partial = try #require(try PartialFile.named(".a.part", in: directory.path))
        let data = try sample(partial)
        try partial.restart(data)
        #expect(ResumeSidecar(besides: partial.path).read() == data)
        #expect(directory.text(".a.part")?.isEmpty == true)
    }

    @Test func `two downloads to one destination do not write to the same file`() throws {
        let directory = try TestDirectory()
        let target = try DownloadTarget(.file(directory.url("a")))
        let (one, other) = (try target.openPartialFile(), try target.openPartialFile())
        #expect(one.path != other.path && FileSystem.parent(of: other.path) == directory.path)
        try one.write(Data("one".utf8))
        try other.write(Data("other".utf8))
        #expect(try target.place(one, try response()) == directory.path("a"))
        #expect(
            downloadReason { _ = try target.place(other, try response()) }
                == .destinationExists(path: directory.path("a")))
        #expect(directory.text("a") == "one")
    }

    @Test func `a closed partial file is resumed`() throws {
        let directory = try TestDirectory()
        try write("half", named: ".a.part", in: directory.path)
        let taken = try reopened(".a.part", in: directory.path)
        #expect(taken.size == 4 && taken.resumeData != nil)
    }

    /// Files that may exist under a name that others can guess.
    enum Trap: CaseIterable {
        case directory, link, dangling, pipe, secondName
    }

    @Test(arguments: Trap.allCases)
    func `a foreign object at the path of a partial file is not changed`(_ trap: Trap) throws {
        let directory = try TestDirectory()
        try directory.write("precious", to: "victim")
        let path = directory.path(".a.part")
        switch trap {
        case .directory: try directory.makeDirectory(".a.part")
        case .link:
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: directory.path("victim"))
        case .dangling:
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: directory.path("new"))
        case .pipe: #expect(unsafe mkfifo(path, 0o600) == 0)
        case .secondName: #expect(unsafe link(directory.path("victim"), path) == 0)
        }
        #expect(try PartialFile.named(".a.part", in: directory.path) == nil)
        let partial = try DownloadTarget(.file(directory.url("a"))).openPartialFile()
        #expect(partial.path != path)
        try partial.write(Data("body".utf8))
        #expect(directory.text("victim") == "precious" && !directory.names.contains("new"))
    }

    @Test(arguments: ["junk", "", "{\"version\":1}"])
    func `a partial file without a valid description is not resumed`(_ text: String) throws {
        let directory = try TestDirectory()
        try write("half", named: ".a.part", in: directory.path)
        try directory.write(text, to: ".a.part.resume")
        let taken = try reopened(".a.part", in: directory.path)
        #expect(taken.size == 4 && taken.resumeData == nil && taken.keep() == nil)
    }

    @Test func `a description that is a link is not read`() throws {
        let directory = try TestDirectory()
        try write("half", named: ".a.part", in: directory.path)
        try FileSystem.rename(directory.path(".a.part.resume"), to: directory.path("elsewhere"))
        try FileManager.default.createSymbolicLink(
            atPath: directory.path(".a.part.resume"), withDestinationPath: directory.path("elsewhere"))
        #expect(try PartialFile.named(".a.part", in: directory.path)?.resumeData == nil)
    }

    // MARK: Resume data

    @Test func `resume data finds its file`() throws {
        let directory = try TestDirectory()
        let data = try write("half", named: ".a.part", in: directory.path)
        #expect(data.bytes == 4)
        let partial = try #require(PartialFile.left(by: data))
        #expect(partial.size == 4)
        #expect(PartialFile.left(by: data) == nil, "it is in use")
    }

    @Test func `resume data of a restarted file is not used`() throws {
        let directory = try TestDirectory()
        let old = try write("half", named: ".a.part", in: directory.path)
        let new = try write("other", named: ".a.part", in: directory.path)
        #expect(PartialFile.left(by: old) == nil)
        #expect(PartialFile.left(by: new)?.size == 5)
    }

    @Test func `the partial file of an earlier process is found next to the destination`() throws {
        let directory = try TestDirectory()
        #expect(ResumeData.left(beside: directory.url("a")) == nil)
        try write("half", named: ".a.part", in: directory.path)
        let found = try #require(ResumeData.left(beside: directory.url("a")))
        #expect(found.bytes == 4 && found.path == directory.path(".a.part"))
        // The current length of the file counts, not the recorded length.
        #expect(unsafe truncate(directory.path(".a.part"), 3) == 0)
        #expect(ResumeData.left(beside: directory.url("a"))?.bytes == 3)
        #expect(unsafe truncate(directory.path(".a.part"), 0) == 0)
        #expect(ResumeData.left(beside: directory.url("a")) == nil)
    }

    // MARK: Moving

    @Test func `the complete file has its name and no other file is left`() throws {
        let directory = try TestDirectory()
        let partial = try partial("body", in: directory.path)
        try partial.move(to: directory.path("a"), replacing: false)
        #expect(directory.names == ["a"] && directory.text("a") == "body")
    }

    @Test func `a file that appears meanwhile stays, and the partial file stays`() throws {
        let directory = try TestDirectory()
        let partial = try partial("body", in: directory.path)
        try directory.write("theirs", to: "a")
        #expect(
            downloadReason { try partial.move(to: directory.path("a"), replacing: false) }
                == .destinationExists(path: directory.path("a")))
        #expect(directory.text("a") == "theirs" && directory.text(".a.part") == "body" && partial.keep() != nil)
        try partial.move(to: directory.path("a"), replacing: true)
        #expect(directory.text("a") == "body" && directory.names == ["a"])
    }

    @Test(arguments: [true, false])
    func `a directory that appears meanwhile stays`(_ isReplacing: Bool) throws {
        let directory = try TestDirectory()
        let partial = try partial("body", in: directory.path)
        try directory.makeDirectory("a")
        #expect(
            downloadReason { try partial.move(to: directory.path("a"), replacing: isReplacing) }
                == .destinationIsDirectory(path: directory.path("a")))
        #expect(partial.keep() != nil && directory.text(".a.part") == "body")
    }

    @Test func `replacing a link does not change its target`() throws {
        let directory = try TestDirectory()
        try directory.write("precious", to: "b")
        try FileManager.default.createSymbolicLink(
            atPath: directory.path("a"), withDestinationPath: directory.path("b"))
        try partial("body", in: directory.path).move(to: directory.path("a"), replacing: true)
        #expect(directory.text("a") == "body" && directory.text("b") == "precious")
    }

    @Test func `a removed directory is a clear error`() throws {
        let directory = try TestDirectory()
        try directory.makeDirectory("d")
        let partial = try partial("body", in: directory.path("d"))
        try FileManager.default.removeItem(atPath: directory.path("d"))
        try partial.write(Data("more".utf8))
        do {
            try partial.move(to: directory.path("d/a"), replacing: false)
            Issue.record("nothing was thrown")
        } catch {
            #expect(error.kind == .download(.cannotMoveFile(from: partial.path, to: directory.path("d/a"))))
            #expect(error.detail == "No such file or directory")
        }
    }

    @Test func `a partial file that was replaced is not treated as the body`() throws {
        let directory = try TestDirectory()
        let partial = try partial("body", in: directory.path)
        try directory.write("forged", to: "forged")
        try FileSystem.rename(directory.path("forged"), to: partial.path)
        #expect(
            downloadReason { try partial.move(to: directory.path("a"), replacing: false) }
                == .cannotMoveFile(from: partial.path, to: directory.path("a")))
        partial.discard()
        #expect(directory.names == [".a.part"])
    }

    @Test func `a directory that became read-only keeps the partial file`() throws {
        let directory = try TestDirectory()
        let partial = try partial("body", in: directory.path)
        try directory.makeReadOnly()
        #expect(
            downloadReason { try partial.move(to: directory.path("a"), replacing: false) }
                == .cannotMoveFile(from: partial.path, to: directory.path("a")))
        #expect(directory.text(".a.part") == "body" && partial.keep() != nil)
        directory.makeWritable()
        try partial.move(to: directory.path("a"), replacing: false)
        #expect(directory.names == ["a"])
    }

    @Test(arguments: [true, false])
    func `the body is copied to another file system`(_ isReplacing: Bool) throws {
        let source = try TestDirectory()
        let target = try TestDirectory(in: "/dev/shm")
        let devices = [source.path, target.path].map { FileSystem.status($0, followingLinks: true)?.identity.device }
        try #require(devices[0] != devices[1], "the machine has one file system only")
        let partial = try partial(String(repeating: "0123456789", count: 300_000), in: source.path)
        if isReplacing {
            try target.write("old", to: "a")
        } else {
            try target.write("theirs", to: "b")
            #expect(
                downloadReason { try partial.move(to: target.path("b"), replacing: false) }
                    == .destinationExists(path: target.path("b")))
            #expect(target.text("b") == "theirs")
        }
        try partial.move(to: target.path("a"), replacing: isReplacing)
        #expect(source.names.isEmpty && target.text("a")?.count == 3_000_000)
        #expect(target.names.filter { $0.hasPrefix(".") }.isEmpty)
    }

    @Test func `the file has default permissions, and a temporary file is readable by its owner only`() throws {
        let directory = try TestDirectory()
        try directory.write("x", to: "new")
        let usual = directory.mode("new")
        // Beside its destination from the start, and from a place where others look.
        for (index, mode) in [0o666, 0o600].enumerated() {
            let partial = try PartialFile.unique(in: directory.path, mode: mode_t(mode))
            try partial.move(to: directory.path("\(index)"), replacing: false)
            #expect(directory.mode("\(index)") == usual)
        }
        let partial = try PartialFile.unique(in: directory.path, mode: 0o666)
        try partial.move(to: directory.path("private"), replacing: false, isPrivate: true)
        #expect(directory.mode("private") == 0o600)
        #expect(directory.names == ["0", "1", "new", "private"])
    }

    // MARK: Full disks

    @Test func `a full disk is a clear error and the written bytes stay`() throws {
        let directory = try TestDirectory()
        guard directory.mountSmallDisk() else { return try fullDevice() }
        let partial = try partial("", in: directory.path)
        let piece = Data(repeating: 0x61, count: 100_000)
        var written = 0
        do {
            for _ in 0..<10 {
                try partial.write(piece)
                written += 1
            }
            Issue.record("the disk is not full")
        } catch {
            #expect(error.kind == .download(.cannotWriteFile(path: partial.path)))
            #expect(error.detail == "No space left on device" && error.underlying == nil)
        }
        #expect(written == 2 && partial.size > 200_000, "the piece that found no room is there in part")
        let status = FileSystem.status(partial.path, followingLinks: false)
        #expect(status?.size == partial.size)
        let data = try ResumeData(decoding: try #require(partial.keep()))
        #expect(data.bytes == partial.size)
    }

    /// Without the right to make a small disk, a device that is always full is used.
    private func fullDevice() throws {
        let file = try OpenFile.writing("/dev/full")
        var position: Int64 = 0
        #expect(throws: SystemError(ENOSPC)) { try file.write(Data("x".utf8), at: &position) }
        #expect(position == 0)
    }

    @Test(.timeLimit(.minutes(10)))
    func `a limit of the file size is a clear error and the written bytes stay`() async {
        // This affects the whole process, so the test has its own process.
        await #expect(processExitsWith: .success) {
            signal(SIGXFSZ, SIG_IGN)
            var limit = rlimit()
            #expect(unsafe getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0)
            limit.rlim_cur = 150_000
            #expect(unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0)
            let directory = try TestDirectory()
            let partial = try PartialFile.unique(in: directory.path, mode: 0o666)
            try partial.write(Data(repeating: 0x61, count: 100_000))
            #expect(
                downloadReason { try partial.write(Data(repeating: 0x61, count: 100_000)) }
                    == .cannotWriteFile(path: partial.path))
            #expect(partial.size == 150_000)
        }
    }

    @Test func `the download continues if the description of the partial file cannot be written`() throws {
        let directory = try TestDirectory()
        let partial = try #require(try PartialFile.named(".a.part", in: directory.path))
        // A directory of that name is in the way.
        try directory.makeDirectory(".a.part.resume")
        try directory.write("x", to: ".a.part.resume/x")
        try partial.restart(try sample(partial))
        try partial.write(Data("body".utf8))
        #expect(partial.keep() == nil)
        try partial.move(to: directory.path("a"), replacing: false)
        #expect(directory.text("a") == "body" && !directory.names.contains(".a.part.resume.new"))
    }

    // MARK: Helpers

    /// Writes a partial file like a process that ends afterwards, and returns the remaining files.
    @discardableResult
    private func write(_ text: String, named name: String, in directory: String) throws -> ResumeData {
        let partial = try #require(try PartialFile.named(name, in: directory))
        try partial.restart(try sample(partial))
        try partial.write(Data(text.utf8))
        return try ResumeData(decoding: try #require(partial.keep()))
    }

    private func partial(_ text: String, in directory: String) throws -> PartialFile {
        let partial = try #require(try PartialFile.named(".a.part", in: directory))
        try partial.restart(try sample(partial))
        try partial.write(Data(text.utf8))
        return partial
    }

    /// Opens a partial file that was closed.
    ///
    /// A program that another test starts has all descriptors, and so the file's lock, until it is itself: that is waited for.
    private func reopened(_ name: String, in directory: String) throws -> PartialFile {
        for _ in 0..<100 {
            if let partial = try PartialFile.named(name, in: directory) { return partial }
            let descriptor = unsafe open(FileSystem.path(name, in: directory), O_RDWR | O_CLOEXEC)
            try #require(descriptor >= 0 && flock(descriptor, LOCK_EX) == 0)
            close(descriptor)
        }
        throw TestFailure("the lock of \(name) is held")
    }

    private func sample(_ partial: PartialFile) throws -> ResumeData {
        ResumeData(
            id: FileName.token(), url: try #require(URL(string: "https://example.com/a")), headers: [:],
            validator: .entityTag("\"a\""), total: nil, path: partial.path, bytes: 0)
    }

    private func response() throws -> HTTPResponse {
        HTTPResponse(url: try #require(URL(string: "https://example.com/a")), statusCode: 200)
    }
}
