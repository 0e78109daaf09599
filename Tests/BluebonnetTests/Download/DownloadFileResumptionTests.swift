import FoundationEssentials
import Glibc
import TestSupport
import Testing

@testable import Bluebonnet

/// How a download resumes the partial file of another.
@Suite struct DownloadFileResumptionTests: DownloadFileFixture {
    // MARK: Going on

    @Test func `resume data continues at the end of the download`() throws {
        let directory = try TestDirectory()
        let data = try half(.file(directory.url("a")))
        let sink = try prepare(.file(directory.url("a")), data)
        #expect(sink.completed == 4 && sink.canResume)
        #expect(
            sink.fields(for: request)
                == ["Range": "bytes=4-", "If-Range": "\"a\"", "Accept-Encoding": "identity"])
        #expect(sink.headReceived(try response(206, ["Content-Range": "bytes 4-9/10"])).isWrite)
        #expect(sink.total == 10)
        try write("45", "6789", to: sink)
        #expect(sink.fetched == 6 && sink.completed == 10)
        #expect(try sink.complete() == .file(directory.url("a")))
        #expect(directory.text("a") == "0123456789" && directory.names == ["a"])
    }

    @Test func `resume data is valid at once although its download is still in memory`() throws {
        let directory = try TestDirectory()
        let ended = try prepare(.file(directory.url("a")))
        try exchange(ended, try response(200, Self.tagged), "0123")
        let data = try #require(ended.interrupted())
        let sink = try prepare(.file(directory.url("a")), data)
        #expect(sink.completed == 4 && sink.canResume)
        withExtendedLifetime(ended) {}
    }

    @Test func `resume data can be used for another destination`() throws {
        let one = try TestDirectory()
        let other = try TestDirectory()
        let data = try half(.file(one.url("a")))
        let sink = try prepare(.directory(other.url), data)
        _ = sink.fields(for: request)
        _ = sink.headReceived(
            try response(206, ["Content-Range": "bytes 4-9/10", "Content-Disposition": "attachment; filename=b.txt"]))
        try write("456789", to: sink)
        #expect(try sink.complete() == .file(other.url("b.txt")))
        #expect(other.text("b.txt") == "0123456789" && one.names.isEmpty)
    }

    @Test func `a whole file from the server replaces the partial file`() throws {
        let directory = try TestDirectory()
        let sink = try prepare(.file(directory.url("a")), try half(.file(directory.url("a"))))
        _ = sink.fields(for: request)
        #expect(sink.headReceived(try response(200, ["ETag": "\"b\""])).isWrite)
        #expect(sink.completed == 4, "a validator may still refuse the response")
        try write("abc", to: sink)
        #expect(sink.completed == 3)
        #expect(try ResumeData(decoding: try #require(sink.resumeData)).validator == .entityTag("\"b\""))
        _ = try sink.complete()
        #expect(directory.text("a") == "abc")
    }

    @Test func `the next exchange requests the whole file after an unusable response`() throws {
        let directory = try TestDirectory()
        let sink = try prepare(.file(directory.url("a")), try half(.file(directory.url("a"))))
        _ = sink.fields(for: request)
        #expect(sink.headReceived(try response(206, ["Content-Range": "bytes 5-9/10"])).isSendAgain)
        #expect(!sink.canResume && sink.resumeData != nil)
        for _ in 0..<2 {
            // This also applies after an exchange without a response head.
            #expect(sink.fields(for: request) == ["Accept-Encoding": "identity"])
        }
        #expect(sink.headReceived(try response(200, Self.tagged)).isWrite)
        try write("abc", to: sink)
        #expect(sink.canResume)
        #expect(sink.fields(for: request)["Range"] == "bytes=3-")
    }

    @Test func `a server can confirm that no bytes are missing`() throws {
        let directory = try TestDirectory()
        // The length is known: the last byte is fetched again.
        let known = try prepare(
            .file(directory.url("a")), try half(.file(directory.url("a")), "0123456789", Self.tagged))
        #expect(known.fields(for: request)["Range"] == "bytes=9-")
        #expect(known.headReceived(try response(206, ["Content-Range": "bytes 9-9/10"])).isWrite)
        try write("9", to: known)
        #expect(try known.complete() == .file(directory.url("a")))
        #expect(directory.text("a") == "0123456789")
        // It is not: the server has nothing beyond.
        let unknown = try prepare(
            .file(directory.url("b")), try half(.file(directory.url("b")), "0123456789", ["ETag": "\"a\""]))
        #expect(unknown.fields(for: request)["Range"] == "bytes=10-")
        guard case .complete = unknown.headReceived(try response(416, ["Content-Range": "bytes */10"])) else {
            return #expect(Bool(false))
        }
        #expect(try unknown.complete() == .file(directory.url("b")))
        #expect(directory.names == ["a", "b"] && directory.text("b") == "0123456789")
    }

    @Test func `the rest is requested again if a server sends less than requested`() throws {
        let directory = try TestDirectory()
        let sink = try prepare(.file(directory.url("a")), try half(.file(directory.url("a"))))
        for (range, piece) in [("4-6", "456"), ("7-8", "78"), ("9-9", "9")] {
            #expect(sink.fields(for: request)["Range"] == "bytes=\(range.prefix(1))-")
            #expect(sink.headReceived(try response(206, ["Content-Range": "bytes \(range)/10"])).isWrite)
            try write(piece, to: sink)
            #expect(try sink.complete() == (range == "9-9" ? .file(directory.url("a")) : .sendAgain))
        }
        #expect(directory.text("a") == "0123456789")
    }

    @Test func `a part with a wrong length is an error and can be resumed`() throws {
        let directory = try TestDirectory()
        let sink = try prepare(.file(directory.url("a")), try half(.file(directory.url("a"))))
        _ = sink.fields(for: request)
        _ = sink.headReceived(try response(206, ["Content-Range": "bytes 4-9/10"]))
        try write("45", to: sink)
        #expect(throws: (any Error).self) { try sink.write(Data("67890".utf8)) }
        do {
            _ = try sink.complete()
            Issue.record("nothing was thrown")
        } catch {
            #expect(error.kind == .invalidResponse(.truncated))
        }
        #expect(sink.canResume && sink.fields(for: request)["Range"] == "bytes=6-")
    }

    @Test(arguments: [401, 404, 503])
    func `another status is refused and the partial file stays`(_ status: Int) throws {
        let directory = try TestDirectory()
        let sink = try prepare(.file(directory.url("a")), try half(.file(directory.url("a"))))
        _ = sink.fields(for: request)
        #expect(
            sink.headReceived(try response(status, [:])).refusal == .download(.cannotResume(statusCode: status)))
        #expect(sink.canResume && sink.interrupted() != nil)
        #expect(directory.text(".a.part") == "0123")
    }

    @Test(arguments: [true, false])
    func `the next attempt resumes only with automatic resumption`(_ isAutomatic: Bool) throws {
        let directory = try TestDirectory()
        let sink = try prepare(.file(directory.url("a"), options: isAutomatic ? .automaticallyResume : []))
        try exchange(sink, try response(200, Self.tagged), "0123")
        #expect(sink.canResume == isAutomatic && sink.resumeData != nil)
        #expect(sink.fields(for: request)["Range"] == (isAutomatic ? "bytes=4-" : nil))
        _ = sink.headReceived(
            isAutomatic ? try response(206, ["Content-Range": "bytes 4-9/10"]) : try response(200, Self.tagged))
        try write(isAutomatic ? "456789" : "0123456789", to: sink)
        _ = try sink.complete()
        #expect(directory.text("a") == "0123456789")
    }

    // MARK: Resume data that is of no use

    @Test func `random bytes are refused before any file is changed`() throws {
        let directory = try TestDirectory()
        #expect(
            downloadReason { _ = try prepare(.file(directory.url("a")), Data("junk".utf8)) } == .resumeDataInvalid)
        #expect(directory.names.isEmpty)
    }

    @Test func `resume data of a missing file downloads the whole file`() throws {
        let directory = try TestDirectory()
        let data = try half(.file(directory.url("a")))
        for name in directory.names { FileSystem.remove(directory.path(name)) }
        let sink = try prepare(.file(directory.url("a")), data)
        #expect(!sink.canResume && sink.fields(for: request)["Range"] == nil)
        _ = sink.headReceived(try response(200, Self.tagged))
        try write("0123", to: sink)
        #expect(sink.canResume, "who resumed once means it")
    }

    @Test func `resume data does not open other files`() throws {
        let directory = try TestDirectory()
        try directory.write("precious", to: ".x.part")
        let data = try ResumeData(decoding: try half(.file(directory.url("a"))))
        var forged = data
        forged.path = directory.path(".x.part")
        let sink = try prepare(.file(directory.url("b")), forged.encoded())
        try exchange(sink, try response(200, Self.tagged), "0123456789")
        _ = try sink.complete()
        #expect(directory.text(".x.part") == "precious" && directory.text("b") == "0123456789")
    }

    @Test func `resume data of a running download does not affect it`() throws {
        let directory = try TestDirectory()
        let running = try prepare(.file(directory.url("a"), options: .automaticallyResume))
        try exchange(running, try response(200, Self.tagged), "0123")
        let data = try #require(running.resumeData)
        let other = try prepare(.file(directory.url("b")), data)
        #expect(!other.canResume)
        try exchange(other, try response(200, Self.tagged), "abcdefghij")
        _ = try other.complete()
        try write("456789", to: running)
        _ = try running.complete()
        #expect(directory.text("a") == "0123456789" && directory.text("b") == "abcdefghij")
    }

    // MARK: What an earlier process left

    @Test func `a partial file of the same URL is resumed if this is enabled`() throws {
        let directory = try TestDirectory()
        _ = try half(.file(directory.url("a")))
        let other = HTTPRequest(url: try #require(URL(string: "https://example.com/other")))
        let destination = DownloadDestination.file(directory.url("a"), options: .automaticallyResume)
        do {
            let plain = try prepare(.file(directory.url("a")))
            #expect(plain.fields(for: request)["Range"] == nil && plain.resumeData == nil && !plain.canResume)
            #expect(plain.interrupted() == nil)
        }
        do {
            let sink = try DownloadFile.prepare(destination, for: other)
            #expect(sink.fields(for: other)["Range"] == nil && sink.resumeData == nil)
        }
        #expect(directory.text(".a.part") == "0123", "downloads that brought nothing have not touched it")
        let sink = try prepare(destination)
        #expect(sink.fields(for: request)["Range"] == "bytes=4-")
    }

    @Test func `a leftover partial file is emptied by a download that does not resume it`() throws {
        let directory = try TestDirectory()
        _ = try half(.file(directory.url("a")))
        let sink = try prepare(.file(directory.url("a")))
        try exchange(sink, try response(200, ["ETag": "\"b\""]), "x")
        #expect(directory.text(".a.part") == "x")
        _ = try sink.complete()
        #expect(directory.text("a") == "x" && directory.names == ["a"])
    }

    @Test(.timeLimit(.minutes(10)), arguments: [1, 1000, 65_536, 300_001])
    func `a later process resumes after SIGKILL and every byte is correct`(_ killedAt: Int) async throws {
        let directory = try TestDirectory()
        try await ExitTestInput.pass([directory.path("a"), "\(killedAt)"]) {
            await #expect(processExitsWith: .signal(SIGKILL)) {
                let words = try ExitTestInput.value(as: [String].self)
                let (path, killedAt) = (words[0], try #require(Int(words[1])))
                let sink = try DownloadFileResumptionTests.prepare(.file(URL(filePath: path)))
                _ = sink.fields(for: DownloadFileResumptionTests.request)
                let headers: HTTPHeaders = ["ETag": "\"a\"", "Content-Length": "400000"]
                _ = sink.headReceived(try DownloadFileResumptionTests.response(200, headers))
                let body = DownloadFileResumptionTests.body
                var position = 0
                while position < killedAt {
                    let count = min(8191, killedAt - position)
                    try sink.write(body[position..<(position + count)])
                    position += count
                }
                kill(getpid(), SIGKILL)
            }
        }
        #expect(directory.names == [".a.part", ".a.part.resume"])
        let left = try #require(ResumeData.left(beside: directory.url("a")))
        #expect(left.bytes == killedAt && left.total == 400_000)
        let sink = try prepare(.file(directory.url("a")), left.encoded())
        #expect(sink.fields(for: request)["Range"] == "bytes=\(killedAt)-")
        _ = sink.headReceived(try response(206, ["Content-Range": "bytes \(killedAt)-399999/400000"]))
        try sink.write(Self.body[killedAt...])
        _ = try sink.complete()
        #expect(try Data(contentsOf: directory.url("a")) == Self.body && directory.names == ["a"])
    }
}
