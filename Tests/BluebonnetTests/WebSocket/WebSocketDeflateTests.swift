import FoundationEssentials
import Testing

@testable import Bluebonnet

/// Compressed messages, as in the Autobahn suite's chapters 12 and 13, and the negotiation (RFC 7692).
@Suite struct WebSocketDeflateTests {
    typealias Parameters = WebSocketDeflateParameters

    private static let hello = ServerFrame.hex("f248cdc9c90700")
    static let plain = Parameters()
    private static let alone = Parameters(serverNoContextTakeover: true)

    private static func compressed(_ hex: String) -> [UInt8] { ServerFrame.raw(0xc1, ServerFrame.hex(hex)) }

    static let frames: [WebSocketRow] = [
        // RFC 7692 §7.2.3.
        WebSocketRow("§7.2.3.1 one block", [compressed("f248cdc9c90700")], [.text("Hello")], deflate: plain),
        WebSocketRow(
            "§7.2.3.1 two fragments",
            [ServerFrame.raw(0x41, Array(hello[..<3])), ServerFrame.raw(0x80, Array(hello[3...]))],
            [.text("Hello")], deflate: plain),
        WebSocketRow(
            "§7.2.3.2 shared window", [compressed("f248cdc9c90700"), compressed("f200110000")],
            [.text("Hello"), .text("Hello")], deflate: plain),
        WebSocketRow("§7.2.3.3 stored", [compressed("000500faff48656c6c6f00")], [.text("Hello")], deflate: plain),
        WebSocketRow("§7.2.3.4 final block", [compressed("f348cdc9c9070000")], [.text("Hello")], deflate: plain),
        WebSocketRow(
            "§7.2.3.4 the window after a final block", [compressed("f348cdc9c9070000"), compressed("f200110000")],
            [.text("Hello"), .text("Hello")], deflate: plain),
        WebSocketRow(
            "§7.2.3.5 two blocks", [compressed("f24805000000ffffcac9c90700")], [.text("Hello")], deflate: plain),
        WebSocketRow("§7.2.3.6 empty", [compressed("00")], [.text("")], deflate: plain),
        WebSocketRow("an empty payload", [compressed("")], [.fail(1007)], deflate: plain),
        WebSocketRow(
            "no shared window", [compressed("f248cdc9c90700"), compressed("f200110000")],
            [.text("Hello"), .fail(1007)], deflate: alone),
        WebSocketRow(
            "messages by themselves", [compressed("f248cdc9c90700"), compressed("f248cdc9c90700")],
            [.text("Hello"), .text("Hello")], deflate: alone),
        // §6: the bit is set only in the first frame of a message.
        WebSocketRow(
            "an uncompressed message between",
            [compressed("f248cdc9c90700"), ServerFrame.text("a"), compressed("f200110000")],
            [.text("Hello"), .text("a"), .text("Hello")], deflate: plain),
        WebSocketRow(
            "a ping between",
            [ServerFrame.raw(0x41, Array(hello[..<3])), ServerFrame.ping(), ServerFrame.raw(0x80, Array(hello[3...]))],
            [.ping([]), .text("Hello")], deflate: plain),
        WebSocketRow(
            "an empty last fragment", [ServerFrame.raw(0x41, hello), ServerFrame.raw(0x80)], [.text("Hello")],
            deflate: plain),
        WebSocketRow(
            "an empty first fragment", [ServerFrame.raw(0x41), ServerFrame.raw(0x80, hello)], [.text("Hello")],
            deflate: plain),
        WebSocketRow(
            "the bit in a continuation", [ServerFrame.raw(0x41, hello), ServerFrame.raw(0xc0)], [.fail(1002)],
            deflate: plain),
        WebSocketRow(
            "the bit only in a continuation", [ServerFrame.text("a", final: false), ServerFrame.raw(0xc0, hello)],
            [.fail(1002)], deflate: plain),
        WebSocketRow("the bit of a ping", [ServerFrame.raw(0xc9)], [.fail(1002)], deflate: plain),
        WebSocketRow("the bit of a pong", [ServerFrame.raw(0xca)], [.fail(1002)], deflate: plain),
        WebSocketRow("the bit of a close frame", [ServerFrame.raw(0xc8)], [.fail(1002)], deflate: plain),
        WebSocketRow("the second bit", [ServerFrame.raw(0xe1, hello)], [.fail(1002)], deflate: plain),
        WebSocketRow("not negotiated", [ServerFrame.raw(0xc1, hello)], [.fail(1002)]),
        // Malformed data.
        WebSocketRow("an unknown block", [compressed("07")], [.fail(1007)], deflate: plain),
        WebSocketRow("truncated", [compressed("f248cd")], [.fail(1007)], deflate: plain),
        WebSocketRow("a truncated stored block", [compressed("000500faff4865")], [.fail(1007)], deflate: plain),
        WebSocketRow("a distance before the start", [compressed("f200110000")], [.fail(1007)], deflate: plain),
        WebSocketRow("text that is not UTF-8", [compressed("000200fdffc32800")], [.fail(1007)], deflate: plain),
        WebSocketRow("an incomplete character", [compressed("000200fdfff09f00")], [.fail(1007)], deflate: plain),
        // Limits count decoded bytes.
        WebSocketRow(
            "as long as the limit", [compressed("f248cdc9c90700")], [.text("Hello")], maximum: 5, deflate: plain),
        WebSocketRow(
            "longer than the limit", [compressed("f248cdc9c90700")], [.fail(1009)], maximum: 4, deflate: plain),
        WebSocketRow(
            "each message by itself", [compressed("f248cdc9c90700"), compressed("f200110000")],
            [.text("Hello"), .text("Hello")], maximum: 5, deflate: plain),
    ]

