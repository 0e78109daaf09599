import FoundationEssentials
import Testing

@testable import Bluebonnet

struct ChecksumTests {
    /// Bytes without a pattern.
    private static let bytes = Data((0..<400).map { UInt8(truncatingIfNeeded: ($0 * 7919 + $0 * $0 * 31) >> 3) })

    @Test(arguments: [1, 7, 31, 32, 33, 64, 399, 400])
    func `the pieces do not matter`(size: Int) {
        var sum = Checksum()
        var rest = Self.bytes
        while !rest.isEmpty {
            sum.update(rest.prefix(size))
            rest = rest.dropFirst(size)
        }
        #expect(sum.value == Checksum.of(Self.bytes))
    }

    @Test(arguments: [Self.bytes, Data(count: 100)])
    func `each changed bit, missing byte and added byte is detected`(bytes: Data) {
        var sums: Set<UInt64> = [Checksum.of(bytes)]
        for index in bytes.indices {
            for bit in 0..<8 {
                var changed = bytes
                changed[index] ^= 1 << UInt8(bit)
                sums.insert(Checksum.of(changed))
            }
            sums.insert(Checksum.of(bytes.prefix(index)))
        }
        sums.insert(Checksum.of(bytes + [0]))
        #expect(sums.count == bytes.count * 9 + 2)
    }

    @Test(arguments: [1, 8, 32, 64, 96])
    func `exchanged blocks are detected`(size: Int) {
        var sums: Set<UInt64> = [Checksum.of(Self.bytes)]
        var count = 1
        for start in stride(from: 0, through: 400 - 2 * size, by: size) {
            let (one, other) = (Self.bytes[start..<start + size], Self.bytes[start + size..<start + 2 * size])
            guard Data(one) != Data(other) else { continue }
            count += 1
            sums.insert(Checksum.of(Self.bytes.prefix(start) + other + one + Self.bytes.dropFirst(start + 2 * size)))
        }
        #expect(sums.count == count && count > 3)
    }
}
