import BluebonnetTesting
import FoundationEssentials
import Synchronization
import TestSupport
import Testing

@testable import Bluebonnet

/// Validators and handlers of heads: what they refuse is not at the destination.
@Suite(.timeLimit(.minutes(10))) struct DownloadValidationTests {
    @Test func `an unacceptable status writes no file, and the error shows the beginning of the body`() async throws {
        let directory = try TestDirectory()
        let body = Data.pattern(count: 1 << 20)
        let server = try await LocalServer { $0.get("/a", .data(body, status: 404)) }
        let session = TestHarness.session()
        let request = session.download(server.url("/a"), to: .file(directory.url("a"))).validate()
        let answer = await request.serializingURL().response
        let error = try #require(answer.error)
        #expect(error.kind == .validation(.unacceptableStatusCode(404)) && error.statusCode == 404)
        #expect(error.response?.statusCode == 404 && answer.response?.statusCode == 404)
        expectSame(try #require(error.body), body.prefix(64 * 1024))
        #expect(answer.fileURL == nil && answer.resumeData == nil && directory.names == [])
        #expect(request.error?.kind == error.kind)
        try await TestHarness.end(session, server)
    }

    @Test func `an error in JSON can be decoded`() async throws {
        let directory = try TestDirectory()
        let server = try await LocalServer { $0.get("/a", .json(["reason": "gone"], status: 410)) }
        let session = TestHarness.session()
        let request = session.download(server.url("/a"), to: .file(directory.url("a"))).validate()
        let error = await request.serializingURL().response.error
        #expect(try error?.decodeBody(as: [String: String].self) == ["reason": "gone"])
        #expect(directory.names == [])
        try await TestHarness.end(session, server)
    }

    @Test func `without validators, the body of an error is saved like any other body`() async throws {
        let directory = try TestDirectory()
        let server = try await LocalServer { $0.get("/a", .text("not here", status: 404)) }
        let session = TestHarness.session()
        _ = try await session.download(server.url("/a"), to: .file(directory.url("a"))).serializingURL().value
        #expect(directory.text("a") == "not here")
        try await TestHarness.end(session, server)
    }

    @Test func `a content type that is not acceptable writes no file`() async throws {
        let directory = try TestDirectory()
        let origin = try await RangeOrigin()
        let session = TestHarness.session()
        let request = session.download(origin.url, to: .file(directory.url("a"))).validate(contentType: ["text/plain"])
        let error = await request.serializingURL().response.error
        #expect(
            error?.kind
                == .validation(.unacceptableContentType("application/octet-stream", acceptable: ["text/plain"])))
        #expect(directory.names == [])
        try await TestHarness.end(session, origin.server)
    }

    private struct Refusal: Error, Equatable {}

    @Test(arguments: [true, false])
    func `a validator checks the file before it is moved, and a refused file is removed`(
        isRefused: Bool
    ) async throws {
        let directory = try TestDirectory()
        let origin = try await RangeOrigin()
        let session = TestHarness.session()
        let seen = Mutex<[Data]>([])
        let path = directory.path("a")
        let request = session.download(
            origin.url, to: .file(directory.url("a"), options: .automaticallyResume)
        )
        .validate().validate { request, response, fileURL in
            #expect(request?.url == origin.url && response.statusCode == 200)
            #expect(FileSystem.status(path, followingLinks: false) == nil)
            let data = try Data(contentsOf: try #require(fileURL))
            seen.withLock { $0.append(data) }
            return isRefused ? .failure(Refusal()) : .success(())
        }
        let answer = await request.serializingURL().response
        #expect(seen.withLock { $0 } == [origin.body])
        if isRefused {
            #expect(answer.error?.kind == .validation(.customValidationFailed))
            #expect(answer.error?.underlying as? Refusal == Refusal())
            #expect(answer.error?.response?.statusCode == 200)
            // A refused file must not be resumed: the same file would be refused again and again.
            #expect(answer.resumeData == nil && directory.names == [])
        } else {
            #expect(directory.names == ["a"])
        }
        try await TestHarness.end(session, origin.server)
    }

    @Test(arguments: [DownloadOptions(), .automaticallyResume], [false, true])
    func `a refused file is downloaded again if a retrier decides to retry`(
        options: DownloadOptions, isAccepted: Bool
    ) async throws {
        let directory = try TestDirectory()
        let origin = try await RangeOrigin()
        let session = TestHarness.session()
        let checks = Counter()
        let request = session.download(origin.url, to: .file(directory.url("a"), options: options))
            .validate { _, _, fileURL in
                let data = try Data(contentsOf: try #require(fileURL))
                #expect(data == origin.body)
                return checks.next() == 2 && isAccepted ? .success(()) : .failure(Refusal())
            }
            .retry { request, _, _ in request.retryCount == 0 ? .retry : .doNotRetry }
        let answer = await request.serializingURL().response
        #expect(checks.value == 2 && origin.transmissions.map(\.start) == [0, 0])
        #expect(answer.resumeData == nil && directory.names == (isAccepted ? ["a"] : []))
        if isAccepted {
            expectSame(try Data(contentsOf: try answer.result.get()), origin.body)
        } else {
            #expect(answer.error?.underlying as? Refusal == Refusal())
        }
        try await TestHarness.end(session, origin.server)
    }

    @Test(arguments: [false, true])
    func `a refused file of a resumed download is not resumed again`(isRetried: Bool) async throws {
        let directory = try TestDirectory()
        let origin = try await RangeOrigin { $0.cuts = [50_000] }
        let session = TestHarness.session()
        let cut = await session.download(origin.url, to: .file(directory.url("a"))).serializingURL().response
        let request = session.download(resumingWith: try #require(cut.resumeData), to: .file(directory.url("a")))
            .validate { _, _, _ in throw Refusal() }
            .retry { request, _, _ in isRetried && request.retryCount == 0 ? .retry : .doNotRetry }
            .adapt { request, state in
                // A failure before the second attempt is sent does not restore the refused file.
                if state.retryCount == 1 { throw Refusal() }
                return request
            }
        let answer = await request.serializingURL().response
        #expect(answer.error?.underlying as? Refusal == Refusal() && request.retryCount == (isRetried ? 1 : 0))
        #expect(origin.transmissions.map(\.start) == [0, 50_000])
        #expect(answer.resumeData == nil && directory.names == [])
        try await TestHarness.end(session, origin.server)
    }

    @Test func `a validator that throws an error of another request refuses the file`() async throws {
        let directory = try TestDirectory()
        let origin = try await RangeOrigin()
        let session = TestHarness.session()
        let request = session.download(
            origin.url, to: .file(directory.url("a"), options: .automaticallyResume)
        )
        .validate { _, _, _ in throw RequestError(.connection(.lost), detail: "not at all") }
        let error = await request.serializingURL().response.error
        #expect(error?.kind == .validation(.customValidationFailed) && error?.response?.statusCode == 200)
        #expect((error?.underlying as? RequestError)?.kind == .connection(.lost))
        #expect(origin.server.requestCount == 1, "the download does not resume from a refused file")
        #expect(directory.names == [])
        try await TestHarness.end(session, origin.server)
    }

    @Test(arguments: [ResponseDisposition.allow, .cancel])
    func `a closure for the head decides about the body`(disposition: ResponseDisposition) async throws {
        let directory = try TestDirectory()
        let origin = try await RangeOrigin()
        let session = TestHarness.session()
        let path = directory.path("a")
        let request = session.download(origin.url, to: .file(directory.url("a")))
            .onHTTPResponse { response in
                #expect(response.statusCode == 200)
                #expect(FileSystem.status(path, followingLinks: false) == nil)
                return disposition
            }
        let answer = await request.serializingURL().response
        switch disposition {
        case .allow:
            expectSame(try Data(contentsOf: directory.url("a")), origin.body)
            #expect(directory.names == ["a"])
        case .cancel:
            #expect(answer.error?.isCancellation == true && request.isCancelled)
            #expect(directory.names == [])
        }
        try await TestHarness.end(session, origin.server)
    }
}
