import Glibc

/// Searches bytes with the C library's `memchr`, which looks at 16 or 32 of them at once.
///
/// A loop over a span takes about a nanosecond a byte, which is most of the work of splitting a body into long lines.
enum ByteSearch {
    /// Returns the offset of the first such byte in a range of offsets.
    ///
    /// Out of bounds is a trap, as with every other access to a span.
    static func firstOffset(of byte: UInt8, in range: Range<Int>, of bytes: Span<UInt8>) -> Int? {
        precondition(range.lowerBound >= 0 && range.upperBound <= bytes.count, "a search outside of the bytes")
        guard !range.isEmpty else { return nil }
        // Safety: the range was checked above, and no pointer leaves the closure.
        return unsafe bytes.withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return nil }
            let start = unsafe UnsafeRawPointer(base + range.lowerBound)
            guard let found = unsafe memchr(start, Int32(byte), range.count) else { return nil }
            return unsafe range.lowerBound + (UnsafeRawPointer(found) - start)
        }
    }
}
