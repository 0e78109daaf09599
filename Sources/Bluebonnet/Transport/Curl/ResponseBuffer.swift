import BluebonnetLibc
import FoundationEssentials

/// The part of a response that a transfer has received so far: the head in one buffer, and the body in another buffer.
///
/// This is one value that libcurl's callbacks change in place, because a small response needs about ten callbacks.
// Safety: libcurl's buffers are used within the callback that provides them, up to the length that it names.
struct ResponseBuffer {
    var state: TransferState
    private(set) var head: ReceivedHead?
    private(set) var body = Data()
    /// The error that ends the exchange, in the received bytes or noticed in a callback; it takes precedence over
    /// libcurl's error.
    var failure: RequestError?
    /// The time at which bytes were last received or sent, in nanoseconds on the monotonic clock.
    var lastActivity: Int64
    /// The time at which the first head began to arrive, on the same clock.
    private(set) var firstByte: Int64?
    /// The flags of the lines in the last call.
    private var latest: HeadFlags = []

    /// The lines of a head that is incomplete; otherwise, the lines after the body, which follow an empty line.
    private var lines: [UInt8] = []
    var trailerLines: [UInt8] { head == nil ? [] : lines }
    /// The start of a head line whose end has not arrived.
    private var partialLine: [UInt8] = []
    private var framing = FramingCheck()
    /// Whether the latest head has a `Transfer-Encoding` field.
    var hasTransferCoding: Bool { framing.hasTransferCoding }
    private var statusCode: Int?
    /// Whether the latest head is that of an interim response (RFC 9110 §15.2).
    var isInformational: Bool { statusCode.map { $0 < 200 && $0 != 101 } ?? false }

    /// Which content codings of the body are removed.
    var removedCodings = RemovedCodings.none
    /// The decoder of the body; `nil` if the body is not decoded.
    private(set) var decoder: ContentDecoder?
    private var hasCoding = false
    /// The bytes that libcurl has delivered and that are not part of the body yet; coded bytes if there is a decoder.
    private(set) var rest = KeptBytes()

    init(state: TransferState, now: Int64) {
        self.state = state
        lastActivity = now
    }

    /// The error for a connection that was closed within the head, which libcurl accepts as a response.
    var endError: RequestError? {
        guard let head else {
            return RequestError(.connection(.lost), detail: "the connection was closed within the head of the response")
        }
        // A partial response may end anywhere in the coded data (RFC 9110 §14.2).
        guard let decoder, !decoder.isComplete, head.statusCode != 206 else { return nil }
        return RequestError(.invalidResponse(.undecodableContent), detail: "the content ends too early")
    }

    // MARK: Head

    /// The state of the head after a call.
    enum HeadProgress {
        /// The head is incomplete.
        case begun
        /// The head has just become complete.
        case complete(ReceivedHead)
        /// The head was already complete, so the bytes are trailers.
        case trailers
        /// The exchange must end.
        case refused
    }

    /// Whether the head has a `Set-Cookie` field.
    private(set) var hasCookies = false

    /// The properties of head lines that matter before the head is complete.
    struct HeadFlags: OptionSet {
        let rawValue: UInt8

        /// A status line states HTTP/2 or HTTP/3.
        static let multiplexing = HeadFlags(rawValue: 2)
        /// The head has become complete.
        static let end = HeadFlags(rawValue: 4)
        /// The head of an informational response has become complete.
        static let informational = HeadFlags(rawValue: 8)
    }

    /// Receives bytes of a head; returns the state of the head, and the flags of the new lines.
    ///
    /// Libcurl normally delivers one line at a time. After a pause, it delivers all bytes that arrived during the pause
    /// at once.
    mutating func receivedHead(_ bytes: UnsafeRawBufferPointer, now: Int64) -> (HeadProgress, HeadFlags) {
        lastActivity = now
        latest = []
        guard unsafe receivedLines(bytes) else { return (.refused, latest) }
        guard let head else { return (.begun, latest) }
        return (latest.contains(.end) ? .complete(head) : .trailers, latest)
    }

    /// The heads of informational responses that were not reported, and the number of all of them.
    private var informational: [ReceivedHead] = []
    private var informationalCount = 0
    /// The number of informational responses that are reported; a server may send any number.
    private static let maximumInformational = 1000

    /// Removes and returns the heads of the informational responses since the last call.
    mutating func takeInformational() -> [ReceivedHead] { exchange(&informational, with: []) }

    /// How long the server keeps the connection for another request, by the latest `Keep-Alive` field.
    private(set) var reuseTime: ReuseTime?

    /// Whether the server has sent 100 (Continue) since the request was sent.
    var wasContinued = false

    /// Called when the request is sent again: an error of the next sending must not show this response.
    mutating func sentAgain() {
        (head, statusCode, partialLine, firstByte, rest) = (nil, nil, [], nil, KeptBytes())
        state.sentAgain()
    }

