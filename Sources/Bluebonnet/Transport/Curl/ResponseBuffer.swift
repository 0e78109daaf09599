import FoundationEssentials
import Glibc

/// The part of a response that a transfer has received so far: the head as one buffer, then the body.
///
/// One value that libcurl's callbacks change in place, since they are called some ten times for a small response.
// Safety: libcurl's buffers are used within the callback that provides them, up to the length that it names.
struct ResponseBuffer {
    var state: TransferState
    private(set) var head: ReceivedHead?
    private(set) var body = Data()
    /// The error of the received bytes; takes precedence over libcurl's error for the refusal.
    private(set) var failure: RequestError?
    /// When bytes were last seen, on the monotonic clock in nanoseconds.
    var lastActivity: Int64
    /// When the first head began to arrive, on the same clock.
    private(set) var firstByte: Int64?
    /// The flags of the latest lines of a head.
    private var latest: HeadFlags = []

    private var headBytes: [UInt8] = []
    /// The beginning of a line of a head whose end is yet to come.
    private var partialLine: [UInt8] = []
    private var framing = FramingCheck()
    /// Whether the body comes in chunks, by the latest head.
    var hasTransferCoding: Bool { framing.hasTransferCoding }
    private var statusCode: Int?

    /// Whether bodies are decoded by their `Content-Encoding`.
    var decodesContent = false
    /// The decoder of the body, if it is coded.
    private(set) var decoder: ContentDecoder?
    private var hasCoding = false

    init(state: TransferState, now: Int64) {
        self.state = state
        lastActivity = now
    }

    /// An error that libcurl does not report: it treats a connection that is closed within the head as a response.
    var endError: RequestError? {
        guard let head else {
            return RequestError(.connection(.lost), detail: "the connection was closed within the head of the response")
        }
        // A part of a coded representation ends anywhere (RFC 9110 §14.2).
        guard let decoder, !decoder.isComplete, head.statusCode != 206 else { return nil }
        return RequestError(.invalidResponse(.undecodableContent), detail: "the content ends too early")
    }

    // MARK: Head

    /// How far a head is when bytes of it came in.
    enum HeadProgress {
        /// There is more to come.
        case begun
        /// The head has just become complete.
        case complete(ReceivedHead)
        /// It was complete before: the bytes were of the trailers.
        case trailers
        /// The exchange is to be ended.
        case refused
    }

    /// The contents of a head's lines that matter before the head is complete.
    struct HeadFlags: OptionSet {
        let rawValue: UInt8

        /// There is a `Set-Cookie` line.
        static let cookies = HeadFlags(rawValue: 1)
        /// A status line claims HTTP/2.
        static let http2 = HeadFlags(rawValue: 2)
        /// The head is complete now.
        static let end = HeadFlags(rawValue: 4)
    }

    /// Takes bytes of a head; returns how far it is, and the flags of its new lines.
    ///
    /// Libcurl hands over one line at a time, but all at once the bytes that came in while the transfer was paused.
    mutating func receivedHead(_ bytes: UnsafeRawBufferPointer, now: Int64) -> (HeadProgress, HeadFlags) {
        lastActivity = now
        latest = []
        guard unsafe receivedLines(bytes) else { return (.refused, latest) }
        guard let head else { return (.begun, latest) }
        return (latest.contains(.end) ? .complete(head) : .trailers, latest)
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
        if FieldSyntax.isField(span, named: "set-cookie") { latest.insert(.cookies) }
        if isStatusLine {
            statusCode = StatusLine.parse(span)?.1
            if span.count > 5, span[5] == 0x32 { latest.insert(.http2) }
            if firstByte == nil { firstByte = MonotonicClock.now() }
        }
        let action = state.headLineReceived(
            bytes: line.count, isStatusLine: isStatusLine, isEmpty: isEmpty, statusCode: statusCode)
        switch action {
        case .beginHead:
            headBytes.removeAll(keepingCapacity: true)
            headBytes.reserveCapacity(512)
            framing = FramingCheck()
            unsafe headBytes.append(contentsOf: line)
            body = Data()
            head = nil
            announcedLength = nil
            decoder = nil
            hasCoding = false
        case .append:
            unsafe headBytes.append(contentsOf: line)
            if let flaw = framing.flaw(in: span) { return refuse(.malformed, flaw) }
            if ContentCoding.isNamed(in: span) { hasCoding = true }
        case .completeHead:
            guard let head = ReceivedHead(bytes: headBytes) else { return refuse(.malformed) }
            headBytes = []
            self.head = head
            latest.insert(.end)
            if hasCoding, decodesContent { decoder = ContentDecoder(of: head) }
        case .dropInformationalHead:
            headBytes.removeAll(keepingCapacity: true)
        case .ignore:
            break
        case .refuse(let reason):
            return refuse(reason)
        }
        return true
    }

