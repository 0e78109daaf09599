import BluebonnetTesting
import Foundation
import TestSupport
import Testing

@testable import Bluebonnet

/// The fields after a response's body (RFC 9110 §6.5).
@Suite struct TrailerTests {
    private static func chunked(_ trailers: String) -> String {
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\(trailers)\r\n"
    }

    @Test func `Trailers over HTTP 2`() async throws {
        let session = try TestHarness.trustingSession()
        let request = session.request(try TestServers.misbehavingHTTP2.url("/trailers"))
        let answer = await request.serializingData().response
        #expect(answer.response?.trailers["X-Checksum"] != nil)
        #expect(answer.response?.headers["X-Checksum"] == nil)
        #expect(request.response?.trailers == answer.response?.trailers)
        await session.shutdown()
    }

    @Test func `Each kind of request tells the trailers at its end, and not before`() async throws {
        let server = try await LocalServer { router in
            router.get("/") { _ in .script(.bytes(Self.chunked("A: 1\r\nB: x\r\na: 2\r\n")), .close) }
        }
        let session = TestHarness.session()
        let trailers = HTTPHeaders([
            HTTPHeader(name: "A", value: "1"), HTTPHeader(name: "B", value: "x"), HTTPHeader(name: "a", value: "2"),
        ])
        let data = await session.request(server.url("/")).onHTTPResponse { #expect($0.trailers.isEmpty) }
            .serializingData().response
        #expect(data.response?.trailers == trailers)
        let stream = session.streamRequest(server.url("/"))
        let task = stream.streamTask()
        #expect(try await task.response.trailers.isEmpty)
        var count = 0
        for try await bytes in task.bytes { count += bytes.count }
        #expect(count == 3)
        while !stream.isFinished { await Task.yield() }
        #expect(stream.response?.trailers == trailers)
        let directory = try TestDirectory()
        let file = await session.download(server.url("/"), to: .file(directory.url("a"))).serializingURL().response
        #expect(file.response?.trailers == trailers)
        try await TestHarness.end(session, server)
    }

    @Test func `A response without trailers has none, and those of an earlier response do not remain`() async throws {
        let server = try await LocalServer { router in
            router.get("/") { request in
                request.sequence == 1 ? .script(.bytes(Self.chunked("A: 1\r\n"))) : .text("b")
            }
        }
        let session = TestHarness.session()
        #expect(await session.request(server.url("/")).serializingData().response.response?.trailers == ["A": "1"])
        #expect(await session.request(server.url("/")).serializingData().response.response?.trailers == [:])
        try await TestHarness.end(session, server)
    }

    @Test func `Secrets in trailers are not described`() async throws {
        let head = ReceivedHead(statusCode: 200, httpVersion: .http1_1, headers: [:])
        let url = try #require(URL(string: "https://a.test/"))
        let response = HTTPResponse(url: url, head: head, trailers: ["Set-Cookie": "id=secret"])
        for text in ["\(response)", String(reflecting: response)] { #expect(!text.contains("secret"), "\(text)") }
        var dumped = ""
        dump(response, to: &dumped)
        #expect(!dumped.contains("secret"), "\(dumped)")
    }

    /// The length of a body that keeps its coding is known, and the body can be passed on with it.
    @Test func `The length of a body that is not decoded is known`() async throws {
        let server = try await LocalServer { router in
            router.get("/") { _ in
                .data(Data(count: 20), headers: ["Content-Encoding": "gzip"])
            }
        }
        let session = TestHarness.session { $0.decodesContent = false }
        let request = session.request(server.url("/"))
        let progress = request.downloadProgressUpdates()
        let response = await request.serializingData().response
        #expect(response.value?.count == 20)
        #expect(response.response?.expectedContentLength == 20)
        var last: TransferProgress?
        for await step in progress { last = step }
        #expect(last?.total == 20)
        try await TestHarness.end(session, server)
    }
}
