import Bluebonnet
import FoundationEssentials
import Testing

@testable import BluebonnetTesting

/// The server's side of a WebSocket, which checks the frames of the client.
struct WebSocketServerSideTests {
    private typealias Action = WebSocketServerSide.Action

    /// A frame of a client.
    private static func frame(_ first: UInt8, _ payload: [UInt8], key: [UInt8] = [1, 2, 3, 4]) -> [UInt8] {
        let count = payload.count
        let length: [UInt8] =
            count < 126
            ? [0x80 | UInt8(count)]
            : count < 65_536
                ? [0xfe, UInt8(count >> 8), UInt8(count & 255)]
                : [0xff, 0, 0, 0, 0] + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: count >> $0) }
        return [first] + length + key + payload.enumerated().map { $1 ^ key[$0 & 3] }
    }

    /// The actions for the bytes of a client, which arrive in pieces.
    private static func actions(
        _ bytes: [UInt8], by piece: Int = .max, _ script: WebSocketScript = WebSocketScript()
    ) -> [Action] {
        var server = WebSocketServerSide(script)
        var actions: [Action] = []
        var (rest, added) = (bytes[...], bytes[..<0])
        while true {
            guard let action = server.next(adding: exchange(&added, with: [])) else {
                guard !rest.isEmpty else { return actions }
                added = rest.prefix(piece)
                rest = rest.dropFirst(piece)
                continue
            }
            actions.append(action)
            if action == .end { return actions }
        }
    }

    private static func close(_ code: WebSocketCloseCode, _ reason: String = "") -> Action {
        .send(WebSocketReply.close(code, reason: reason).bytes)
    }

    @Test(arguments: [1, 3, .max]) func `messages are sent back, in whatever pieces they arrive`(piece: Int) {
        for count in [0, 5, 125, 126, 65_535, 65_536] {
            let data = Data(repeating: 7, count: count)
            let bytes = Self.frame(0x82, Array(data)) + Self.frame(0x81, Array("né".utf8))
            #expect(
                Self.actions(bytes, by: piece) == [
                    .send(WebSocketReply.binary(data).bytes), .send(WebSocketReply.text("né").bytes),
                ])
        }
    }

    @Test func `a ping within a fragmented message is answered`() {
        let bytes = Self.frame(1, [0x61]) + Self.frame(0x89, [9]) + Self.frame(0x8a, []) + Self.frame(0x80, [0x62])
        #expect(
            Self.actions(bytes, by: 1) == [
                .send(Data([0x8a, 1, 9])), .send(WebSocketReply.text("ab").bytes),
            ])
    }

    @Test func `a close frame is answered with its code`() {
        #expect(Self.actions(Self.frame(0x88, [3, 0xe9, 0x61])) == [.send(Data([0x88, 2, 3, 0xe9])), .end])
        #expect(Self.actions(Self.frame(0x88, [])) == [.send(Data([0x88, 0])), .end])
    }

    @Test func `after its own close frame, a server waits for the client's and answers nothing`() {
        let script = WebSocketScript(first: [.close(1001)])
        let bytes = Self.frame(0x81, [0x61])
        #expect(Self.actions(bytes, script) == [Self.close(1001)])
        #expect(Self.actions(bytes + Self.frame(0x88, [3, 0xe9]), script) == [Self.close(1001), .end])
    }

    @Test func `a handler is asked about each message, and may end the connection`() {
        var server = WebSocketServerSide(WebSocketScript(reply: { _ in [] }))
        let bytes = Self.frame(0x81, [0x61]) + Self.frame(0x81, [0x62])
        #expect(server.next(adding: bytes) == .reply(.text("a")))
        server.answer([.text("one"), .ping(), .disconnect, .text("two")])
        #expect(server.next() == .send(WebSocketReply.text("one").bytes))
        #expect(server.next() == .send(Data([0x89, 0])))
        #expect(server.next() == .end)
    }

    @Test(
        arguments: [
            ([0x81, 0x01, 0x61], 1002, "a frame is not masked"),
            ([0xc1, 0x81], 1002, "a reserved bit is set"),
            ([0x83, 0x81], 1002, "the opcode is unknown"),
            ([0x09, 0x80], 1002, "a control frame is fragmented or too long"),
            ([0x89, 0xfe], 1002, "a control frame is fragmented or too long"),
            (frame(0x80, []), 1002, "a continuation frame is not within a message"),
            (frame(0x01, []) + frame(0x81, []), 1002, "a message begins within another message"),
            (frame(0x81, [0xff]), 1007, "a text is not UTF-8"),
            (frame(0x88, [3]), 1002, "the close code is invalid"),
            (frame(0x88, [3, 0xed]), 1002, "the close code is invalid"),
            (frame(0x88, [3, 0xe8, 0xff]), 1007, "a text is not UTF-8"),
            ([0x82, 0xfe, 0, 0xff], 1009, "a message is too big"),
            ([0x82, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0], 1009, "a message is too big"),
            (frame(0x02, Array(repeating: 0, count: 200)) + [0, 0x81], 1009, "a message is too big"),
        ] as [([UInt8], UInt16, String)])
    func `a violation is answered with its close code`(bytes: [UInt8], code: UInt16, reason: String) {
        let script = WebSocketScript(maximumMessageBytes: 200)
        for piece in [1, Int.max] {
            #expect(
                Self.actions(bytes, by: piece, script) == [
                    Self.close(WebSocketCloseCode(rawValue: code), reason), .end,
                ])
        }
    }

    @Test func `the first supported subprotocol that is offered is chosen`() {
        let fields: HTTPHeaders = [
            "Upgrade": "WebSocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
            "Sec-WebSocket-Protocol": "v1, v2",
        ]
        let (status, headers) = WebSocketScript(protocols: ["v3", "v2", "v1"]).handshake(fields)
        #expect(status == 101)
        #expect(headers["Sec-WebSocket-Protocol"] == "v2")
        #expect(headers["Sec-WebSocket-Accept"] == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
        #expect(WebSocketScript(protocols: ["v3"]).handshake(fields).headers["Sec-WebSocket-Protocol"] == nil)
    }

    @Test(arguments: ["Upgrade", "Sec-WebSocket-Version", "Sec-WebSocket-Key"])
    func `a request that is no handshake gets 426`(missing: String) {
        var fields: HTTPHeaders = ["Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "a"]
        #expect(WebSocketScript().handshake(fields).status == 101)
        fields.remove(name: missing)
        let (status, headers) = WebSocketScript().handshake(fields)
        #expect(status == 426)
        #expect(headers["Sec-WebSocket-Version"] == "13")
    }
}
