import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// Servers that say how long they keep a connection.
@Suite(.timeLimit(.minutes(10))) struct ReuseTimeTests {
    @Test(
        arguments: [
            ("Keep-Alive: timeout=5", 4000), ("keep-alive: max=100, timeout=60\r\n", 59_000),
            ("Keep-Alive: TIMEOUT = 1\n", 750), ("Keep-Alive: timeout=0", 0),
            ("Keep-Alive: timeout=99999999999\r\n", 4_294_967_295_000),
            ("Keep-Alive:timeout=4294967297", 4_294_967_295_000), ("Keep-Alive: 5", nil), ("Keep-Alive: timeout", nil),
            ("Keep-Alive: timeout=-1", nil), ("Keep-Alive: timeout=5s", nil), ("Keep-Alive: max=3", nil),
            ("Keep-Alive:", nil), ("Keep-Alive: timeout=2, timeout=9", 1500),
        ] as [(String, Int64?)])
    func `the time is read, and shortened by a margin`(_ line: String, milliseconds: Int64?) {
        let line = Array(line.utf8)
        #expect(ReuseTime(field: line.span)?.nanoseconds == milliseconds.map { $0 * 1_000_000 })
    }

    /// The server itself keeps its connections open.
    @Test(arguments: [("timeout=0", 2), ("timeout=100, max=5", 1), (nil, 1)] as [(String?, Int)])
    func `a connection is used again only as long as the server keeps it`(_ value: String?, count: Int) async throws {
        let server = try await LocalServer { router in
            router.get("/") { request in
                var headers: HTTPHeaders = ["X-Connection": "\(request.connection)"]
                if let value { headers.append(name: "Keep-Alive", value: value) }
                return .status(200, headers: headers)
            }
        }
        let session = TestHarness.session()
        for number in 1...2 {
            let answer = await session.request(server.url("/")).serializingData().response
            #expect(answer.response?.headers["X-Connection"] == (number == 2 ? "\(count)" : "1"))
        }
        #expect(server.connectionCount == count)
        try await TestHarness.end(session, server)
    }
}
