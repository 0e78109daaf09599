import FoundationEssentials

/// Carries a request's body from the task that reads it to the loop that sends it, in pieces and within bounds.
///
/// The reading task begins when the loop first asks, and so not before the server can be expected to want the body. It
/// runs on the global pool.
///
/// Of a file, the loop takes itself what the system has in memory, which saves a copy and the way from thread to thread. It
/// never waits for the disk: from the first bytes on that are not there, the task reads.
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
            // The task goes on from here.
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
    ///   - body: What to read; dropped unread if nobody asks for it.
    ///   - isReplayable: Whether the body can be read more than once.
    ///   - highWatermark: From how many held bytes on the reading waits.
    ///   - lowWatermark: At how many held bytes or fewer it goes on.
    ///   - wakeLoop: Called on the reading task when a loop that was told to wait may ask again.
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

    /// Returns a channel of the same bytes from their beginning, if they can be read again; this one is to be abandoned.
    func replayed() -> UploadChannel? {
        replayableBody.map { UploadChannel($0, isReplayable: true, wakeLoop: wakeLoop) }
    }

    /// Copies bytes into libcurl's buffer, or says why there are none now.
    // Safety: the buffer is libcurl's, used within its callback; a piece's bytes are copied while the piece is held.
    func take(into buffer: UnsafeMutableRawBufferPointer) -> UploadChannelState.TakeAction {
        var memory = unsafe buffer.mutableBytes
        let resident = state.withLock { $0.takeResident(into: &memory) }
        guard resident == 0 else { return .took(resident, resumesReader: false) }
        // The pieces are the user's, and so are released without the lock.
        let (action, begins, writer, _) = state.withLock { state in
            let begins = state.body != nil
            var end = 0
            var taken = FewOf<Data>()
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

    /// Drops what is held, and ends the reading.
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

    /// Hands a piece over and waits while enough is held; returns whether to go on.
    private func write(_ piece: Data) async -> Bool {
        let (action, wakesLoop) = state.withLock { $0.channel.written(piece) }
        if wakesLoop { wakeLoop() }
        switch action {
        case .goOn: return true
        case .stop: return false
        case .wait:
            await withResumption { continuation in
                let goesOn = state.withLock { state in
                    guard state.channel.keepsReaderWaiting else { return true }
                    state.writer = continuation
                    return false
                }
                if goesOn { continuation.resume() }
            }
            return true
        }
    }
}
