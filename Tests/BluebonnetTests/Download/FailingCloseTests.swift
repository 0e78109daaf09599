import FoundationEssentials
import Glibc
import Testing

@testable import Bluebonnet

/// Files that are written before they replace another file.
///
/// If closing such a file reports an error, it does not replace the other file.
@Suite(.timeLimit(.minutes(10))) struct FailingCloseTests {
    @Test func `closing a file throws the system's error`() async {
        await #expect(processExitsWith: .success) {
            let directory = try TestDirectory()
            guard await FailingClose.begin() else { return }
            let file = try OpenFile.creating(directory.path("a"), mode: 0o600)
            do throws(SystemError) {
                try file.close()
                preconditionFailure("nothing was thrown")
            } catch {
                precondition(error.code == EIO)
            }
        }
    }

    @Test func `a cookie file that was not stored does not replace the old file`() async {
        await #expect(processExitsWith: .success) {
            let directory = try TestDirectory()
            try directory.write("old", to: "cookies.txt")
            guard await FailingClose.begin() else { return }
            do throws(RequestError) {
                try CookieFile(directory.url("cookies.txt")).write([Cookie(name: "a", value: "1", domain: "a.test")])
                preconditionFailure("nothing was thrown")
            } catch {
                precondition(error.kind == .cookies(.fileUnwritable(path: directory.path("cookies.txt"))))
                precondition(error.detail == "Input/output error")
            }
            precondition(directory.text("cookies.txt") == "old" && directory.names == ["cookies.txt"])
        }
    }

    @Test func `a cached response that was not stored is not used, and neither is the response it replaces`() async {
        await #expect(processExitsWith: .success) {
            let directory = try TestDirectory()
            let store = DiskStore(directory: directory.path, capacity: 1 << 20)
            let request = try CacheFixtures.request()
            let (old, new) = (try CacheFixtures.stored([:], body: "old"), try CacheFixtures.stored([:], body: "new"))
            precondition(store.store(old, for: request.key) == true)
            while store.isScanning { await Task.yield() }
            guard await FailingClose.begin() else { return }
            precondition(store.store(new, for: request.key) == false)
            precondition(store.failures == 1 && directory.files.isEmpty)
        }
    }

    @Test func `a download's description that was not stored does not replace the old description`() async {
        await #expect(processExitsWith: .success) {
            let directory = try TestDirectory()
            let path = directory.path(".a.part")
            try directory.write("old", to: ".a.part.resume")
            let data = ResumeData(
                id: FileName.token(), url: try #require(URL(string: "https://example.com/a")), headers: [:],
                validator: .entityTag("\"a\""), total: nil, path: path, bytes: 0)
            guard await FailingClose.begin() else { return }
            do throws(SystemError) {
                try ResumeSidecar(besides: path).write(data)
                preconditionFailure("nothing was thrown")
            } catch {
                precondition(error.code == EIO)
            }
            precondition(directory.text(".a.part.resume") == "old" && directory.names == [".a.part.resume"])
        }
    }

    @Test func `a download that was copied and not stored leaves the old file, and can be resumed`() async {
        await #expect(processExitsWith: .success) {
            let source = try TestDirectory()
            let target = try TestDirectory(in: "/dev/shm")
            let partial = try #require(try PartialFile.named(".a.part", in: source.path))
            try partial.write(Data("body".utf8))
            try target.write("old", to: "a")
            guard await FailingClose.begin() else { return }
            do throws(RequestError) {
                try partial.move(to: target.path("a"), replacing: true)
                preconditionFailure("nothing was thrown")
            } catch {
                precondition(
                    error.kind == .download(.cannotMoveFile(from: partial.path, to: target.path("a"))), "\(error)")
            }
            precondition(target.text("a") == "old" && target.names == ["a"])
            precondition(source.text(".a.part") == "body")
        }
    }
}
