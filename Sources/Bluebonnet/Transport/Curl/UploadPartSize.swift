import CCurl

/// The number of bytes that libcurl receives at a time of a body that it reads on demand.
///
/// This is a value type without I/O and without a clock.
///
/// Large parts save system calls, but progress is reported once per part. Therefore the parts grow only while the
/// connection takes them quickly.
struct UploadPartSize {
    private static let smallest = 128 * 1024
    /// Since 8.7.0, libcurl requests the next part before it has sent the last one, so the parts must not grow.
    private static let largest = Libcurl.version < 0x08_07_00 ? 512 * 1024 : smallest

    /// The time within which the connection must take a part so that the next is larger, in nanoseconds.
    private static let quickly: Int64 = 10_000_000

    private var size = Self.smallest
    private var lastPart = -Self.quickly

    /// Returns the size of libcurl's buffer for a body with this length; a `nil` length is unknown.
    static func bufferSize(forLength length: Int64?, largest: Int = Self.largest) -> Int {
        (length ?? .max) <= Int64(smallest) ? smallest : largest
    }

    /// Returns the size of a part that libcurl requests at this time, in nanoseconds.
    func next(now: Int64, largest: Int = Self.largest) -> Int {
        now - lastPart < Self.quickly ? min(size * 2, largest) : Self.smallest
    }

    /// Called when libcurl has received bytes.
    mutating func passed(now: Int64, largest: Int = Self.largest) {
        size = next(now: now, largest: largest)
        lastPart = now
    }
}
