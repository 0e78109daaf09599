import Bluebonnet
import FoundationEssentials
import Testing

@testable import BluebonnetTesting

@Suite(.timeLimit(.minutes(10))) struct LocalServerUploadFaultTests {
    private static let head = "POST / HTTP/1.1\r\nHost: h\r\n"
    private static let expecting = head + "Expect: 100-continue\r\nContent-Length: 1\r\n\r\n"

    // MARK: Expect: 100-continue

    @Test(arguments: [LocalServer.ContinuePolicy.immediately, .whenRead])
    func `100 is sent as the policy requires, and then the body is read`(
        policy: LocalServer.ContinuePolicy
    ) async throws {
        let mayRead = Gate(isOpen: policy == .immediately)
        let isRunning = Gate()
        let server = try await LocalServer { router in
            router.streaming("/", continue: policy) { _, body in
                isRunning.open()
                await mayRead.wait()
                return .text("read \(try await body.discard())\n")
            }
        }
        let client = try await RawClient.sending(Self.expecting, to: server)
        await isRunning.wait()
        if policy == .whenRead { #expect(server.traffic.bytesSent == 0) }
        mayRead.open()
        #expect(await client.receive(until: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
        await client.send("x")
        let text = await client.receive(until: "read 1\n")
        #expect(text.components(separatedBy: "100 Continue").count == 2)
        #expect(!text.contains("Connection: close"))
        await client.close()
    }

    @Test(arguments: [LocalServer.ContinuePolicy.never, .whenRead])
    func `The response of a route that does not read replaces the 100 and ends the connection`(
        policy: LocalServer.ContinuePolicy
    ) async throws {
        let server = try await LocalServer { router in
            router.streaming("/", continue: policy) { _, _ in .status(413) }
        }
        let client = try await RawClient.sending(Self.expecting, to: server)
        let (text, end) = await client.receiveAll()
        #expect(
            text == "HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        #expect(end == .closed)
        #expect(try await server.nextRequest().bodyLength == 0)
        await client.close()
    }

    @Test func `A client that receives no 100 can still send the body`() async throws {
        let server = try await LocalServer { router in
            router.streaming("/", continue: .never) { _, body in .text("read \(try await body.discard())\n") }
        }
        let client = try await RawClient.sending(Self.expecting, to: server)
        try await server.waitForBytesReceived(atLeast: Self.expecting.utf8.count)
        await client.send("x")
        let text = await client.receive(until: "read 1\n")
        #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(!text.contains("Connection: close"))
        await client.close()
    }

    // MARK: Bodies that do not end well

    @Test(arguments: [true, false])
    func `A reader receives the bytes before the client disconnects, and then an error`(resetting: Bool) async throws {
        let outcomes = ObservedState<[String]>([])
        let server = try await LocalServer { router in
            router.streaming("/") { _, body in
                do throws(LocalServer.Failure) {
                    while let piece = try await body.read() {
                        outcomes.change { $0.append(String(decoding: piece, as: UTF8.self)) }
                    }
                } catch {
                    outcomes.change { $0.append("\(error)") }
                }
                return .ok
            }
        }
        let client = try await RawClient.sending(Self.head + "Content-Length: 10\r\n\r\nabc", to: server)
        try await outcomes.wait { $0.isEmpty ? nil : .success(()) }
        await client.close(resetting: resetting)
        try await server.waitForOpenConnections(atMost: 0)
        let seen = try await outcomes.wait { $0.count > 1 ? .success($0) : nil }
        #expect(seen == ["abc", "\(LocalServer.Failure.connectionClosed)"])
        let request = try await server.nextRequest()
        #expect(!request.bodyIsComplete)
        #expect(request.bodyLength == 3)
    }

    @Test func `A route that does not read is cancelled when its connection is reset`() async throws {
        let isRunning = Gate()
        let isCancelled = Gate()
        var options = LocalServer.Options()
        options.bodyWindowBytes = 1
        let server = try await LocalServer(options: options) { router in
            router.streaming("/") { _, _ in
                isRunning.open()
                await Gate().wait()
                isCancelled.open()
                return .ok
            }
        }
        let client = try await RawClient.sending(Self.head + "Content-Length: 10\r\n\r\nabc", to: server)
        await isRunning.wait()
        await client.close(resetting: true)
        await isCancelled.wait()
        try await server.waitForOpenConnections(atMost: 0)
    }

    @Test func `A body that ends with a half-close is not treated as complete`() async throws {
        let server = try await LocalServer { router in
            router.streaming("/") { _, body in
                do {
                    return .text("read \(try await body.discard())\n")
                } catch {
                    return .text("incomplete\n", status: 400)
                }
            }
        }
        let client = try await RawClient.sending(Self.head + "Content-Length: 10\r\n\r\nabc", to: server)
        await client.closeWriting()
        let (text, end) = await client.receiveAll()
        #expect(text.hasPrefix("HTTP/1.1 400 "))
        #expect(text.hasSuffix("\r\nConnection: close\r\n\r\nincomplete\n"))
        #expect(end == .closed)
        await client.close()
    }

    @Test(arguments: [
        ("Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n", 400),
        ("Transfer-Encoding: chunked\r\n\r\nx\r\n", 400),
        ("Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n5\r\nabcde\r\n", 413),
        ("Content-Length: 9\r\n\r\n", 413),
    ])
    func `An invalid body receives an error response and ends the connection`(rest: String, status: Int) async throws {
        var options = LocalServer.Options()
        options.maximumBodyBytes = 8
        let server = try await LocalServer(options: options) { router in
            router.streaming("/") { _, body in .text("read \(try await body.discard())\n") }
        }
        let client = try await RawClient.sending(Self.head + rest, to: server)
        let (text, end) = await client.receiveAll()
        #expect(text.hasPrefix("HTTP/1.1 \(status) "))
        #expect(end == .closed)
        await client.close()
    }

    @Test func `Stopping the server ends a read`() async throws {
        let failures = ObservedState<[LocalServer.Failure]>([])
        let isRunning = Gate()
        let server = try await LocalServer { router in
            router.streaming("/") { _, body in
                isRunning.open()
                do throws(LocalServer.Failure) {
                    try await body.discard()
                } catch {
                    failures.change { $0.append(error) }
                }
                return .ok
            }
        }
        let client = try await RawClient.sending(Self.head + "Content-Length: 10\r\n\r\nabc", to: server)
        await isRunning.wait()
        await server.stop()
        let seen = try await failures.wait { $0.isEmpty ? nil : .success($0) }
        #expect(seen == [.connectionClosed])
        #expect(server.requests.map(\.bodyIsComplete) == [false])
        await client.close()
    }
}