    private mutating func receivedLines(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var start = 0
        while start < bytes.count {
            let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[start...])
            guard let count = unsafe Self.lineLength(in: rest) else {
                unsafe partialLine.append(contentsOf: rest)
                return true
            }
            let line = unsafe UnsafeRawBufferPointer(rebasing: rest[..<count])
            start += count
            let isAccepted = partialLine.isEmpty ? unsafe receivedLine(line) : unsafe completedLine(line)
            guard isAccepted else { return false }
        }
        return true
    }

    private static func lineLength(in bytes: UnsafeRawBufferPointer) -> Int? {
        guard let base = bytes.baseAddress, let end = unsafe memchr(base, 0x0a, bytes.count) else { return nil }
        return unsafe UnsafeRawPointer(end) - base + 1
    }

    private mutating func completedLine(_ end: UnsafeRawBufferPointer) -> Bool {
        unsafe partialLine.append(contentsOf: end)
        let line = partialLine
        partialLine = []
        return unsafe line.withUnsafeBytes { unsafe receivedLine($0) }
    }

    private mutating func receivedLine(_ line: UnsafeRawBufferPointer) -> Bool {
        let isEmpty = unsafe line.count == 1 || (line.count == 2 && line[0] == 0x0d)
        let span = unsafe line.assumingMemoryBound(to: UInt8.self).span
        let isStatusLine = StatusLine.isBegun(by: span)
        if FieldSyntax.isField(span, named: "set-cookie") { hasCookies = true }
        if FieldSyntax.isField(span, named: "keep-alive") { reuseTime = ReuseTime(field: span) ?? reuseTime }
        if isStatusLine {
            statusCode = StatusLine.parse(span)?.1
            if statusCode == 100 { wasContinued = true }
            if span.count > 5, span[5] == 0x32 || span[5] == 0x33 { latest.insert(.multiplexing) }
            if firstByte == nil { firstByte = MonotonicClock.now() }
        }
        let action = state.headLineReceived(
            bytes: line.count, isStatusLine: isStatusLine, isEmpty: isEmpty, statusCode: statusCode)
        switch action {
        case .beginHead:
            lines.removeAll(keepingCapacity: true)
            lines.reserveCapacity(512)
            framing = FramingCheck()
            unsafe lines.append(contentsOf: line)
            body = Data()
            (hasCookies, reuseTime) = (false, nil)
            head = nil
            announcedLength = nil
            decoder = nil
            hasCoding = false
            rest = KeptBytes()
        case .append:
            unsafe lines.append(contentsOf: line)
            if let flaw = framing.flaw(in: span) { return refuse(.malformed, flaw) }
            if ContentCoding.isNamed(in: span) { hasCoding = true }
        case .completeHead:
            guard let head = ReceivedHead(bytes: lines) else { return refuse(.malformed) }
            lines = []
            self.head = head
            latest.insert(.end)
            // After 101, the bytes are those of another protocol.
            if hasCoding, head.statusCode != 101 { decoder = ContentDecoder(of: head, removing: removedCodings) }
        case .dropInformationalHead:
            informationalCount += 1
            // A copy, because the buffer is larger.
            if informationalCount <= Self.maximumInformational,
                let head = unsafe ReceivedHead(bytes: lines.withUnsafeBytes { unsafe Array($0) })
            {
                informational.append(head)
                latest.insert(.informational)
            }
            lines.removeAll(keepingCapacity: true)
        case .ignore:
            guard head != nil, !isEmpty else { break }
            if lines.isEmpty { lines = [0x0a] }
            unsafe lines.append(contentsOf: line)
        case .refuse(let reason):
            return refuse(reason)
        }
        return true
    }

    // MARK: Body

    /// The maximum number of bytes to reserve for the length of a body.
    private static let largestReservation: Int64 = 1 << 20
    /// The minimum size of a body's first piece for which the length of the body is used.
    private static let smallestReservation = 8 * 1024

    /// Provides the memory for pieces if a receiver receives the body; `nil` if the body is collected.
    var buffers: RecycledBuffers?
    /// The bytes for the receiver that have arrived since the last piece.
    private var piece: RecycledBuffer?

    /// The number of bytes that wait for the receiver, and the maximum size of a piece.
    private var pieceCount: Int { piece?.count ?? 0 }
    private var pieceLimit: Int { buffers?.size ?? 0 }

    /// Whether a delivery of the piece would cost more than reading as many bytes again.
    var isPieceSmall: Bool { pieceCount < min(64 * 1024, pieceLimit / 2) }

    /// Whether there is a piece to which the given number of bytes cannot be added.
    func isPieceFull(for count: Int) -> Bool { pieceCount > 0 && pieceCount + count > pieceLimit }

    /// Removes the bytes for the receiver that have arrived since the last call.
    mutating func takePiece() -> Data? {
        guard let buffers, let piece = piece.take() else { return nil }
        return buffers.piece(of: piece)
    }

    /// Whether only the end of the connection ends the body (RFC 9112 §6.3).
    var endsWithConnection: Bool {
        guard let head, !head.httpVersion.isMultiplexed, head.statedLength == nil else { return false }
        return head.value(for: "Transfer-Encoding") == nil
    }

    /// Whether the body is delivered with all of its content codings.
    var keepsCoding: Bool { removedCodings == .none || (hasCoding && decoder == nil) }

    /// The size of the body by the head; `nil` if the head has no length.
    ///
    /// The value is cached, because it is read repeatedly while a large body arrives.
    var expectedBytes: Int64? {
        mutating get {
            if let announcedLength { return announcedLength }
            let length = keepsCoding ? head?.statedLength : head?.contentLength
            if head != nil { announcedLength = .some(length) }
            return length
        }
    }

    private var announcedLength: Int64??

    /// Receives decoded bytes of the body; returns the state's decision.
    mutating func receivedBody(_ bytes: UnsafeRawBufferPointer, now: Int64) -> TransferState.BodyAction {
        let action = state.bodyBytesReceived(bytes.count)
        switch action {
        case .accept:
            lastActivity = now
            guard buffers == nil else {
                unsafe addToPiece(bytes)
                break
            }
            if body.isEmpty, bytes.count >= Self.smallestReservation, let expectedBytes, expectedBytes > bytes.count {
                body.reserveCapacity(Int(min(expectedBytes, Self.largestReservation)))
            }
            unsafe body.append(contentsOf: bytes)
        case .pause:
            break
        case .refuse(let reason):
            _ = refuse(reason)
        }
        return action
    }

    /// How many more bytes may be kept.
    var roomOfRest: Int { max(0, KeptBytes.limit - rest.count) }

    /// Keeps bytes that are not part of the body yet.
    mutating func leave(_ bytes: UnsafeRawBufferPointer, pool: RecycledBuffers) {
        unsafe rest.append(bytes, pool: decoder == nil ? pool : nil)
    }

    /// Removes the bytes that are not part of the body yet.
    mutating func takeRest() -> KeptBytes { exchange(&rest, with: KeptBytes()) }

    /// Whether ``takeRestAsPiece(now:)`` may be called.
    var restIsPiece: Bool { buffers != nil && piece == nil && decoder == nil && rest.buffer != nil }

    /// Makes the kept bytes the next piece for the receiver; returns the state's decision.
    mutating func takeRestAsPiece(now: Int64) -> TransferState.BodyAction {
        let action = state.bodyBytesReceived(rest.count)
        switch action {
        case .accept: (lastActivity, piece) = (now, takeRest().buffer)
        case .pause: break
        case .refuse(let reason): _ = refuse(reason)
        }
        return action
    }

    /// Stores bytes for the receiver.
    private mutating func addToPiece(_ bytes: UnsafeRawBufferPointer) {
        // The piece is changed in place, because this code runs for every 16 KiB.
        if piece == nil { piece = buffers?.take() }
        unsafe piece?.append(bytes)
    }

    /// Adds body bytes of a response that libcurl has not read.
    mutating func keepUnreadBody(_ bytes: ArraySlice<UInt8>) {
        if case .refuse(let reason) = state.bodyBytesReceived(bytes.count) {
            _ = refuse(reason)
        } else {
            body.append(contentsOf: bytes)
        }
    }

    private mutating func refuse(_ reason: RequestError.InvalidResponseReason, _ detail: String? = nil) -> Bool {
        failure = RequestError(.invalidResponse(reason), detail: detail)
        return false
    }
}

