/// Decides when to have libcurl look for bytes of HTTP/2 streams that it has left unread, as a value.
///
/// Before 8.1.0, a stream whose bytes are in libcurl already may wait for the next time that the connection's socket is
/// ready, which is never when it was the last one (`data->state.drain` in `http2.c`: a head is handed out without a
/// second look for the body behind it). So it is made to look at its sockets once after something came in on a stream,
/// and again while that brings more.
struct UnreadStreams {
    /// Whether this libcurl has the fault.
    static let isGuarded = Libcurl.version < 0x08_01_00

    /// The least size of libcurl's receive buffer: it loses track of frames that do not fit, the end of a body or its
    /// bytes, and reads 32 KiB of frames at a time.
    static let minimumBufferSize = isGuarded ? 32 * 1024 : 0

    /// For how many nanoseconds nothing must have come in before libcurl is made to look.
    private static let delay: Int64 = 5_000_000

    /// The time of libcurl's next look.
    private(set) var due: Int64?
    private var hasReceived = false

    /// Something came in on a stream.
    mutating func received() { hasReceived = true }

    /// A turn begins; returns whether libcurl must look.
    mutating func areDue(at now: Int64) -> Bool {
        guard let due, due <= now else { return false }
        self.due = nil
        return true
    }

    /// A turn ends, in which libcurl may have been made to look, and after which there may be no transfers.
    mutating func turnEnds(at now: Int64, wasReading: Bool, isIdle: Bool) {
        guard Self.isGuarded else { return }
        if hasReceived {
            let time = now + (wasReading ? 0 : Self.delay)
            // Not later than it was to be: a busy stream must not keep one that was forgotten waiting.
            due = min(due ?? time, time)
        }
        hasReceived = false
        if isIdle { due = nil }
    }
}
