/// Follows one exchange from libcurl's callbacks: which part of the message is under way in each direction, as a value.
///
/// Upload and download progress independently: a server may answer, and even finish, while the body is still being
/// sent.
struct TransferState: Equatable {
    /// How far the request's body is.
    enum Upload: Equatable {
        /// There is none, or libcurl holds all of it.
        case nothingToSend
        /// Libcurl asks for more as it can send.
        case sending(sent: Int64)
        /// All of it was handed to libcurl.
        case sent
        /// The server does not want it: no more is handed over.
        case refused
    }

    /// How far the response is.
    enum Download: Equatable {
        /// No head so far, or informational ones (RFC 9110 §15.2) alone.
        case awaitingHead
        /// In a head, whose size so far is known.
        case receivingHead(bytes: Int)
        /// The final head is complete; the body or the trailers follow.
        case receivingBody(bytes: Int64)
    }

    /// The treatment of a line of a head.
    enum HeadAction: Equatable {
        /// Discard the head so far, and keep this line: a status line.
        case beginHead
        /// Keep the line.
        case append
        /// The head is complete; keep it.
        case completeHead
        /// The head was an informational one; forget it.
        case dropInformationalHead
        /// Leave the line out: a trailer.
        case ignore
        /// End the exchange.
        case refuse(RequestError.InvalidResponseReason)
    }

    /// The treatment of bytes of the body.
    enum BodyAction: Equatable {
        case accept
        /// Keep them in libcurl until the exchange is resumed.
        case pause
        case refuse(RequestError.InvalidResponseReason)
    }

    /// The effect of a call of the exchange's owner.
    enum ControlAction: Equatable {
        case nothing
        case add
        case pause
        /// Let libcurl continue in those directions that ``isReceivingPaused`` and ``isSendingPaused`` do not hold up.
        case unpause
    }

    private(set) var upload: Upload
    private(set) var download = Download.awaitingHead
    private(set) var isSuspended: Bool
    /// Whether there is no place for the body: its destination has not been named yet, or is full.
    private(set) var isBodyHeld: Bool
    /// Whether a pause made libcurl keep what it has received.
    private(set) var isReceivingPaused = false
    /// Whether more of the body has to wait for the next turn of the loop.
    private var isWaitingForTurn = false
    /// Whether coded bytes that libcurl has handed over are not decoded yet.
    private(set) var hasCodedRest = false
    /// Whether libcurl was paused because there is nothing to send yet.
    private(set) var isSendingPaused = false
    /// Whether libcurl has been given the transfer.
    private(set) var isAdded = false

    /// How many bytes of trailers have come in (RFC 9112 §7.1.2).
    private var trailerBytes = 0
    private let headLimit: Int
    private let bodyLimit: Int64?

    init(hasStreamedBody: Bool, isSuspended: Bool, pausesBody: Bool = false, headLimit: Int, bodyLimit: Int64?) {
        upload = hasStreamedBody ? .sending(sent: 0) : .nothingToSend
        self.isSuspended = isSuspended
        isBodyHeld = pausesBody
        self.headLimit = headLimit
        self.bodyLimit = bodyLimit
    }

    // MARK: Download

    /// A line of a head or of the trailers came in.
    ///
    /// A status line begins a new head: after an informational one, or when libcurl has sent the request again. In the
    /// midst of a head it has no place. No field can be mistaken for a status line, since a field's name has no `/`
    /// (RFC 9110 §5.1).
    mutating func headLineReceived(bytes: Int, isStatusLine: Bool, isEmpty: Bool, statusCode: Int?) -> HeadAction {
        if isStatusLine {
            if case .receivingHead = download { return .refuse(.malformed) }
            download = .receivingHead(bytes: bytes)
            hasCodedRest = false
            return bytes > headLimit ? .refuse(.headTooLarge(limit: headLimit)) : .beginHead
        }
        switch download {
        case .awaitingHead:
            // A field line needs a status line before it. Libcurl takes `http/1.1` for one, which we refuse.
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
            // Libcurl keeps trailers, too, and without a limit.
            trailerBytes += bytes
            return trailerBytes > headLimit ? .refuse(.headTooLarge(limit: headLimit)) : .ignore
        }
    }

