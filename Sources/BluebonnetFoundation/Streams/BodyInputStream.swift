public import Bluebonnet
public import Foundation

extension DataStreamTask {
    /// Returns the body as a stream of Foundation's, for code that reads nothing else.
    ///
    /// `read` blocks the thread that calls it until there are bytes, so never call it in an `async` function: give it a
    /// thread of its own. One thread at a time may use the stream. It does not schedule itself in a run loop and has no
    /// delegate's events. Opening the stream starts the request, and the body is received at the reader's pace: when `bufferSize` bytes
    /// or more wait, and those that the session's configuration allows beside, nothing is read from the network. An error
    /// of the request is the stream's error. Closing the stream early, or dropping it, ends this reader; it cancels the
    /// request if the task does so by itself.
    ///
    /// - Parameter bufferSize: How many bytes wait for `read`, in bytes; a piece of the body more may.
    /// - Returns: The stream, not opened yet.
    public func asInputStream(bufferSize: Int = 64 * 1024) -> InputStream {
        BodyInputStream(bytes, limit: bufferSize)
    }
}

extension DataStreamRequest {
    /// Returns the body as a stream of Foundation's, as `DataStreamTask.asInputStream(bufferSize:)` does.
    ///
    /// Closing it early cancels the request, unless others read the body.
    ///
    /// - Parameter bufferSize: How many bytes wait for `read`, in bytes; a piece of the body more may.
    /// - Returns: The stream, not opened yet; optional as in Alamofire, and never `nil`.
    public nonisolated func asInputStream(bufferSize: Int = 64 * 1024) -> InputStream? {
        streamTask().asInputStream(bufferSize: bufferSize)
    }
}

/// Reads an asynchronous sequence of bytes as a stream of Foundation's, which blocks.
///
/// A task takes the bytes from the sequence, from when the stream is opened until it is closed or gone.
final class BodyInputStream: InputStream {
    private enum Phase {
        case notOpen
        case open
        case closed
    }

    private let buffer: BodyBuffer
    private let makeTask: @Sendable () -> Task<Void, Never>
    private var task: Task<Void, Never>?
    private var phase = Phase.notOpen

    init<Pieces: AsyncSequence & Sendable>(_ pieces: Pieces, limit: Int = 64 * 1024) where Pieces.Element == Data {
        let buffer = BodyBuffer(limit: limit)
        self.buffer = buffer
        makeTask = { Task { await Self.fill(buffer, from: pieces) } }
        super.init(data: Data())
    }

    deinit {
        end()
    }

    private static func fill<Pieces: AsyncSequence & Sendable>(
        _ buffer: BodyBuffer, from pieces: Pieces
    ) async where Pieces.Element == Data {
        do {
            for try await piece in pieces {
                guard await buffer.send(piece) else { return }
            }
            buffer.finish(.complete)
        } catch {
            buffer.finish(.failed(error))
        }
    }

    private func end() {
        buffer.finish(.closed)
        task?.cancel()
        task = nil
    }

    override func open() {
        guard phase == .notOpen else { return }
        phase = .open
        task = makeTask()
    }

    override func close() {
        phase = .closed
        end()
    }

    override func read(_ bytes: UnsafeMutablePointer<UInt8>, maxLength count: Int) -> Int {
        guard phase == .open, count > 0 else { return phase == .open ? 0 : -1 }
        let piece = buffer.read(upTo: count)
        guard piece.isEmpty else {
            // Safety: the caller says that there is room for so many bytes.
            unsafe piece.copyBytes(to: bytes, count: piece.count)
            return piece.count
        }
        if case .complete = buffer.end { return 0 }
        return -1
    }

    override func getBuffer(
        _ buffer: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, length: UnsafeMutablePointer<Int>
    ) -> Bool {
        false
    }

    /// Reading has to be tried to know.
    override var hasBytesAvailable: Bool { phase == .open && buffer.end == nil }

    override var streamStatus: Stream.Status {
        switch (phase, buffer.end) {
        case (.notOpen, _): .notOpen
        case (.closed, _): .closed
        case (.open, nil): .open
        case (.open, .complete), (.open, .closed): .atEnd
        case (.open, .failed): .error
        }
    }

    override var streamError: (any Error)? { if case .failed(let error) = buffer.end { error } else { nil } }

    // Events are for run loops, and this stream has none.
    override var delegate: (any StreamDelegate)? {
        get { nil }
        set { _ = newValue }
    }

    override func schedule(in runLoop: RunLoop, forMode mode: RunLoop.Mode) {}

    override func remove(from runLoop: RunLoop, forMode mode: RunLoop.Mode) {}

    override func property(forKey key: Stream.PropertyKey) -> AnyObject? { nil }

    override func setProperty(_ property: AnyObject?, forKey key: Stream.PropertyKey) -> Bool { false }
}

/// Holds what was received until a thread reads it, and holds the receiving back meanwhile.
///
/// One task puts bytes in, and suspends while there are as many as allowed; one thread takes them out, and blocks while
/// there are none.
private final class BodyBuffer: Sendable {
    /// The end of the bytes.
    enum End {
        case complete
        case failed(any Error)
        case closed
    }

    private struct State {
        var bytes = Data()
        var end: End?
        var sender: CheckedContinuation<Bool, Never>?
    }

    private let limit: Int
    private let state = ConditionLock(State())

    init(limit: Int) { self.limit = max(1, limit) }

    /// How it ended, once all bytes were read or the reader has closed.
    var end: End? { state.withLock { $0.bytes.isEmpty ? $0.end : nil } }

    /// Puts bytes in, and waits until there is room for more; returns whether more are wanted.
    func send(_ piece: Data) async -> Bool {
        await withCheckedContinuation { continuation in
            let isWanted = state.withLock { state -> Bool? in
                guard state.end == nil else { return false }
                state.bytes.append(piece)
                guard state.bytes.count >= limit else { return true }
                state.sender = continuation
                return nil
            }
            if let isWanted { continuation.resume(returning: isWanted) }
        }
    }

    /// Ends the bytes, unless they have ended; the buffered bytes can still be read, unless the reader has closed.
    func finish(_ end: End) {
        let sender = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            guard state.end == nil else { return nil }
            state.end = end
            if case .closed = end { state.bytes = Data() }
            defer { state.sender = nil }
            return state.sender
        }
        sender?.resume(returning: false)
    }

    /// Takes up to some bytes out; blocks the thread until there is one, and returns none at the end.
    func read(upTo count: Int) -> Data {
        let (piece, sender) = state.wait { state -> (Data, CheckedContinuation<Bool, Never>?)? in
            guard !state.bytes.isEmpty else { return state.end == nil ? nil : (Data(), nil) }
            let piece = Data(state.bytes.prefix(count))
            state.bytes = piece.count == state.bytes.count ? Data() : state.bytes.dropFirst(piece.count)
            guard state.bytes.count < limit, state.end == nil else { return (piece, nil) }
            defer { state.sender = nil }
            return (piece, state.sender)
        }
        sender?.resume(returning: true)
        return piece
    }
}
