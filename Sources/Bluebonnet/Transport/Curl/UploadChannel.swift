import FoundationEssentials

/// How libcurl gets a request's body.
enum UploadBody {
    /// At once, as a copy; no bytes if there is none.
    case copied(Data)
    /// From memory, when libcurl asks.
    case data(Data)
    /// From the task that reads it, when libcurl asks.
    case channel(UploadChannel)

    /// Decides for a body in memory.
    ///
    /// Large ones are handed over when asked for, to be there once only, and so are those of requests that must not be
    /// sent twice: libcurl asks before it sends a body again, and can be refused.
    init(_ data: Data?, of request: HTTPRequest) {
        let data = data ?? Data()
        let isAskedFor = !data.isEmpty && (data.count > Self.copyLimit || !request.method.isIdempotent)
        self = isAskedFor ? .data(data) : .copied(data)
    }

    private static let copyLimit = 1 << 20

    /// Whether libcurl asks for the bytes.
    var isAskedFor: Bool {
        switch self {
        case .copied: false
        case .data, .channel: true
        }
    }

    /// How many bytes there are, if that is known.
    var length: Int64? {
        switch self {
        case .copied(let data), .data(let data): Int64(data.count)
        case .channel(let channel): channel.length
        }
    }

    /// Why the bytes cannot be had, if so.
    var failure: RequestError? { if case .channel(let channel) = self { channel.failure } else { nil } }

    /// Ends the task that reads the bytes, if there is one.
    func abandon() {
        if case .channel(let channel) = self { channel.abandon() }
    }
}

/// Carries a request's body from the task that reads it to the loop that sends it, in pieces and within bounds.
///
/// The reading task begins when the loop first asks, and so not before the server can be expected to want the body. It
/// runs on the global pool.
///
/// The loop itself reads the part of a file that the system has in memory, which saves a copy and the way from thread
/// to thread. It never waits for the disk: from the first bytes on that are not in memory, the task reads.
final class UploadChannel: Sendable {
    private struct State {
        var channel: UploadChannelState
        var body: OpenBody?
        /// The file that the loop reads, as long as the task need not.
        var file: FileBody?
        var task: Task<Void, Never>?
        var writer: Resumption<Void>?
        var hasBegun = false
        var isAbandoned = false

        /// Reads from the file into the loop's memory; returns how many bytes, none once the task has to read.
        mutating func takeResident(into buffer: inout MutableRawSpan) -> Int {
            hasBegun = true
            guard var reader = file else { return 0 }
            let count = reader.readResident(into: &buffer)
            channel.passedReader(count)
            file = count > 0 ? reader : nil
            // The task continues at the reader's position.
            if count == 0 { body = OpenBody(file: reader) }
            return count
        }
    }

    /// How many bytes there will be, if that is known.
    let length: Int64?
    /// The body, if it can be read again.
    private let replayableBody: OpenBody?
    private let state: Locked<State>
    private let wakeLoop: @Sendable () -> Void

    /// Creates a channel.
    ///
    /// - Parameters:
    ///   - body: The body to read; dropped unread if it is never asked for.
    ///   - isReplayable: Whether the body can be read more than once.
    ///   - highWatermark: From how many held bytes on the reading waits.
    ///   - lowWatermark: At how many held bytes or fewer it continues.
    ///   - wakeLoop: Called on the reading task when a loop that got `.wait` may ask again.
    init(
        _ body: OpenBody, isReplayable: Bool = false, highWatermark: Int = 1024 * 1024,
        lowWatermark: Int = 512 * 1024,
        wakeLoop: @escaping @Sendable () -> Void
    ) {
        length = body.length
        replayableBody = isReplayable ? body : nil
        self.wakeLoop = wakeLoop
        let channel = UploadChannelState(
            length: body.length, highWatermark: highWatermark, lowWatermark: lowWatermark)
        state = Locked(State(channel: channel, body: body, file: body.file))
    }

    // MARK: On the loop

    /// Whether bytes were asked for, so that the body cannot be had from its beginning any more.
    var hasBegun: Bool { state.withLock { $0.hasBegun } }

    /// Why the body cannot be sent to its end, if so.
    var failure: RequestError? { state.withLock { $0.channel.failure } }

    /// Returns a channel of the same bytes from their beginning, if they can be read again; this one is to be
    /// abandoned.
    func replayed() -> UploadChannel? {
        replayableBody.map { UploadChannel($0, isReplayable: true, wakeLoop: wakeLoop) }
    }

