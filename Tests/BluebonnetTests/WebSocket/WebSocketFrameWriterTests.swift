import FoundationEssentials
import Testing

@testable import Bluebonnet

@Suite struct WebSocketFrameWriterTests {
    private static let lengths = [
        0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 125, 126, 127, 65_535, 65_536, 65_537, 200_000,
    ]

    private static func bytes(_ count: Int) -> Data { Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) }) }

    @Test func `a text has the bytes of the example in RFC 6455 §5.7`() {
        var writer = WebSocketFrameWriter(makeKey: { 0x37fa_213d })
        var payload = Data("Hello".utf8)
        #expect(writer.frame(.text, &payload) == Data(ServerFrame.hex("818537fa213d7f9f4d5158")))
        #expect(payload.isEmpty)
    }

    @Test(arguments: lengths, [WebSocketMessageKind.text, .binary])
    func `a message is one masked frame`(_ count: Int, kind: WebSocketMessageKind) throws {
        var writer = WebSocketFrameWriter(fragmentSize: .max, makeKey: { 0x0102_fffe })
        var payload = Self.bytes(count)
        let frame = try ClientFrame(writer.frame(kind, &payload))
        #expect(frame.first == (kind == .text ? 0x81 : 0x82))
        #expect(frame.key == [1, 2, 0xff, 0xfe])
        #expect(frame.payload == Array(Self.bytes(count)))
        #expect(payload.isEmpty)
        let isInMessage = writer.isInMessage
        #expect(!isInMessage)
    }

    @Test(arguments: [1, 2, 3, 5, 9, 10, 11])
    func `a long message is written in fragments`(_ size: Int) throws {
        var writer = WebSocketFrameWriter(fragmentSize: size)
        // The payload is a slice, whose indices do not begin at 0.
        var payload = Self.bytes(13).dropFirst(3)
        var frames: [ClientFrame] = []
        repeat { frames.append(try ClientFrame(writer.frame(.text, &payload))) } while !payload.isEmpty
        #expect(frames.count == (10 + size - 1) / size)
        #expect(frames.flatMap(\.payload) == Array(Self.bytes(13).dropFirst(3)))
        for (index, frame) in frames.enumerated() {
            let opcode: UInt8 = index == 0 ? 1 : 0
            #expect(frame.first == opcode | (index == frames.count - 1 ? 0x80 : 0))
        }
    }

    @Test func `a message whose end is not known has control frames between its fragments`() throws {
        var writer = WebSocketFrameWriter()
        var payloads = [Data([1]), Data([2]), Data()]
        #expect(try ClientFrame(writer.frame(.binary, &payloads[0], isFinal: false)).unmasked == [0x02, 1, 1])
        let isInMessage = writer.isInMessage
        #expect(isInMessage)
        #expect(try ClientFrame(writer.ping(Data([9]))).unmasked == [0x89, 1, 9])
        #expect(try ClientFrame(writer.frame(.binary, &payloads[1], isFinal: false)).unmasked == [0x00, 1, 2])
        #expect(try ClientFrame(writer.pong(Data())).unmasked == [0x8a, 0])
        #expect(try ClientFrame(writer.frame(.binary, &payloads[2])).unmasked == [0x80, 0])
        let close = try #require(WebSocketClose(code: 4000, reason: "a"))
        #expect(try ClientFrame(writer.close(close)).unmasked == [0x88, 3, 0x0f, 0xa0, 0x61])
    }

    @Test func `each frame has a key of its own`() throws {
        var writer = WebSocketFrameWriter()
        let keys = try (0..<100).map { _ in
            var payload = Data([1])
            return try ClientFrame(writer.frame(.binary, &payload)).key
        }
        #expect(Set(keys).count > 95)
    }

    @Test func `a control frame of 126 bytes is a trap`() async {
        await #expect(processExitsWith: .failure) { _ = WebSocketFrameWriter().ping(Data(count: 126)) }
    }
}
