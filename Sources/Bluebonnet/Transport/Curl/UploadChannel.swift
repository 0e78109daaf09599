import FoundationEssentials

/// The way in which libcurl receives a request's body.
enum UploadBody {
    /// A copy of the body, which libcurl receives with the request's options; empty if there is no body.
    case copied(Data)
    /// Memory, which is read when libcurl requests bytes.
    case data(Data)
    /// A channel from the task that reads the body, which is used when libcurl requests bytes.
    case channel(UploadChannel)
    /// A body that is opened when its exchange may run, because each open file needs a descriptor.
    case unopened(@Sendable () throws(RequestError) -> UploadBody)
    /// A body that is being opened on another thread.
    case opening

    /// Chooses how to pass a body in memory.
    ///
    /// A large body is passed in parts when libcurl requests bytes, so that the body is in memory only once. The same
    /// applies to a body that must not be sent twice. Libcurl then calls a callback before it sends the body again, and
    /// the callback can refuse this. It also applies to a body whose speed is limited.
    init(_ data: Data?, of request: HTTPRequest, isLimited: Bool) {
        let data = data ?? Data()
        let isAskedFor =
            !data.isEmpty && (data.count > Self.copyLimit || !request.method.isIdempotent || isLimited)
        self = isAskedFor ? .data(data) : .copied(data)
    }

    private static let copyLimit = 1 << 20

    /// Whether libcurl requests the bytes.
    var isAskedFor: Bool { if case .copied = self { false } else { true } }

    /// Whether the whole body is in memory.
    var isInMemory: Bool {
        switch self {
        case .copied, .data: true
        case .channel, .unopened, .opening: false
        }
    }

    /// Whether the body can be read more than once.
    var isReplayable: Bool { if case .channel(let channel) = self { channel.isReplayable } else { true } }

    /// The number of bytes; `nil` if it is unknown.
    var length: Int64? {
        switch self {
        case .copied(let data), .data(let data): Int64(data.count)
        case .channel(let channel): channel.length
        case .unopened, .opening: nil
        }
    }

    /// The reason why the bytes cannot be read; `nil` if there is none.
    var failure: RequestError? { if case .channel(let channel) = self { channel.failure } else { nil } }

    /// Ends the task that reads the bytes, if there is one.
    func abandon() {
        if case .channel(let channel) = self { channel.abandon() }
    }
}

/// Passes a request's body in pieces from a reading task to the loop, with limited memory.
///
/// The task runs on the global executor. It starts when the loop first requests bytes, so a body that the server does
/// not want is not read.
///
/// If the body is a file, the loop itself reads the part that the system has in memory. This saves a copy and a thread
/// switch. The loop never waits for the disk. When the next bytes are not in memory, the task reads them and all later
/// bytes.
final class UploadChannel: Sendable {
    private struct State {
        var channel: UploadChannelState
        var body: OpenBody?
        /// The file that the loop reads while the task is not needed.
        var file: FileBody?
        var task: Task<Void, Never>?
        var writer: Resumption<Void>?
        var hasBegun = false
        var isAbandoned = false

        /// Reads from the file into the loop's memory; returns the number of bytes, or 0 if the task must continue.
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

    /// The total number of bytes; `nil` if it is unknown.
    let length: Int64?
    /// The body, if it can be read again.
    private let replayableBody: OpenBody?
    private let state: Locked<State>
    private let wakeLoop: @Sendable () -> Void

    /// Creates a channel.
    ///
    /// - Parameters:
    ///   - body: The body to read; it is released if no bytes are requested.
    ///   - isReplayable: Whether the body can be read more than once.
    ///   - highWatermark: The number of stored bytes from which the reader waits.
    ///   - lowWatermark: The number of stored bytes up to which the reader continues. It is low, because each wait of
    ///     the reader costs two thread switches; the loop meanwhile sends the part that libcurl has copied.
    ///   - wakeLoop: A closure that is called in the reading task when the loop has received `.wait` and may try again.
    init(
        _ body: OpenBody, isReplayable: Bool = false, highWatermark: Int = 1024 * 1024,
        lowWatermark: Int = 256 * 1024,
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

    /// Whether bytes were requested, so that the body can no longer be read from its start.
    var hasBegun: Bool { state.withLock { $0.hasBegun } }

    /// The reason why the rest of the body cannot be sent; `nil` if there is none.
    var failure: RequestError? { state.withLock { $0.channel.failure } }

    /// Whether the body can be read more than once.
    var isReplayable: Bool { replayableBody != nil }

    /// Returns a channel that reads the body from its start, if possible; the caller must abandon this channel.
    func replayed() -> UploadChannel? {
        replayableBody.map { UploadChannel($0, isReplayable: true, wakeLoop: wakeLoop) }
    }

    /// Copies bytes into libcurl's buffer, or returns the reason why none are available.
    // Safety: the buffer is libcurl's and is used within its callback; a piece's bytes are copied while the piece is
    // retained.
    func take(into buffer: UnsafeMutableRawBufferPointer) -> UploadChannelState.TakeAction {
        var memory = unsafe buffer.mutableBytes
        let resident = state.withLock { $0.takeResident(into: &memory) }
        guard resident == 0 else { return .took(resident, resumesReader: false) }
        // The pieces belong to the user, and are therefore released outside the lock.
        let (action, begins, writer, _) = state.withLock { state in
            let begins = state.body != nil
            var end = 0
            var taken = TinyArray<Data>()
            let action = state.channel.bytesWanted(buffer.count) { piece, offset, count in
                taken.append(piece)
                let target = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[end..<end + count])
                unsafe piece.copy(count, from: offset, to: target)
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

    /// Discards the stored bytes, and ends the reading.
    func abandon() {
        // The body and its pieces may contain objects of the user, which must not be released under the lock.
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
            guard try await reader.forward(to: write) else { return }
            if state.withLock({ $0.channel.ended() }) { wakeLoop() }
        } catch {
            let error = error as? RequestError ?? RequestError(.requestBody(.sequenceFailed), underlying: error)
            if state.withLock({ $0.channel.failed(with: error) }) { wakeLoop() }
        }
    }

    /// Passes a piece to the loop, and waits while enough bytes are stored; returns whether to continue.
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

extension Data {
    /// Copies bytes from an offset on into memory that has room for them.
    ///
    /// `copyBytes(to:from:)` for raw buffers is a generic method of `DataProtocol`, and takes 3,600 more instructions.
    // Safety: the bytes are read only within the closure, and the precondition compares both buffers with the count.
    func copy(_ count: Int, from offset: Int, to target: UnsafeMutableRawBufferPointer) {
        unsafe withUnsafeBytes { bytes in
            precondition(offset >= 0 && (0...bytes.count - offset).contains(count) && count <= target.count)
            unsafe target.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count]))
        }
    }
}

/// Controls the bytes of a request's body between the reading task and the loop.
///
/// This is a value type without I/O and without a clock.
///
/// At the high watermark, the reader must wait. It continues when the loop has taken enough bytes to reach the low
/// watermark.
///
/// A body that is longer or shorter than its declared length is an error. The bytes beyond this length are not sent,
/// because the server could otherwise receive two messages instead of one (RFC 9112 §6.3). The last byte is held back
/// until the body ends, so that a body that is too long is never treated as complete.
struct UploadChannelState {
    /// The reader's next step after a write.
    enum WriteAction: Equatable {
        case proceed
        case wait
        /// No more bytes are needed.
        case stop
    }