    @Test(arguments: frames)
    func `compressed frames lead to the right messages and codes`(_ row: WebSocketRow) { row.check() }

    /// Messages that compress well, badly and not at all.
    static func messages() -> [[UInt8]] {
        var state: UInt32 = 1
        let noise = (0..<100_000).map { _ -> UInt8 in
            state = state &* 1_664_525 &+ 1_013_904_223
            return UInt8(state >> 24)
        }
        let text = Array(String(repeating: "{\"price\": 12.5, \"size\": 3}, ", count: 5000).utf8)
        return [
            [], [1], [], Array(text[..<16]), Array(noise[..<64]), Array(text[..<128]), Array(text[..<129]),
            Array(noise[..<1000]), text, noise, [], text, .init(repeating: 0, count: 300_000), Array(noise[..<5000]),
        ]
    }

    private static let agreements: [Parameters] = [8, 9, 10, 12, 15].flatMap { bits in
        [true, false].map { Parameters(clientNoContextTakeover: $0, clientMaxWindowBits: bits) }
    }

    @Test(arguments: agreements, [1000, 65_536])
    fileprivate func `messages that are written can be received`(
        _ agreed: WebSocketDeflateParameters, fragmentSize: Int
    ) throws {
        // The receiver has the part of the server.
        let peer = Parameters(
            serverNoContextTakeover: agreed.clientNoContextTakeover, serverMaxWindowBits: agreed.clientMaxWindowBits)
        for minimum in [0, 128] {
            var writer = WebSocketFrameWriter(
                deflate: agreed, fragmentSize: fragmentSize, minimumCompressedSize: minimum)
            var receiver = WebSocketReceiver(deflate: peer)
            var collector = WebSocketMessageCollector()
            for message in Self.messages() {
                var payload = Data(message)
                var received: WebSocketMessage?
                var isFirst = true
                repeat {
                    let frame = try ClientFrame(writer.frame(.binary, &payload))
                    let isCompressed = agreed.clientMaxWindowBits > 8 && isFirst && message.count >= minimum
                    #expect(frame.first & 0x40 == (isCompressed ? 0x40 : 0))
                    isFirst = false
                    receiver.append(Data(frame.unmasked))
                    while case .piece(let piece) = receiver.next() { received = try collector.collect(piece) }
                } while !payload.isEmpty
                #expect(received == .binary(Data(message)))
            }
        }
    }

    @Test func `a message is compressed, and shares the window with earlier messages`() throws {
        func size(_ agreed: Parameters) throws -> [Int] {
            var writer = WebSocketFrameWriter(deflate: agreed, minimumCompressedSize: 0)
            return try (0..<2).map { _ in
                var payload = Data("A sentence that is repeated in the second message.".utf8)
                return try ClientFrame(writer.frame(.text, &payload)).payload.count
            }
        }
        let shared = try size(Parameters())
        #expect(shared[1] < shared[0] / 3)
        let alone = try size(Parameters(clientNoContextTakeover: true))
        #expect(alone[1] == alone[0])
    }

