/// Decides when libcurl must check for HTTP/2 bytes that it has left unread.
///
/// This is a value type without I/O and without a clock.
///
/// A stream whose bytes libcurl has already read may wait until the connection's socket is ready again. This never
/// happens if these bytes were the last bytes. Libcurl must therefore check its sockets once after bytes of a stream
/// have arrived, and again while further bytes arrive. The causes are in `http2.c`:
///
/// - Before 8.1.0, libcurl delivers a head without another check for its body (`data->state.drain`).
/// - From 8.14.0 on, and seen with 8.23.0, libcurl stops reading when a stream has ended, and does not continue if
///   OpenSSL has more bytes (`h2_progress_ingress`).
struct UnreadStreams {
    /// Whether the installed libcurl has the defect.
    static let isGuarded = losesBytes || Libcurl.version >= 0x08_0e_00
    private static let losesBytes = Libcurl.version < 0x08_01_00

    /// The minimum size of libcurl's receive buffer.
    ///
    /// Libcurl reads 32 KiB of frames at a time. If a frame does not fit, libcurl loses the end of a body or some of
    /// its bytes.
    static let minimumBufferSize = losesBytes ? 32 * 1024 : 0

    /// The number of nanoseconds without incoming bytes after which libcurl must check.
    private static let delay: Int64 = 5_000_000

    /// The time of libcurl's next check.
    private(set) var due: Int64?
    private var hasReceived = false

    /// Called when bytes of a stream have arrived.
    mutating func received() { hasReceived = true }

    /// Called when a turn begins; returns whether libcurl must check.
    mutating func areDue(at now: Int64) -> Bool {
        guard let due, due <= now else { return false }
        self.due = nil
        return true
    }

    /// Called when a turn ends; libcurl may have checked in it, and there may be no transfers left.
    mutating func turnEnds(at now: Int64, wasReading: Bool, isIdle: Bool) {
        guard Self.isGuarded else { return }
        if hasReceived {
            let time = now + (wasReading ? 0 : Self.delay)
            // The check is not delayed, so that a busy stream does not delay the check for another stream.
            due = min(due ?? time, time)
        }
        hasReceived = false
        if isIdle { due = nil }
    }
}
