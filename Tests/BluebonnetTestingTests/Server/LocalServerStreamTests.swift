import Bluebonnet
import FoundationEssentials
import Testing

@testable import BluebonnetTesting

@Suite(.timeLimit(.minutes(10))) struct LocalServerStreamTests {
    private struct Oops: Error {}
    private static let get = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"

    /// More bytes than the buffers of two sockets can contain.
    private static let large = Data(repeating: 65, count: 48 * 1024 * 1024)

    @Test func `A write returns after the socket has accepted the bytes`() async throws {
        let isWritten = Gate()
        let server = try await LocalServer { router in
            router.get("/") { _ in
                .stream(length: Self.large.count) { writer in
                    try await writer.write(Self.large)
                    isWritten.open()
                }
            }
        }
        let client = try await RawClient.sending(Self.get, to: server)
        _ = await client.receive(atLeast: 1024 * 1024)
        #expect(!isWritten.isOpen)
        #expect(await client.receive(atLeast: Self.large.count) > Self.large.count)
        await isWritten.wait()
        await client.close()
    }

    @Test func `Several tasks can write at the same time, and their pieces are not mixed`() async throws {
        let server = try await LocalServer { router in
            router.get("/") { _ in
                .stream { writer in
                    try await withThrowingTaskGroup { group in
                        for letter in ["a", "b", "c", "d"] {
                            group.addTask {
                                for _ in 0..<50 { try await writer.write(String(repeating: letter, count: 100)) }
                            }
                        }
                        try await group.waitForAll()
                    }
                }
            }
        }
        let curl = try await Curl.run([], server.url.absoluteString)
        #expect(curl.code == 0)
        #expect(curl.output.count == 4 * 50 * 100)
        var rest = curl.output[...]
        while let first = rest.first {
            #expect(rest.prefix(100).allSatisfy { $0 == first })
            rest = rest.dropFirst(100)
        }
    }

    @Test func `A producer that throws leaves the body incomplete`() async throws {
        let server = try await LocalServer { router in
            router.get("/") { _ in
                .stream { writer in
                    try await writer.write("abc")
                    throw Oops()
                }
            }
        }
        let client = try await RawClient.sending(Self.get, to: server)
        let (text, end) = await client.receiveAll()
        #expect(text.hasSuffix("\r\n\r\n3\r\nabc\r\n"))
        #expect(end == .closed)
        await client.close()
        // CURLE_PARTIAL_FILE or CURLE_RECV_ERROR, as versions differ.
        #expect([18, 56].contains(try await Curl.run([], server.url.absoluteString).code))
    }

    @Test func `A producer cannot write more than announced, and writing less is detected`() async throws {
        let failures = Failures()
        let server = try await LocalServer { router in
            router.get("/more") { _ in
                .stream(length: 3) { writer in
                    try await writer.write("ab")
                    do throws(LocalServer.Failure) {
                        try await writer.write("cd")
                    } catch {
                        failures.append(error)
                    }
                    try await writer.write("c")
                }
            }
            router.get("/less") { _ in .stream(length: 3) { try await $0.write("ab") } }
        }
        let more = try await Curl.run([], server.url("/more").absoluteString)
        #expect(more.code == 0)
        #expect(more.output == "abc")
        #expect(failures.all == [.bodyTooLong(promised: 3)])
        let less = try await Curl.run([], server.url("/less").absoluteString)
        #expect(less.code == 18)
        #expect(less.output == "ab")
    }

    @Test(arguments: [true, false])
    func `A writer fails when the client disconnects`(resetting: Bool) async throws {
        let failures = Failures()
        let isOver = Gate()
        let server = try await LocalServer { router in
            router.get("/") { _ in
                .stream { writer in
                    do throws(LocalServer.Failure) {
                        while true { try await writer.write(Data(repeating: 65, count: 256 * 1024)) }
                    } catch {
                        failures.append(error)
                        isOver.open()
                    }
                }
            }
        }
        let client = try await RawClient.sending(Self.get, to: server)
        _ = await client.receive(atLeast: 100)
        await client.close(resetting: resetting)
        await isOver.wait()
        #expect(failures.all == [.connectionClosed])
        try await server.waitForOpenConnections(atMost: 0)
    }

    @Test(arguments: [true, false])
    func `A route is cancelled when its client disconnects`(resetting: Bool) async throws {
        let isRunning = Gate()
        let isCancelled = Gate()
        let server = try await LocalServer { router in
            router.get("/") { _ in
                isRunning.open()
                await Gate().wait()
                if Task.isCancelled { isCancelled.open() }
                return .ok
            }
        }
        let client = try await RawClient.sending(Self.get, to: server)
        await isRunning.wait()
        await client.close(resetting: resetting)
        await isCancelled.wait()
        try await server.waitForOpenConnections(atMost: 0)
    }

    @Test func `A writer kept beyond its response writes nothing`() async throws {
        let kept = ObservedState<LocalServer.BodyWriter?>(nil)
        let server = try await LocalServer { router in
            router.get("/") { _ in .stream { writer in kept.change { $0 = writer } } }
            router.get("/next") { _ in
                .stream { writer in
                    let earlier = kept.read { $0 }
                    await #expect(throws: LocalServer.Failure.connectionClosed) { try await earlier?.write("wrong") }
                    try await writer.write("right")
                }
            }
        }
        let client = try await RawClient.sending(Self.get, to: server)
        _ = await client.receive(until: "0\r\n\r\n")
        await client.forget()
        await client.send("GET /next HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        #expect(await client.receiveAll().text.hasSuffix("\r\n\r\n5\r\nright\r\n0\r\n\r\n"))
        await client.close()
    }
}

/// Collects what writers threw.
private final class Failures: Sendable {
    private let state = ObservedState<[LocalServer.Failure]>([])

    var all: [LocalServer.Failure] { state.read { $0 } }

    func append(_ failure: LocalServer.Failure) {
        state.change { $0.append(failure) }
    }
}
