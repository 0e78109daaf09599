/// A frame of HTTP/2 (RFC 9113 §4), as unchecked bytes.
struct HTTP2Frame {
    enum Kind: UInt8 {
        case data = 0, headers, priority, reset, settings, pushPromise, ping, goAway, windowUpdate, continuation
        case altSvc = 10
        case origin = 12
        case unknown = 0x55
    }

    static let endStream: UInt8 = 1
    static let acknowledgement: UInt8 = 1
    static let endHeaders: UInt8 = 4
    static let padded: UInt8 = 8
    static let hasPriority: UInt8 = 32

    var kind: Kind
    var flags: UInt8 = 0
    var stream: UInt32
    var payload: [UInt8] = []
    /// The length that the frame says it has, when that is another than its payload's.
    var claimedLength: Int?

    var bytes: [UInt8] {
        let length = claimedLength ?? payload.count
        return [UInt8(length >> 16 & 255), UInt8(length >> 8 & 255), UInt8(length & 255), kind.rawValue, flags]
            + Self.word(stream) + payload
    }

    static func word(_ value: UInt32) -> [UInt8] {
        [UInt8(value >> 24), UInt8(value >> 16 & 255), UInt8(value >> 8 & 255), UInt8(value & 255)]
    }

    static func settings(_ values: [(UInt16, UInt32)]) -> HTTP2Frame {
        HTTP2Frame(
            kind: .settings, stream: 0,
            payload: values.flatMap { [UInt8($0.0 >> 8), UInt8($0.0 & 255)] + word($0.1) })
    }

    static func windowUpdate(_ stream: UInt32, _ increment: UInt32) -> HTTP2Frame {
        HTTP2Frame(kind: .windowUpdate, stream: stream, payload: word(increment))
    }

    static func reset(_ stream: UInt32, _ code: UInt32) -> HTTP2Frame {
        HTTP2Frame(kind: .reset, stream: stream, payload: word(code))
    }

    static func goAway(last: UInt32, _ code: UInt32, _ text: String = "") -> HTTP2Frame {
        HTTP2Frame(kind: .goAway, stream: 0, payload: word(last) + word(code) + Array(text.utf8))
    }

    static func ping(acknowledges: Bool = false) -> HTTP2Frame {
        HTTP2Frame(
            kind: .ping, flags: acknowledges ? acknowledgement : 0, stream: 0, payload: [1, 2, 3, 4, 5, 6, 7, 8])
    }
}

/// Blocks of fields in the simplest form of HPACK (RFC 7541): literals, without Huffman's code or an index.
enum FieldBlock {
    static func make(_ fields: [(String, String)]) -> [UInt8] {
        fields.flatMap { [0] + text($0.0) + text($0.1) }
    }

    static func text(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        return integer(bytes.count, prefix: 7, first: 0) + bytes
    }

    static func integer(_ value: Int, prefix: Int, first: UInt8) -> [UInt8] {
        let limit = (1 << prefix) - 1
        guard value >= limit else { return [first | UInt8(value)] }
        var bytes = [first | UInt8(limit)]
        var rest = value - limit
        while rest >= 128 {
            bytes.append(UInt8(rest & 127) | 128)
            rest >>= 7
        }
        return bytes + [UInt8(rest)]
    }
}
