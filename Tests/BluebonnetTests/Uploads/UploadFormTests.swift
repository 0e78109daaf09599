import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

/// What each kind of body looks like on the wire.
@Suite(.timeLimit(.minutes(10))) struct UploadFormTests {
    private static let sizes = [0, 1, 999, 20_000]

    @Test(arguments: BodyForm.allCases, [HTTPMethod.post, .put, .patch])
    func `a known length is sent exactly and an unknown length is sent as chunks`(
        form: BodyForm, method: HTTPMethod
    ) async throws {
        let server = try await LocalServer { $0.fallback(.text("done")) }
        let directory = try TestDirectory()
        let session = TestHarness.session()
        for size in Self.sizes {
            let body = try form.body(size, in: directory)
            #expect(
                try await session.upload(body, to: server.url("/a"), method: method).serializingString().value == "done"
            )
            let request = try await server.nextRequest()
            let sent = form.sent(size)
            #expect(request.method == method)
            #expect(request.body == sent)
            #expect(request.bodyIsChunked == !form.isMeasured)
            let (length, coding) = (request.headers["Content-Length"], request.headers["Transfer-Encoding"])
            #expect(length == (form.isMeasured ? "\(sent.count)" : nil))
            #expect(coding == (form.isMeasured ? nil : "chunked"))
            #expect(
                request.headers["Content-Type"] == (form == .form ? "multipart/form-data; boundary=a-boundary" : nil))
            #expect(request.headers["Expect"] == (form.isMeasured ? nil : "100-continue"))
        }
        #expect(server.connectionCount == 1)
        try await TestHarness.end(session, server)
    }

    @Test(arguments: BodyForm.allCases, [TestServers.httpbin, .httpbinHTTP2, .nghttpd])
    func `other servers get every byte`(form: BodyForm, server: TestServers) async throws {
        let directory = try TestDirectory()
        let session = try TestHarness.trustingSession()
        for size in [0, 1, 70_000] {
            let body = try form.body(size, in: directory)
            let url = try server.url(server == .nghttpd ? "/" : "/post")
            let request = session.upload(body, to: url, headers: ["Content-Type": "application/octet-stream"])
            if server == .nghttpd {
                #expect(
                    try await request.validate().serializingData(emptyResponseCodes: [200]).value == form.sent(size))
                continue
            }
            let json = try await request.validate().serializingJSON().value
            let text = try #require(json["data"]?.string)
            // A body that is not text is returned as a data URL.
            let bytes = text.split(separator: ",").last.flatMap { Data(base64Encoded: String($0)) }
            #expect(Data(text.utf8) == form.sent(size) || bytes == form.sent(size))
            let isChunked = json["headers"]?["Transfer-Encoding"]?.string == "chunked"
            #expect(isChunked == (!form.isMeasured && server == .httpbin))
            #expect(
                json["headers"]?["Expect"]?.string == (!form.isMeasured && server == .httpbin ? "100-continue" : nil))
        }
        await session.shutdown()
    }

    @Test(arguments: [TestServers.nginx, .nginxTLS], BodyForm.allCases)
    func `nginx stores the uploaded body`(server: TestServers, form: BodyForm) async throws {
        let directory = try TestDirectory()
        let session = try TestHarness.trustingSession()
        let url = try server.url("/stored/form-\(UInt64.random(in: 0 ... .max))")
        let put = session.upload(try form.body(300_000, in: directory), to: url, method: .put)
        let answer = await put.serializingData(emptyResponseCodes: [201, 204]).response
        #expect(answer.response?.statusCode == 201, "\(answer)")
        #expect(try await session.request(url).serializingData().value == form.sent(300_000))
        await session.shutdown()
    }

    @Test(arguments: [TestServers.httpbin, .httpbinHTTP2])
    func `the server parses a form`(server: TestServers) async throws {
        let directory = try TestDirectory()
        try directory.write("from a file", to: "a file.txt")
        let session = try TestHarness.trustingSession()
        let json = try await session.upload(
            multipartFormData: { form in
                form.append("text", withName: "field")
                form.append(directory.url("a file.txt"), withName: "file")
                form.append(Pieces(3, of: 1), withName: "pieces", fileName: "p", mimeType: "text/plain")
            }, to: try server.url("/post")
        ).validate().serializingJSON().value
        #expect(json["form"]?["field"]?.string == "text")
        #expect(json["files"]?["file"]?.string == "from a file")
        #expect(json["files"]?["pieces"]?.string == "\u{0}\u{1}\u{2}")
        await session.shutdown()
    }

    @Test(arguments: [true, false])
    func `pieces of one byte form one body`(isMeasured: Bool) async throws {
        let server = try await LocalServer { $0.fallback(.ok) }
        let session = TestHarness.session()
        let pieces = Pieces(20_000, of: 1)
        let request = session.upload(pieces, length: isMeasured ? pieces.length : nil, to: server.url("/a"))
        #expect(await request.serializingData(emptyResponseCodes: [200]).response.error == nil)
        let received = try await server.nextRequest()
        #expect(received.body == Pieces.bytes(20_000))
        #expect(received.bodyIsChunked == !isMeasured)
        await pieces.record.isOver.wait()
        #expect(pieces.record.begun == 1)
        try await TestHarness.end(session, server)
    }

    @Test func `empty pieces do not end the body and are not sent as chunks`() async throws {
        let server = try await LocalServer { $0.fallback(.ok) }
        let session = TestHarness.session()
        let (stream, continuation) = AsyncStream<Data>.makeStream()
        for text in ["", "one", "", "", "two", ""] { continuation.yield(Data(text.utf8)) }
        continuation.finish()
        _ = await session.upload(stream, to: server.url("/a")).serializingData().response
        #expect(try await server.nextRequest().text == "onetwo")
        try await TestHarness.end(session, server)
    }

    @Test func `fields of the request are sent except framing fields`() async throws {
        let server = try await LocalServer { $0.fallback(.ok) }
        let session = TestHarness.session()
        let headers: HTTPHeaders = [
            "Content-Type": "text/csv", "Content-Length": "7", "Transfer-Encoding": "gzip", "X-Name": "value",
        ]
        for body in [RequestBody.stream(Pieces(2, of: 10)), .multipart(MultipartFormData())] {
            _ = await session.upload(body, to: server.url("/a"), headers: headers).serializingData().response
            let request = try await server.nextRequest()
            #expect(request.headers["Content-Type"] == "text/csv")
            #expect(request.headers["X-Name"] == "value")
            #expect(request.headers["Content-Length"] != "7")
            #expect(request.headers["Transfer-Encoding"] != "gzip")
        }
        try await TestHarness.end(session, server)
    }

    @Test(
        arguments: [
            (nil, "multipart/form-data; boundary=b"), ("multipart/form-data", "multipart/form-data; boundary=b"),
            ("Multipart/Form-Data; charset=utf-8", "Multipart/Form-Data; charset=utf-8; boundary=b"),
            ("multipart/related", "multipart/related; boundary=b"),
            ("multipart/form-data; boundary=mine", "multipart/form-data; boundary=mine"), ("text/plain", "text/plain"),
        ] as [(String?, String)])
    func `a form's boundary is in its content type`(_ own: String?, sent: String) async throws {
        let server = try await LocalServer { $0.post("/", .text("")) }
        let session = TestHarness.session()
        var form = MultipartFormData(boundary: "b")
        form.append("value", withName: "name")
        let headers = own.map { HTTPHeaders([HTTPHeader(name: "Content-Type", value: $0)]) }
        _ = await session.upload(multipartFormData: form, to: server.url("/"), headers: headers)
            .serializingNothing().response
        #expect(try await server.nextRequest().headers["Content-Type"] == sent)
        try await TestHarness.end(session, server)
    }
}