/// Bytes that libcurl has delivered, and that are not part of the body yet.
// Safety: the bytes are read within the closure.
struct KeptBytes {
    /// The maximum number of bytes.
    ///
    /// This is what libcurl 8 reads in one call, up to 11 times 64 KiB. It is paused at the end of the turn.
    static let limit = 11 * 64 * 1024
    /// The capacity to begin with, which is mostly enough.
    private static let reservation = 256 * 1024
    /// The minimum size of the first bytes for which more bytes are expected; few bytes are mostly the last ones.
    private static let smallestReservation = 8 * 1024

    private var bytes: [UInt8] = []
    /// The bytes in memory that can become a piece for a receiver.
    private(set) var buffer: RecycledBuffer?

    var count: Int { buffer?.count ?? bytes.count }

    /// Adds bytes; takes a buffer of the pool if more bytes are likely to follow.
    mutating func append(_ new: UnsafeRawBufferPointer, pool: RecycledBuffers?) {
        if count == 0, new.count >= Self.smallestReservation {
            // As it grows, the array would copy as many bytes again.
            if let pool, pool.size >= Self.reservation {
                buffer = pool.take()
            } else {
                bytes.reserveCapacity(Self.reservation)
            }
        }
        if let buffer { unsafe buffer.append(new) } else { unsafe bytes.append(contentsOf: new) }
    }

    func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        if let buffer { unsafe buffer.withUnsafeBytes(body) } else { unsafe bytes.withUnsafeBytes(body) }
    }
}
