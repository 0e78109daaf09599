import CCurl
import FoundationEssentials

/// Names a transfer within its engine.
typealias TransferID = UInt64

/// Holds what one exchange has received and what it still has to send, for libcurl's callbacks.
///
/// Belongs to the engine; never leaves the loop's thread. Libcurl must not be called from its own callbacks, so these
/// record here, and the engine acts when libcurl has returned.
// Safety: libcurl's buffers are used within the callback that provides them, up to the length that it names.
final class Transfer {
    let id: TransferID
    let request: HTTPRequest
    let observer: any ExchangeObserver
    var limits: TransferLimits
    var reception: Reception

    /// The handle that libcurl works with, and the multi that it is in, while the transfer is added.
    var easy: EasyHandle?
    var multi: MultiHandle?

    /// How many bytes libcurl had sent when that was last looked at.
    var lastSentBytes: Int64 = 0
    /// How many bytes libcurl had received when that was last looked at, before they were decoded.
    var lastReceivedBytes: Int64 = 0
    /// Whether libcurl has not looked at the transfer since it was given it; what it says of the handle is the last one's.
    var isFresh = true
    /// Whether the observer has yet to hear of bytes that came in.
    var hasUnreportedProgress = false

    private let upload: Data
    private var uploadOffset = 0
    private let turn: EngineTurn

    init(
        id: TransferID, request: HTTPRequest, observer: any ExchangeObserver, timeouts: Timeouts, state: TransferState,
        upload: Data, turn: EngineTurn
    ) {
        self.id = id
        self.request = request
        self.observer = observer
        self.upload = upload
        self.turn = turn
        reception = Reception(url: request.url, state: state, now: turn.now)
        limits = TransferLimits(timeouts: timeouts, startedAt: turn.now, addedAt: turn.now)
    }

    // MARK: What libcurl's callbacks report

    /// Takes bytes of a head; returns whether to go on.
    func receivedHead(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let goesOn = unsafe reception.receivedHead(bytes, now: turn.now)
        noteStream()
        return goesOn
    }

    /// Takes decoded bytes of the body; returns what the state says.
    func receivedBody(_ bytes: UnsafeRawBufferPointer) -> TransferState.BodyAction {
        let action = unsafe reception.receivedBody(bytes, now: turn.now)
        noteStream()
        if action == .accept, !hasUnreportedProgress {
            hasUnreportedProgress = true
            turn.progressed.append(self)
        }
        return action
    }

    private func noteStream() {
        if reception.head?.httpVersion == .http2 { turn.hasReceivedOnStream = true }
    }

    /// Hands bytes of the request's body over; returns how many.
    func provideBody(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        reception.lastActivity = turn.now
        let count = min(buffer.count, upload.count - uploadOffset)
        if count > 0 {
            let start = upload.startIndex + uploadOffset
            unsafe upload.copyBytes(to: buffer, from: start..<start + count)
            uploadOffset += count
        }
        reception.state.bodyBytesSent(count)
        return count
    }

    /// Goes back in the request's body; returns whether that is possible.
    func rewindBody(to offset: Int64) -> Bool {
        guard (0...Int64(upload.count)).contains(offset) else { return false }
        // Without an answer, the server may have done already what must not be done twice (RFC 9110 §9.2.2).
        guard request.method.isIdempotent || reception.firstByte != nil || uploadOffset == 0 else { return false }
        uploadOffset = Int(offset)
        reception.state.bodyRewound(to: offset)
        return true
    }
}

/// What a turn of the engine and libcurl's callbacks share.
final class EngineTurn {
    /// The time at the start of the turn, on the monotonic clock in nanoseconds.
    var now: Int64 = 0
    /// The transfers that received bytes in this turn.
    var progressed: [Transfer] = []
    /// Whether something came in on an HTTP/2 stream in this turn.
    var hasReceivedOnStream = false
}
