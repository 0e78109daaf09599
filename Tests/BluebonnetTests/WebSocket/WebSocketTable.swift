import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// What a server does on the connection of a row.
struct SocketScript: Sendable {
    /// The response to the handshake, for the value of `Sec-WebSocket-Accept`.
    var head: @Sendable (_ accept: String) -> String = { Self.head($0) }
    /// The bytes behind the head.
    var bytes: [UInt8] = []
    /// The bytes after the close frame of the client; each part after the first one waits for another frame.
    var answer: [[UInt8]] = []
    /// Whether the server ends the connection without a close frame of the client.
    var cuts = false
    /// Whether the head arrives in the same packet as the bytes, or everything arrives in small pieces.
    var isWhole = true
    var piece = 1

    /// The head of a response that accepts the handshake.
    static func head(_ accept: String, _ fields: String = "") -> String {
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + "Sec-WebSocket-Accept: \(accept)\r\n\(fields)\r\n"
    }

    fileprivate func steps(_ request: LocalServer.Request, _ record: SocketRecord) -> [LocalServer.Script.Step] {
        let head = Array(head(WebSocketRequest.accept(for: request.headers["Sec-WebSocket-Key"] ?? "")).utf8)
        let all = head + bytes
        let pieces =
            isWhole
            ? [all] : stride(from: 0, to: all.count, by: piece).map { Array(all[$0..<min($0 + piece, all.count)]) }
        let awaiting: [LocalServer.Script.Step] = cuts ? [] : [.read { record.receive($0, isEnd: $1) }]
        let answers = answer.enumerated().flatMap { number, part -> [LocalServer.Script.Step] in
            let sending = LocalServer.Script.Step.bytes(part)
            return number == 0 ? [sending] : [.read { record.receive($0, isEnd: $1, count: number + 1) }, sending]
        }
        return pieces.map { .bytes($0) } + awaiting + answers + [
            .halfClose,
            .read {
                record.receive($0, isEnd: $1)
                return $1
            },
        ]
    }
}

/// The bytes of a client behind its handshake.
final class SocketRecord: Sendable {
    private let bytes = Locked<[UInt8]>([])
    /// Opens when the client has closed its sending side.
    let isEnded = Gate()

    /// Adds bytes; returns whether a close frame and a number of frames were received.
    @discardableResult
    func receive(_ more: [UInt8], isEnd: Bool, count: Int = 1) -> Bool {
        let all = bytes.withLock { bytes in
            bytes += more
            return bytes
        }
        if isEnd { isEnded.open() }
        let frames = ClientFrame.sequence(all).frames
        return frames.count >= count && frames.contains { $0.first & 15 == 8 }
    }

    /// The frames of the client, and whether there are no other bytes.
    var frames: (frames: [ClientFrame], isWhole: Bool) { ClientFrame.sequence(bytes.withLock(\.self)) }
}

extension ClientFrame {
    /// Decodes frames by the letter of RFC 6455 §5.2, until a frame is wrong or incomplete.
    static func sequence(_ bytes: [UInt8]) -> (frames: [ClientFrame], isWhole: Bool) {
        var (frames, rest): ([ClientFrame], ArraySlice<UInt8>) = ([], bytes[...])
        while rest.count >= 6 {
            let start = rest.startIndex
            let short = Int(rest[start + 1] & 0x7f)
            let size = short == 126 ? 2 : short == 127 ? 8 : 0
            guard rest[start + 1] & 0x80 != 0, rest.count >= 6 + size else { break }
            let length = size == 0 ? short : rest[(start + 2)..<(start + 2 + size)].reduce(0) { $0 << 8 | Int($1) }
            guard rest.count >= 6 + size + length, let frame = try? ClientFrame(Data(rest.prefix(6 + size + length)))
            else { break }
            frames.append(frame)
            rest = rest.dropFirst(6 + size + length)
        }
        return (frames, rest.isEmpty)
    }
}

/// What a client has received and sent, and how it has ended.
struct SocketOutcome: Equatable, Sendable {
    var messages: [WebSocketMessage] = []
    /// The frames that the client has sent: the first byte and the payload, of a close frame the code alone.
    var sent: [[UInt8]] = []
    var kind: RequestError.Kind?
    var detail: String?
    var closeCode: UInt16?
    var closeReason: String?

    static func pong(_ payload: [UInt8]) -> [UInt8] { [0x8a] + payload }

    static func close(_ code: UInt16?) -> [UInt8] {
        [0x88] + (code.map { [UInt8($0 >> 8), UInt8($0 & 0xff)] } ?? [])
    }
}

/// A server on which each row has a path of its own, and a session for all rows.
struct SocketTable {
    private let server: LocalServer
    let session: Session
    let records: [SocketRecord]

    /// Starts a server for rows, and ends it after the body.
    static func with(_ scripts: [SocketScript], _ body: (SocketTable) async throws -> Void) async throws {
        let records = scripts.map { _ in SocketRecord() }
        let server = try await LocalServer { router in
            router.fallback { request in
                guard let number = Int(request.path.dropFirst()), scripts.indices.contains(number) else { return .ok }
                return .script(LocalServer.Script(scripts[number].steps(request, records[number])))
            }
        }
        let session = TestHarness.session { $0.timeouts.idle = nil }
        try await body(SocketTable(server: server, session: session, records: records))
        try await TestHarness.end(session, server)
    }