    /// Copies bytes into libcurl's buffer, or returns why there are none now.
    // Safety: the buffer is libcurl's, used within its callback; a piece's bytes are copied while the piece is held.
    func take(into buffer: UnsafeMutableRawBufferPointer) -> UploadChannelState.TakeAction {
        var memory = unsafe buffer.mutableBytes
        let resident = state.withLock { $0.takeResident(into: &memory) }
        guard resident == 0 else { return .took(resident, resumesReader: false) }
        // The pieces are the user's, and so are released without the lock.
        let (action, begins, writer, _) = state.withLock { state in
            let begins = state.body != nil
            var end = 0
            var taken = TinyArray<Data>()
            let action = state.channel.bytesWanted(buffer.count) { piece, offset, count in
                taken.append(piece)
                let start = piece.startIndex + offset
                let target = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[end..<end + count])
                unsafe piece.copyBytes(to: target, from: start..<start + count)
                end += count
            }
            guard case .took(_, resumesReader: true) = action else {
                return (action, begins, nil as Resumption<Void>?, taken)
            }
            return (action, begins, state.writer.take(), taken)
        }
        writer?.resume()
        if begins { begin() }
        return action
    }

    /// Drops the held bytes, and ends the reading.
    func abandon() {
        // The body may hold a sequence of the user's, whose end is not to be under the lock; so it is with its pieces.
        let (task, writer, _) = state.withLock { state in
            state.isAbandoned = true
            let pieces = state.channel.pieces
            state.channel.abandoned()
            return (state.task.take(), state.writer.take(), (state.body.take(), state.file.take(), pieces))
        }
        task?.cancel()
        writer?.resume()
    }

    // MARK: The reading task

    private func begin() {
        guard let body = state.withLock({ $0.body.take() }) else { return }
        let task = Task { await read(body) }
        let isAbandoned = state.withLock { state in
            if !state.isAbandoned { state.task = task }
            return state.isAbandoned
        }
        if isAbandoned { task.cancel() }
    }

    @concurrent
    private func read(_ body: OpenBody) async {
        var reader = body.makeReader()
        do {
            while let piece = try await reader.next() {
                guard await write(piece) else { return }
            }
            if state.withLock({ $0.channel.ended() }) { wakeLoop() }
        } catch {
            let error = error as? RequestError ?? RequestError(.requestBody(.sequenceFailed), underlying: error)
            if state.withLock({ $0.channel.failed(with: error) }) { wakeLoop() }
        }
    }

    /// Hands a piece over and waits while enough is held; returns whether to continue.
    private func write(_ piece: Data) async -> Bool {
        let (action, wakesLoop) = state.withLock { $0.channel.written(piece) }
        if wakesLoop { wakeLoop() }
        switch action {
        case .proceed: return true
        case .stop: return false
        case .wait:
            await withResumption { continuation in
                let proceeds = state.withLock { state in
                    guard state.channel.keepsReaderWaiting else { return true }
                    state.writer = continuation
                    return false
                }
                if proceeds { continuation.resume() }
            }
            return true
        }
    }
}

/// Decides what happens to the bytes of a request's body between the task that reads them and the loop that sends them.
///
/// A value. At the high watermark the reader must wait; once the loop has taken enough to be at or below the low
/// watermark, the reader continues. No more bytes than were announced are ever handed over, and an end that comes too
/// early is a failure: both would make two messages of one (RFC 9112 §6.3). The last of the announced bytes waits for
/// the end, so that a body with more bytes is not treated as complete.
struct UploadChannelState {
    /// The reader's next step after a write.
    enum WriteAction: Equatable {
        case proceed
        case wait
        /// No more bytes are wanted.
        case stop
    }

    /// The result when the loop asks for bytes.
    enum TakeAction: Equatable {
        /// So many bytes were copied; with `resumesReader`, a reader that waits may continue.
        case took(Int, resumesReader: Bool)
        /// Nothing for now; the loop is notified when there is more.
        case wait
        case end
        case fail
    }

    /// The held pieces; a part of the first has been taken.
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

    /// The reader has bytes; `wakesLoop` is whether the loop waits for them.
    mutating func written(_ piece: Data) -> (action: WriteAction, wakesLoop: Bool) {
        guard !isAbandoned, !isEnded, failure == nil else { return (.stop, false) }
        written += Int64(piece.count)
        if let length, written > length {
            return (.stop, failed(with: RequestError(.requestBody(.lengthMismatch(expected: length, actual: written)))))
        }
        if !piece.isEmpty { pieces.append(piece) }
        count += piece.count
        // A reader that has written all bytes only has to report the end.
        isReaderWaiting = count >= highWatermark && written != length
        return (isReaderWaiting ? .wait : .proceed, count > withheldCount && wakesLoop())
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

    /// The reader has failed; returns whether the loop waits.
    ///
    /// The held bytes are dropped when the loop needs no more.
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

    /// Whether a reader that got `.wait` still has to wait.
    var keepsReaderWaiting: Bool { isReaderWaiting }
}
