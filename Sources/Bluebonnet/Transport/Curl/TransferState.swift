/// Tracks where a transfer is, and the parts of its messages that are in progress.
///
/// This is a value type without I/O and without a clock.
///
/// Libcurl's callbacks report the progress. Upload and download are independent, because a server may send its whole
/// response while the body is still being sent.
struct TransferState {
    /// The progress of the request's body.
    enum Upload: Equatable {
        /// There is no body, or libcurl holds all of it.
        case nothingToSend
        /// Libcurl requests more bytes whenever it can send them.
        case sending(sent: Int64)
        /// All bytes have been passed to libcurl.
        case sent
        /// The server has refused the body, so no more bytes are passed to libcurl.
        case refused
    }

    /// The progress of the response.
    enum Download: Equatable {
        /// No head has arrived, or only informational heads have arrived (RFC 9110 §15.2).
        case awaitingHead
        /// Part of a head with the given size in bytes has arrived.
        case receivingHead(bytes: Int)
        /// The final head is complete; the body or the trailers follow.
        case receivingBody(bytes: Int64)
    }

    /// How to handle a line of a head.
    enum HeadAction: Equatable {
        /// Discard the head so far and keep this line, which is a status line.
        case beginHead
        /// Keep the line.
        case append
        /// Keep the head, which is complete.
        case completeHead
        /// Discard the head, which was informational.
        case dropInformationalHead
        /// Ignore the line, which is a trailer.
        case ignore
        /// End the exchange.
        case refuse(RequestError.InvalidResponseReason)
    }

    /// How to handle bytes of the body.
    enum BodyAction: Equatable {
        case accept
        /// Keep the bytes in libcurl until the exchange is resumed.
        case pause
        case refuse(RequestError.InvalidResponseReason)
    }

    /// How to handle bytes that libcurl delivers.
    enum ArrivalAction: Equatable {
        /// Take the bytes into the body, or decode them.
        case take
        /// Keep the bytes until the body can be delivered.
        case keep
        /// Leave the bytes in libcurl until the exchange is resumed.
        case pause
        case refuse
    }

    /// Where the transfer is.
    var life: TransferLife
    private(set) var upload: Upload
    private(set) var download = Download.awaitingHead
    /// Whether the body cannot be delivered, because its destination is not known yet or is full.
    private(set) var isBodyHeld: Bool
    /// Whether libcurl does not deliver bytes because of a pause.
    private(set) var isReceivingPaused = false
    /// Whether libcurl keeps received bytes because of a pause.
    private(set) var hasBytesInLibcurl = false
    /// Whether the rest of the body must wait for the next turn of the loop.
    private var isWaitingForTurn = false
    /// Whether the rest of the body must wait because of a speed limit.
    private var isOverSpeed = false
    /// Whether bytes that libcurl has delivered are not part of the body yet.
    private(set) var hasRest = false
    /// Whether libcurl was paused because no bytes are available to send yet.
    private(set) var isSendingPaused = false

    /// The number of trailer bytes that have arrived (RFC 9112 §7.1.2).
    private var trailerBytes = 0
    private let headLimit: Int
    private let bodyLimit: Int64?

    init(hasStreamedBody: Bool, isSuspended: Bool, pausesBody: Bool = false, headLimit: Int, bodyLimit: Int64?) {
        upload = hasStreamedBody ? .sending(sent: 0) : .nothingToSend
        life = TransferLife(isSuspended: isSuspended)
        isBodyHeld = pausesBody
        self.headLimit = headLimit
        self.bodyLimit = bodyLimit
    }

    // MARK: Download

    /// Called when a line of a head or of the trailers has arrived.
    ///
    /// A status line starts a new head, after an informational head or after libcurl has sent the request again. Inside
    /// a head, a status line is an error. A field line is never treated as a status line, because a field name contains
    /// no `/` (RFC 9110 §5.1).
    mutating func headLineReceived(bytes: Int, isStatusLine: Bool, isEmpty: Bool, statusCode: Int?) -> HeadAction {
        if isStatusLine {
            if case .receivingHead = download { return .refuse(.malformed) }
            download = .receivingHead(bytes: bytes)
            hasRest = false
            return bytes > headLimit ? .refuse(.headTooLarge(limit: headLimit)) : .beginHead
        }
        switch download {
        case .awaitingHead:
            // A field line must follow a status line. Libcurl accepts `http/1.1` as a status line, but Bluebonnet
            // refuses it.
            return isEmpty ? .ignore : .refuse(.malformed)
        case .receivingHead(let before):
            let total = before + bytes
            guard total <= headLimit else { return .refuse(.headTooLarge(limit: headLimit)) }
            guard isEmpty else {
                download = .receivingHead(bytes: total)
                return .append
            }
            guard let statusCode else { return .refuse(.malformed) }
            if (100..<200).contains(statusCode), statusCode != 101 {
                download = .awaitingHead
                return .dropInformationalHead
            }
            download = .receivingBody(bytes: 0)
            return .completeHead
        case .receivingBody:
            // Libcurl also stores trailers, and has no limit for them.
            trailerBytes += bytes
            return trailerBytes > headLimit ? .refuse(.headTooLarge(limit: headLimit)) : .ignore
        }
    }

    /// Called when the request is sent again, so that the next bytes are those of another response.
    mutating func sentAgain() { (download, trailerBytes, hasRest) = (.awaitingHead, 0, false) }

