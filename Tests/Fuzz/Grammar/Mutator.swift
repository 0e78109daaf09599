/// Changes bytes at random, with an eye for lines and numbers.
enum Mutator {
    static func mutate(_ bytes: [UInt8], _ random: inout Random) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<random.pick([1, 1, 1, 2, 3, 8]) where !bytes.isEmpty { once(&bytes, &random) }
        return bytes
    }

    private static func once(_ bytes: inout [UInt8], _ random: inout Random) {
        // Heads are where the meaning is: most changes are made near the beginning.
        let reach = random.chance(70) ? min(bytes.count, 300) : bytes.count
        let place = random.below(reach)
        switch random.below(10) {
        case 0: bytes[place] ^= 1 << UInt8(random.below(8))
        case 1: bytes[place] = random.pick([0, 9, 10, 13, 32, 58, 127, 128, 255, 48, 57])
        case 2: bytes.removeSubrange(place..<min(bytes.count, place + random.pick([1, 1, 2, 5, 30])))
        case 3:
            let piece = Array(bytes[place..<min(bytes.count, place + random.pick([1, 2, 10, 60]))])
            bytes.insert(contentsOf: piece, at: place)
        case 4:
            let from = random.below(reach)
            let piece = Array(bytes[from..<min(bytes.count, from + random.number(in: 1...60))])
            bytes.insert(contentsOf: piece, at: place)
        case 5: bytes.insert(contentsOf: random.bytes(random.number(in: 1...8)), at: place)
        case 6: swapLines(&bytes, &random)
        case 7: changeNumber(&bytes, &random)
        case 8:
            bytes.insert(
                contentsOf: Array(
                    random.pick(["\r\n", "\n", "\r", "\r\n\r\n", " ", "\t", ":", "\u{0}", "HTTP/1.1 ", ";"]).utf8),
                at: place)
        default:
            let fill = [UInt8](repeating: random.pick([32, 48, 65, 9, 255]), count: random.pick([10, 300, 5000]))
            bytes.insert(contentsOf: fill, at: place)
        }
    }

    /// Swaps two of the first lines.
    private static func swapLines(_ bytes: inout [UInt8], _ random: inout Random) {
        var lines = bytes.split(separator: 10, maxSplits: 20, omittingEmptySubsequences: false).map { Array($0) }
        guard lines.count > 2 else { return }
        lines.swapAt(random.below(lines.count - 1), random.below(lines.count - 1))
        bytes = Array(lines.joined(separator: [10]))
    }

    /// Replaces a number by one that is at a border.
    private static func changeNumber(_ bytes: inout [UInt8], _ random: inout Random) {
        let digits = bytes.indices.prefix(2000).filter { (48...57).contains(bytes[$0]) }
        guard !digits.isEmpty else { return }
        let first = digits[random.below(digits.count)]
        var end = first
        while end < bytes.count, (48...57).contains(bytes[end]) { end += 1 }
        let number = random.pick([
            "0", "-1", "1", "4294967296", "9223372036854775807", "18446744073709551616", "99999999999999999999999",
            "0x10", "1e300", "٣", "", "+5", "00000000000000000000005", "2147483648",
        ])
        bytes.replaceSubrange(first..<end, with: Array(number.utf8))
    }
}
