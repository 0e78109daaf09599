import FoundationEssentials

/// The body of a transfer's request, and how much of it was sent.
// Safety: libcurl's buffer is used within the callback that provides it.
struct TransferUpload {
    /// What libcurl receives when it requests bytes.
    enum Provision {
        case bytes(Int)
        case end
        /// The next bytes are not available yet.
        case missing
        case failure
    }

    private(set) var body: UploadBody
    /// The number of bytes that were passed on.
    private(set) var offset = 0
    private var part = UploadPartSize()

    init(_ body: UploadBody) { self.body = body }

    var length: Int64? { body.length }
    var isReplayable: Bool { body.isReplayable }
    /// Whether a part was passed on that cannot be read again.
    var isConsumed: Bool { offset > 0 && !isReplayable }
    /// Whether all bytes were passed on; `nil` if their number is unknown.
    var isWhole: Bool? { length.map { Int64(offset) >= $0 } }

    /// Whether the body must be opened before the transfer is added to libcurl.
    var isUnopened: Bool { if case .unopened = body { true } else { false } }

    /// Returns the function that opens the body, which is then being opened; `nil` if the body is open.
    mutating func opens() -> (@Sendable () throws(RequestError) -> UploadBody)? {
        guard case .unopened(let open) = body else { return nil }
        body = .opening
        return open
    }

    mutating func opened(_ body: UploadBody) { self.body = body }

    /// Provides the next bytes; a body that libcurl has copied provides none.
    mutating func provide(into buffer: UnsafeMutableRawBufferPointer, now: Int64) -> Provision {
        let room = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(part.next(now: now)))
        let count: Int
        switch body {
        case .copied: return .end
        case .unopened, .opening: return .failure
        case .data(let data):
            count = min(room.count, data.count - offset)
            guard count > 0 else { return .end }
            unsafe data.copy(count, from: offset, to: room)
        case .channel(let channel):
            switch unsafe channel.take(into: room) {
            case .took(let number, _): count = number
            case .end: return .end
            case .wait: return .missing
            case .fail: return .failure
            }
        }
        offset += count
        if count > 0 { part.passed(now: now) }
        return .bytes(count)
    }

    /// Called when bytes were sent that libcurl has not requested.
    mutating func sent(_ count: Int) { offset += count }

    /// Returns to the first byte; returns whether this is possible.
    mutating func rewind() -> Bool {
        if case .channel(let channel) = body, offset > 0 {
            guard let replayed = channel.replayed() else { return false }
            channel.abandon()
            body = .channel(replayed)
        }
        offset = 0
        return true
    }

    /// Ends the task that reads the body, if there is one.
    func abandon() { body.abandon() }
}
