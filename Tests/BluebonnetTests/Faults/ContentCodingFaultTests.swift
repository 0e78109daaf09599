import BluebonnetTesting
import FoundationEssentials
import Testing

@testable import Bluebonnet

@Suite(.timeLimit(.minutes(10))) struct ContentCodingFaultTests {
    @Test(arguments: ["gzip", "x-gzip", "deflate", "br", "zstd", "gzip, br"])
    func `a body that is not compressed with its stated coding`(_ coding: String) async throws {
        let server = try await LocalServer { router in
            let headers: HTTPHeaders = ["Content-Encoding": coding]
            router.get("/text", .text(String(repeating: "plain text ", count: 1000), headers: headers))
            router.get("/bytes", .data(Data(repeating: 0x9d, count: 20_000), headers: headers))
        }
        let session = TestHarness.session()
        for path in ["/text", "/bytes"] {
            let task = session.request(server.url(path)).serializingData()
            try await TestHarness.expect(
                task, in: session, failsWith: .invalidResponse(.undecodableContent),
                saying: "the body does not decode as its Content-Encoding says", "[GET \(server.url(path))]")
            #expect(await task.response.response?.statusCode == 200)
        }
        try await TestHarness.end(session, server)
    }

    @Test(arguments: ["gzip", "deflate", "br", "zstd"])
    func `a compressed body that ends too early`(_ coding: String) async throws {
        let whole = try #require(Self.compressed[coding])
        let server = try await LocalServer { router in
            router.get("/whole", .data(Data(whole), headers: ["Content-Encoding": coding]))
            router.get("/half", .data(Data(whole.prefix(whole.count / 2)), headers: ["Content-Encoding": coding]))
        }
        let session = TestHarness.session()
        #expect(
            try await session.request(server.url("/whole")).serializingString().value == "hello hello hello hello\n")
        let answer = await session.request(server.url("/half")).serializingString().response
        // The framing is right, but not all of the content is there.
        #expect(answer.error?.kind == .invalidResponse(.undecodableContent), "\(answer)")
        #expect(answer.error?.detail == "the content ends too early")
        try await TestHarness.end(session, server)
    }

    @Test(arguments: ["gzip", "deflate"])
    func `a compressed body with a wrong checksum or extra bytes`(_ coding: String) async throws {
        var wrong = try #require(Self.compressed[coding])
        wrong[wrong.count - (coding == "gzip" ? 8 : 1)] ^= 0xff
        let server = try await LocalServer { [wrong] router in
            router.get("/wrong", .data(Data(wrong), headers: ["Content-Encoding": coding]))
        }
        let session = TestHarness.session()
        try await TestHarness.expect(
            session.request(server.url("/wrong")).serializingString(), in: session,
            failsWith: .invalidResponse(.undecodableContent))
        try await TestHarness.end(session, server)
    }

    /// Servers name character sets, formats and their own framing in this field.
    @Test(arguments: [
        "UTF-8", "aws-chunked", "binary", "8bit", "null", "nonsense", "exi", "identity2", "chunked", "base64, UTF-8",
    ])
    func `a body with an unknown coding is delivered as it is`(_ coding: String) async throws {
        let server = try await LocalServer { router in
            router.get("/a", .text("text", headers: ["Content-Encoding": coding]))
        }
        let session = TestHarness.session()
        let names = coding.lowercased().split(separator: ",").map { String($0.trimmed) }
        let answer = await session.request(server.url("/a")).serializingString().response
        #expect(answer.value == "text" && answer.response?.remainingContentCodings == names, "\(answer)")
        #expect(answer.response?.expectedContentLength == 4)
        let stream = session.streamRequest(server.url("/a")).streamTask().bytes
        #expect(await StreamFixture.body(stream).0.count == 4)
        let directory = try TestDirectory()
        let file = directory.url("file")
        let download = await session.download(server.url("/a"), to: .file(file, options: .removePreviousFile))
            .serializingURL().response
        #expect(download.error == nil && directory.text("file") == "text", "\(download)")
        try await TestHarness.end(session, server)
    }

    @Test func `codings above an unknown one are removed`() async throws {
        let gzip = Data(try #require(Self.compressed["gzip"]))
        let server = try await LocalServer { router in
            router.get("/above", .data(gzip, headers: ["Content-Encoding": "nonsense, gzip"]))
            router.get("/below", .data(gzip, headers: ["Content-Encoding": "gzip, nonsense"]))
        }
        let session = TestHarness.session()
        let above = await session.request(server.url("/above")).serializingString().response
        #expect(above.value == "hello hello hello hello\n")
        #expect(above.response?.remainingContentCodings == ["nonsense"])
        let below = await session.request(server.url("/below")).serializingData().response
        #expect(below.value == gzip && below.response?.remainingContentCodings == ["gzip", "nonsense"])
        try await TestHarness.end(session, server)
    }

    /// Mirrors serve `.tar.gz` files so.
    @Test(arguments: [nil, "gzip;q=0, br", "gzip"], [false, true])
    func `a download decodes only what it accepts`(_ accepted: String?, isCached: Bool) async throws {
        let gzip = Data(try #require(Self.compressed["gzip"]))
        let server = try await LocalServer { router in
            router.get(
                "/a.tar.gz",
                .data(
                    gzip,
                    headers: [
                        "Content-Type": "application/x-gzip", "Content-Encoding": "x-gzip",
                        "Cache-Control": "max-age=60",
                    ]))
        }
        let session = TestHarness.session { if isCached { $0.cache = ResponseCache() } }
        let directory = try TestDirectory()
        let url = server.url("/a.tar.gz")
        let whole = "hello hello hello hello\n"
        // The cache does not mix the two forms.
        for round in 1...2 {
            let file = directory.url("file\(round)")
            let headers: HTTPHeaders? = accepted.map { ["Accept-Encoding": $0] }
            let download = await session.download(
                url, headers: headers, to: .file(file, options: .removePreviousFile)
            ).serializingURL().response
            #expect(download.error == nil, "\(download)")
            let isDecoded = accepted == "gzip"
            #expect(try Data(contentsOf: file) == (isDecoded ? Data(whole.utf8) : gzip), "\(round)")
            #expect(download.response?.remainingContentCodings == (isDecoded ? [] : ["x-gzip"]))
            #expect(try await session.request(url).serializingString().value == whole, "\(round)")
        }
        try await TestHarness.end(session, server)
    }

    @Test func `a part of a compressed body ends anywhere, and several codings are decoded`() async throws {
        let gzip = Data(try #require(Self.compressed["gzip"]))
        let deflater = try #require(Deflater(.deflate))
        let twice = deflater.compress(gzip) + deflater.finish()
        let server = try await LocalServer { router in
            router.get("/part", .data(gzip.dropLast(8), status: 206, headers: ["Content-Encoding": "gzip"]))
            router.get("/twice", .data(twice, headers: ["Content-Encoding": "gzip, deflate"]))
            let headers = HTTPHeaders([.contentEncoding("GZIP"), .contentEncoding("deflate")])
            router.get("/fields", .data(twice, headers: headers))
            router.get("/members", .data(gzip + gzip, headers: ["Content-Encoding": "gzip"]))
        }
        let session = TestHarness.session()
        let text = "hello hello hello hello\n"
        for (path, expected) in [("part", text), ("twice", text), ("fields", text), ("members", text + text)] {
            #expect(try await session.request(server.url("/\(path)")).serializingString().value == expected, "\(path)")
        }
        try await TestHarness.end(session, server)
    }

    @Test(arguments: ["gzip, chunked", "GZIP , chunked", "deflate", "chunked, nonsense", "br"])
    func `an unrequested transfer coding that libcurl would decode`(_ coding: String) async throws {
        let gzip = try #require(Self.compressed["gzip"])
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: \(coding)\r\n\r\n"
        let size = String(gzip.count, radix: 16)
        let server = try await TestHarness.server(
            answering: Array((head + size + "\r\n").utf8) + gzip + Array("\r\n0\r\n\r\n".utf8))
        let session = TestHarness.session()
        try await TestHarness.expect(
            session.request(server.url("/a")).serializingData(), in: session, failsWith: .invalidResponse(.malformed))
        try await TestHarness.end(session, server)
    }

    @Test func `compressed bodies that are slow, byte by byte`() async throws {
        let bodies = Self.compressed
        let server = try await LocalServer { router in
            for (coding, body) in bodies {
                router.get("/\(coding)") { _ in
                    .stream(headers: ["Content-Encoding": coding]) { writer in
                        for byte in body { try await writer.write([byte]) }
                    }
                }
            }
        }
        let session = TestHarness.session()
        for coding in bodies.keys {
            let request = session.request(server.url("/\(coding)"))
            #expect(try await request.serializingString().value == "hello hello hello hello\n", "\(coding)")
            #expect(request.downloadProgress.completed == 24)
        }
        try await TestHarness.end(session, server)
    }

    @Test func `too many codings`() async throws {
        let server = try await LocalServer { router in
            let codings = Array(repeating: "gzip", count: 1000).joined(separator: ", ")
            router.get("/a", .text("text", headers: ["Content-Encoding": codings]))
        }
        let session = TestHarness.session()
        try await TestHarness.expect(
            session.request(server.url("/a")).serializingString(), in: session,
            failsWith: .invalidResponse(.undecodableContent))
        try await TestHarness.end(session, server)
    }

    @Test func `nothing is decoded when the session turns it off`() async throws {
        let server = try await LocalServer { router in
            router.get("/a", .text("text", headers: ["Content-Encoding": "gzip"]))
        }
        let session = TestHarness.session { $0.decodesContent = false }
        let answer = await session.request(server.url("/a")).serializingString().response
        #expect(answer.value == "text")
        #expect(try await server.nextRequest().headers["Accept-Encoding"] == nil)
        try await TestHarness.end(session, server)
    }

    @Test func `an empty body needs no decoding`() async throws {
        let server = try await LocalServer { router in
            router.get("/a", .status(200, headers: ["Content-Encoding": "gzip"]))
            router.get("/b", .status(204, headers: ["Content-Encoding": "gzip"]))
        }
        let session = TestHarness.session()
        for path in ["/a", "/b"] {
            for method in [HTTPMethod.get, .head] {
                let task = session.request(server.url(path), method: method)
                    .serializingData(emptyResponseCodes: [200, 204])
                #expect(try await task.value.isEmpty)
            }
        }
        try await TestHarness.end(session, server)
    }

    /// "hello hello hello hello" and a line feed.
    private static let compressed: [String: [UInt8]] = [
        "gzip": [
            0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0x57, 0xc8,
            0x40, 0x27, 0xb9, 0x00, 0x00, 0x88, 0x59, 0x0b, 0x18, 0x00, 0x00, 0x00,
        ],
        "deflate": [
            0x78, 0x9c, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0x57, 0xc8, 0x40, 0x27, 0xb9, 0x00, 0x70, 0xbe, 0x08, 0xbb,
        ],
        "zstd": [
            0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x58, 0x6d, 0x00, 0x00, 0x38, 0x68, 0x65, 0x6c, 0x6c, 0x6f, 0x20, 0x0a,
            0x01, 0x00, 0x99, 0x4b, 0x11, 0xa8, 0x7c, 0x2e, 0xa8,
        ],
        "br": [
            0x1b, 0x17, 0x00, 0xf8, 0x8d, 0x94, 0x6e, 0xde, 0x44, 0x55, 0x86, 0xd6, 0x0a, 0x20, 0x6c, 0x6f, 0x4a,
            0x11, 0x79, 0xe2, 0x80, 0xae, 0x16,
        ],
    ]

    /// aiohttp's files and nginx's `gzip_static` send a part of the coded file, or the whole file.
    @Test(
        arguments: [
            ([:], [:], "br, gzip, deflate"), (["Range": "bytes=1-2"], [:], "identity"),
            (["range": "bytes=1-2", "accept-encoding": "gzip"], [:], "gzip"),
            (["Range": "bytes=1-2"], ["Accept-Encoding": "gzip"], "gzip"),
        ] as [(HTTPHeaders, HTTPHeaders, String)])
    func `a part of the content is requested without a coding`(
        _ own: HTTPHeaders, _ ofSession: HTTPHeaders, _ codings: String
    ) async throws {
        let server = try await LocalServer { $0.get("/", .text("right")) }
        let session = TestHarness.session { for field in ofSession { $0.headers.update(field) } }
        let request = session.request(server.url("/"), headers: own)
        _ = try await request.serializingString().value
        let sent = try #require(try await server.nextRequest().headers["Accept-Encoding"])
        #expect(sent == codings || own.isEmpty && sent == HTTPHeader.defaultAcceptEncoding.value)
        for try await _ in session.streamRequest(server.url("/"), headers: own).streamTask().bytes {}
        #expect(try await server.nextRequest().headers["Accept-Encoding"] == sent)
        try await TestHarness.end(session, server)
    }
}
