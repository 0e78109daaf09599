import FoundationEssentials
import Testing

@testable import Bluebonnet

/// Frames, control frames, reserved bits, opcodes, fragments and limits, in the order of the Autobahn suite's chapters.
@Suite struct WebSocketFramingTests {
    private typealias Row = WebSocketRow
    private static let long = String(repeating: "*", count: 125)

    // Chapters 1 and 9.
    private static let lengths = [0, 1, 2, 124, 125, 126, 127, 128, 65_535, 65_536, 65_537, 200_000]

    static let framing: [WebSocketRow] =
        lengths.map { count in
            let text = String(repeating: "*", count: count)
            return Row("text of \(count) bytes", [ServerFrame.text(text)], [.text(text)])
        }
        + lengths.map { count in
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
            return Row("\(count) bytes", [ServerFrame.binary(bytes)], [.binary(bytes)])
        }

    static let forms: [WebSocketRow] =
        [0, 1, 125].map { count in
            Row(
                "16-bit length \(count)", [[0x82, 126, 0, UInt8(count)], .init(repeating: 0, count: count)],
                [.fail(1002)])
        }
        + [0, 1, 125, 126, 65_535].map { count in
            let head: [UInt8] = [0x82, 127, 0, 0, 0, 0, 0, 0, UInt8(count >> 8), UInt8(count & 0xff)]
            return Row("64-bit length \(count)", [head], [.fail(1002)])
        }
        + [
            Row("length 2^63", [ServerFrame.hex("827f 8000000000000000")], [.fail(1002)]),
            Row("length 2^64 - 1", [ServerFrame.hex("827f ffffffffffffffff")], [.fail(1002)]),
            Row("length 2^63 - 1, without limit", [ServerFrame.hex("827f 7fffffffffffffff 01")], []),
            Row("length 2^63 - 1", [ServerFrame.hex("827f 7fffffffffffffff")], [.fail(1009)], maximum: 1 << 30),
            Row("length 2^63 - 1 of a ping", [ServerFrame.hex("897f 7fffffffffffffff")], [.fail(1002)]),
            Row("no frames", [], []), Row("a head of one byte", [[0x81]], []),
            Row("half a length", [[0x81, 126, 1]], []),
            Row("half a payload", [[0x81, 2, 0x61]], []),
        ]

    // Chapter 2.
    static let pings: [WebSocketRow] = [
        Row("2.1 empty", [ServerFrame.ping()], [.ping([])]),
        Row("2.2 text", [ServerFrame.ping("Hello")], [.ping(Array("Hello".utf8))]),
        Row("2.3 binary", [ServerFrame.raw(0x89, [0, 0xff, 0xfe, 0x80])], [.ping([0, 0xff, 0xfe, 0x80])]),
        Row("2.4 of 125 bytes", [ServerFrame.ping(long)], [.ping(Array(long.utf8))]),
        Row("2.5 of 126 bytes", [ServerFrame.ping(long + "*")], [.fail(1002)]),
        Row("2.5 of 65,536 bytes", [ServerFrame.raw(0x89, .init(repeating: 0, count: 65_536))], [.fail(1002)]),
        Row("2.5 pong of 126 bytes", [ServerFrame.pong(long + "*")], [.fail(1002)]),
        Row("2.7 pong", [ServerFrame.pong()], [.pong([])]),
        Row("2.8 pong with a payload", [ServerFrame.pong("u")], [.pong([0x75])]),
        Row("2.8 pong of 125 bytes", [ServerFrame.pong(long)], [.pong(Array(long.utf8))]),
        Row("2.9 pong and ping", [ServerFrame.pong("u"), ServerFrame.ping("i")], [.pong([0x75]), .ping([0x69])]),
        Row(
            "2.10 ten pings", (0..<10).map { ServerFrame.ping("\($0)") }, (0..<10).map { .ping(Array("\($0)".utf8)) }),
        Row(
            "pings around a message", [ServerFrame.ping("a"), ServerFrame.text("b"), ServerFrame.ping("c")],
            [.ping([0x61]), .text("b"), .ping([0x63])]),
    ]

    // Chapter 3.
    static let reservedBits: [WebSocketRow] = (1...7).flatMap { bits in
        [0x80, 0x81, 0x82, 0x88, 0x89, 0x8a].flatMap { first -> [Row] in
            let name = "reserved bits \(bits) of a frame \(first & 0x0f)"
            let bad = ServerFrame.raw(UInt8(first | bits << 4))
            let start = first == 0x80 ? [ServerFrame.text("b", final: false)] : []
            return [
                Row(name, start + [bad], [.fail(1002)]),
                Row(
                    name + " after a message", [ServerFrame.text("a")] + start + [bad, ServerFrame.ping()],
                    [.text("a"), .fail(1002)]),
            ]
        }
    }

