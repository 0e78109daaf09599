import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// The shared parts of the tests of parallel downloads.
enum Parallel {
    /// Large enough for four parts of 300,000 bytes.
    static let size = 1_200_000
    static let body = Data.pattern(count: size)
    static let checksum = DownloadChecksum.sha256(Digest.sha256(of: body))

    static func origin(_ change: (inout RangeOrigin.Behaviour) -> Void = { _ in }) async throws -> RangeOrigin {
        try await RangeOrigin {
            $0.body = body
            change(&$0)
        }
    }

    /// Returns the error of a download, which must fail.
    static func failure(
        at location: SourceLocation = #_sourceLocation, _ download: () async throws -> URL
    ) async -> RequestError? {
        do {
            let file = try await download()
            Issue.record("\(file) was downloaded", sourceLocation: location)
            return nil
        } catch {
            return error as? RequestError
        }
    }

    /// Reads the state of a partial file.
    static func state(of path: String, _ url: URL) -> RangePlan? {
        guard let size = FileSystem.status(path, followingLinks: false)?.size else { return nil }
        return ResumeSidecar(besides: path).contents()
            .flatMap { RangePlan(decoding: $0, urls: [url.absoluteString], fileSize: size) }
    }

    /// Answers as a server that has a file with this tag.
    static func answer(_ body: Data, _ tag: String, to request: LocalServer.Request) -> LocalServer.Response {
        let ends = (request.headers["Range"] ?? "").dropFirst(6).split(separator: "-").compactMap { Int($0) }
        guard let first = ends.first, request.headers["If-Range"].map({ $0 == tag }) ?? true else {
            return .data(body, headers: ["ETag": tag])
        }
        let last = min(ends.count > 1 ? ends[1] : .max, body.count - 1)
        return part(body, first, last, of: "\(body.count)", tag)
    }

    static func part(
        _ body: Data, _ first: Int, _ last: Int, of total: String, _ tag: String = "\"one\""
    ) -> LocalServer.Response {
        .data(
            Data(body[first...last]), status: 206,
            headers: ["ETag": tag, "Content-Range": "bytes \(first)-\(last)/\(total)"])
    }
}

