import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Testing

/// Uploads on which one side is silent.
@Suite(.timeLimit(.minutes(10))) struct SilentUploadTests {
    // MARK: Our side

    @Test(arguments: [0, 1, 100], [nil, Int64(1 << 20)])
    func `cancelling ends an upload whose sequence is silent`(count: Int, length: Int64?) async throws {
        let server = try await Self.server()
        let session = TestHarness.session()
        let pieces = Pieces(count, of: 1000, then: .silence)
        let task = session.upload(pieces, length: length, to: server.url("/a")).serializingString()
        async let answer = task.response
        await pieces.record.isAtEnd.wait()
        task.cancel()
        #expect(await answer.error?.kind == .cancelled)
        await pieces.record.isOver.wait()
        try await server.waitForOpenConnections(atMost: 0)
        #expect(server.requests.allSatisfy { !$0.bodyIsComplete })
        await session.shutdown()
    }

    @Test func `a shutdown that is cancelled ends an upload whose sequence is silent`() async throws {
        let server = try await Self.server()
        let session = TestHarness.session()
        let pieces = Pieces(1, of: 1000, then: .silence)
        let task = session.upload(pieces, to: server.url("/a")).serializingString()
        await pieces.record.isAtEnd.wait()
        // It lets requests finish, unless it is cancelled itself.
        let shutdown = Task { await session.shutdown() }
        shutdown.cancel()
        await shutdown.value
        #expect(await task.response.error?.kind == .cancelled)
        await pieces.record.isOver.wait()
        try await server.waitForOpenConnections(atMost: 0)
    }

    @Test func `a server that resets the connection ends an upload whose sequence is silent`() async throws {
        let server = try await Self.server()
        let session = TestHarness.session()
        let pieces = Pieces(1, of: 1000, then: .silence)
        let task = session.upload(pieces, to: server.url("/a")).serializingString()
        await pieces.record.isAtEnd.wait()
        try await server.waitForBytesReceived(atLeast: 1000)
        await server.closeConnections(resetting: true)
        #expect(await task.response.error?.kind == .connection(.lost))
        await pieces.record.isOver.wait()
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [413, 401])
    func `a response is received although the sequence is silent`(status: Int) async throws {
        let server = try await LocalServer { router in
            router.streaming("/a") { _, body in
                _ = try await body.read()
                return .text("no more", status: status)
            }
        }
        let session = TestHarness.session()
        let pieces = Pieces(1, of: 1000, then: .silence)
        let answer = await session.upload(pieces, to: server.url("/a")).serializingString().response
        #expect(answer.response?.statusCode == status)
        #expect(answer.value == "no more", "\(answer)")
        await pieces.record.isOver.wait()
        try await TestHarness.end(session, server)
    }

    @Test func `the idle timeout does not apply while the sequence is slow`() async throws {
        let server = try await Self.server()
        let session = TestHarness.session { $0.timeouts = Timeouts(connect: .seconds(20), idle: .seconds(2)) }
        let other = TestHarness.session { $0.timeouts = Timeouts(connect: .seconds(20), idle: .milliseconds(2500)) }
        let pieces = Pieces(3, of: 1000) { number in
            guard number == 1 else { return }
            // A longer limit runs out meanwhile.
            let answer = await other.request(server.url("/silent")).serializingData().response
            #expect(answer.error?.kind == .timedOut(.idle))
        }
        let answer = await session.upload(pieces, to: server.url("/a")).serializingString().response
        #expect(answer.value == "3000", "\(answer)")
        await other.shutdown()
        try await TestHarness.end(session, server)
    }

    // MARK: The server's

    @Test(arguments: BodyForm.allCases)
    func `the idle timeout applies if the server does not read`(form: BodyForm) async throws {
        let server = try await LocalServer(options: Self.smallBuffers) { router in
            router.streaming("/a") { _, _ in
                await Gate().wait()
                return .ok
            }
        }
        let directory = try TestDirectory()
        let session = TestHarness.session { $0.timeouts = Timeouts(connect: .seconds(20), idle: .milliseconds(300)) }
        let task = session.upload(try form.body(16_000_000, in: directory), to: server.url("/a")).serializingString()
        try await TestHarness.expect(task, in: session, failsWith: .timedOut(.idle))
        await session.shutdown()
        await server.stop()
    }

    @Test func `a server that does not read slows down the sequence`() async throws {
        let server = try await LocalServer(options: Self.smallBuffers) { router in
            router.streaming("/a") { _, _ in
                await Gate().wait()
                return .ok
            }
        }
        let session = TestHarness.session()
        let pieces = Pieces(1000, of: 64 << 10)
        let task = session.upload(pieces, length: pieces.length, to: server.url("/a")).serializingString()
        async let answer = task.response
        try await server.waitForBytesReceived(atLeast: 64 << 10)
        try await server.waitForQuiet()
        // The bytes in the system's buffers, and less than 1 MiB in the library's buffers.
        #expect(pieces.record.pieces < 160)
        task.cancel()
        #expect(await answer.error?.kind == .cancelled)
        await pieces.record.isOver.wait()
        await session.shutdown()
        await server.stop()
    }

    // MARK: Support

    private static var smallBuffers: LocalServer.Options {
        var options = LocalServer.Options()
        options.receiveBufferBytes = 64 << 10
        options.bodyWindowBytes = 64 << 10
        return options
    }

    private static func server() async throws -> LocalServer {
        try await LocalServer { router in
            router.streaming("/a") { _, body in .text("\(try await body.discard())") }
            router.get("/silent", .script(.stall))
        }
    }
}
