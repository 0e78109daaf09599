import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// The status code of errors, whether or not the response is the cause.
@Suite(.timeLimit(.minutes(10))) struct StatusCodeTests {
    private static func server() async throws -> LocalServer {
        try await LocalServer { router in
            router.get("/page", .text("<html>", status: 502))
            router.get("/large", .data(Data(count: 5000), status: 203))
            router.get("/cut", .script(.bytes("HTTP/1.1 206 Part\r\nContent-Length: 9\r\n\r\nabc"), .close))
            router.get("/coded", .text("plain", status: 404, headers: ["Content-Encoding": "gzip"]))
        }
    }

    @Test(arguments: [("/page", 502), ("/large", 203), ("/cut", 206), ("/coded", 404)])
    func `an error has the status code of the response, and its text says it`(_ path: String, code: Int) async throws {
        let server = try await Self.server()
        let session = TestHarness.session { $0.maximumResponseBytes = 1000 }
        let error = await session.request(server.url(path)).serializingDecodable([Int].self).response.error
        #expect(error?.statusCode == code, "\(error as Any)")
        #expect(error?.description.hasSuffix(", status \(code) [GET \(server.url(path))]") == true, "\(error as Any)")
        if path == "/cut" || path == "/coded" {
            let stream = session.streamRequest(server.url(path)).streamTask().bytes
            #expect(await StreamFixture.body(stream).1?.statusCode == code)
            let download = await session.download(server.url(path)).serializingURL().response
            #expect(path == "/coded" || download.error?.statusCode == code)
        }
        try await TestHarness.end(session, server)
    }

    @Test func `the code of a refused response is in the text once`() async throws {
        let server = try await Self.server()
        let session = TestHarness.session()
        let error = await session.request(server.url("/page")).validate().serializingData().response.error
        #expect(error?.statusCode == 502 && error?.description.ranges(of: "502").count == 1, "\(error as Any)")
        let socket = session.webSocket("ws://127.0.0.1:\(server.port)/page").webSocketTask()
        let refusal = await WebSocketFixture.messages(socket).1
        #expect(refusal?.statusCode == 502 && refusal?.description.ranges(of: "502").count == 1, "\(refusal as Any)")
        try await TestHarness.end(session, server)
    }

    @Test func `an error without a response has no status code`() async throws {
        let session = TestHarness.session()
        let url = "http://127.0.0.1:\(try DeadPort.refusing())/"
        let error = await session.request(url).serializingData().response.error
        #expect(error?.statusCode == nil && error?.description.contains("status") == false, "\(error as Any)")
        await session.shutdown()
    }
}