    // Chapter 4.
    static let opcodes: [WebSocketRow] = [3, 4, 5, 6, 7, 11, 12, 13, 14, 15].flatMap { (opcode: UInt8) -> [Row] in
        let frame = ServerFrame.raw(0x80 | opcode)
        return [
            Row("opcode \(opcode)", [frame], [.fail(1002)]),
            Row("opcode \(opcode) with a payload", [ServerFrame.raw(0x80 | opcode, [1, 2])], [.fail(1002)]),
            Row("opcode \(opcode), not final", [ServerFrame.raw(opcode)], [.fail(1002)]),
            Row(
                "opcode \(opcode) after a message", [ServerFrame.text("a"), frame, ServerFrame.text("b")],
                [.text("a"), .fail(1002)]),
            Row(
                "opcode \(opcode) within a message", [ServerFrame.text("a", final: false), frame], [.fail(1002)]),
        ]
    }

    // Chapter 5.
    static let fragments: [WebSocketRow] = [
        Row("5.1 ping", [ServerFrame.raw(0x09, [1]), ServerFrame.raw(0x80, [2])], [.fail(1002)]),
        Row("5.2 pong", [ServerFrame.raw(0x0a, [1]), ServerFrame.raw(0x80, [2])], [.fail(1002)]),
        Row("close", [ServerFrame.raw(0x08, [3, 0xe8])], [.fail(1002)]),
        Row(
            "5.3 two fragments",
            [ServerFrame.text("fragment1", final: false), ServerFrame.continuation("2", final: true)],
            [.text("fragment12")]),
        Row(
            "5.4 three fragments of bytes",
            [ServerFrame.binary([1], final: false), ServerFrame.raw(0, [2]), ServerFrame.raw(0x80, [3])],
            [.binary([1, 2, 3])]),
        Row(
            "5.6 a ping between",
            [ServerFrame.text("a", final: false), ServerFrame.ping("p"), ServerFrame.continuation("b", final: true)],
            [.ping([0x70]), .text("ab")]),
        Row(
            "a pong between",
            [ServerFrame.text("a", final: false), ServerFrame.pong("p"), ServerFrame.continuation("b", final: true)],
            [.pong([0x70]), .text("ab")]),
        Row(
            "a close frame between",
            [ServerFrame.text("a", final: false), ServerFrame.close(1000), ServerFrame.continuation("b", final: true)],
            [.close(1000, "")]),
        Row("5.9 continuation", [ServerFrame.continuation("a", final: true)], [.fail(1002)]),
        Row("5.10 empty continuation", [ServerFrame.continuation("", final: true)], [.fail(1002)]),
        Row("5.12 continuation, not final", [ServerFrame.continuation("a", final: false)], [.fail(1002)]),
        Row(
            "5.11 continuation before a message", [ServerFrame.continuation("a", final: false), ServerFrame.text("b")],
            [.fail(1002)]),
        Row(
            "5.15 continuation after a message",
            [
                ServerFrame.text("a", final: false), ServerFrame.continuation("b", final: true),
                ServerFrame.continuation("c", final: false), ServerFrame.text("d"),
            ], [.text("ab"), .fail(1002)]),
        Row("5.18 text within text", [ServerFrame.text("a", final: false), ServerFrame.text("b")], [.fail(1002)]),
        Row(
            "bytes within text", [ServerFrame.text("a", final: false), ServerFrame.binary([1], final: false)],
            [.fail(1002)]),
        Row("text within bytes", [ServerFrame.binary([1], final: false), ServerFrame.text("b")], [.fail(1002)]),
        Row(
            "5.19 pings between five fragments",
            [
                ServerFrame.text("1", final: false), ServerFrame.continuation("2", final: false), ServerFrame.ping("a"),
                ServerFrame.continuation("3", final: false), ServerFrame.continuation("4", final: false),
                ServerFrame.ping("b"), ServerFrame.continuation("5", final: true),
            ], [.ping([0x61]), .ping([0x62]), .text("12345")]),
        Row(
            "6.1 empty fragments",
            [
                ServerFrame.text("", final: false), ServerFrame.continuation("", final: false),
                ServerFrame.continuation("", final: true),
            ], [.text("")]),
        Row(
            "6.1 empty fragments around a text",
            [
                ServerFrame.text("", final: false), ServerFrame.continuation("middle", final: false),
                ServerFrame.continuation("", final: true),
            ], [.text("middle")]),
        Row(
            "empty fragments of bytes", [ServerFrame.binary([], final: false), ServerFrame.raw(0x80)], [.binary([])]),
        Row(
            "two messages in fragments",
            [
                ServerFrame.text("a", final: false), ServerFrame.continuation("b", final: true),
                ServerFrame.binary([1], final: false), ServerFrame.raw(0x80, [2]),
            ], [.text("ab"), .binary([1, 2])]),
        Row(
            "1,000 fragments",
            [ServerFrame.binary([], final: false)] + (0..<1000).map { ServerFrame.raw(0, [UInt8($0 & 0xff)]) }
                + [ServerFrame.raw(0x80)], [.binary((0..<1000).map { UInt8($0 & 0xff) })]),
        Row("no end", [ServerFrame.text("a", final: false), ServerFrame.continuation("b", final: false)], []),
    ]

