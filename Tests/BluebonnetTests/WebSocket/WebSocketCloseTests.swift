import FoundationEssentials
import Testing

@testable import Bluebonnet

/// Close frames, in the order of the Autobahn suite's chapter 7.
@Suite struct WebSocketCloseTests {
    static let validCodes: [UInt16] =
        [1000, 1001, 1002, 1003] + [1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014]
        + [3000, 3001, 3999, 4000, 4001, 4999]
    static let invalidCodes: [UInt16] =
        [0, 1, 999, 1004, 1005, 1006, 1015, 1016, 1100] + [1999, 2000, 2999, 5000, 5001, 32_768, 65_535]
    private static let longReason = [UInt8](repeating: 0x2a, count: 123)

    static let frames: [WebSocketRow] = [
        WebSocketRow(
            "7.1.1 a message before", [ServerFrame.text("a"), ServerFrame.close(1000)], [.text("a"), .close(1000, "")]),
        WebSocketRow("7.1.2 two close frames", [ServerFrame.close(1000), ServerFrame.close(1001)], [.close(1000, "")]),
        WebSocketRow("7.1.3 a ping after", [ServerFrame.close(1000), ServerFrame.ping()], [.close(1000, "")]),
        WebSocketRow("7.1.4 a text after", [ServerFrame.close(1000), ServerFrame.text("a")], [.close(1000, "")]),
        WebSocketRow("garbage after", [ServerFrame.close(1000), [0xff, 0xff, 0xff]], [.close(1000, "")]),
        WebSocketRow("7.3.1 empty", [ServerFrame.raw(0x88)], [.close(nil, "")]),
        WebSocketRow("7.3.2 one byte", [ServerFrame.raw(0x88, [3])], [.fail(1002)]),
        WebSocketRow("7.3.3 a code", [ServerFrame.close(1000)], [.close(1000, "")]),
        WebSocketRow("7.3.4 a reason", [ServerFrame.close(1000, Array("Hello".utf8))], [.close(1000, "Hello")]),
        WebSocketRow(
            "7.3.5 a reason of 123 bytes", [ServerFrame.close(1000, longReason)],
            [.close(1000, String(repeating: "*", count: 123))]),
        WebSocketRow("7.3.6 a reason of 124 bytes", [ServerFrame.close(1000, longReason + [0x2a])], [.fail(1002)]),
        WebSocketRow("7.5.1 a surrogate", [ServerFrame.close(1000, ServerFrame.hex("ceba eda080"))], [.fail(1007)]),
        WebSocketRow("an unfinished reason", [ServerFrame.close(1000, ServerFrame.hex("f09f98"))], [.fail(1007)]),
        WebSocketRow("a reason in Greek", [ServerFrame.close(1001, Array("κόσμε".utf8))], [.close(1001, "κόσμε")]),
    ]

    @Test(arguments: frames)
    func `close frames lead to the right contents and codes`(_ row: WebSocketRow) { row.check() }

    @Test(arguments: validCodes)
    func `a close frame can have a code that the protocol or IANA defines`(_ code: UInt16) throws {
        WebSocketRow("\(code)", [ServerFrame.close(code, [0x61])], [.close(code, "a")]).check()
        let close = try #require(WebSocketClose(code: .init(rawValue: code), reason: "a"))
        #expect(Array(close.payload) == [UInt8(code >> 8), UInt8(code & 0xff), 0x61])
    }

    @Test(arguments: invalidCodes)
    func `a close frame cannot have another code`(_ code: UInt16) {
        WebSocketRow("\(code)", [ServerFrame.close(code)], [.fail(1002)]).check()
        WebSocketRow("\(code)", [ServerFrame.close(code, [0x61])], [.fail(1002)]).check()
        #expect(WebSocketClose(code: .init(rawValue: code)) == nil)
    }

    @Test func `a reason needs a code and at most 123 bytes`() throws {
        #expect(WebSocketClose(code: nil)?.payload == Data())
        #expect(WebSocketClose(code: nil, reason: "a") == nil)
        #expect(WebSocketClose(code: 1000, reason: String(repeating: "ä", count: 61)) != nil)
        #expect(WebSocketClose(code: 1000, reason: String(repeating: "ä", count: 62)) == nil)
    }
}
