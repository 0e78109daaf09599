import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// The bytes of a client: messages of all sizes, and close frames, with any answers of the server.
@Suite(.timeLimit(.minutes(10))) struct WebSocketClientTableTests {
    // MARK: Messages

    struct Message: Sendable {
        let message: WebSocketMessage
        let isCompressed: Bool
    }

    private static let messages: [Message] = [0, 1, 125, 126, 127, 128, 65_535, 65_536, 65_537, 200_000].flatMap {
        count in
        [true, false].flatMap { isCompressed in
            let bytes = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })
            return [
                Message(message: .text(String(repeating: "ü", count: count / 2)), isCompressed: isCompressed),
                Message(message: .binary(bytes), isCompressed: isCompressed),
            ]
        }
    }

    @Test func `messages are sent in masked frames whose lengths have the shortest form`() async throws {
        let extensions = "Sec-WebSocket-Extensions: permessage-deflate\r\n"
        let keys = Locked<[[UInt8]]>([])
        let scripts = Self.messages.map { row in
            SocketScript(
                head: { SocketScript.head($0, row.isCompressed ? extensions : "") }, answer: [ServerFrame.close(1000)])
        }
        try await SocketTable.with(scripts) { table in
            try await SocketTable.run(Self.messages) { number, row in
                let outcome = await table.outcome(number) { task in
                    try await task.send(row.message)
                    try await task.close()
                }
                #expect(outcome.kind == nil && outcome.closeCode == 1000, "\(number) \(row.isCompressed)")
                #expect(outcome.sent.last == SocketOutcome.close(1000))
                let frames = outcome.sent.dropLast()
                let (opcode, payload): (UInt8, Data) =
                    switch row.message {
                    case .text(let text): (1, Data(text.utf8))
                    case .binary(let data): (2, data)
                    }
                // RFC 6455 §5.4, RFC 7692 §6: the type and the mark are in the first frame, the end in the last one.
                let isMarked = frames.first.map { $0[0] & 0x40 != 0 } ?? false
                #expect(row.isCompressed || !isMarked)
                #expect(!row.isCompressed || payload.count < 1000 || isMarked)
                for (index, frame) in frames.enumerated() {
                    let final: UInt8 = index == frames.count - 1 ? 0x80 : 0
                    #expect(frame[0] == (index == 0 ? opcode | (isMarked ? 0x40 : 0) : 0) | final)
                }
                var sent = Data(frames.flatMap { $0.dropFirst() })
                if isMarked { sent = try Self.inflated(sent) }
                // The framework would look for the difference, which takes long.
                let isEqual = sent == payload
                #expect(isEqual, "\(payload.count) bytes, compressed: \(row.isCompressed)")
                keys.withLock { $0 += table.keys(number) }
            }
        }
        let all = keys.withLock(\.self)
        // RFC 6455 §5.3: a new key for each frame, which cannot be predicted.
        #expect(all.count > 80)
        #expect(Set(all).count >= all.count - 1)
        #expect(Set(all.flatMap(\.self)).count > 100)
    }

    /// Decompresses a message as RFC 7692 §7.2.2 describes.
    private static func inflated(_ data: Data) throws -> Data {
        let inflater = try #require(Inflater(.raw(windowBits: 15)))
        var input = data + [0, 0, 0xff, 0xff]
        return Data(try #require(inflater.decode(&input, upTo: 1_000_000)))
    }

    // MARK: Close frames

    struct Closing: Sendable {
        let name: String
        var code: UInt16 = 1000
        var reason = ""
        /// The frames of the server before the close frame of the client, and after it.
        var before: [[UInt8]] = []
        var after: [[UInt8]] = [ServerFrame.close(1000)]
        /// The frames of the server after another frame of the client.
        var last: [UInt8]?
        var messages: [WebSocketMessage] = []
        /// The frames that the client sends besides its close frame.
        var sent: [[UInt8]] = []
        var kind: RequestError.Kind?
        var closeCode: UInt16 = 1000
        var closeReason = ""
    }

    private static let codes: [Closing] =
        [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999].map { code in
            Closing(name: "\(code)", code: code, after: [ServerFrame.close(code)], closeCode: code)
        }

    private static let violation: [[UInt8]] = [
        ServerFrame.raw(0x83), ServerFrame.raw(0xf1), ServerFrame.raw(0x80), [0x89, 0x80, 1, 2, 3, 4],
        ServerFrame.raw(0x88, [3]), ServerFrame.close(1005), ServerFrame.close(999), ServerFrame.raw(0x09),
        ServerFrame.raw(0x8a, .init(repeating: 1, count: 126)),
    ]

    private static let closings: [Closing] =
        codes
        + [
            Closing(name: "a reason", reason: "bye ü"),
            Closing(name: "a reason of 123 bytes", reason: String(repeating: "r", count: 123)),
            Closing(name: "another code", after: [ServerFrame.close(4001)], closeCode: 4001),
            Closing(name: "1011", after: [ServerFrame.close(1011)], closeCode: 1011),
            Closing(
                name: "a reason of the server", after: [ServerFrame.close(1000, Array("adieu".utf8))],
                closeReason: "adieu"),
            Closing(name: "no code", after: [ServerFrame.raw(0x88)], closeCode: 1005),
            // §1.4, §5.5.1: a message that was begun may be finished, and data before the close frame is received.
            Closing(
                name: "messages", after: [ServerFrame.text("a"), ServerFrame.binary([1]), ServerFrame.close(1000)],
                messages: [.text("a"), .binary(Data([1]))]),
            Closing(
                name: "the rest of a message", before: [ServerFrame.text("a", final: false)],
                after: [ServerFrame.continuation("b", final: true), ServerFrame.close(1000)], messages: [.text("ab")]),
            Closing(name: "half a message", before: [ServerFrame.text("a", final: false)]),
            // §5.5.2: a ping is answered unless a close frame was received.
            Closing(
                name: "a ping", after: [ServerFrame.ping("p")], last: ServerFrame.close(1000),
                sent: [SocketOutcome.pong([0x70])]),
            Closing(name: "a pong", after: [ServerFrame.pong("p"), ServerFrame.close(1000)]),
            Closing(name: "a ping behind the close frame", after: [ServerFrame.close(1000), ServerFrame.ping("p")]),
            Closing(name: "a text behind the close frame", after: [ServerFrame.close(1000), ServerFrame.text("a")]),
            Closing(name: "two close frames", after: [ServerFrame.close(1000), ServerFrame.close(1002)]),
            Closing(name: "rubbish behind the close frame", after: [ServerFrame.close(1000), [0xff, 0xff, 0xff]]),
            Closing(
                name: "the end without a close frame", after: [], kind: .webSocket(.closed(1006)), closeCode: 1006),
            Closing(
                name: "half a close frame", after: [[0x88, 2, 3]], kind: .webSocket(.closed(1006)), closeCode: 1006),
            Closing(
                name: "a message and the end", after: [ServerFrame.text("a")], messages: [.text("a")],
                kind: .webSocket(.closed(1006)), closeCode: 1006),
            Closing(
                name: "text that is not UTF-8", after: [ServerFrame.raw(0x81, [0xff]), ServerFrame.close(1000)],
                kind: .webSocket(.violation(1007)), closeCode: 1006),
            Closing(
                name: "a reason that is not UTF-8", after: [ServerFrame.close(1000, [0xff])],
                kind: .webSocket(.violation(1007)), closeCode: 1006),
        ]
        + violation.map { frame in
            Closing(
                name: "a violation: \(frame.prefix(4))", after: [frame], kind: .webSocket(.violation(1002)),
                closeCode: 1006)
        }

    @Test(arguments: [true, false])
    func `a close frame of the client leads to the right end`(isWhole: Bool) async throws {
        let scripts = Self.closings.map { row in
            SocketScript(
                bytes: row.before.flatMap(\.self), answer: [row.after.flatMap(\.self)] + (row.last.map { [$0] } ?? []),
                isWhole: isWhole)
        }
        try await SocketTable.with(scripts) { table in
            try await SocketTable.run(Self.closings) { number, row in
                let outcome = await table.outcome(number) { task in
                    _ = try await task.response
                    try await task.close(code: WebSocketCloseCode(rawValue: row.code), reason: row.reason)
                }
                let expected = SocketOutcome(
                    messages: row.messages, sent: [SocketOutcome.close(row.code)] + row.sent, kind: row.kind,
                    detail: outcome.detail, closeCode: row.closeCode, closeReason: row.closeReason)
                #expect(outcome == expected, "\(row.name)")
                #expect(table.closeReason(number) == row.reason)
            }
        }
    }
}

extension SocketTable {
    /// The keys of the masks of a row's frames.
    fileprivate func keys(_ number: Int) -> [[UInt8]] { records[number].frames.frames.map(\.key) }

    /// The reason in the close frame of the client.
    fileprivate func closeReason(_ number: Int) -> String? {
        records[number].frames.frames.first { $0.first & 15 == 8 }
            .map { String(decoding: $0.payload.dropFirst(2), as: UTF8.self) }
    }
}
