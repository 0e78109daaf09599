/// What has been moved and reported of a transfer's bodies.
///
/// This is a value type without I/O and without a clock.
struct ProgressReport {
    /// Whether the transfer is listed, because bytes were sent or received that were not reported yet.
    private(set) var isListed = false
    /// Whether bytes of the body arrived since the last check.
    private var hasNewBytes = false
    /// The numbers of body bytes that were reported to the observer.
    private(set) var sent: Int64 = 0
    private(set) var received: Int64 = 0
    /// The numbers of bytes that libcurl had sent and received at the last check, before decoding.
    private var moved: (sent: Int64, received: Int64) = (0, 0)

    /// Called when there is progress; returns whether the transfer is to be listed.
    mutating func begins() -> Bool {
        guard !isListed else { return false }
        isListed = true
        return true
    }

    mutating func bytesArrived() { hasNewBytes = true }

    /// Returns whether bytes have arrived since the last call.
    mutating func takeNewBytes() -> Bool { exchange(&hasNewBytes, with: false) }

    /// Called when the transfer leaves the list.
    mutating func leavesList() { isListed = false }

    /// Notes a number of sent bytes; returns whether it is to be reported.
    mutating func noteSent(_ count: Int64) -> Bool { exchange(&sent, with: count) != count }

    /// Notes a number of received bytes; returns whether it is to be reported.
    mutating func noteReceived(_ count: Int64) -> Bool { exchange(&received, with: count) != count }

    /// Notes libcurl's numbers of bytes; returns whether they have changed.
    mutating func noteMoved(sent: Int64, received: Int64) -> Bool {
        exchange(&moved, with: (sent, received)) != (sent, received)
    }
}