    // Chapter 9.
    static let limits: [WebSocketRow] = [
        Row("as long as the limit", [ServerFrame.text("12345678")], [.text("12345678")], maximum: 8),
        Row("longer than the limit", [ServerFrame.text("123456789")], [.fail(1009)], maximum: 8),
        Row("a head above the limit", [[0x82, 9]], [.fail(1009)], maximum: 8),
        Row(
            "fragments as long as the limit",
            [ServerFrame.text("1234", final: false), ServerFrame.continuation("5678", final: true)],
            [.text("12345678")], maximum: 8),
        Row(
            "fragments longer than the limit",
            [ServerFrame.text("1234", final: false), ServerFrame.continuation("56789", final: true)], [.fail(1009)],
            maximum: 8),
        Row(
            "fragments without an end",
            [ServerFrame.text("12345678", final: false), ServerFrame.continuation("9", final: false)],
            [.fail(1009)], maximum: 8),
        Row(
            "each message by itself", [ServerFrame.text("12345678"), ServerFrame.binary([1, 2, 3, 4, 5, 6, 7, 8])],
            [.text("12345678"), .binary([1, 2, 3, 4, 5, 6, 7, 8])], maximum: 8),
        Row(
            "control frames do not count", [ServerFrame.ping("123456789")], [.ping(Array("123456789".utf8))], maximum: 8
        ),
        Row("a limit of 0 and nothing", [ServerFrame.text("")], [.text("")], maximum: 0),
        Row("a limit of 0", [ServerFrame.text("1")], [.fail(1009)], maximum: 0),
    ]

    // Chapter 10.
    static let masks: [WebSocketRow] = [0x80, 0x81, 0x82, 0x88, 0x89, 0x8a].map { (first: UInt8) in
        let start = first == 0x80 ? [ServerFrame.text("", final: false)] : []
        return Row(
            "a masked frame \(first & 0x0f)", start + [[first, 0x82, 1, 2, 3, 4, 0x02, 0xea]], [.fail(1002)])
    }

    @Test(arguments: framing + forms + pings + reservedBits + opcodes + fragments + limits + masks)
    fileprivate func `frames lead to the right messages and codes`(_ row: WebSocketRow) { row.check() }

    @Test func `a long message arrives in pieces, of which the last one is marked`() {
        var receiver = WebSocketReceiver()
        receiver.append(Data([0x82, 126, 1, 0] + [UInt8](repeating: 7, count: 100)))
        #expect(receiver.next() == .binary(Data(repeating: 7, count: 100), isFinal: false))
        #expect(receiver.next() == nil)
        let isInMessage = receiver.isInMessage
        #expect(isInMessage)
        receiver.append(Data(repeating: 8, count: 156))
        #expect(receiver.next() == .binary(Data(repeating: 8, count: 156), isFinal: true))
        #expect(receiver.next() == nil)
        let isInMessageAtEnd = receiver.isInMessage
        #expect(!isInMessageAtEnd)
    }

    @Test func `a piece of a text ends with a whole character`() {
        var receiver = WebSocketReceiver()
        receiver.append(Data([0x81, 7, 0x61, 0xf0, 0x9f]))
        #expect(receiver.next() == .text("a", isFinal: false))
        #expect(receiver.next() == nil)
        receiver.append(Data([0x98]))
        #expect(receiver.next() == nil)
        receiver.append(Data([0x80, 0xc3, 0xa4]))
        #expect(receiver.next() == .text("😀ä", isFinal: true))
    }

    @Test func `the end of a message in an empty frame is an empty piece`() {
        var receiver = WebSocketReceiver()
        receiver.append(Data([0x01, 1, 0x61, 0x80, 0]))
        #expect(receiver.next() == .text("a", isFinal: false))
        #expect(receiver.next() == .text("", isFinal: true))
        #expect(receiver.next() == nil)
    }

    @Test func `a head or an empty fragment alone is no piece`() {
        var receiver = WebSocketReceiver()
        receiver.append(Data([0x02, 0, 0x80, 2]))
        #expect(receiver.next() == nil)
        receiver.append(Data([1, 2]))
        #expect(receiver.next() == .binary(Data([1, 2]), isFinal: true))
    }

    @Test func `payloads have indices from 0`() {
        var receiver = WebSocketReceiver()
        let large = ServerFrame.binary([UInt8](repeating: 7, count: 65_536))
        receiver.append(Data(ServerFrame.ping("a") + ServerFrame.binary([1, 2]) + large + ServerFrame.pong("b")))
        while let event = receiver.next() {
            switch event {
            case .ping(let data), .pong(let data), .piece(.binary(let data, _)): #expect(data.startIndex == 0)
            default: Issue.record("unexpected: \(event)")
            }
        }
    }

    @Test func `after a violation there is nothing more`() {
        var receiver = WebSocketReceiver()
        receiver.append(Data([0x83, 0] + ServerFrame.text("a")))
        #expect(receiver.next() == .violation(.protocolError("a frame has an unknown opcode")))
        #expect(receiver.next() == nil)
        receiver.append(Data(ServerFrame.text("b")))
        #expect(receiver.next() == nil)
    }
}
