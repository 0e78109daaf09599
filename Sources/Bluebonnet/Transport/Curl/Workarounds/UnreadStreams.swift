/// Decides when libcurl must look for bytes of HTTP/2 streams that it has left unread, as a value.
///
/// Before 8.1.0, a stream with bytes that libcurl has already read may wait until the connection's socket is ready
/// again. That never happens if these were the last bytes. The cause is `data->state.drain` in `http2.c`: libcurl
/// delivers a head without checking again for the body after it. So libcurl must check its sockets once after bytes of
/// a stream have arrived, and again as long as that brings more.
struct UnreadStreams {
    /// Whether the installed libcurl has the defect.
    static let isGuarded = Libcurl.version < 0x08_01_00

    /// The minimum size of libcurl's receive buffer.
    ///
    /// Libcurl reads 32 KiB of frames at a time. It loses track of frames that do not fit: of the end of a body, or of
    /// its bytes.
    static let minimumBufferSize = isGuarded ? 32 * 1024 : 0

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
            // No later than planned: a busy stream must not delay the check for a forgotten one.
            due = min(due ?? time, time)
        }
        hasReceived = false
        if isIdle { due = nil }
    }
}
