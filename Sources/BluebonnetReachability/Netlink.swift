import CSystem
import Glibc

/// One rtnetlink message, to or from the kernel: its type, its sequence number and its body.
struct NetlinkMessage: Equatable {
    /// The length of the header: length, type, flags, sequence number and port id.
    static let headLength = 16

    var type: UInt16
    /// The sequence number of the question that it answers; 0 in an unsolicited message.
    var sequence: UInt32
    var body: ArraySlice<UInt8>

    /// Whether it reports a change of links, addresses, routes or rules.
    var isOfRouting: Bool { (bb_rtm_first...bb_rtm_last).contains(type) }

    /// The error number, as a positive number, with 0 for success; `nil` if this is not an error message.
    var error: Int32? {
        guard type == bb_nlmsg_error, let code: Int32 = body.number(at: 0) else { return nil }
        return code == .min ? .max : abs(code)
    }

    /// The bytes of a question.
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
    /// Whether a part could not be read, so that its information is lost.
    private(set) var isDamaged = false

    /// Parses a datagram, which can contain any bytes.
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

    /// Whether it may report a change: it does, or it reports lost messages, or it cannot be read.
    var mayReportChange: Bool {
        isDamaged || messages.contains { $0.isOfRouting || $0.type == bb_nlmsg_overrun }
    }
}

/// The attributes in the body of a message, each with a type number and a value.
struct NetlinkAttributes: Sequence, IteratorProtocol {
    private var rest: ArraySlice<UInt8>

    /// Reads the attributes that follow a fixed part of a body, up to the first damaged attribute.
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
    /// The number at an offset, in the machine's byte order; `nil` if there are not enough bytes.
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
// Safety: the kernel writes into the buffer only during the call, and not beyond its length.
final class NetlinkSocket: Sendable {
    /// The result of receiving.
    enum DatagramResult: Equatable {
        case datagram([UInt8])
        /// There is no message yet.
        case nothing
        /// Messages were lost: they arrived faster than they were read, or one was longer than the buffer.
        case lost
        /// The socket can no longer be used.
        case failed(Int32)
    }

    let descriptor: Int32

    /// Takes over a descriptor; `nil` for a negative error number.
    init?(owning descriptor: Int32) {
        guard descriptor >= 0 else { return nil }
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }

    /// A socket for questions, which are answered at once; `nil` if the system refuses one.
    static func querySocket() -> NetlinkSocket? { NetlinkSocket(owning: bb_netlink_open(0)) }

    /// A non-blocking socket that receives all changes; `nil` if the system refuses one.
    static func changeListener() -> NetlinkSocket? { NetlinkSocket(owning: bb_netlink_open(bb_netlink_changes)) }

    /// The number of the link with a name; 0 if there is no such link.
    static func number(ofLink name: String) -> UInt32 { unsafe if_nametoindex(name) }

    /// Sends a datagram; returns whether the kernel accepted it.
    func send(_ bytes: [UInt8]) -> Bool {
        unsafe bytes.withUnsafeBytes { unsafe bb_netlink_send(descriptor, $0.baseAddress, $0.count) == 0 }
    }

    /// Receives a datagram; a datagram that did not come from the kernel is returned empty.
    func receive() -> DatagramResult {
        // The kernel limits unsolicited messages to 32 KiB; answers to our questions are shorter.
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
