import CZlib
import FoundationEssentials

/// Computes the CRC-32 of bytes that arrive in pieces.
///
/// The checksum detects accidents: truncated files, exchanged blocks, changed bits. It has no key, so it does not
/// detect the changes of an attacker.
// Safety: zlib reads the bytes only within the call, and at most their number.
struct Checksum: Sendable {
    private var sum: UInt = 0

    /// The checksum of the bytes so far.
    var value: UInt64 { UInt64(sum) }

    /// Returns the checksum of all bytes.
    static func of(_ data: Data) -> UInt64 {
        var sum = Checksum()
        sum.update(data)
        return sum.value
    }

    mutating func update(_ data: Data) {
        unsafe data.withUnsafeBytes { bytes in
            sum = unsafe crc32_z(sum, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
        }
    }
}
