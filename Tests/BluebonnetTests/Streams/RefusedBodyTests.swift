import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// The body of a response that is refused by its head does not delay the error for long.
@Suite(.timeLimit(.minutes(10))) struct RefusedBodyTests {
    /// Something whose head a validator refuses.
    enum Kind: CaseIterable, Sendable {
        case stream, download, eventSource

        /// Returns the error that it ends with.
        func error(of url: URL, in session: Session, _ directory: borrowing TestDirectory) async -> RequestError? {
            switch self {
            case .stream:
                return await StreamFixture.body(session.streamRequest(url).validate().streamTask().bytes).error
            case .download:
                return await session.download(url, to: .file(directory.url("a"))).validate().serializingURL()
                    .response.error
            case .eventSource:
                return await StreamFixture.read(session.eventSource(url)).error
            }
        }
    }

    /// Nothing else could end these requests within the time limit of a test.
    private static func session(_ configure: (inout Session.Configuration) -> Void = { _ in }) -> Session {
        TestHarness.session {
            $0.timeouts = Timeouts(connect: .seconds(1000), idle: .seconds(1000))
            configure(&$0)
        }
    }

    private static let head = "HTTP/1.1 503 Not Now\r\nContent-Length: 100000\r\n\r\n"

    @Test(arguments: Kind.allCases)
    func `a server that stops within the body does not delay the refusal`(_ kind: Kind) async throws {
        let server = try await LocalServer.scripted(.waitForRequest, .bytes(Self.head + "late"), .waitForClose)
        let session = Self.session()
        let directory = try TestDirectory()
        let error = try #require(await kind.error(of: server.url("/"), in: session, directory))
        #expect(error.statusCode == 503 || error.kind == .eventSource(.unacceptableStatusCode(503)))
        if kind != .eventSource { #expect(error.body == Data("late".utf8)) }
        #expect(directory.names == [])
        try await TestHarness.end(session, server)
    }

    @Test(arguments: Kind.allCases)
    func `a slow body does not delay the refusal`(_ kind: Kind) async throws {
        let bytes = String(repeating: "x", count: 100_000)
        let server = try await LocalServer.scripted(
            .waitForRequest, .bytes(Self.head), .drip(bytes, piece: 1, every: .milliseconds(20)))
        let session = Self.session()
        let directory = try TestDirectory()
        let error = try #require(await kind.error(of: server.url("/"), in: session, directory))
        #expect(error.statusCode == 503 || error.kind == .eventSource(.unacceptableStatusCode(503)))
        if let body = error.body { #expect(body.allSatisfy { $0 == 0x78 }) }
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [0, 10, 65_535, 65_536, 100_000])
    func `the error contains the bytes that arrive in time, and the wait ends with the body`(_ size: Int) async throws {
        let server = try await LocalServer { $0.get("/a") { _ in StreamFixture.patterned(length: size, status: 503) } }
        let (began, ended) = (Locked(0), Gate())
        let session = Self.session {
            $0.bodyGracePeriod = {
                began.withLock { $0 += 1 }
                defer { ended.open() }
                // Until the task is cancelled.
                await Gate().wait()
                try Task.checkCancellation()
            }
        }
        let error = await StreamFixture.body(session.streamRequest(server.url("/a")).validate().streamTask().bytes)
            .error
        #expect(error?.body?.count == min(size, 65_536))
        if began.withLock({ $0 }) > 0 { await ended.wait() }
        #expect(began.withLock { $0 } <= 1)
        try await TestHarness.end(session, server)
    }

    @Test func `the error contains the received bytes when the time is over`() async throws {
        let server = try await LocalServer.scripted(.waitForRequest, .bytes(Self.head + "late"), .waitForClose)
        let (asked, over) = (Gate(), Gate())
        let session = Self.session {
            $0.bodyGracePeriod = {
                asked.open()
                await over.wait()
                try Task.checkCancellation()
            }
        }
        let request = session.streamRequest(server.url("/")).validate()
        async let error = StreamFixture.body(request.streamTask().bytes).error
        await asked.wait()
        for await progress in request.downloadProgressUpdates() where progress.completed == 4 { break }
        #expect(request.state == .resumed)
        over.open()
        #expect(await error?.body == Data("late".utf8))
        #expect(request.state == .finished)
        try await TestHarness.end(session, server)
    }
}
