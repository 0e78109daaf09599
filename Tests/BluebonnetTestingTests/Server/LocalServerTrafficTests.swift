import Bluebonnet
import FoundationEssentials
import Testing

@testable import BluebonnetTesting

@Suite(.timeLimit(.minutes(10))) struct LocalServerTrafficTests {
    private static let get = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"

    @Test func `Every byte is counted, in both directions`() async throws {
        let server = try await LocalServer { $0.get("/", .text("four")) }
        #expect(server.traffic == LocalServer.Traffic())
        let client = try await RawClient.sending(Self.get, to: server)
        let text = await client.receive(until: "four")
        try await server.waitForBytesSent(atLeast: text.utf8.count)
        #expect(server.traffic.bytesSent == text.utf8.count)
        #expect(server.traffic.bytesReceived == Self.get.utf8.count)
        await client.close()
    }

    @Test func `A writer counts the bytes that the socket has accepted`() async throws {
        let writers = ObservedState<[LocalServer.BodyWriter]>([])
        let length = 48 * 1024 * 1024
        let server = try await LocalServer { router in
            router.get("/") { _ in
                .stream { writer in
                    writers.change { $0.append(writer) }
                    try await writer.write(Data(repeating: 65, count: length))
                }
            }
        }
        let client = try await RawClient.sending(
            "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", to: server)
        let writer = try await writers.wait { $0.first.map { .success($0) } }
        try await server.waitForBytesSent(atLeast: 1000)
        let traffic = try await server.waitForQuiet()
        #expect(writer.bytesSent > 0)
        #expect(writer.bytesSent < length)
        #expect(writer.bytesSent < traffic.bytesSent)
        #expect(await client.receiveAll().end == .closed)
        #expect(writer.bytesSent == length)
        await client.close()
    }

    @Test func `The buffers limit an endless body that is not read`() async throws {
        var options = LocalServer.Options()
        options.sendBufferBytes = 64 * 1024
        let server = try await LocalServer(options: options) { router in
            router.get("/", .endless(Data(repeating: 65, count: 10_000)))
        }
        let client = try await RawClient.sending(Self.get, to: server)
        try await server.waitForBytesSent(atLeast: 64 * 1024)
        let held = try await server.waitForQuiet()
        // The client's receive buffer is as large as the system likes it.
        #expect(held.bytesSent > 64 * 1024)
        #expect(held.bytesSent < 8 * 1024 * 1024)
        let received = await client.receive(atLeast: 32 * 1024 * 1024)
        #expect(received >= 32 * 1024 * 1024)
        await client.close()
        try await server.waitForOpenConnections(atMost: 0)
    }

    @Test func `An endless body without bytes ends at once`() async throws {
        let server = try await LocalServer { $0.get("/", .endless(Data())) }
        let client = try await RawClient.sending(Self.get, to: server)
        #expect(await client.receive(until: "0\r\n\r\n").hasSuffix("0\r\n\r\n"))
        await client.close()
    }

    @Test func `Waiting for bytes ends with the task and with the server`() async throws {
        let server = try await LocalServer { _ in }
        let cancelled = Task { try await server.waitForBytesSent(atLeast: 1) }
        let stopped = Task { try await server.waitForBytesReceived(atLeast: 1) }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        await server.stop()
        await #expect(throws: LocalServer.Failure.stopped) { try await stopped.value }
        await #expect(throws: LocalServer.Failure.stopped) { try await server.waitForQuiet(of: .milliseconds(1)) }
    }
}
