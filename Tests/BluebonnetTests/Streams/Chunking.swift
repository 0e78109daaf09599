import FoundationEssentials

/// The ways to cut bytes into the chunks that a network might make of them.
enum Chunking {
    /// Returns the bytes as one chunk, byte by byte, and cut in two at every position; with an empty chunk here and there.
    ///
    /// The chunks are slices, whose indices do not begin at 0.
    static func everyWay(_ bytes: [UInt8]) -> [[Data]] {
        let data = Data([0, 0, 0] + bytes + [0])
        let start = 3
        let end = 3 + bytes.count
        let single = (start..<end).map { data[$0..<($0 + 1)] }
        let halves = (start...end).map { [data[start..<$0], data[$0..<end]] }
        return [[Data(bytes)], single, [Data()] + single.flatMap { [$0, Data()] }] + halves
    }

    static func everyWay(_ text: String) -> [[Data]] {
        everyWay(Array(text.utf8))
    }
}