    // MARK: Body

    /// No more than this is set aside for a length that a server announces.
    private static let largestReservation: Int64 = 1 << 20
    /// A body whose first piece is smaller is not worth a look at its length.
    private static let smallestReservation = 8 * 1024

    /// Lends the memory of pieces, if the body goes to a receiver, piece by piece, rather than being collected.
    var buffers: RecycledBuffers?
    /// The bytes that have come in for the receiver since the last piece.
    private var piece: RecycledBuffer?

    /// How many bytes wait for the receiver, and how many a piece may have.
    private var pieceCount: Int { piece?.count ?? 0 }
    private var pieceLimit: Int { buffers?.size ?? 0 }

    /// Whether it would cost more to hand the piece over than to read as many bytes again.
    var isPieceSmall: Bool { pieceCount < min(64 * 1024, pieceLimit / 2) }

    /// Whether there is a piece to which so many bytes cannot be added any more.
    func isPieceFull(for count: Int) -> Bool { pieceCount > 0 && pieceCount + count > pieceLimit }

    /// Takes the bytes that have come in for a receiver since the last time.
    mutating func takePiece() -> Data? {
        guard let buffers, let piece = piece.take() else { return nil }
        return buffers.piece(of: piece)
    }

    /// Whether only the end of the connection ends the body (RFC 9112 §6.3).
    var endsWithConnection: Bool {
        guard let head, head.httpVersion != .http2, head.contentLength == nil else { return false }
        return head.value(for: "Transfer-Encoding") == nil
    }

    /// How large the body will be, if the head announces it.
    ///
    /// Kept, since it is asked for again and again while a large body comes in.
    var expectedBytes: Int64? {
        mutating get {
            if let announcedLength { return announcedLength }
            let length = head?.contentLength
            if head != nil { announcedLength = .some(length) }
            return length
        }
    }

    private var announcedLength: Int64??

    /// Takes decoded bytes of the body; returns the state's decision.
    mutating func receivedBody(_ bytes: UnsafeRawBufferPointer, now: Int64) -> TransferState.BodyAction {
        let action = state.bodyBytesReceived(bytes.count)
        switch action {
        case .accept:
            lastActivity = now
            guard buffers == nil else {
                unsafe keep(bytes)
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

    /// Keeps bytes for the receiver.
    private mutating func keep(_ bytes: UnsafeRawBufferPointer) {
        // Used where it is, since this is called for every 16 KiB.
        if piece == nil { piece = buffers?.take() }
        unsafe piece?.append(bytes)
    }

    /// Keeps the body of an answer that libcurl did not read.
    mutating func keepUnreadBody(_ bytes: ArraySlice<UInt8>) {
        if case .refuse(let reason) = state.bodyBytesReceived(bytes.count) {
            _ = refuse(reason)
        } else {
            body.append(contentsOf: bytes)
        }
    }

    /// Ends the exchange because the body is not valid for its `Content-Encoding`.
    mutating func failDecoding(_ message: String) {
        failure = RequestError(.invalidResponse(.undecodableContent), detail: message)
    }

    /// Ends the exchange with an error, whatever libcurl makes of it.
    mutating func fail(with error: RequestError) {
        failure = error
    }

    /// Ends the exchange because of a line of the head that libcurl has not stored.
    mutating func refuseLine(_ flaw: String) {
        _ = refuse(.malformed, flaw)
    }

    private mutating func refuse(_ reason: RequestError.InvalidResponseReason, _ detail: String? = nil) -> Bool {
        failure = RequestError(.invalidResponse(reason), detail: detail)
        return false
    }
}
