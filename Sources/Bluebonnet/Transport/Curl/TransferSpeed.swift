import CCurl

/// The speed limits of one transfer in one direction.
///
/// This is a value type without I/O and without a clock.
struct TransferSpeed {
    /// The size in bytes of the first portion of a request's body.
    private static let firstPortion = 1024

    /// The transfer's own allowance; `nil` if only the session has a limit.
    private var allowance: ByteAllowance?
    /// The number of bytes that may be passed.
    private(set) var granted = 0
    /// The number of bytes for which the transfer waits; `nil` if it does not wait.
    private(set) var wanted: Int?
    /// The number of bytes in one portion, which grows during the body.
    private var portion = 0
    /// The maximum number of bytes in one portion, which the slowest limit allows in 25 milliseconds.
    private let largestPortion: Int

    /// Creates the limits; `nil` if neither the transfer nor the session has a limit.
    init?(own: Int64?, session: Int64?, now: Int64) {
        guard let slowest = [own, session].compactMap(\.self).min() else { return nil }
        allowance = own.map { ByteAllowance(bytesPerSecond: $0, since: now) }
        largestPortion = Int(min(max(slowest / 40, 1), ByteAllowance.largestBurst))
    }

    /// Returns whether a whole piece may pass; otherwise, the transfer waits in the queue.
    ///
    /// Libcurl is paused for each wait, and may then copy the bytes that it has stored. If a body is long, the transfer
    /// therefore waits for more than one piece.
    mutating func allows(_ count: Int, of id: TransferID, in queue: inout SpeedQueue, now: Int64) -> Bool {
        guard granted < count else { return true }
        return asks(for: max(count - granted, min(portion, largestPortion)), of: id, in: &queue, now: now)
    }

    /// Returns how many bytes may be sent, at most `limit`; `nil` if the transfer must wait.
    mutating func sendable(_ limit: Int, of id: TransferID, in queue: inout SpeedQueue, now: Int64) -> Int? {
        if granted == 0 {
            let count = min(max(portion, Self.firstPortion), largestPortion, limit)
            guard asks(for: count, of: id, in: &queue, now: now) else { return nil }
        }
        return min(granted, limit)
    }

    private mutating func asks(
        for count: Int, of id: TransferID, in queue: inout SpeedQueue, now: Int64
    ) -> Bool {
        guard wanted == nil else { return false }
        portion = min(2 * max(portion, count), Int(ByteAllowance.largestBurst))
        let start = allowance?.time(for: count, wantedSince: now) ?? now
        allowance?.take(count, wantedSince: now)
        guard queue.admits(count, of: id, from: start, now: now) else {
            wanted = count
            return false
        }
        granted += count
        return true
    }

    /// Called when the transfer no longer waits.
    mutating func admitted() {
        granted += wanted.take() ?? 0
    }

    /// Called when the transfer has ended or is suspended; returns its unused bytes, and whether it waits for more.
    mutating func abandoned() -> (granted: Int, isWaiting: Bool) {
        defer { (granted, wanted) = (0, nil) }
        allowance?.giveBack(granted + (wanted ?? 0))
        return (granted, wanted != nil)
    }

    /// Called when bytes were passed.
    mutating func passed(_ count: Int) { granted -= count }
}

/// The speed limits of a session, and the transfers that wait because of them or of their own limits.
struct SpeedQueues {
    private let session: SpeedLimits
    private let limitsSession: Bool
    /// Whether there has been a transfer with a speed limit.
    private(set) var isUsed = false
    var downloads: SpeedQueue
    var uploads: SpeedQueue

    init(_ session: SpeedLimits) {
        self.session = session
        limitsSession = !session.isEmpty
        downloads = SpeedQueue(bytesPerSecond: session.download, now: MonotonicClock.now())
        uploads = SpeedQueue(bytesPerSecond: session.upload, now: MonotonicClock.now())
    }

    /// Returns the speed limits of a request and of the session; `nil` if there are none.
    mutating func state(for request: HTTPRequest, now: Int64) -> Transfer.SpeedState? {
        guard limitsSession || request.hasSpeedLimits else { return nil }
        isUsed = true
        return Transfer.SpeedState(own: request.speedLimits, session: session, now: now)
    }
}