    /// Decoded bytes of the body came in.
    mutating func bodyBytesReceived(_ count: Int) -> BodyAction {
        guard case .receivingBody(let before) = download else { return .refuse(.malformed) }
        guard takesBody else {
            isReceivingPaused = true
            return .pause
        }
        let (total, overflow) = before.addingReportingOverflow(Int64(count))
        if let bodyLimit, overflow || total > bodyLimit { return .refuse(.bodyTooLarge(limit: bodyLimit)) }
        download = .receivingBody(bytes: total)
        return .accept
    }

    /// Whether there is a place for more of the body.
    var takesBody: Bool { !isSuspended && !isBodyHeld && !isWaitingForTurn }

    /// So much has come in that others are to have their turn; returns whether the body waits for the next one since
    /// then.
    mutating func turnEnded() -> Bool {
        guard !isWaitingForTurn else { return false }
        isWaitingForTurn = true
        return true
    }

    /// The next turn has come.
    mutating func turnBegins() -> ControlAction {
        guard isWaitingForTurn else { return .nothing }
        isWaitingForTurn = false
        return resumeReceiving()
    }

    /// There is a place for the bytes that a pause made libcurl keep, if nothing else holds them up.
    private mutating func resumeReceiving() -> ControlAction {
        // Bytes that are here already go first.
        guard isReceivingPaused, takesBody, !hasCodedRest else { return .nothing }
        isReceivingPaused = false
        return isAdded ? .unpause : .nothing
    }

    /// Coded bytes of the body came in: they wait in libcurl while earlier ones are not decoded.
    mutating func codedBytesReceived() -> BodyAction {
        guard case .receivingBody = download else { return .refuse(.malformed) }
        guard takesBody, !hasCodedRest else {
            isReceivingPaused = true
            return .pause
        }
        return .accept
    }

    /// Some of them are not decoded, since there is no place for that, or no time.
    mutating func codedBytesLeft() {
        hasCodedRest = true
    }

    /// All of them are decoded.
    mutating func codedBytesDecoded() -> ControlAction {
        hasCodedRest = false
        return resumeReceiving()
    }

    /// How many bytes of the body have been accepted.
    var receivedBytes: Int64 {
        if case .receivingBody(let bytes) = download { bytes } else { 0 }
    }

    // MARK: Upload

    /// Bytes of the request's body were handed over; none means the end.
    mutating func bodyBytesSent(_ count: Int) {
        guard case .sending(let before) = upload else { return }
        upload = count == 0 ? .sent : .sending(sent: before + Int64(count))
    }

    /// Libcurl asked for bytes that are not there yet.
    mutating func bodyBytesMissing() {
        isSendingPaused = true
    }

    /// There are bytes to send, which libcurl had asked for.
    mutating func bodyBytesArrived() -> ControlAction {
        guard isSendingPaused else { return .nothing }
        isSendingPaused = false
        return isAdded && !isSuspended ? .unpause : .nothing
    }

    /// The server has answered that it does not want the rest.
    mutating func bodyRefused() {
        guard case .sending = upload else { return }
        upload = .refused
        isSendingPaused = false
    }

    /// Libcurl goes back in the request's body, to send it again.
    mutating func bodyRewound(to offset: Int64) {
        guard upload != .nothingToSend else { return }
        upload = .sending(sent: offset)
        isSendingPaused = false
    }

    // MARK: Control

    mutating func started() -> ControlAction {
        guard !isSuspended, !isAdded else { return .nothing }
        isAdded = true
        return .add
    }

    /// Whether the transfer waits for us rather than for the network.
    var isPaused: Bool { isSuspended || ((isReceivingPaused || hasCodedRest) && isBodyHeld) || isSendingPaused }

    /// Libcurl does not have the transfer any more, since it was suspended before its connection was there.
    mutating func withdrawn() {
        isAdded = false
    }

    /// The place of the body is full.
    mutating func bodyHeld() {
        isBodyHeld = true
    }

    /// There is a place for the body, or room in it.
    mutating func bodyReleased() -> ControlAction {
        guard isBodyHeld else { return .nothing }
        isBodyHeld = false
        return resumeReceiving()
    }

    mutating func suspended() -> ControlAction {
        guard !isSuspended else { return .nothing }
        isSuspended = true
        return isAdded ? .pause : .nothing
    }

    mutating func resumed() -> ControlAction {
        guard isSuspended else { return .nothing }
        isSuspended = false
        guard isAdded else { return started() }
        if takesBody, !hasCodedRest { isReceivingPaused = false }
        return .unpause
    }
}
