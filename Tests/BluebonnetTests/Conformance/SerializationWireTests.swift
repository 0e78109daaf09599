import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

/// Values that are serialized from received bodies.
@Suite(.timeLimit(.minutes(10)))
struct `Conformance of serializers` {
    static let texts: [(charset: String?, bytes: [UInt8], text: String)] = [
        ("utf-8", Array("Grüße 🌼".utf8), "Grüße 🌼"), ("\"UTF-8\"", Array("ü".utf8), "ü"),
        (nil, Array("Grüße 🌼".utf8), "Grüße 🌼"), (nil, [0x47, 0xfc], "Gü"), ("iso-8859-1", [0xe9, 0x80], "é€"),
        ("ISO-8859-1", Array("ü".utf8), "Ã¼"), ("windows-1252", [0x80, 0xe9], "€é"), ("us-ascii", [0x41], "A"),
        ("utf-16le", [0x41, 0, 0x3d, 0xd8, 0x3c, 0xdf], "A\u{1f73c}"),
        ("utf-16be", [0, 0x41, 0x30, 0x42], "Aあ"), ("utf-16", [0xfe, 0xff, 0, 0x41], "A"),
        ("utf-8", [0xef, 0xbb, 0xbf, 0x41], "A"), ("iso-8859-15", [0xa4], "€"), ("koi8-r", [0xf0, 0xd2], "Пр"),
        ("Big5", [0xa7, 0x41], "你"),
    ]

    @Test(arguments: texts)
    func `text is decoded from the charset that the response names`(
        charset: String?, bytes: [UInt8], text: String
    ) async throws {
        let type = "text/plain" + (charset.map { "; charset=\($0)" } ?? "")
        let server = try await LocalServer { $0.get("/", .data(Data(bytes), contentType: type)) }
        #expect(try await Session.conformance.request(server.url).serializingString().value == text)
        await server.stop()
    }

    @Test func `a custom encoding takes precedence over the response's charset`() async throws {
        let server = try await LocalServer {
            $0.get("/", .data(Data([0xe9]), contentType: "text/plain; charset=utf-8"))
        }
        let request = Session.conformance.request(server.url)
        #expect(try await request.serializingString(encoding: .isoLatin1).value == "é")
        let error = await request.serializingString().response.error
        #expect(error?.kind == .serialization(.stringSerializationFailed(encoding: "utf-8")))
        await server.stop()
    }

    struct Slideshow: Codable, Hashable, Sendable {
        struct Slide: Codable, Hashable, Sendable {
            let title: String
            let type: String
            let items: [String]?
        }
        struct Show: Codable, Hashable, Sendable {
            let author: String
            let slides: [Slide]
        }
        let slideshow: Show
    }

    @Test(arguments: TestServers.httpbins)
    func `a type is decoded from JSON`(server: TestServers) async throws {
        let request = Session.conformance.request(try server.url("/json")).validate()
        let value = try await request.serializingDecodable(Slideshow.self).value
        #expect(value.slideshow.author == "Yours Truly")
        #expect(value.slideshow.slides.map { $0.items?.count } == [nil, 2])
        #expect(try await request.serializingJSON().value["slideshow"]?["author"] == "Yours Truly")
    }

    @Test(arguments: TestServers.httpbins)
    func `a body that does not decode is an error with the decoder's error`(server: TestServers) async throws {
        let wrong = await Session.conformance.request(try server.url("/ip")).serializingDecodable(Slideshow.self)
            .response
        #expect(wrong.error?.kind == .serialization(.decodingFailed))
        #expect(wrong.error?.underlying is DecodingError)
        #expect(wrong.response?.statusCode == 200)
        let html = await Session.conformance.request(try server.url("/html")).serializingJSON().response
        #expect(html.error?.kind == .serialization(.jsonSerializationFailed))
        #expect(html.data?.isEmpty == false)
    }

    @Test(arguments: [TestServers.nginx, .nginxTLS], [true, false])
    func `a property list is sent and received`(server: TestServers, isBinary: Bool) async throws {
        let sent = Slideshow(
            slideshow: Slideshow.Show(
                author: "日本 <&>", slides: [Slideshow.Slide(title: "t", type: "all", items: ["ü", ""])]))
        let encoder: PropertyListParameterEncoder = isBinary ? .binary : .default
        let url = try server.url("/stored/\(UUID().uuidString)")
        let put = Session.conformance.request(url, method: .put, parameters: sent, encoder: encoder)
        #expect(try await server.answer(put).status == 201)
        let value = try await Session.conformance.request(url)
            .serializingDecodable(Slideshow.self, decoder: PropertyListDecoder()).value
        #expect(value == sent)
        #expect(try await server.answer(Session.conformance.request(url, method: .delete)).status == 204)
    }

    @Test(arguments: TestServers.httpbins, [204, 205])
    func `an empty body is a value if the status allows an empty body`(server: TestServers, code: Int) async throws {
        let request = Session.conformance.request(try server.url("/status/\(code)"))
        #expect(try await request.serializingData().value.isEmpty)
        #expect(try await request.serializingString().value == "")
        #expect(try await request.serializingJSON().value == .null)
        #expect(try await request.serializingDecodable(Empty.self).value == Empty.value)
        #expect(try await request.serializingDecodable(Slideshow?.self).value == nil)
        let error = await request.serializingDecodable(Slideshow.self).response.error
        #expect(error?.kind == .serialization(.invalidEmptyResponse(type: "Slideshow")))
    }

    @Test(arguments: TestServers.httpbins)
    func `an empty body is an error if nothing allows it, and a value for HEAD`(server: TestServers) async throws {
        let get = Session.conformance.request(try server.url("/bytes/0"))
        #expect(
            await get.serializingData().response.error?.kind == .serialization(.inputDataNilOrZeroLength))
        #expect(try await get.serializingData(emptyResponseCodes: [200]).value.isEmpty)
        let head = Session.conformance.request(try server.url("/get"), method: .head)
        #expect(try await head.serializingString().value == "")
    }

    @Test(arguments: TestServers.httpbins)
    func `any number of serializers use one response`(server: TestServers) async throws {
        let request = Session.conformance.request(try server.url("/uuid"))
        let (data, text, json) = (
            request.serializingData(), request.serializingString(), request.serializingJSON()
        )
        let uuid = try #require(try await json.value["uuid"]?.string)
        #expect(try await text.value.contains(uuid))
        #expect(try await String(decoding: data.value, as: UTF8.self) == text.value)
        // After the end, too: the request is not sent again.
        #expect(try await request.serializingJSON().value["uuid"]?.string == uuid)
        #expect(request.requests.count == 1)
    }
}