/// Keeps a transfer's bodies within the speed limits.
///
/// Libcurl has its own speed limits, but no limit for several transfers together. Until 8.5.0, if a whole body has
/// arrived, libcurl delivers it immediately, regardless of the limit.
// Safety: libcurl's buffers are used within the callback that provides them, up to the length that it names.
extension Transfer {
    /// The limits of both directions.
    final class SpeedState {
        var upload: TransferSpeed?
        var download: TransferSpeed?

        init(own: SpeedLimits, session: SpeedLimits, now: Int64) {
            upload = TransferSpeed(own: own.upload, session: session.upload, now: now)
            download = TransferSpeed(own: own.download, session: session.download, now: now)
        }
    }

    /// Receives bytes of the body when the speed limits allow them; returns the state's decision.
    func receivedLimitedBody(_ bytes: UnsafeRawBufferPointer) -> TransferState.BodyAction {
        guard let speed, speed.download != nil, responseBuffer.state.acceptsBytes, !firstField.isHeadExpected else {
            return unsafe receivedBody(bytes)
        }
        let now = MonotonicClock.now()
        let isAllowed = speed.download?.allows(bytes.count, of: id, in: &turn.speed.downloads, now: now) ?? true
        if !isAllowed { responseBuffer.state.speedExceeded() }
        let action = unsafe receivedBody(bytes)
        // Libcurl delivers the bytes again if they were not accepted.
        if action == .accept { speed.download?.passed(bytes.count) }
        return action
    }

    /// Provides as many bytes of the request's body as the speed limits allow, like ``provideBody(into:)``.
    func provideLimitedBody(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard let speed, speed.upload != nil, responseBuffer.state.upload != .refused else {
            return unsafe provideBody(into: buffer)
        }
        let rest = upload.length.map { Int(clamping: $0 - Int64(upload.offset)) } ?? .max
        guard rest > 0 else { return unsafe provideBody(into: buffer) }
        let (size, now) = (min(buffer.count, rest), MonotonicClock.now())
        guard let limit = speed.upload?.sendable(size, of: id, in: &turn.speed.uploads, now: now) else {
            responseBuffer.state.bodyBytesMissing()
            return bb_curl_readfunc_pause
        }
        let count = unsafe provideBody(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<limit]))
        // Larger values are libcurl's constants.
        if count <= limit { speed.upload?.passed(count) }
        return count
    }
}

/// Continues the transfers that waited because of speed limits.
extension TransferEngine {
    func resumeWithinSpeedLimits() {
        for id in shared.speed.downloads.takeAdmitted(now: shared.now) {
            guard let transfer = transfers[id] else { continue }
            transfer.speed?.download?.admitted()
            transfer.responseBuffer.lastActivity = shared.now
            perform(transfer.responseBuffer.state.speedAllowed(), on: transfer)
        }
        for id in shared.speed.uploads.takeAdmitted(now: shared.now) {
            guard let transfer = transfers[id] else { continue }
            transfer.speed?.upload?.admitted()
            transfer.responseBuffer.lastActivity = shared.now
            perform(transfer.responseBuffer.state.bodyBytesArrived(), on: transfer)
        }
    }

    /// Ends the waits of a transfer that has ended or is suspended, and gives its unused bytes back to the session.
    ///
    /// A suspended transfer requests bytes again when it is resumed.
    func leaveSpeedQueues(_ transfer: Transfer) {
        guard let speed = transfer.speed else { return }
        leave(&shared.speed.downloads, &speed.download, of: transfer) { $0.speedAllowed() }
        leave(&shared.speed.uploads, &speed.upload, of: transfer) { $0.bodyBytesArrived() }
    }

    private func leave(
        _ queue: inout SpeedQueue, _ speed: inout TransferSpeed?, of transfer: Transfer,
        continuing: (inout TransferState) -> TransferLife.Action
    ) {
        guard let claim = speed?.abandoned() else { return }
        queue.giveBack(claim.granted)
        guard claim.isWaiting else { return }
        queue.remove(transfer.id)
        _ = continuing(&transfer.responseBuffer.state)
    }
}
