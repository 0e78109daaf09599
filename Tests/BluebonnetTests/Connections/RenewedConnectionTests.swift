import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// ``Session/renewConnections()``.
@Suite(.timeLimit(.minutes(10))) struct RenewedConnectionTests {
    @Test(arguments: [false, true])
    func `a later request has a new connection, and the idle connection is closed`(isCached: Bool) async throws {
        let closed = Gate()
        let server = try await LocalServer { router in
            router.get("/", .text("right"))
            router.get(
                "/first",
                .script(
                    .bytes("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nright"), .waitForClose, .wait { closed.open() })
            )
        }
        let session = TestHarness.session { if isCached { $0.cache = ResponseCache(memoryCapacity: 1 << 20) } }
        #expect(try await session.request(server.url("/first")).serializingString().value == "right")
        session.renewConnections()
        await closed.wait()
        for _ in 1...2 { #expect(try await session.request(server.url("/")).serializingString().value == "right") }
        #expect(server.connectionCount == 2)
        await session.shutdown()
        session.renewConnections()
        await server.stop()
    }

    @Test func `a running request continues on its connection`() async throws {
        let gate = Gate()
        let server = try await LocalServer { router in
            router.get("/", .text("right"))
            router.get(
                "/first",
                .script(
                    .bytes("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfi"), .wait { await gate.wait() }, .bytes("ne"))
            )
        }
        let session = TestHarness.session()
        let task = session.streamRequest(server.url("/first")).streamTask()
        var body = Data()
        for try await piece in task.bytes {
            if body.isEmpty {
                session.renewConnections()
                #expect(try await session.request(server.url("/")).serializingString().value == "right")
                gate.open()
            }
            body += piece
        }
        #expect(body == Data("fine".utf8))
        await session.shutdown()
        await server.stop()
    }

    /// Before 8.16.0, libcurl has no option for this.
    @Test(.enabled(if: Libcurl.version >= 0x08_10_00))
    func `a later request does not join a running request on an HTTP 2 connection`() async throws {
        let session = try TestHarness.trustingSession()
        let url = try TestServers.nginxTLS.url("/small.json")
        let slow = session.streamRequest(try TestServers.nginxTLS.url("/slow/bytes/1073741824")).streamTask()
        #expect(try await slow.response.httpVersion == .http2)
        let joined = await session.request(url).serializingData().response
        session.renewConnections()
        let apart = await session.request(url).serializingData().response
        #expect(joined.metrics?.isReusedConnection == true && apart.metrics?.isReusedConnection == false)
        slow.cancel()
        await session.shutdown()
    }

    @Test func `metrics describe the lost connection if its successor is refused`() async throws {
        let isRefusing = Gate()
        let server = try await LocalServer { router in
            router.get("/kept", .text("right"))
            router.get("/lost", .script(.wait { await isRefusing.wait() }, .close))
        }
        let session = TestHarness.session()
        let kept = await session.request(server.url("/kept")).serializingData().response
        #expect(kept.metrics?.remoteAddress?.host == "127.0.0.1")
        async let answer = session.request(server.url("/lost")).serializingData().response
        _ = try await server.request(2)
        await server.stopListening()
        isRefusing.open()
        let lost = await answer
        #expect(lost.error?.kind == .connection(.refused))
        #expect(lost.metrics?.remoteAddress == kept.metrics?.remoteAddress)
        #expect(lost.metrics?.localAddress == kept.metrics?.localAddress)
        #expect(lost.metrics?.isReusedConnection == true)
        await session.shutdown()
        await server.stop()
    }
}
