import Bluebonnet
import FoundationEssentials
import TestSupport
import Testing

/// Bodies of responses, in every framing, content coding and type that httpbin has.
@Suite(.timeLimit(.minutes(10)))
struct `Conformance of response bodies` {
    @Test(arguments: TestServers.httpbins, [("/gzip", "gzip"), ("/deflate", "deflate"), ("/brotli", "br")])
    func `a content coding is decoded`(server: TestServers, coding: (path: String, name: String)) async throws {
        let answer = try await server.answer(coding.path)
        #expect(answer.status == 200)
        #expect(answer.head.headers["Content-Encoding"] == coding.name)
        #expect(answer.head.expectedContentLength == nil)
        let flag = coding.name == "br" ? "brotli" : coding.name == "gzip" ? "gzipped" : "deflated"
        #expect(try answer.json()[flag] == true)
        #expect(try answer.json()["method"] == "GET")
    }

    @Test(arguments: TestServers.httpbins, ["/gzip", "/deflate", "/brotli"])
    func `a session that does not decode gets the encoded bytes`(server: TestServers, path: String) async throws {
        var configuration = Session.Configuration.conformance
        configuration.decodesContent = false
        let session = Session(configuration: configuration)
        let answer = try await server.answer(path, in: session)
        let length = try #require(answer.head.headers["Content-Length"].flatMap { Int($0) })
        #expect(answer.body.count == length)
        if path == "/gzip" { #expect(answer.body.starts(with: [0x1f, 0x8b])) }
        #expect(answer.body.first != UInt8(ascii: "{"))
        await session.shutdown()
    }

    @Test(arguments: [TestServers.nginx, .nginxTLS], [1, 1024, 65_536, 1 << 20, 16 << 20])
    func `a large body is decoded completely`(server: TestServers, size: Int) async throws {
        let answer = try await server.answer("/gzip/bytes/\(size)")
        #expect(answer.head.headers["Content-Encoding"] == "gzip")
        expectSame(answer.body, Data.pattern(count: size))
        if size > 1024 { #expect(answer.metrics.bytesReceived < size) }
    }

    @Test(arguments: TestServers.httpbins)
    func `text in UTF-8 is decoded`(server: TestServers) async throws {
        let request = Session.conformance.request(try server.url("/encoding/utf8"))
        let text = try await request.serializingString().value
        #expect(text.contains("STARGΛ̊TE SG-1"))
        #expect(text.contains("ði ıntəˈnæʃənəl fəˈnɛtık əsoʊsiˈeıʃn"))
        #expect(text.contains("⠁⠎ ⠁ ⠙⠕⠕⠗⠤⠝⠁⠊⠇⠲"))
        #expect(text.contains("コンニチハ"))
        #expect(request.response?.textEncoding == "utf-8")
        expectSame(try #require(request.data), Data(text.utf8))
    }

    @Test(
        arguments: TestServers.httpbins,
        [
            ("/", "text/html", "httpbin"), ("/html", "text/html", "Herman Melville - Moby-Dick"),
            ("/xml", "application/xml", "<slideshow"), ("/robots.txt", "text/plain", "Disallow: /deny"),
            ("/deny", "text/plain", "YOU SHOULDN'T BE HERE"), ("/forms/post", "text/html", "<form method=\"post\""),
            ("/image/svg", "image/svg+xml", "<svg"), ("/links/3/0", "text/html", "<a href='/links/3/2'>2</a>"),
        ])
    func `text of each type arrives`(
        server: TestServers, page: (path: String, type: String, text: String)
    ) async throws {
        let answer = try await server.answer(page.path)
        #expect(answer.status == 200)
        #expect(answer.head.mimeType == page.type)
        #expect(answer.text.contains(page.text))
        #expect(answer.head.expectedContentLength == Int64(answer.body.count))
    }

    @Test(arguments: TestServers.httpbins)
    func `JSON of each kind arrives`(server: TestServers) async throws {
        let slides = try await server.answer("/json").json()["slideshow"]
        #expect(slides?["author"] == "Yours Truly")
        #expect(slides?["slides"]?[1]?["items"]?[1]?.string == "Who <em>buys</em> WonderWidgets")
        #expect(try await server.answer("/ip").json() == ["origin": "127.0.0.1"])
        let uuids = try await [server.answer("/uuid"), server.answer("/uuid")].map { try $0.json()["uuid"]?.string }
        #expect(uuids.compactMap { $0.flatMap { UUID(uuidString: $0) } }.count == 2)
        #expect(uuids[0] != uuids[1])
    }

    @Test(
        arguments: TestServers.httpbins,
        [
            ("/image/png", "image/png", [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
            ("/image/jpeg", "image/jpeg", [0xff, 0xd8, 0xff]), ("/image/webp", "image/webp", [0x52, 0x49, 0x46, 0x46]),
        ] as [(String, String, [UInt8])])
    func `an image arrives byte for byte`(
        server: TestServers, image: (path: String, type: String, magic: [UInt8])
    ) async throws {
        let answer = try await server.answer(image.path)
        #expect(answer.head.mimeType == image.type)
        #expect(answer.body.starts(with: image.magic))
        #expect(answer.body.count > 1_000)
        let negotiated = try await server.answer("/image", headers: [.accept(image.type)])
        expectSame(negotiated.body, answer.body)
        // The other server is the same program, over another version of HTTP.
        let other: TestServers = server == .httpbin ? .httpbinHTTP2 : .httpbin
        expectSame(try await other.answer(image.path).body, answer.body)
    }

    @Test(arguments: TestServers.httpbins)
    func `an image of an unknown type is refused`(server: TestServers) async throws {
        let answer = try await server.answer("/image", headers: [.accept("image/unheard-of")])
        #expect(answer.status == 406)
        #expect(try answer.json()["accept"]?.array?.contains("image/png") == true)
    }

    @Test(arguments: TestServers.httpbins, [0, 1, 100, 16_384, 65_536, 102_400])
    func `bytes arrive in each framing`(server: TestServers, count: Int) async throws {
        let known = try await server.answer("/bytes/\(count)")
        #expect(known.body.count == count)
        #expect(known.head.expectedContentLength == Int64(count))
        #expect(known.head.mimeType == "application/octet-stream")
        let streamed = try await server.answer("/stream-bytes/\(count)?chunk_size=777")
        #expect(streamed.head.expectedContentLength == nil)
        #expect(streamed.body.count == count)
        if count > 100 {
            let isOther = streamed.body != known.body
            #expect(isOther)
        }
    }

    @Test(arguments: TestServers.httpbins, [0, 1, 20, 100])
    func `streamed lines arrive in order`(server: TestServers, count: Int) async throws {
        let answer = try await server.answer("/stream/\(count)")
        let lines = try answer.body.split(separator: UInt8(ascii: "\n")).map { try JSONValue(parsing: Data($0)) }
        #expect(lines.map { $0["id"]?.int } == Array(0..<count))
        #expect(answer.head.expectedContentLength == nil)
    }

    @Test(arguments: TestServers.httpbins)
    func `a slow body is received to its end`(server: TestServers) async throws {
        let answer = try await server.answer("/drip?numbytes=10&duration=0.5&delay=0.1&code=203")
        #expect(answer.status == 203)
        #expect(answer.text == "**********")
        let (first, total) = (try #require(answer.metrics.firstByte), answer.metrics.total)
        #expect(first >= .milliseconds(100) && total >= .milliseconds(500) && total >= first)
    }

    @Test(arguments: TestServers.httpbins, [HTTPMethod.get, .post, .put, .patch, .delete])
    func `a late response is received`(server: TestServers, method: HTTPMethod) async throws {
        let answer = try await server.answer("/delay/0.3?a=b", method: method)
        #expect(try answer.json()["args"] == ["a": "b"])
        #expect(try #require(answer.metrics.firstByte) >= .milliseconds(300))
    }

    @Test(
        arguments: TestServers.httpbins,
        [
            ("bytes=0-4", 206, "abcde", "bytes 0-4/26"), ("bytes=20-", 206, "uvwxyz", "bytes 20-25/26"),
            ("bytes=-3", 206, "xyz", "bytes 23-25/26"), ("bytes=0-25", 200, "abcdefghijklmnopqrstuvwxyz", nil),
            ("bytes=40-50", 416, "", "bytes */26"),
        ] as [(String, Int, String, String?)])
    func `a requested range is received`(
        server: TestServers, range: (field: String, status: Int, text: String, contentRange: String?)
    ) async throws {
        let answer = try await server.answer(
            "/range/26?chunk_size=4", headers: [HTTPHeader(name: "Range", value: range.field)])
        #expect(answer.status == range.status)
        #expect(answer.text == range.text)
        if let contentRange = range.contentRange { #expect(answer.head.headers["Content-Range"] == contentRange) }
        #expect(answer.head.headers["ETag"] == "range26")
    }

    @Test(
        arguments: TestServers.httpbins, [("SGVsbG8sIHdvcmxkIQ==", "Hello, world!"), ("w7zwn4y8", "ü🌼"), ("IA==", " ")])
    func `text in the URL is received decoded`(
        server: TestServers, value: (encoded: String, text: String)
    ) async throws {
        let answer = try await server.answer("/base64/\(value.encoded)")
        #expect(answer.text == value.text)
        #expect(answer.head.textEncoding == "utf-8")
    }
}