    /// The result of the loop's request for bytes.
    enum TakeAction: Equatable {
        /// The given number of bytes was copied; with `resumesReader`, a waiting reader may continue.
        case took(Int, resumesReader: Bool)
        /// No bytes are available yet; the loop is notified when there are some.
        case wait
        case end
        case fail
    }

    /// The stored pieces; a part of the oldest piece may have been taken.
    private(set) var pieces = ElementQueue<Data>()
    /// The number of bytes taken from the oldest piece.
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

    /// Called when the reader has read bytes; `wakesLoop` states whether the loop waits for them.
    mutating func written(_ piece: Data) -> (action: WriteAction, wakesLoop: Bool) {
        guard !isAbandoned, !isEnded, failure == nil else { return (.stop, false) }
        written += Int64(piece.count)
        if let length, written > length {
            return (.stop, failed(with: RequestError(.requestBody(.lengthMismatch(expected: length, actual: written)))))
        }
        if !piece.isEmpty { pieces.append(piece) }
        count += piece.count
        // A reader that has read all bytes only has to report the end.
        isReaderWaiting = count >= highWatermark && written != length
        return (isReaderWaiting ? .wait : .proceed, count > withheldCount && wakesLoop())
    }

    /// Called when the loop has read bytes from the file itself, before the reader has begun.
    mutating func passedReader(_ count: Int) {
        written += Int64(count)
    }

    /// Called when the reader has reached the end; returns whether the loop waits for the end.
    mutating func ended() -> Bool {
        guard !isEnded, failure == nil else { return false }
        if let length, written < length {
            return failed(with: RequestError(.requestBody(.lengthMismatch(expected: length, actual: written))))
        }
        isEnded = true
        return wakesLoop()
    }

    /// Called when the reader has failed; returns whether the loop waits.
    ///
    /// The stored bytes are no longer sent. They are released when the channel is abandoned.
    mutating func failed(with error: RequestError) -> Bool {
        guard !isEnded, failure == nil else { return false }
        failure = error
        count = 0
        return wakesLoop()
    }

    /// The number of stored bytes that must wait for the end of the body.
    private var withheldCount: Int { written == length && !isEnded ? 1 : 0 }

    private mutating func wakesLoop() -> Bool {
        defer { isLoopWaiting = false }
        return isLoopWaiting
    }

    /// Called when the loop can send; `copy` receives a piece, an offset in it, and the number of bytes to copy.
    mutating func bytesWanted(_ limit: Int, copy: (Data, Int, Int) -> Void) -> TakeAction {
        guard failure == nil else { return .fail }
        let limit = min(limit, count - withheldCount)
        guard limit > 0 else {
            guard !isEnded else { return .end }
            isLoopWaiting = true
            return .wait
        }
        var taken = 0
        while taken < limit, let piece = pieces.oldest {
            let number = min(limit - taken, piece.count - offset)
            copy(piece, offset, number)
            taken += number
            offset += number
            guard offset == piece.count else { break }
            _ = pieces.popFirst()
            offset = 0
        }
        count -= taken
        let resumesReader = isReaderWaiting && count <= lowWatermark
        if resumesReader { isReaderWaiting = false }
        return .took(taken, resumesReader: resumesReader)
    }

    /// Called when the loop needs no more bytes.
    mutating func abandoned() {
        isAbandoned = true
        pieces = ElementQueue()
        offset = 0
        count = 0
        isReaderWaiting = false
        isLoopWaiting = false
    }

    /// Whether a reader that received `.wait` still has to wait.
    var keepsReaderWaiting: Bool { isReaderWaiting }
}
