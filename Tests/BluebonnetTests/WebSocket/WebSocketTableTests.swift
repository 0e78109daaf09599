import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// The rows of the tables for received frames, on the wire: the messages, the frames that the client sends back, the
/// close codes and the errors.
@Suite(.timeLimit(.minutes(10))) struct WebSocketTableTests {
    private typealias Row = WebSocketRow

    struct Group: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let rows: [WebSocketRow]
    }

    private static let text: [Row] =
        (WebSocketTextTests.valid + WebSocketTextTests.noncharacters).flatMap { hex in
            let bytes = ServerFrame.hex(hex)
            let text = WebSocketOutcome.text(String(decoding: bytes, as: UTF8.self))
            return [
                Row(hex, [ServerFrame.raw(0x81, bytes)], [text]), Row("\(hex), in frames", single(bytes), [text]),
            ]
        }
        + WebSocketTextTests.invalid.flatMap { hex in
            let bytes = ServerFrame.hex(hex)
            return [
                Row(hex, [ServerFrame.raw(0x81, bytes)], [.fail(1007)]),
                Row("\(hex), in frames", single(bytes), [.fail(1007)]),
                Row(
                    "\(hex) after a message", [ServerFrame.text("κόσμε"), ServerFrame.raw(0x81, [0x61] + bytes)],
                    [.text("κόσμε"), .fail(1007)]),
            ]
        }
        // The frame is not complete, and the server waits for the close frame (the Autobahn suite's 6.4).
        + WebSocketTextTests.early.map { row in
            Row(
                "\(row.invalid) after \(row.valid), early",
                [[0x81, 100] + ServerFrame.hex(row.valid) + ServerFrame.hex(row.invalid)], [.fail(1007)])
        }

    private static func single(_ bytes: [UInt8]) -> [[UInt8]] {
        bytes.indices.map { index in
            let opcode: UInt8 = index == 0 ? 1 : 0
            return ServerFrame.raw(opcode | (index == bytes.count - 1 ? 0x80 : 0), [bytes[index]])
        }
    }

    private static let closing: [Row] =
        WebSocketCloseTests.frames
        + WebSocketCloseTests.validCodes.flatMap { code in
            [
                Row("\(code)", [ServerFrame.close(code)], [.close(code, "")]),
                Row("\(code) and a reason", [ServerFrame.close(code, Array("ü".utf8))], [.close(code, "ü")]),
            ]
        }
        + WebSocketCloseTests.invalidCodes.map { Row("\($0)", [ServerFrame.close($0)], [.fail(1002)]) }

    private static let groups: [Group] = [
        Group(testDescription: "1 and 9: lengths", rows: WebSocketFramingTests.framing + WebSocketFramingTests.forms),
        Group(testDescription: "2: pings and pongs", rows: WebSocketFramingTests.pings),
        Group(testDescription: "3: reserved bits", rows: WebSocketFramingTests.reservedBits),
        Group(testDescription: "4: opcodes", rows: WebSocketFramingTests.opcodes),
        Group(testDescription: "5: fragments", rows: WebSocketFramingTests.fragments),
        Group(testDescription: "6: UTF-8", rows: text),
        Group(testDescription: "7: close frames", rows: closing),
        Group(testDescription: "10: limits", rows: WebSocketFramingTests.limits),
        Group(testDescription: "masked frames", rows: WebSocketFramingTests.masks),
        Group(testDescription: "12: compressed messages", rows: WebSocketDeflateTests.frames),
    ]

    @Test(arguments: groups, [true, false])
    fileprivate func `frames on the wire lead to the right messages, answers and ends`(
        _ group: Group, isWhole: Bool
    ) async throws {
        try await SocketTable.with(group.rows.map { $0.script(isWhole: isWhole) }) { table in
            try await SocketTable.run(group.rows) { number, row in
                let outcome = await table.outcome(number, maximum: row.maximumMessageSize)
                #expect(outcome == row.expected, "\(row.name)")
            }
        }
    }

    @Test func `the table has at least 250 rows`() {
        #expect(Self.groups.reduce(0) { $0 + $1.rows.count } >= 250)
    }
}
