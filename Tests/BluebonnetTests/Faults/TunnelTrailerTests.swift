import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

/// Trailers of a proxy's answer to CONNECT.
///
/// Without ``TunnelTrailers``, libcurl stores any number of trailers as fields of the response.
@Suite(.timeLimit(.minutes(10))) struct TunnelTrailerTests {
    /// Begins an answer to CONNECT that has trailers.
    private static let refusal =
        "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"a\"\r\n"
        + "Transfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n"

    /// A proxy that answers the first request on each connection, a CONNECT with a refusal.
    private static func proxy(trailers: String, fields: String = "") async throws -> LocalServer {
        let answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\(fields)X-Last: 1\r\n\r\n"
        return try await LocalServer.scripted { connection in
            // Every second request opens a tunnel.
            connection.isMultiple(of: 2)
                ? LocalServer.Script([.waitForHead, .bytes(refusal + trailers)])
                : LocalServer.Script([.waitForHead, .bytes(answer + "2\r\nok\r\n0\r\n\r\n")])
        }
    }

    private static func session(through proxy: LocalServer) -> Session {
        TestHarness.session {
            $0.proxy = .url("http://127.0.0.1:\(proxy.port)")
            $0.timeouts = Timeouts(connect: .seconds(120), idle: .seconds(120))
        }
    }

    @Test func `a trailer does not change the error or later requests`() async throws {
        let plainProxy = try await LocalServer.scripted(
            .waitForHead, .bytes("HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"))
        let plainSession = Self.session(through: plainProxy)
        let plainError = await plainSession.request("https://a.test/").serializingData().response.error
        let kind = try #require(plainError).kind
        try await TestHarness.end(plainSession, plainProxy)
        let proxy = try await Self.proxy(trailers: "X-Checksum: 1\r\n\r\n")
        let session = Self.session(through: proxy)
        for _ in 0..<3 {
            #expect(await session.request("http://a.test/").serializingString().response.value == "ok")
            try await TestHarness.expect(
                session.request("https://a.test/").serializingData(), in: session, failsWith: kind, saying: "407")
        }
        try await TestHarness.end(session, proxy)
    }

    @Test(arguments: ["\t", " "]) func `a folded trailer does not end the process`(_ blank: String) async throws {
        try await ExitTestInput.pass(blank) {
            await #expect(processExitsWith: .success) {
                let blank = try ExitTestInput.value(as: String.self)
                for round in 0..<20 {
                    let fields = (0..<round * 3).map { "X-\($0): \(String(repeating: "x", count: $0 * 7))\r\n" }
                        .joined()
                    let proxy = try await Self.proxy(trailers: "\(blank)X: y\r\n\r\n", fields: fields)
                    let session = Self.session(through: proxy)
                    let first = await session.request("http://a.test/").serializingString().response
                    precondition(first.value == "ok", "\(first)")
                    let second = await session.request("https://a.test/").serializingData().response
                    precondition(second.error?.isConnectionFailure == true, "\(second)")
                    await session.shutdown()
                    await proxy.stop()
                }
            }
        }
    }

    @Test(.measuresMemory) func `endless trailers use no memory`() async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
            let line = "X: \(String(repeating: "x", count: 2000))\r\n"
            let megabyte = LocalServer.Script.Step.bytes(String(repeating: line, count: 500))
            let steps = [.waitForHead, .bytes(Self.refusal)] + Array(repeating: megabyte, count: 100)
            let proxy = try await LocalServer.scripted { _ in .init(steps) }
            let session = Self.session(through: proxy)
            let before = try ProcessResources.now().residentKiB
            let answer = await session.request("https://a.test/").serializingData().response
            #expect(answer.error != nil)
            let sent = proxy.traffic.bytesSent
            let growth = try ProcessResources.now().residentKiB - before
            print("tunnel: \(sent) bytes of trailers, \(growth) KiB more")
            // The trailers may have been treated as a flood.
            #expect(sent > 1 << 20 && growth < 32 << 10, "\(sent), \(growth)")
            await session.shutdown()
            await proxy.stop()
        }
        let output = String(decoding: result?.standardOutputContent ?? [], as: UTF8.self)
        for line in output.split(separator: "\n") where line.contains("tunnel:") { print(line) }
    }
}
