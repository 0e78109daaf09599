import FoundationEssentials
import Testing

@testable import Bluebonnet

@Suite struct WebSocketHandshakeTests {
    // The example of RFC 6455 §1.3.
    private static let key = "dGhlIHNhbXBsZSBub25jZQ=="
    static let accept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
    private static let good = [
        ("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Accept", accept),
    ]

    static func headers(_ changes: [(String, String?)]) -> HTTPHeaders {
        var fields = good.filter { field in !changes.contains { $0.0 == field.0 } }
        for (name, value) in changes { if let value { fields.append((name, value)) } }
        return HTTPHeaders(fields.map { HTTPHeader(name: $0.0, value: $0.1) })
    }

    private static func handshake() throws -> WebSocketHandshake {
        try WebSocketHandshake(protocols: ["chat", "superchat"], offer: .init(), key: key)
    }

    private static func lines(_ handshake: WebSocketHandshake) -> [String] {
        handshake.fields.map { "\($0.name): \($0.value)" }
    }

    @Test func `a request has the fields of the handshake`() throws {
        #expect(
            Self.lines(try WebSocketHandshake(key: Self.key)) == [
                "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Key: \(Self.key)",
                "Sec-WebSocket-Version: 13",
            ])
        #expect(
            Self.lines(try Self.handshake()).dropFirst(4) == [
                "Sec-WebSocket-Protocol: chat, superchat",
                "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits",
            ])
    }

    @Test func `a key is 16 random bytes in base64`() throws {
        let keys = try (0..<20).map { _ in try WebSocketHandshake().key }
        #expect(Set(keys).count == 20)
        for key in keys { #expect(Data(base64Encoded: key)?.count == 16) }
    }

    @Test(arguments: [[""], ["a b"], ["a,b"], ["a", "a"], ["ä"], ["a", "b/c"], ["a\r\n"]])
    func `a subprotocol that is not a token or not unique is refused`(_ protocols: [String]) {
        #expect(throws: WebSocketHandshakeFailure.invalidProtocol) { try WebSocketHandshake(protocols: protocols) }
    }

    private static let deflate = WebSocketDeflateParameters()

    static let accepted: [([(String, String?)], String?, WebSocketDeflateParameters?)] =
        [
            ([], nil, nil), ([("Upgrade", "WebSocket")], nil, nil), ([("Connection", "upgrade")], nil, nil),
            ([("Connection", "keep-alive, Upgrade")], nil, nil),
            ([("Connection", "keep-alive"), ("Connection", "UPGRADE")], nil, nil),
            ([("Sec-WebSocket-Accept", " \(accept)\t")], nil, nil),
            ([("Sec-WebSocket-Protocol", "chat")], "chat", nil),
            ([("Sec-WebSocket-Protocol", " superchat ")], "superchat", nil),
            ([("Sec-WebSocket-Extensions", "")], nil, nil), ([("Sec-WebSocket-Extensions", " , ")], nil, nil),
            ([("Sec-WebSocket-Extensions", "permessage-deflate")], nil, deflate),
            (
                [("Sec-WebSocket-Protocol", "chat"), ("Sec-WebSocket-Extensions", ", permessage-deflate,")], "chat",
                deflate
            ),
        ]

    @Test(arguments: accepted)
    fileprivate func `a response with the right fields is accepted`(
        _ changes: [(String, String?)], selected: String?, deflate: WebSocketDeflateParameters?
    ) throws {
        let agreement = try Self.handshake().agreement(statusCode: 101, headers: Self.headers(changes))
        #expect(agreement == WebSocketAgreement(negotiatedProtocol: selected, deflate: deflate))
    }

    static let refused: [([(String, String?)], WebSocketHandshakeFailure)] =
        [
            ([("Upgrade", nil)], .invalidField("Upgrade")), ([("Upgrade", "")], .invalidField("Upgrade")),
            ([("Upgrade", "h2c")], .invalidField("Upgrade")),
            ([("Upgrade", "websocket, h2c")], .invalidField("Upgrade")),
            ([("Upgrade", "websocket"), ("Upgrade", "h2c")], .invalidField("Upgrade")),
            ([("Connection", nil)], .invalidField("Connection")),
            ([("Connection", "close")], .invalidField("Connection")),
            ([("Connection", "Upgraded")], .invalidField("Connection")),
            ([("Sec-WebSocket-Accept", nil)], .invalidField("Sec-WebSocket-Accept")),
            ([("Sec-WebSocket-Accept", "")], .invalidField("Sec-WebSocket-Accept")),
            ([("Sec-WebSocket-Accept", key)], .invalidField("Sec-WebSocket-Accept")),
            ([("Sec-WebSocket-Accept", accept.uppercased())], .invalidField("Sec-WebSocket-Accept")),
            (
                [("Sec-WebSocket-Accept", accept), ("Sec-WebSocket-Accept", accept)],
                .invalidField("Sec-WebSocket-Accept")
            ),
            ([("Sec-WebSocket-Protocol", "other")], .unofferedProtocol),
            ([("Sec-WebSocket-Protocol", "Chat")], .unofferedProtocol),
            ([("Sec-WebSocket-Protocol", "")], .unofferedProtocol),
            ([("Sec-WebSocket-Protocol", "chat, superchat")], .unofferedProtocol),
            ([("Sec-WebSocket-Protocol", "chat"), ("Sec-WebSocket-Protocol", "superchat")], .unofferedProtocol),
            ([("Sec-WebSocket-Extensions", "x-webkit-deflate-frame")], .unofferedExtension("x-webkit-deflate-frame")),
            ([("Sec-WebSocket-Extensions", "permessage-bzip2")], .unofferedExtension("permessage-bzip2")),
            (
                [("Sec-WebSocket-Extensions", "permessage-deflate, permessage-deflate")],
                .unofferedExtension("permessage-deflate")
            ),
            (
                [("Sec-WebSocket-Extensions", "permessage-deflate"), ("Sec-WebSocket-Extensions", "foo; a=\"b, c\"")],
                .unofferedExtension("foo")
            ),
            ([("Sec-WebSocket-Extensions", "permessage-deflate; x")], .invalidExtensionParameter("x")),
        ]

    @Test(arguments: refused)
    fileprivate func `a response with wrong fields is refused`(
        _ changes: [(String, String?)], failure: WebSocketHandshakeFailure
    ) throws {
        let handshake = try Self.handshake()
        #expect(throws: failure) { try handshake.agreement(statusCode: 101, headers: Self.headers(changes)) }
    }

    @Test(arguments: [100, 102, 200, 204, 301, 401, 404, 407, 426, 500])
    func `another status code is refused`(_ statusCode: Int) throws {
        let handshake = try Self.handshake()
        #expect(throws: WebSocketHandshakeFailure.unacceptableStatusCode(statusCode)) {
            try handshake.agreement(statusCode: statusCode, headers: Self.headers([]))
        }
    }

    @Test func `without an offer, a protocol or an extension is refused`() throws {
        let handshake = try WebSocketHandshake(key: Self.key)
        #expect(throws: WebSocketHandshakeFailure.unofferedProtocol) {
            try handshake.agreement(statusCode: 101, headers: Self.headers([("Sec-WebSocket-Protocol", "chat")]))
        }
        #expect(throws: WebSocketHandshakeFailure.unofferedExtension("permessage-deflate")) {
            try handshake.agreement(
                statusCode: 101, headers: Self.headers([("Sec-WebSocket-Extensions", "permessage-deflate; a")]))
        }
    }
}