    @Test func `a message whose end is empty is complete`() throws {
        var writer = WebSocketFrameWriter(deflate: Parameters())
        var receiver = WebSocketReceiver(deflate: Parameters())
        for _ in 0..<2 {
            var (first, second, third) = (Data("ab".utf8), Data(), Data())
            for frame in [
                writer.frame(.text, &first, isFinal: false), writer.frame(.text, &second, isFinal: false),
                writer.frame(.text, &third),
            ] {
                receiver.append(Data(try ClientFrame(frame).unmasked))
            }
            #expect(receiver.next() == .text("ab", isFinal: false))
            #expect(receiver.next() == .text("", isFinal: true))
            #expect(receiver.next() == nil)
        }
    }

    @Test func `a decompression bomb ends at the limit, and its pieces are bounded`() throws {
        var writer = WebSocketFrameWriter(deflate: Parameters(), fragmentSize: .max)
        var zeros = Data(count: 20_000_000)
        let frame = Data(try ClientFrame(writer.frame(.binary, &zeros)).unmasked)
        #expect(frame.count < 100_000)
        var receiver = WebSocketReceiver(deflate: Parameters())
        receiver.append(frame)
        var collector = WebSocketMessageCollector(maximumSize: 1_000_000)
        var size = 0
        let violation = #expect(throws: WebSocketViolation.self) {
            while case .piece(let piece) = receiver.next() {
                #expect(piece.size <= 65_536)
                size += piece.size
                let message = try collector.collect(piece)
                #expect(message == nil)
            }
        }
        #expect((1_000_000...1_065_536).contains(size))
        let reason = "a message is longer than 1000000 bytes"
        #expect(violation == WebSocketViolation(code: .messageTooBig, reason: reason))
    }

    @Test(arguments: [99, 100, 101, 199, 200, 201])
    func `a message that fills the pieces ends with the right event`(_ count: Int) throws {
        var writer = WebSocketFrameWriter(deflate: Parameters(), minimumCompressedSize: 0)
        var payload = Data(repeating: 0x61, count: count)
        var receiver = WebSocketReceiver(pieceSize: 100, deflate: Parameters())
        receiver.append(Data(try ClientFrame(writer.frame(.text, &payload)).unmasked))
        var events: [WebSocketEvent] = []
        while let event = receiver.next() { events.append(event) }
        let sizes = events.map { event in
            if case .piece(.text(let text, let isFinal)) = event {
                isFinal ? text.utf8.count : -text.utf8.count
            } else {
                -1
            }
        }
        #expect(sizes == Array(repeating: -100, count: count / 100) + [count % 100])
    }

    @Test(
        arguments: [
            (Parameters(), "permessage-deflate; client_max_window_bits"),
            (
                Parameters(
                    serverNoContextTakeover: true, clientNoContextTakeover: true, serverMaxWindowBits: 10,
                    clientMaxWindowBits: 9),
                "permessage-deflate; server_no_context_takeover; client_no_context_takeover; "
                    + "server_max_window_bits=10; client_max_window_bits=9"
            ),
            (
                Parameters(serverMaxWindowBits: 8),
                "permessage-deflate; server_max_window_bits=8; client_max_window_bits"
            ),
        ])
    fileprivate func `an offer names the parameters`(_ offer: WebSocketDeflateParameters, text: String) {
        #expect(offer.offer == text)
    }

    static let bounded = Parameters(serverMaxWindowBits: 10, clientMaxWindowBits: 12)
    static let forgetful = Parameters(serverNoContextTakeover: true, clientNoContextTakeover: true)

    static let fitting: [(WebSocketDeflateParameters, String, WebSocketDeflateParameters)] =
        [
            (plain, "permessage-deflate", plain), (plain, "Permessage-Deflate", plain),
            (plain, "permessage-deflate; server_no_context_takeover", alone),
            (plain, "permessage-deflate;client_no_context_takeover", Parameters(clientNoContextTakeover: true)),
            (plain, "permessage-deflate; client_no_context_takeover ; server_no_context_takeover", forgetful),
            (plain, "permessage-deflate; server_max_window_bits=8", Parameters(serverMaxWindowBits: 8)),
            (plain, "permessage-deflate; server_max_window_bits=15", plain),
            (plain, "permessage-deflate; server_max_window_bits=\"10\"", Parameters(serverMaxWindowBits: 10)),
            (plain, "permessage-deflate; client_max_window_bits=8", Parameters(clientMaxWindowBits: 8)),
            (plain, "permessage-deflate; client_max_window_bits=\"11\"", Parameters(clientMaxWindowBits: 11)),
            (plain, "permessage-deflate; client_max_window_bits=15", plain),
            (bounded, "permessage-deflate; server_max_window_bits=10", bounded),
            (
                bounded, "permessage-deflate; server_max_window_bits=9; client_max_window_bits=10",
                Parameters(serverMaxWindowBits: 9, clientMaxWindowBits: 10)
            ),
            (bounded, "permessage-deflate; client_max_window_bits=12; server_max_window_bits=10", bounded),
            (forgetful, "permessage-deflate; server_no_context_takeover", forgetful),
            (forgetful, "permessage-deflate; client_no_context_takeover; server_no_context_takeover", forgetful),
        ]

    @Test(arguments: fitting)
    fileprivate func `parameters that fit the offer are accepted`(
        _ offer: WebSocketDeflateParameters, element: String, agreed: WebSocketDeflateParameters
    ) throws {
        #expect(try offer.agreement(Substring(element)) == agreed)
    }

    private static func invalid(_ name: String) -> WebSocketHandshakeFailure { .invalidExtensionParameter(name) }

    static let unfitting: [(WebSocketDeflateParameters, String, String)] =
        [
            (plain, "server_no_context_takeover=1", "server_no_context_takeover"),
            (plain, "server_no_context_takeover=\"\"", "server_no_context_takeover"),
            (plain, "client_no_context_takeover=true", "client_no_context_takeover"),
            (plain, "server_no_context_takeover; server_no_context_takeover", "server_no_context_takeover"),
            (plain, "server_max_window_bits=9; server_max_window_bits=9", "server_max_window_bits"),
            (plain, "server_max_window_bits", "server_max_window_bits"),
            (plain, "server_max_window_bits=", "server_max_window_bits"),
            (plain, "server_max_window_bits=7", "server_max_window_bits"),
            (plain, "server_max_window_bits=16", "server_max_window_bits"),
            (plain, "server_max_window_bits=08", "server_max_window_bits"),
            (plain, "server_max_window_bits=+9", "server_max_window_bits"),
            (plain, "server_max_window_bits=9.0", "server_max_window_bits"),
            (plain, "server_max_window_bits=-9", "server_max_window_bits"),
            (plain, "server_max_window_bits=a", "server_max_window_bits"),
            (plain, "server_max_window_bits=10000000000000000000000", "server_max_window_bits"),
            (plain, "client_max_window_bits", "client_max_window_bits"),
            (plain, "client_max_window_bits=7", "client_max_window_bits"),
            (plain, "client_max_window_bits=16", "client_max_window_bits"),
            (plain, "client_max_window_bits=015", "client_max_window_bits"),
            (plain, "client_max_window_bits=9; client_max_window_bits=10", "client_max_window_bits"),
            (plain, "unknown", "unknown"), (plain, "unknown=1", "unknown"),
            (plain, "x_server_max_window_bits=9", "x_server_max_window_bits"),
            (plain, "", ""), (plain, "=9", ""), (plain, "server_no_context_takeover;", ""),
            (plain, "server_no_context_takeover client_no_context_takeover", "server_no_context_takeover"),
            (bounded, "server_max_window_bits=11", "server_max_window_bits"),
            (bounded, "client_no_context_takeover", "server_max_window_bits"),
            (bounded, "server_max_window_bits=10; client_max_window_bits=13", "client_max_window_bits"),
            (forgetful, "client_no_context_takeover", "server_no_context_takeover"),
        ]

    @Test(arguments: unfitting)
    fileprivate func `parameters that do not fit the offer are refused`(
        _ offer: WebSocketDeflateParameters, parameters: String, name: String
    ) {
        #expect(throws: Self.invalid(name)) { try offer.agreement("permessage-deflate; \(parameters)") }
    }

    @Test func `an agreement without parameters does not fit an offer that needs one`() {
        #expect(throws: Self.invalid("server_no_context_takeover")) {
            try Self.forgetful.agreement("permessage-deflate")
        }
        #expect(throws: Self.invalid("server_max_window_bits")) { try Self.bounded.agreement("permessage-deflate") }
        #expect(throws: WebSocketHandshakeFailure.unofferedExtension("permessage-deflate x")) {
            try Self.plain.agreement("permessage-deflate x")
        }
    }
}
