import FoundationEssentials

/// Looks for a boundary in bytes that come in pieces, across their borders.
///
/// The boundary counts wherever `--` stands before it: some parsers take LF for CR LF before a delimiter, and all take the
/// boundary at the start of a line for one, whatever follows it (RFC 2046 §5.1.1).
struct BoundarySearch: Sendable {
    private let pattern: [UInt8]
    /// How much of the pattern's beginning is also the end of what has matched, for each length of that (Knuth, Morris
    /// and Pratt).
    private let borders: [Int]
    private var matched = 0

    init(boundary: String) {
        pattern = Array("--\(boundary)".utf8)
        borders = Self.borders(of: pattern)
    }

    /// Begins anew, for other bytes.
    mutating func restart() {
        matched = 0
    }

    /// Returns whether the boundary is in the bytes, or ends in them.
    mutating func finds(in bytes: Data) -> Bool {
        let bytes = bytes.span
        for index in bytes.indices {
            while matched > 0, pattern[matched] != bytes[index] { matched = borders[matched - 1] }
            if pattern[matched] == bytes[index] { matched += 1 }
            guard matched < pattern.count else { return true }
        }
        return false
    }

    private static func borders(of pattern: [UInt8]) -> [Int] {
        var borders = [0]
        for index in pattern.indices.dropFirst() {
            var length = borders[index - 1]
            while length > 0, pattern[length] != pattern[index] { length = borders[length - 1] }
            borders.append(pattern[length] == pattern[index] ? length + 1 : 0)
        }
        return borders
    }
}
