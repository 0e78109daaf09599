import FoundationEssentials

/// Computes a 64-bit checksum of bytes that arrive in pieces.
///
/// The checksum detects accidents: truncated files, exchanged blocks, changed bits. It has no key, so it does not
/// detect the changes of an attacker.
///
/// Each word of eight bytes goes into one of four lanes. A change of a single word always changes its lane, because
/// each step is a permutation of the lane, and also of the word. The lanes differ in their start, and the result
/// includes the number of bytes.
// Safety: the bytes are read only within the call, and at most their number.
struct Checksum: Sendable {
    private var lanes = SIMD4(multiplier, spreader, ~multiplier, ~spreader)
    /// The last bytes, fewer than a stripe.
    private var rest: [UInt8] = []
    private var count: UInt64 = 0

    /// Returns the checksum of all bytes.
    static func of(_ data: Data) -> UInt64 {
        var sum = Checksum()
        sum.update(data)
        return sum.value
    }

    mutating func update(_ data: Data) {
        count &+= UInt64(data.count)
        var data = data
        if !rest.isEmpty {
            let missing = data.prefix(Self.stripe - rest.count)
            rest += missing
            guard rest.count == Self.stripe else { return }
            unsafe rest.withUnsafeBytes { unsafe Self.add($0, to: &lanes) }
            data = data.dropFirst(missing.count)
        }
        unsafe data.withUnsafeBytes { unsafe Self.add($0, to: &lanes) }
        rest = Array(data.suffix(data.count % Self.stripe))
    }

    /// The checksum of the bytes so far.
    var value: UInt64 {
        var lanes = lanes
        // The number of bytes tells these zeros from received zeros.
        let padded = rest + repeatElement(0, count: Self.stripe - rest.count)
        unsafe padded.withUnsafeBytes { unsafe Self.add($0, to: &lanes) }
        var value = count
        for index in 0..<4 { value = Self.mixed(value, lanes[index]) }
        value ^= value >> 32
        value &*= Self.multiplier
        return value ^ value >> 29
    }

    /// Adds all whole stripes of the bytes to the lanes.
    private static func add(_ bytes: UnsafeRawBufferPointer, to lanes: inout SIMD4<UInt64>) {
        var (first, second, third, fourth) = (lanes[0], lanes[1], lanes[2], lanes[3])
        var offset = 0
        while offset + stripe <= bytes.count {
            first = mixed(first, unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            second = mixed(second, unsafe bytes.loadUnaligned(fromByteOffset: offset + 8, as: UInt64.self))
            third = mixed(third, unsafe bytes.loadUnaligned(fromByteOffset: offset + 16, as: UInt64.self))
            fourth = mixed(fourth, unsafe bytes.loadUnaligned(fromByteOffset: offset + 24, as: UInt64.self))
            offset += stripe
        }
        lanes = SIMD4(first, second, third, fourth)
    }

    private static func mixed(_ lane: UInt64, _ word: UInt64) -> UInt64 {
        let sum = lane ^ (UInt64(littleEndian: word) &* multiplier)
        return (sum << 27 | sum >> 37) &* spreader
    }

    /// The number of bytes that the lanes process together.
    private static let stripe = 32
    /// Odd numbers without a pattern.
    private static let multiplier: UInt64 = 0xb5d3_6c8f_2e97_41ab
    private static let spreader: UInt64 = 0x93c4_67e3_7db0_c7a5
}
