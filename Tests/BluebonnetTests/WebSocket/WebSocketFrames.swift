import FoundationEssentials
import Testing

@testable import Bluebonnet

/// A result of received frames: whole messages instead of pieces, and codes instead of reasons.
enum WebSocketOutcome: Equatable, Sendable {
    case text(String)
    case binary([UInt8])
    case ping([UInt8])
    case pong([UInt8])
    case close(UInt16?, String)
    case fail(UInt16)
}

/// A row of a table of protocol cases.
struct WebSocketRow: Sendable, CustomTestStringConvertible {
    let name: String
    let frames: [[UInt8]]
    let outcomes: [WebSocketOutcome]
    var maximumMessageSize = Int.max
    var deflate: WebSocketDeflateParameters?

    init(
        _ name: String, _ frames: [[UInt8]], _ outcomes: [WebSocketOutcome], maximum: Int = .max,
        deflate: WebSocketDeflateParameters? = nil
    ) {
        self.name = name
        self.frames = frames
        self.outcomes = outcomes
        maximumMessageSize = maximum
        self.deflate = deflate
    }

    var testDescription: String { name }

    /// Receives the frames in one piece, byte by byte, frame by frame, and in pieces of 7 bytes.
    func check() {
        let bytes = frames.flatMap(\.self)
        let sizes = bytes.count > 20_000 ? [bytes.count, 1000, 1] : [max(bytes.count, 1), 1, 7]
        for size in sizes {
            let chunks = stride(from: 0, to: bytes.count, by: size).map {
                Data(bytes[$0..<min($0 + size, bytes.count)])
            }
            #expect(outcomes(of: chunks) == outcomes, "in pieces of \(size) bytes")
        }
        #expect(outcomes(of: frames.map { Data($0) }) == outcomes, "frame by frame")
        // A chunk may be a slice, whose indices do not begin at 0.
        let slice = Data([1, 2, 3] + bytes + [4]).dropFirst(3).dropLast()
        #expect(outcomes(of: [slice]) == outcomes, "as a slice")
    }

    private func outcomes(of chunks: [Data]) -> [WebSocketOutcome] {
        var receiver = WebSocketReceiver(pieceSize: 100, deflate: deflate)
        var collector = WebSocketMessageCollector(maximumSize: maximumMessageSize)
        var outcomes: [WebSocketOutcome] = []
        do throws(WebSocketViolation) {
            for chunk in chunks {
                receiver.append(chunk)
                while let event = receiver.next() {
                    outcomes += try WebSocketOutcome(event, &collector).map { [$0] } ?? []
                }
                try collector.check(receiver.messageSize)
            }
        } catch {
            outcomes.append(.fail(error.code.rawValue))
        }
        return outcomes
    }
}

extension WebSocketEvent {
    static func text(_ text: String, isFinal: Bool) -> Self { .piece(.text(text, isFinal: isFinal)) }

    static func binary(_ data: Data, isFinal: Bool) -> Self { .piece(.binary(data, isFinal: isFinal)) }
}

extension WebSocketOutcome {
    init?(_ event: WebSocketEvent, _ collector: inout WebSocketMessageCollector) throws(WebSocketViolation) {
        switch event {
        case .ping(let payload): self = .ping(Array(payload))
        case .pong(let payload): self = .pong(Array(payload))
        case .nothing: return nil
        case .close(let close): self = .close(close.code?.rawValue, close.reason)
        case .violation(let violation): self = .fail(violation.code.rawValue)
        case .piece(let piece):
            switch try collector.collect(piece) {
            case .text(let text): self = .text(text)
            case .binary(let data): self = .binary(Array(data))
            case nil: return nil
            }
        }
    }
}

/// Builds the frames of a server.
enum ServerFrame {
    /// A frame with a first byte; the length has its shortest form.
    static func raw(_ first: UInt8, _ payload: [UInt8] = []) -> [UInt8] {
        let count = payload.count
        var bytes: [UInt8] = [first]
        if count < 126 {
            bytes.append(UInt8(count))
        } else if count < 65_536 {
            bytes += [126, UInt8(count >> 8), UInt8(count & 0xff)]
        } else {
            bytes += [127, 0, 0, 0, 0, UInt8(count >> 24), UInt8(count >> 16 & 0xff)]
            bytes += [UInt8(count >> 8 & 0xff), UInt8(count & 0xff)]
        }
        return bytes + payload
    }

    static func text(_ text: String, final: Bool = true) -> [UInt8] { raw(final ? 0x81 : 0x01, Array(text.utf8)) }

    static func binary(_ bytes: [UInt8], final: Bool = true) -> [UInt8] { raw(final ? 0x82 : 0x02, bytes) }

    static func continuation(_ text: String, final: Bool) -> [UInt8] { raw(final ? 0x80 : 0x00, Array(text.utf8)) }

    static func ping(_ text: String = "") -> [UInt8] { raw(0x89, Array(text.utf8)) }

    static func pong(_ text: String = "") -> [UInt8] { raw(0x8a, Array(text.utf8)) }

    static func close(_ code: UInt16, _ reason: [UInt8] = []) -> [UInt8] {
        raw(0x88, [UInt8(code >> 8), UInt8(code & 0xff)] + reason)
    }

    /// Bytes in hexadecimal digits; spaces are ignored.
    static func hex(_ text: String) -> [UInt8] {
        let digits = text.compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}

/// A frame of a client, decoded by the letter of RFC 6455 §5.2.
struct ClientFrame: Equatable {
    let first: UInt8
    let payload: [UInt8]
    let key: [UInt8]

    /// Decodes one frame, which must be masked and end with the bytes.
    init(_ data: Data) throws {
        let bytes = Array(data)
        try #require(bytes.count >= 6)
        first = bytes[0]
        try #require(bytes[1] & 0x80 != 0, "the frame is not masked")
        let short = Int(bytes[1] & 0x7f)
        let size = short == 126 ? 2 : short == 127 ? 8 : 0
        try #require(bytes.count >= 6 + size)
        let length = size == 0 ? short : bytes[2..<(2 + size)].reduce(0) { $0 << 8 | Int($1) }
        try #require(size != 2 || length > 125)
        try #require(size != 8 || length > 65_535)
        let key = Array(bytes[(2 + size)..<(6 + size)])
        self.key = key
        payload = bytes[(6 + size)...].enumerated().map { $1 ^ key[$0 % 4] }
        try #require(payload.count == length)
    }

    /// The frame as a server would send it.
    var unmasked: [UInt8] { ServerFrame.raw(first, payload) }
}
