import FoundationEssentials

/// Decides what happens to the bytes of a request's body between the task that reads them and the loop that sends them.
///
/// A value. At the high watermark the reader is told to wait; once the loop has taken enough to be at or below the low
/// one, the reader goes on. No more bytes than were announced are ever handed over, and an end that comes too early is a
/// failure: both would make two messages of one (RFC 9112 §6.3). The last byte of those that were announced waits for the
/// end, so that a body with more than that is not taken for whole.
struct UploadChannelState {
    /// What the reader has to do after it wrote.
    enum WriteAction: Equatable {
        case goOn
        case wait
        /// Nobody wants more.
        case stop
    }

    /// What the loop gets when it asks for bytes.
    enum TakeAction: Equatable {
        /// So many bytes were copied; with `resumesReader`, a reader that waits may go on.
        case took(Int, resumesReader: Bool)
        /// Nothing for now; the loop is told when there is more.
        case wait
        case end
        case fail
    }

    /// What is held; the first of it has been taken.
    private(set) var pieces: [Data] = []
    private var firstPiece = 0
    /// How many bytes of the first piece have been taken.
    private var offset = 0
    private(set) var count = 0
    private var written: Int64 = 0
    private var isEnded = false
    private var isAbandoned = false
    private var isReaderWaiting = false
    private var isLoopWaiting = false
    private(set) var failure: RequestError?

    private let length: Int64?
    private let highWatermark: Int
    private let lowWatermark: Int

    init(length: Int64?, highWatermark: Int, lowWatermark: Int) {
        self.length = length
        self.highWatermark = max(1, highWatermark)
        self.lowWatermark = min(max(0, lowWatermark), self.highWatermark)
    }

    /// The reader has bytes; `wakesLoop` tells whether the loop waits for them.
    mutating func written(_ piece: Data) -> (action: WriteAction, wakesLoop: Bool) {
        guard !isAbandoned, !isEnded, failure == nil else { return (.stop, false) }
        written += Int64(piece.count)
        if let length, written > length {
            return (.stop, failed(with: RequestError(.requestBody(.lengthMismatch(expected: length, actual: written)))))
        }
        if !piece.isEmpty { pieces.append(piece) }
        count += piece.count
        // A reader that has all has only to say that this was all.
        isReaderWaiting = count >= highWatermark && written != length
        return (isReaderWaiting ? .wait : .goOn, count > withheldCount && wakesLoop())
    }

    /// The loop has taken so many bytes past the reader, which has not begun.
    mutating func passedReader(_ count: Int) {
        written += Int64(count)
    }

    /// The reader is at its end; returns whether the loop waits for that.
    mutating func ended() -> Bool {
        guard !isEnded, failure == nil else { return false }
        if let length, written < length {
            return failed(with: RequestError(.requestBody(.lengthMismatch(expected: length, actual: written))))
        }
        isEnded = true
        return wakesLoop()
    }

    /// The reader cannot go on; returns whether the loop waits.
    ///
    /// What is held goes when the loop wants no more.
    mutating func failed(with error: RequestError) -> Bool {
        guard !isEnded, failure == nil else { return false }
        failure = error
        count = 0
        return wakesLoop()
    }

    /// How many of the held bytes have to wait for the end.
    private var withheldCount: Int { written == length && !isEnded ? 1 : 0 }

    private mutating func wakesLoop() -> Bool {
        defer { isLoopWaiting = false }
        return isLoopWaiting
    }

    /// The loop can send; `copy` gets a piece, where to begin in it and how many bytes to take of it.
    mutating func bytesWanted(_ limit: Int, copy: (Data, Int, Int) -> Void) -> TakeAction {
        guard failure == nil else { return .fail }
        let limit = min(limit, count - withheldCount)
        guard limit > 0 else {
            guard !isEnded else { return .end }
            isLoopWaiting = true
            return .wait
        }
        var taken = 0
        while taken < limit, firstPiece < pieces.count {
            let piece = pieces[firstPiece]
            let number = min(limit - taken, piece.count - offset)
            copy(piece, offset, number)
            taken += number
            offset += number
            guard offset == piece.count else { break }
            pieces[firstPiece] = Data()
            firstPiece += 1
            offset = 0
        }
        if firstPiece == pieces.count {
            pieces.removeAll(keepingCapacity: true)
            firstPiece = 0
        }
        count -= taken
        let resumesReader = isReaderWaiting && count <= lowWatermark
        if resumesReader { isReaderWaiting = false }
        return .took(taken, resumesReader: resumesReader)
    }

    /// The loop wants no more.
    mutating func abandoned() {
        isAbandoned = true
        pieces = []
        firstPiece = 0
        offset = 0
        count = 0
        isReaderWaiting = false
        isLoopWaiting = false
    }

    /// Whether a reader that was told to wait still has to.
    var keepsReaderWaiting: Bool { isReaderWaiting }
}
