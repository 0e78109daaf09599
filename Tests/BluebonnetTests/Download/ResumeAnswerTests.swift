import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// Right and wrong responses of servers to a request for the rest.
@Suite(.timeLimit(.minutes(10))) struct ResumeAnswerTests {
    private static let body = Data.pattern(count: 100_000)
    private static let other = Data(Data.pattern(count: 90_000).reversed())

    /// A response to `Range: bytes=45000-`, and the result of the download.
    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        /// The ranges that are requested after the interruption.
        let ranges: [String]
        /// The file that is there in the end.
        var result = ResumeAnswerTests.body
        let answer: @Sendable (inout RangeOrigin.Behaviour) -> Void

        var testDescription: String { name }
    }

    /// Answers a request for the rest with a part of the body.
    private static func part(
        _ first: Int, _ last: Int, of total: String = "100000", fields: HTTPHeaders = ["ETag": "\"one\""]
    ) -> LocalServer.Response {
        var fields = fields
        fields.update(name: "Content-Range", value: "bytes \(first)-\(last)/\(total)")
        return .data(Data(body[first...last]), status: 206, headers: fields)
    }

    /// Answers requests with a range otherwise.
    private static func answering(
        _ response: LocalServer.Response, toRange range: String = "bytes=45000-"
    ) -> @Sendable (inout RangeOrigin.Behaviour) -> Void {
        { $0.exception = { $0.headers["Range"] == range ? response : nil } }
    }

    static let cases: [Case] = [
        Case(name: "the rest", ranges: ["bytes=45000-"]) { _ in },
        Case(name: "all of it", ranges: ["bytes=45000-"]) { $0.ignoresRanges = true },
        Case(name: "another representation, as If-Range wants it", ranges: ["bytes=45000-"], result: other) {
            $0.body = other
            $0.fields.update(name: "ETag", value: "\"two\"")
        },
        Case(name: "a weak entity tag for the same", ranges: ["bytes=45000-"]) {
            $0.fields.update(name: "ETag", value: "W/\"one\"")
        },
        Case(
            name: "a part of another representation", ranges: ["bytes=45000-", "all"],
            answer: answering(part(45_000, 99_999, fields: ["ETag": "\"two\""]))),
        Case(
            name: "a part that begins too late", ranges: ["bytes=45000-", "all"],
            answer: answering(part(45_001, 99_999))),
        Case(name: "a part that begins earlier", ranges: ["bytes=45000-"], answer: answering(part(30_000, 99_999))),
        Case(name: "the whole as a part", ranges: ["bytes=45000-"], answer: answering(part(0, 99_999))),
        Case(
            name: "a part that brings nothing new", ranges: ["bytes=45000-", "all"],
            answer: answering(part(30_000, 44_999))),
        Case(
            name: "less than was asked for", ranges: ["bytes=45000-", "bytes=70000-"],
            answer: answering(part(45_000, 69_999))),
        Case(
            name: "a part of who knows how much", ranges: ["bytes=45000-"],
            answer: answering(part(45_000, 99_999, of: "*"))),
        Case(
            name: "a part of something larger", ranges: ["bytes=45000-", "all"],
            answer: answering(part(45_000, 99_999, of: "100001"))),
        Case(
            name: "a part without Content-Range", ranges: ["bytes=45000-", "all"],
            answer: answering(.data(body.suffix(55_000), status: 206, headers: ["ETag": "\"one\""]))),
        Case(
            name: "several ranges", ranges: ["bytes=45000-", "all"],
            answer: answering(
                .data(Data("--x--".utf8), contentType: "multipart/byteranges; boundary=x", status: 206))),
        Case(
            name: "that there is no such range", ranges: ["bytes=45000-", "all"],
            answer: answering(.status(416, headers: ["Content-Range": "bytes */100000"]))),
        Case(name: "416 without Content-Range", ranges: ["bytes=45000-", "all"], answer: answering(.status(416))),
    ]

    /// Downloads until the connection breaks after 45,000 bytes, and returns the data to resume with.
    private func left(
        by origin: RangeOrigin, in session: Session, to destination: DownloadRequest.Destination
    ) async throws -> Data {
        let answer = await session.download(origin.url, to: destination).serializingURL().response
        let data = try #require(answer.resumeData)
        #expect(try ResumeData(decoding: data).bytes == 45_000)
        return data
    }

    @Test(arguments: cases)
    func `the file is correct with any response`(_ row: Case) async throws {
        let directory = try TestDirectory()
        let origin = try await RangeOrigin { $0.cuts = [45_000] }
        let session = TestHarness.session()
        let data = try await left(by: origin, in: session, to: .file(directory.url("a")))
        origin.change(row.answer)
        let watch = DestinationObserver(directory.path("a"))
        let request = session.download(resumingWith: data, to: .file(directory.url("a"))).validate()
        _ = try await request.serializingURL().value
        #expect(await watch.sizes().isSubset(of: [Int64(row.result.count)]))
        expectSame(try Data(contentsOf: directory.url("a")), row.result)
        #expect(origin.ranges == ["all"] + row.ranges)
        #expect(directory.names == ["a"])
        #expect(request.downloadProgress.completed == Int64(row.result.count))
        try await TestHarness.end(session, origin.server)
    }

    @Test(arguments: [404, 500, 503, 403], [true, false])
    func `a refusal is a clear error and the partial file stays`(status: Int, validating: Bool) async throws {
        let directory = try TestDirectory()
        let origin = try await RangeOrigin { $0.cuts = [45_000] }
        let session = TestHarness.session()
        let data = try await left(by: origin, in: session, to: .file(directory.url("a")))
        origin.change { $0.exception = { _ in .text("no", status: status) } }
        let request = session.download(resumingWith: data, to: .file(directory.url("a")))
        if validating { request.validate() }
        let answer = await request.serializingURL().response
        #expect(
            answer.error?.kind
                == (validating
                    ? .validation(.unacceptableStatusCode(status)) : .download(.cannotResume(statusCode: status))))
        #expect(answer.error?.body == Data("no".utf8) && answer.response?.statusCode == status)
        #expect(origin.server.requestCount == 2)
        #expect(directory.names == [".a.part", ".a.part.resume"])
        origin.change { $0.exception = { _ in nil } }
        let again = try #require(answer.resumeData)
        _ = try await session.download(resumingWith: again, to: .file(directory.url("a"))).serializingURL().value
        expectSame(try Data(contentsOf: directory.url("a")), origin.body)
        #expect(origin.ranges.last == "bytes=45000-")
        try await TestHarness.end(session, origin.server)
    }

    /// Fields that do not identify the state of the file.
    static let weak: [HTTPHeaders] = [
        [:], ["ETag": "W/\"one\""], ["Last-Modified": "Sat, 21 Nov 2026 10:00:00 GMT"],
        ["ETag": "\"one\"", "Content-Encoding": "gzip"],
    ]

    @Test(arguments: weak)
    func `a partial file that could not be resumed is not kept`(fields: HTTPHeaders) async throws {
        let directory = try TestDirectory()
        let origin = try await RangeOrigin {
            $0.cuts = [45_000]
            $0.fields = fields
            $0.body = Data([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0, 0xff, 0xff]) + Data(count: 60_000)
        }
        let session = TestHarness.session { $0.decodesContent = false }
        let answer = await session.download(
            origin.url, to: .file(directory.url("a"), options: .automaticallyResume)
        ).serializingURL().response
        #expect(answer.error != nil && answer.resumeData == nil && directory.names == [])
        #expect(origin.server.requestCount == 1, "there is nothing to resume")
        try await TestHarness.end(session, origin.server)
    }

    @Test func `the download fails if a server never sends the announced bytes`() async throws {
        let directory = try TestDirectory()
        let origin = try await RangeOrigin { $0.cuts = [45_000] }
        let session = TestHarness.session()
        let data = try await left(by: origin, in: session, to: .file(directory.url("a")))
        // Each part is one byte long.
        origin.change {
            $0.exception = { request in
                let start = request.headers["Range"].flatMap { Int($0.dropFirst(6).dropLast()) } ?? 0
                return Self.part(start, start)
            }
        }
        let answer = await session.download(resumingWith: data, to: .file(directory.url("a"))).serializingURL().response
        #expect(answer.error?.kind == .download(.cannotResume(statusCode: 206)))
        #expect(answer.resumeData != nil && origin.server.requestCount < 10)
        try await TestHarness.end(session, origin.server)
    }

    @Test func `an unrequested part does not become the file`() async throws {
        let directory = try TestDirectory()
        let origin = try await RangeOrigin { $0.exception = { _ in Self.part(45_000, 99_999) } }
        let session = TestHarness.session()
        let answer = await session.download(origin.url, to: .file(directory.url("a"))).validate().serializingURL()
            .response
        #expect(answer.error?.kind == .invalidResponse(.malformed) && directory.names == [])
        try await TestHarness.end(session, origin.server)
    }
}
