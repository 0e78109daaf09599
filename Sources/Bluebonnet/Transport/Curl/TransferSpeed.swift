import CCurl

/// The speed limits of one transfer in one direction, as a value.
struct TransferSpeed {
    /// The largest piece of a request body that is sent at once.
    private static let largestPiece = 16 * 1024

    /// The transfer's own allowance; `nil` if only the session has a limit.
    private var allowance: ByteAllowance?
    /// The bytes that may be passed.
    private var granted = 0
    /// The bytes for which the transfer waits.
    private(set) var wanted: Int?
    /// The largest piece that is granted at once, which takes at most a twentieth of a second.
    let pieceSize: Int

    /// Creates the limits; `nil` if neither the transfer nor the session has one.
    init?(own: Int64?, session: Int64?, now: Int64) {
        guard let slowest = [own, session].compactMap(\.self).min() else { return nil }
        allowance = own.map { ByteAllowance(bytesPerSecond: $0, since: now) }
        pieceSize = Int(min(max(slowest / 20, 1), Int64(Self.largestPiece)))
    }

    /// Whether bytes may be passed; otherwise, the transfer waits in the lane.
    mutating func allows(_ count: Int, of id: TransferID, in lane: inout SpeedLane, now: Int64) -> Bool {
        guard granted < count else { return true }
        guard wanted == nil else { return false }
        let missing = count - granted
        let start = allowance?.time(for: missing, wantedSince: now) ?? now
        allowance?.take(missing, wantedSince: now)
        guard lane.admits(missing, of: id, from: start, now: now) else {
            wanted = missing
            return false
        }
        granted = count
        return true
    }

    /// The number of bytes that may be sent of `limit`; `nil` if the transfer must wait.
    mutating func sendable(_ limit: Int, of id: TransferID, in lane: inout SpeedLane, now: Int64) -> Int? {
        if granted > 0 { return min(granted, limit) }
        let piece = min(pieceSize, limit)
        return allows(piece, of: id, in: &lane, now: now) ? piece : nil
    }

    /// Called when the transfer no longer waits.
    mutating func admitted() {
        granted += wanted.take() ?? 0
    }

    /// Called when bytes were passed.
    mutating func passed(_ count: Int) { granted -= count }
}

/// Keeps a transfer's bodies within the speed limits.
///
/// Libcurl has limits of its own, but none for several transfers together. Until 8.5.0, a whole body that has arrived
/// passes its limit at once.
// Safety: libcurl's buffers are used within the callback that provides them, up to the length that it names.
extension Transfer {
    /// The limits of both directions.
    struct SpeedState {
        var upload: TransferSpeed?
        var download: TransferSpeed?

        /// Creates the limits; `nil` if there are none.
        init?(of request: HTTPRequest, in configuration: Session.Configuration, now: Int64) {
            let (own, session) = (request.speedLimits, configuration.speedLimits)
            guard own != nil || !session.isEmpty else { return nil }
            upload = TransferSpeed(own: own?.upload, session: session.upload, now: now)
            download = TransferSpeed(own: own?.download, session: session.download, now: now)
            guard upload != nil || download != nil else { return nil }
        }
    }

    /// Receives bytes of the body when the speed limits allow them; returns the state's decision.
    func receivedLimitedBody(_ bytes: UnsafeRawBufferPointer) -> TransferState.BodyAction {
        guard responseBuffer.state.acceptsBytes, !firstField.isHeadExpected, speed != nil else {
            return unsafe receivedBody(bytes)
        }
        let now = MonotonicClock.now()
        let isAllowed = speed?.download?.allows(bytes.count, of: id, in: &turn.downloads, now: now) ?? true
        guard isAllowed else {
            responseBuffer.state.speedExceeded()
            return unsafe receivedBody(bytes)
        }
        speed?.download?.passed(bytes.count)
        return unsafe receivedBody(bytes)
    }

    /// Provides as many bytes of the request's body as the speed limits allow, like ``provideBody(into:)``.
    func provideLimitedBody(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard responseBuffer.state.upload != .refused, speed?.upload != nil else {
            return unsafe provideBody(into: buffer)
        }
        let now = MonotonicClock.now()
        guard let limit = speed?.upload?.sendable(buffer.count, of: id, in: &turn.uploads, now: now) else {
            responseBuffer.state.bodyBytesMissing()
            return bb_curl_readfunc_pause
        }
        let count = unsafe provideBody(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<limit]))
        if count <= limit { speed?.upload?.passed(count) }
        return count
    }
}

/// Continues the transfers that waited because of speed limits.
extension TransferEngine {
    func resumeWithinSpeedLimits() {
        for id in shared.downloads.takeAdmitted(now: shared.now) {
            guard let transfer = transfers[id] else { continue }
            transfer.speed?.download?.admitted()
            transfer.responseBuffer.lastActivity = shared.now
            perform(transfer.responseBuffer.state.speedAllowed(), on: transfer)
            transfer.noteDecoding()
        }
        for id in shared.uploads.takeAdmitted(now: shared.now) {
            guard let transfer = transfers[id] else { continue }
            transfer.speed?.upload?.admitted()
            transfer.responseBuffer.lastActivity = shared.now
            perform(transfer.responseBuffer.state.bodyBytesArrived(), on: transfer)
        }
    }

    /// Removes a transfer that has ended from the transfers that wait because of speed limits.
    func leaveSpeedLanes(_ transfer: Transfer) {
        if transfer.speed?.download?.wanted != nil { shared.downloads.remove(transfer.id) }
        if transfer.speed?.upload?.wanted != nil { shared.uploads.remove(transfer.id) }
    }
}
