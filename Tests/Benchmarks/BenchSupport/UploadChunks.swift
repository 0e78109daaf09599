public import FoundationEssentials

/// Produces a number of bytes in chunks of 64 KiB, all of them the same memory.
public struct UploadChunks: AsyncSequence, Sendable {
    private static let chunk = Data(count: 64 * 1024)

    private let length: Int

    /// Creates a sequence.
    ///
    /// - Parameter length: How many bytes it has.
    public init(length: Int) {
        self.length = length
    }

    /// Returns an iterator.
    ///
    /// - Returns: The iterator.
    public func makeAsyncIterator() -> Iterator { Iterator(left: length) }

    /// Produces one chunk after the other, without ever waiting.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var left: Int

        /// Returns the next chunk, the last of which may be shorter.
        ///
        /// - Returns: The chunk; `nil` at the end.
        public mutating func next() async -> Data? {
            guard left > 0 else { return nil }
            let chunk = UploadChunks.chunk.prefix(left)
            left -= chunk.count
            return chunk
        }
    }
}
