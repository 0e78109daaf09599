import BluebonnetLibc
import CSystem

/// An rtnetlink message to or from the kernel.
struct NetlinkMessage: Equatable {
    /// The length of the header, which contains the length, the type, the flags, the sequence number and the port id.
    static let headLength = 16

    var type: UInt16
    /// The sequence number of the query to which this message replies; 0 for an unsolicited message.
    var sequence: UInt32
    var body: ArraySlice<UInt8>

    /// Whether the message reports a change of links, addresses, routes or rules.
    var isOfRouting: Bool { (bb_rtm_first...bb_rtm_last).contains(type) }

    /// The error number, which is positive, or 0 for success; `nil` if the message is not an error message.
    var error: Int32? {
        guard type == bb_nlmsg_error, let code: Int32 = body.number(at: 0) else { return nil }
        return code == .min ? .max : abs(code)
    }

    /// Returns the bytes of a query.
    static func question(_ type: UInt16, sequence: UInt32, body: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(number: UInt32(headLength + body.count))
        bytes.append(number: type)
        bytes.append(number: bb_nlm_f_request)
        bytes.append(number: sequence)
        bytes.append(number: UInt32(0))
        return bytes + body
    }
}

/// The messages of one datagram, up to the first damaged message.
struct NetlinkDatagram: Equatable {
    private(set) var messages: [NetlinkMessage] = []
    /// Whether a part of the datagram could not be parsed.
    private(set) var isDamaged = false

    /// Parses a datagram with any content.
    init(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            guard let length: UInt32 = rest.number(at: 0), let type: UInt16 = rest.number(at: 4),
                let sequence: UInt32 = rest.number(at: 8), length >= NetlinkMessage.headLength, length <= rest.count
            else {
                isDamaged = true
                return
            }
            let body = rest.prefix(Int(length)).dropFirst(NetlinkMessage.headLength)
            messages.append(NetlinkMessage(type: type, sequence: sequence, body: body))
            rest = rest.dropFirst(Int(length).aligned)
        }
    }

    /// Whether the datagram reports a change or lost messages, or could not be parsed completely.
    var mayReportChange: Bool {
        isDamaged || messages.contains { $0.isOfRouting || $0.type == bb_nlmsg_overrun }
    }
}

/// The attributes in the body of a message, each with a type number and a value.
struct NetlinkAttributes: Sequence, IteratorProtocol {
    private var rest: ArraySlice<UInt8>

    /// Reads the attributes after the fixed part of a body, up to the first damaged attribute.
    init(_ body: ArraySlice<UInt8>, after fixedLength: Int = 0) {
        rest = body.dropFirst(fixedLength.aligned)
    }

    mutating func next() -> (type: UInt16, value: ArraySlice<UInt8>)? {
        guard let length: UInt16 = rest.number(at: 0), let type: UInt16 = rest.number(at: 2), length >= 4,
            length <= rest.count
        else {
            rest = []
            return nil
        }
        let value = rest.prefix(Int(length)).dropFirst(4)
        rest = rest.dropFirst(Int(length).aligned)
        // The two highest bits are flags: for nested attributes, and for the byte order.
        return (type & 0x3fff, value)
    }
}

extension Int {
    /// The length including netlink's padding.
    fileprivate var aligned: Int { (self + 3) & ~3 }
}

extension ArraySlice<UInt8> {
    /// Returns the number at an offset, in the machine's byte order; `nil` if there are not enough bytes.
    func number<Number: FixedWidthInteger>(at offset: Int) -> Number? {
        let size = Number.bitWidth / 8
        guard offset >= 0, count >= offset + size else { return nil }
        var number = Number.zero
        for byte in self[(startIndex + offset)..<(startIndex + offset + size)] {
            number = number << 8 | Number(truncatingIfNeeded: byte)
        }
        return Number(bigEndian: number)
    }

    /// The text up to the first zero byte, like a C string.
    var text: String { String(decoding: prefix { $0 != 0 }, as: UTF8.self) }
}

extension [UInt8] {
    /// Appends a number in the machine's byte order.
    mutating func append<Number: FixedWidthInteger>(number: Number) {
        var rest = number.littleEndian
        for _ in 0..<(Number.bitWidth / 8) {
            append(UInt8(truncatingIfNeeded: rest))
            rest = rest >> 8
        }
    }

    /// Appends an attribute.
    mutating func append(attribute type: UInt16, _ value: [UInt8]) {
        append(number: UInt16(4 + value.count))
        append(number: type)
        self += value
        self += [UInt8](repeating: 0, count: (4 - value.count % 4) % 4)
    }
}

/// An rtnetlink socket.
// Safety: the kernel writes into the buffer only during the call, and never beyond the end of the buffer.
final class NetlinkSocket: Sendable {
    /// The result of receiving.
    enum DatagramResult: Equatable {
        case datagram([UInt8])
        /// There is no message yet.
        case nothing
        /// Messages were lost, because they arrived too fast or because a message was longer than the buffer.
        case lost
        /// The socket can no longer be used.
        case failed(Int32)
    }

    let descriptor: Int32

    /// Takes ownership of a descriptor; returns `nil` for a negative error number.
    init?(owning descriptor: Int32) {
        guard descriptor >= 0 else { return nil }
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }

    /// Opens a socket for queries; returns `nil` if the system refuses to open a socket.
    static func querySocket() -> NetlinkSocket? { NetlinkSocket(owning: bb_netlink_open(0)) }

    /// Opens a non-blocking socket that receives all changes; returns `nil` if the system refuses to open a socket.
    static func changeListener() -> NetlinkSocket? { NetlinkSocket(owning: bb_netlink_open(bb_netlink_changes)) }

    /// Returns the number of the link with a name; 0 if there is no such link.
    static func number(ofLink name: String) -> UInt32 { unsafe if_nametoindex(name) }

    /// Sends a datagram; returns whether the kernel accepted it.
    func send(_ bytes: [UInt8]) -> Bool {
        unsafe bytes.withUnsafeBytes { unsafe bb_netlink_send(descriptor, $0.baseAddress, $0.count) == 0 }
    }

    /// Receives a datagram; returns an empty datagram if the sender is not the kernel.
    func receive() -> DatagramResult {
        // The kernel limits unsolicited messages to 32 KiB. Replies to queries are shorter.
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = unsafe bytes.withUnsafeMutableBytes {
            unsafe bb_netlink_receive(descriptor, $0.baseAddress, $0.count)
        }
        switch count {
        case 0...bytes.count: return .datagram(Array(bytes[..<count]))
        case bytes.count...: return .lost
        case -Int(EAGAIN): return .nothing
        case -Int(ENOBUFS): return .lost
        default: return .failed(Int32(clamping: -count))
        }
    }
}