    /// Runs one row; `act` runs beside the loop over the messages.
    ///
    /// A row that does not end within 20 seconds is cancelled, so its outcome is wrong. No other limit is shorter.
    func outcome(
        _ number: Int, protocols: [String] = [], maximum: Int = .max,
        act: @escaping @Sendable (WebSocketTask) async throws -> Void = { _ in }
    ) async -> SocketOutcome {
        let record = records[number]
        let request = session.webSocket(
            "ws://127.0.0.1:\(server.port)/\(number)", protocols: protocols,
            configuration: .init(closeTimeout: .seconds(60), maximumMessageBytes: maximum))
        let limit = Task {
            try await Task.sleep(for: .seconds(20))
            request.cancel()
            record.isEnded.open()
        }
        defer { limit.cancel() }
        let task = request.webSocketTask()
        async let acting: Void = act(task)
        let (messages, error) = await WebSocketFixture.messages(task)
        try? await acting
        await record.isEnded.wait()
        let (frames, isWhole) = record.frames
        #expect(isWhole, "row \(number): the client has sent bytes that are no frame")
        var outcome = SocketOutcome(messages: messages, kind: error?.kind, detail: error?.detail)
        outcome.sent = frames.map { frame in
            [frame.first] + (frame.first & 15 == 8 ? Array(frame.payload.prefix(2)) : frame.payload)
        }
        outcome.closeCode = task.closeCode?.rawValue
        outcome.closeReason = task.closeReason
        // The text of a violation is no part of the protocol.
        if case .webSocket(.violation) = error?.kind { outcome.detail = nil }
        for frame in frames where frame.first & 15 == 8 {
            #expect(String(validating: frame.payload.dropFirst(2), as: UTF8.self) != nil)
            #expect(frame.payload.count <= 125)
        }
        return outcome
    }

    /// Runs rows, eight at a time.
    static func run<Row: Sendable>(_ rows: [Row], _ body: @escaping @Sendable (Int, Row) async throws -> Void)
        async throws
    {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, row) in rows.enumerated() {
                if number >= 8 { try await group.next() }
                group.addTask { try await body(number, row) }
            }
            try await group.waitForAll()
        }
    }
}

// MARK: The rows of the tables for received frames

extension WebSocketRow {
    private var bytes: [UInt8] { frames.flatMap(\.self) }

    /// Whether the bytes end with a whole frame, by the letter of RFC 6455 §5.2.
    private var endsWithFrame: Bool {
        var rest = bytes[...]
        while rest.count >= 2 {
            let start = rest.startIndex
            let short = Int(rest[start + 1] & 0x7f)
            let size = short == 126 ? 2 : short == 127 ? 8 : 0
            guard rest.count >= 2 + size else { return false }
            let number = rest[(start + 2)..<(start + 2 + size)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            let length = size == 0 ? UInt64(short) : number
            guard length <= UInt64(rest.count - 2 - size) else { return false }
            rest = rest.dropFirst(2 + size + Int(length))
        }
        return rest.isEmpty
    }

    /// Whether the row's last outcome ends the connection.
    private var isOver: Bool {
        switch outcomes.last {
        case .fail, .close: true
        default: false
        }
    }

    /// The server of the row: it sends the bytes, and then a close frame if the row does not end otherwise.
    func script(isWhole: Bool) -> SocketScript {
        var script = SocketScript(bytes: bytes, cuts: !isOver && !endsWithFrame, isWhole: isWhole)
        script.piece = bytes.count > 2000 ? 1000 : 1
        if !isOver && endsWithFrame { script.bytes += ServerFrame.close(1000) }
        guard let deflate else { return script }
        var fields = "Sec-WebSocket-Extensions: permessage-deflate"
        if deflate.serverNoContextTakeover { fields += "; server_no_context_takeover" }
        script.head = { [fields] in SocketScript.head($0, "\(fields)\r\n") }
        return script
    }

    /// The outcome that RFC 6455 demands for the row's outcomes.
    ///
    /// Each ping is answered with the same payload (§5.5.2), a violation with its code (§7.1.7), and a close frame with
    /// its own code (§5.5.1). Without a received close frame, the code of the end is 1006, and 1005 if the frame has
    /// none (§7.1.5).
    var expected: SocketOutcome {
        var expected = SocketOutcome(closeCode: 1006, closeReason: "")
        for outcome in outcomes {
            switch outcome {
            case .text(let text): expected.messages.append(.text(text))
            case .binary(let bytes): expected.messages.append(.binary(Data(bytes)))
            case .ping(let payload): expected.sent.append(SocketOutcome.pong(payload))
            case .pong: break
            case .close(let code, let reason):
                expected.sent.append(SocketOutcome.close(code))
                (expected.closeCode, expected.closeReason) = (code ?? 1005, reason)
                guard let code, code > 1001 else { break }
                expected.kind = .webSocket(.closed(WebSocketCloseCode(rawValue: code)))
                expected.detail = reason.isEmpty ? nil : reason
            case .fail(let code):
                expected.sent.append(SocketOutcome.close(code))
                expected.kind = .webSocket(.violation(WebSocketCloseCode(rawValue: code)))
            }
        }
        guard !isOver else { return expected }
        if endsWithFrame {
            expected.sent.append(SocketOutcome.close(1000))
            expected.closeCode = 1000
        } else {
            expected.kind = .webSocket(.closed(.abnormalClosure))
        }
        return expected
    }
}