    /// Called when libcurl delivers bytes of the body, and so many more bytes may be kept.
    ///
    /// If the body cannot be delivered, the bytes are kept here. If an error followed in what libcurl has read, libcurl
    /// would drop the bytes that it keeps.
    mutating func bytesArrived(_ count: Int, room: Int) -> ArrivalAction {
        guard case .receivingBody = download else { return .refuse }
        guard !acceptsBytes else { return .take }
        guard !isWaitingForTurn, !isOverSpeed, count <= room else {
            (isReceivingPaused, hasBytesInLibcurl) = (true, true)
            return .pause
        }
        hasRest = true
        return .keep
    }

    /// Called when decoded bytes of the body have arrived.
    mutating func bodyBytesReceived(_ count: Int) -> BodyAction {
        guard case .receivingBody(let before) = download else { return .refuse(.malformed) }
        guard takesBody else {
            (isReceivingPaused, hasBytesInLibcurl) = (true, true)
            return .pause
        }
        let (total, overflow) = before.addingReportingOverflow(Int64(count))
        if let bodyLimit, overflow || total > bodyLimit { return .refuse(.bodyTooLarge(limit: bodyLimit)) }
        download = .receivingBody(bytes: total)
        return .accept
    }

    /// Whether more bytes of the body can be delivered.
    var takesBody: Bool { !life.isSuspended && !isBodyHeld && !isWaitingForTurn && !isOverSpeed }

    /// Whether libcurl can deliver more bytes of the body.
    var acceptsBytes: Bool { takesBody && !hasRest }

    /// Called when the transfer has reached its limit for the turn; returns whether the body waits from now on.
    mutating func turnEnded() -> Bool {
        guard !isWaitingForTurn else { return false }
        isWaitingForTurn = true
        return true
    }

    /// Called when the next turn begins.
    mutating func turnBegins() -> TransferLife.Action {
        guard isWaitingForTurn else { return .nothing }
        isWaitingForTurn = false
        return resumeReceiving()
    }

    /// Called when the body has reached a speed limit.
    mutating func speedExceeded() {
        isOverSpeed = true
    }

    /// Called when the speed limits allow more of the body.
    mutating func speedAllowed() -> TransferLife.Action {
        isOverSpeed = false
        return resumeReceiving()
    }

    /// Resumes the bytes that libcurl keeps because of a pause, if there is no other reason to wait.
    private mutating func resumeReceiving() -> TransferLife.Action {
        // Bytes that libcurl has already delivered are first.
        guard isReceivingPaused, acceptsBytes else { return .nothing }
        (isReceivingPaused, hasBytesInLibcurl) = (false, false)
        return life.isAdded ? .unpause : .nothing
    }

    /// Called when some bytes are left, because of a lack of room or time.
    mutating func bytesLeft() {
        hasRest = true
    }

    /// Called when no bytes are left.
    mutating func restTaken() -> TransferLife.Action {
        hasRest = false
        return resumeReceiving()
    }

    /// Called at the end of a turn: libcurl must not deliver more bytes to a body that cannot be delivered.
    mutating func turnEndsWithRest() -> TransferLife.Action {
        guard hasRest, isBodyHeld, !life.isSuspended, !isReceivingPaused, life.isAdded else { return .nothing }
        isReceivingPaused = true
        return .unpause
    }

    /// The number of body bytes that have been accepted.
    var receivedBytes: Int64 {
        if case .receivingBody(let bytes) = download { bytes } else { 0 }
    }

    // MARK: Upload

    /// Called when bytes of the request's body were passed on; 0 means the end of the body.
    mutating func bodyBytesSent(_ count: Int) {
        guard case .sending(let before) = upload else { return }
        upload = count == 0 ? .sent : .sending(sent: before + Int64(count))
    }

    /// Called when libcurl has requested bytes that are not available yet.
    mutating func bodyBytesMissing() {
        isSendingPaused = true
    }

    /// Called when bytes are available that libcurl has requested.
    mutating func bodyBytesArrived() -> TransferLife.Action {
        guard isSendingPaused else { return .nothing }
        isSendingPaused = false
        return life.isAdded && !life.isSuspended ? .unpause : .nothing
    }

    /// Called when the server has refused the rest of the body.
    mutating func bodyRefused() {
        guard case .sending = upload else { return }
        upload = .refused
        isSendingPaused = false
    }

    /// Called when libcurl rewinds the request's body to send it again.
    mutating func bodyRewound(to offset: Int64) {
        guard upload != .nothingToSend else { return }
        upload = .sending(sent: offset)
        isSendingPaused = false
    }

    // MARK: Control

    /// Whether the transfer waits for Bluebonnet or its user, and not for the network.
    var isPaused: Bool {
        life.isSuspended || ((isReceivingPaused || hasRest) && (isBodyHeld || isOverSpeed)) || isSendingPaused
    }

    /// Called when the body's destination is full.
    mutating func bodyHeld() {
        isBodyHeld = true
    }

    /// Called when the body's destination is known, or has room again.
    mutating func bodyReleased() -> TransferLife.Action {
        guard isBodyHeld else { return .nothing }
        isBodyHeld = false
        return resumeReceiving()
    }

    /// Called when the caller resumes the transfer.
    mutating func resumed() -> TransferLife.Action {
        let action = life.resumed()
        guard action == .unpause else { return action }
        if acceptsBytes {
            (isReceivingPaused, hasBytesInLibcurl) = (false, false)
        } else if hasRest {
            // Otherwise, libcurl would read more each time.
            isReceivingPaused = true
        }
        return .unpause
    }
}
