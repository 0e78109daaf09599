import FoundationEssentials

/// Joins small pieces to larger ones and leaves large ones as they are, in order.
///
/// A piece is appended only after ``takeReady()`` has returned `nil`.
struct PieceBuffer: Sendable {
    /// A piece of this many bytes is not copied.
    static let largePiece = 16 * 1024
    /// Joined pieces that have this many bytes together are handed out.
    static let fullPiece = 64 * 1024

    private var small = Data()
    private var large: Data?

    /// Appends bytes.
    mutating func append(_ bytes: Data) {
        if bytes.count < Self.largePiece {
            small.append(bytes)
        } else {
            large = bytes
        }
    }

    /// Returns the next piece if it need not wait for more bytes.
    mutating func takeReady() -> Data? {
        if small.count >= Self.fullPiece || large != nil && !small.isEmpty { return takeRest() }
        defer { large = nil }
        return large
    }

    /// Returns what has been joined so far; `nil` when that is nothing.
    mutating func takeRest() -> Data? {
        defer { small = Data() }
        return small.isEmpty ? nil : small
    }
}