/// Downloads in several parts from a server that works.
@Suite(.timeLimit(.minutes(10))) struct ParallelDownloadTests {
    static let sizes = [0, 1, 3, 262_143, 524_288, 1_000_003, 3_000_000, Int.random(in: 1...4_000_000)]

    @Test(arguments: sizes, [1, 2, 4, 7])
    func `the file is the same for any size and any number of parts`(size: Int, parts: Int) async throws {
        let directory = try TestDirectory()
        let origin = try await RangeOrigin { $0.body = .pattern(count: size) }
        let session = TestHarness.session()
        let checksum = DownloadChecksum.sha256(Digest.sha256(of: origin.body))
        let progress = Locked<[TransferProgress]>([])
        let file = try await session.parallelDownload(
            origin.url, to: directory.url("a"), parts: parts, checksum: checksum
        ) { value in progress.withLock { $0.append(value) } }
        #expect(file.path == directory.path("a") && directory.names == ["a"])
        expectSame(try Data(contentsOf: file), origin.body)
        let plan = RangePlan.parts(of: Int64(size), count: parts)
        let later = plan.dropFirst().map { "bytes=\($0.position)-\($0.end - 1)" }
        #expect(Set(origin.ranges) == Set(["bytes=0-"] + later + (size == 0 ? ["all"] : [])))
        for request in origin.server.requests {
            #expect(request.headers["If-Range"] == (later.contains(request.headers["Range"] ?? "") ? "\"one\"" : nil))
            #expect(request.headers["Accept-Encoding"] == "identity")
        }
        let values = progress.withLock { $0 }
        #expect(values.last?.completed == Int64(size) && values.last?.fractionCompleted == 1)
        for (one, next) in zip(values, values.dropFirst()) { #expect(one.completed <= next.completed) }
        try await TestHarness.end(session, origin.server)
    }

    @Test func `each part has a connection of its own`() async throws {
        let directory = try TestDirectory()
        let gate = Gate()
        let origin = try await Parallel.origin { $0.pace = { _ in await gate.wait() } }
        let session = TestHarness.session()
        async let file = session.parallelDownload(origin.url, to: directory.url("a"))
        // No part can end before the gate is open.
        try await origin.server.waitForConnections(atLeast: 4)
        gate.open()
        expectSame(try Data(contentsOf: try await file), Parallel.body)
        #expect(Set(origin.server.requests.map(\.connection)).count == 4)
        try await TestHarness.end(session, origin.server)
    }

    /// What a server does that does not support parts, and the requests for its file.
    static let single: [(name: String, ranges: [String], change: @Sendable (inout RangeOrigin.Behaviour) -> Void)] = [
        ("no ranges", ["bytes=0-"], { $0.ignoresRanges = true }),
        ("a weak tag", ["bytes=0-"], { $0.fields.update(name: "ETag", value: "W/\"one\"") }),
        ("no tag", ["bytes=0-"], { $0.fields = [:] }),
        (
            "a part without a tag", ["bytes=0-", "all"],
            {
                $0.fields = [:]
                $0.exception = { request in
                    guard request.headers["Range"] != nil else { return nil }
                    let headers: HTTPHeaders = ["Content-Range": "bytes 0-9/\(Parallel.size)"]
                    return .data(Data(Parallel.body.prefix(10)), status: 206, headers: headers)
                }
            }
        ),
        (
            "an unknown size", ["bytes=0-", "all"],
            {
                $0.exception = { request in
                    request.headers["Range"].map { _ in Parallel.part(Parallel.body, 0, 9, of: "*") }
                }
            }
        ),
    ]

    @Test(arguments: single.indices) func `without a strong validator there is one connection`(index: Int) async throws
    {
        let row = Self.single[index]
        let directory = try TestDirectory()
        let origin = try await Parallel.origin(row.change)
        let session = TestHarness.session()
        let file = try await session.parallelDownload(
            origin.url, to: directory.url("a"), checksum: Parallel.checksum)
        expectSame(try Data(contentsOf: file), Parallel.body)
        #expect(origin.ranges == row.ranges && directory.names == ["a"])
        try await TestHarness.end(session, origin.server)
    }

    @Test func `an interrupted part continues where it stopped`() async throws {
        let directory = try TestDirectory()
        let origin = try await Parallel.origin { $0.cuts = [100_000, 100_000, 100_000, 100_000, 100_000] }
        let session = TestHarness.session { $0.sleep = { _ in } }
        let file = try await session.parallelDownload(origin.url, to: directory.url("a"))
        expectSame(try Data(contentsOf: file), Parallel.body)
        #expect(origin.ranges.count == 9)
        #expect(Set(origin.transmissions.map(\.start)).count == 9, "no bytes are requested twice")
        try await TestHarness.end(session, origin.server)
    }

    @Test func `a server may send less than was requested`() async throws {
        let directory = try TestDirectory()
        let origin = try await Parallel.origin {
            $0.exception = { request in
                let ends = (request.headers["Range"] ?? "").dropFirst(6).split(separator: "-").compactMap { Int($0) }
                guard let first = ends.first else { return nil }
                let last = min(first + 99_999, ends.count > 1 ? ends[1] : .max)
                return Parallel.part(Parallel.body, first, last, of: "\(Parallel.size)")
            }
        }
        let session = TestHarness.session()
        let file = try await session.parallelDownload(origin.url, to: directory.url("a"))
        expectSame(try Data(contentsOf: file), Parallel.body)
        #expect(origin.server.requestCount == 12)
        try await TestHarness.end(session, origin.server)
    }

    @Test func `an existing file is replaced only if this is enabled`() async throws {
        let directory = try TestDirectory()
        let origin = try await Parallel.origin()
        let session = TestHarness.session()
        try directory.write("old", to: "a")
        let error = await Parallel.failure { try await session.parallelDownload(origin.url, to: directory.url("a")) }
        #expect(error?.kind == .download(.destinationExists(path: directory.path("a"))))
        #expect(origin.server.requestCount == 0 && directory.names == ["a"])
        let watch = DestinationObserver(directory.path("a"))
        let file = try await session.parallelDownload(
            origin.url, to: directory.url("a"), options: .removePreviousFile)
        expectSame(try Data(contentsOf: file), Parallel.body)
        #expect(await watch.sizes().isSubset(of: [3, Int64(Parallel.size)]))
        try await TestHarness.end(session, origin.server)
    }
}

/// Parallel downloads of files that change, from servers that are wrong, and with wrong checksums.
@Suite(.timeLimit(.minutes(10))) struct ParallelDownloadFaultTests {
    private static let other = Data(Data.pattern(count: 1_000_000).reversed())

    @Test(arguments: ["\"two\"", "\"one\""])
    func `a file that changes midway starts over`(tag: String) async throws {
        let directory = try TestDirectory()
        let isChanged = Locked(false)
        let origin = try await Parallel.origin {
            $0.exception = { request in
                // With the same tag, only the size shows the change.
                if request.headers["If-Range"] != nil { isChanged.withLock { $0 = true } }
                return isChanged.withLock { $0 } ? Parallel.answer(Self.other, tag, to: request) : nil
            }
        }
        let session = TestHarness.session()
        let watch = DestinationObserver(directory.path("a"))
        let file = try await session.parallelDownload(origin.url, to: directory.url("a"))
        expectSame(try Data(contentsOf: file), Self.other)
        #expect(await watch.sizes().isSubset(of: [Int64(Self.other.count)]))
        #expect(origin.ranges.count { $0 == "bytes=0-" } == 2 && directory.names == ["a"])
        try await TestHarness.end(session, origin.server)
    }

    @Test func `a file that always changes is an error`() async throws {
        let directory = try TestDirectory()
        let origin = try await Parallel.origin {
            $0.exception = { $0.headers["If-Range"].map { _ in .data(Self.other, headers: ["ETag": "\"two\""]) } }
        }
        let session = TestHarness.session()
        let error = await Parallel.failure { try await session.parallelDownload(origin.url, to: directory.url("a")) }
        #expect(error?.kind == .download(.changedOnServer) && error?.url == origin.url.absoluteString)
        #expect(origin.ranges.count { $0 == "bytes=0-" } == 4 && directory.names == [])
        try await TestHarness.end(session, origin.server)
    }

    @Test func `a redirect to another URL with the same tag is a change`() async throws {
        let directory = try TestDirectory()
        let origin = try await Parallel.origin {
            $0.exception = { request in
                guard request.path == "/file.bin" else { return nil }
                return .redirect(to: request.headers["If-Range"] == nil ? "/one" : "/two")
            }
        }
        let session = TestHarness.session()
        let error = await Parallel.failure { try await session.parallelDownload(origin.url, to: directory.url("a")) }
        #expect(error?.kind == .download(.changedOnServer) && directory.names == [])
        try await TestHarness.end(session, origin.server)
    }

    /// Wrong ranges in response to the request for the second part.
    static let ranges: [String?] = [
        nil, "bytes 299999-599998/1200000", "bytes 300001-600000/1200000", "bytes 0-299999/1200000",
        "bytes 600000-300000/1200000", "bytes 300000-1200000/1200000", "bytes */1200000",
        "bytes 300000-599999/99999999999999999999", "bytes 300000-99999999999999999999/1200000",
        "rows 300000-599999/1200000",
        "nonsense", "",
    ]

    @Test(arguments: ranges) func `a wrong range is an error, and the state is kept`(range: String?) async throws {
        let directory = try TestDirectory()
        let origin = try await Parallel.origin {
            $0.exception = { request in
                guard request.headers["Range"] == "bytes=300000-599999" else { return nil }
                var headers: HTTPHeaders = ["ETag": "\"one\""]
                headers["Content-Range"] = range
                return .data(Data(Parallel.body[300_000..<600_000]), status: 206, headers: headers)
            }
        }
        let session = TestHarness.session()
        let error = await Parallel.failure { try await session.parallelDownload(origin.url, to: directory.url("a")) }
        #expect(error?.kind == .invalidResponse(.malformed), "\(error as Any)")
        let state = try #require(Parallel.state(of: directory.path(".a.part"), origin.url))
        #expect(state.parts[1].position == 300_000)
        origin.change { $0.exception = { _ in nil } }
        let file = try await session.parallelDownload(origin.url, to: directory.url("a"), checksum: Parallel.checksum)
        expectSame(try Data(contentsOf: file), Parallel.body)
        #expect(directory.names == ["a"])
        try await TestHarness.end(session, origin.server)
    }

    @Test(arguments: [403, 404, 500, 503]) func `an error of the server leaves nothing`(status: Int) async throws {
        let directory = try TestDirectory()
        let origin = try await Parallel.origin { $0.exception = { _ in .text("no", status: status) } }
        let session = TestHarness.session()
        let error = await Parallel.failure { try await session.parallelDownload(origin.url, to: directory.url("a")) }
        #expect(error?.statusCode == status && error?.body == Data("no".utf8))
        #expect(directory.names == [] && origin.server.requestCount == 1)
        try await TestHarness.end(session, origin.server)
    }

    @Test func `a response without bytes ends after some tries`() async throws {
        let directory = try TestDirectory()
        let origin = try await Parallel.origin {
            $0.exception = { request in
                guard request.headers["If-Range"] != nil else { return nil }
                let start = request.headers["Range"]?.dropFirst(6).prefix { $0 != "-" } ?? ""
                let range = "bytes \(start)-\(start)/\(Parallel.size)"
                return .stream(status: 206, headers: ["ETag": "\"one\"", "Content-Range": range]) { _ in }
            }
        }
        let session = TestHarness.session { $0.sleep = { _ in } }
        let error = await Parallel.failure { try await session.parallelDownload(origin.url, to: directory.url("a")) }
        #expect(error?.kind == .invalidResponse(.truncated))
        #expect(origin.server.requestCount <= 1 + 3 * AutomaticResumption.limit)
        try await TestHarness.end(session, origin.server)
    }

    /// Whether the server supports parts.
    @Test(arguments: [true, false]) func `another checksum leaves no file and no state`(hasParts: Bool) async throws {
        let directory = try TestDirectory()
        let origin = try await Parallel.origin { $0.ignoresRanges = !hasParts }
        let session = TestHarness.session()
        let error = await Parallel.failure {
            try await session.parallelDownload(
                origin.url, to: directory.url("a"), checksum: .sha512(Data(count: 64)))
        }
        #expect(error?.kind == .download(.checksumMismatch) && error?.resumeData == nil && directory.names == [])
        try await TestHarness.end(session, origin.server)
    }

    @Test(arguments: [true, false]) func `the digest of the response is checked`(isRight: Bool) async throws {
        let directory = try TestDirectory()
        let digest = Digest.sha256(of: isRight ? Parallel.body : Data()).base64EncodedString()
        let origin = try await Parallel.origin { $0.fields.append(name: "Repr-Digest", value: "sha-256=:\(digest):") }
        let session = TestHarness.session()
        let download = { @Sendable [url = origin.url, file = directory.url("a")] in
            try await session.parallelDownload(url, to: file, checksum: .responseField)
        }
        if isRight {
            expectSame(try Data(contentsOf: try await download()), Parallel.body)
        } else {
            let error = await Parallel.failure(download)
            #expect(error?.kind == .download(.checksumMismatch) && directory.names == [])
        }
        origin.change { $0.fields.remove(name: "Repr-Digest") }
        let error = await Parallel.failure {
            try await session.parallelDownload(origin.url, to: directory.url("b"), checksum: .responseField)
        }
        #expect(error?.kind == .download(.checksumMissing) && directory.names == (isRight ? ["a"] : []))
        try await TestHarness.end(session, origin.server)
    }

    @Test func `a partial file of an ordinary download is kept if no part was requested`() async throws {
        let directory = try TestDirectory()
        let origin = try await Parallel.origin { $0.cuts = [100_000] }
        let session = TestHarness.session()
        let data = await session.download(origin.url, to: .file(directory.url("a"))).serializingURL().response
            .resumeData
        origin.change { $0.exception = { _ in .status(404) } }
        let error = await Parallel.failure { try await session.parallelDownload(origin.url, to: directory.url("a")) }
        #expect(error?.statusCode == 404 && directory.names == [".a.part", ".a.part.resume"])
        origin.change { $0.exception = { _ in nil } }
        let file = try await session.download(resumingWith: try #require(data), to: .file(directory.url("a")))
            .serializingURL().value
        expectSame(try Data(contentsOf: file), Parallel.body)
        #expect(origin.ranges.last == "bytes=100000-")
        try await TestHarness.end(session, origin.server)
    }
}
