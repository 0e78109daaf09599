public import Bluebonnet
public import Foundation

extension DataStreamTask {
    /// Returns the body as a Foundation `InputStream`, for code that requires an `InputStream`.
    ///
    /// `read` blocks the calling thread until bytes are available, so never call it in an `async` function. Use a
    /// dedicated thread, and only one thread at a time. The stream does not support run loops or delegates.
    ///
    /// Opening the stream starts the request. If you read slowly, the transfer slows down: the stream receives no more
    /// bytes while `bufferSize` bytes or more are unread. The session buffers further bytes, up to the
    /// `bodyHighWatermark` of its configuration.
    ///
    /// If the request fails, the stream fails with the error of the request. If you close or release the open stream
    /// before the end of the body, the request is cancelled. There are two exceptions. The request continues if the
    /// task was created with `automaticallyCancelling: false`, or if other readers read the body.
    ///
    /// - Parameter bufferSize: The number of unread bytes at which the stream stops receiving bytes; 64 KiB by
    ///   default. The stream can exceed this number by the size of one received chunk.
    /// - Returns: The stream. It is not open yet.
    public func asInputStream(bufferSize: Int = 64 * 1024) -> InputStream {
        BodyInputStream(bytes, limit: bufferSize)
    }
}

extension DataStreamRequest {
    /// Returns the body as a Foundation `InputStream`; see `DataStreamTask.asInputStream(bufferSize:)`.
    ///
    /// If you close or release the open stream before the end of the body, the request is cancelled. If other readers
    /// read the body, the request continues.
    ///
    /// - Parameter bufferSize: The number of unread bytes at which the stream stops receiving bytes; 64 KiB by
    ///   default. The stream can exceed this number by the size of one received chunk.
    /// - Returns: The stream, which is not open yet. The result is never `nil`. It is optional only because the result
    ///   is optional in Alamofire.
    public nonisolated func asInputStream(bufferSize: Int = 64 * 1024) -> InputStream? {
        streamTask().asInputStream(bufferSize: bufferSize)
    }
}

/// A blocking Foundation `InputStream` that reads an asynchronous sequence of bytes.
///
/// A task reads the sequence while the stream is open.
final class BodyInputStream: InputStream {
    private enum Phase {
        case notOpen
        case open
        case closed
    }

    private let buffer: BodyBuffer
    /// Creates the task that reads; `nil` after the stream was opened or closed, so that a closed stream retains
    /// nothing.
    private var makeTask: (@Sendable () -> Task<Void, Never>)?
    private var task: Task<Void, Never>?
    private var phase = Phase.notOpen

    init<Pieces: AsyncSequence & Sendable>(_ pieces: Pieces, limit: Int = 64 * 1024) where Pieces.Element == Data {
        let buffer = BodyBuffer(limit: limit)
        self.buffer = buffer
        // The reader joins before the call returns, so that it does not miss bytes that another reader takes.
        makeTask = { Task.immediate { await Self.fill(buffer, from: pieces) } }
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
        task = makeTask?()
        makeTask = nil
    }

    override func close() {
        phase = .closed
        makeTask = nil
        end()
    }

    override func read(_ bytes: UnsafeMutablePointer<UInt8>, maxLength count: Int) -> Int {
        guard phase == .open, count > 0 else { return phase == .open ? 0 : -1 }
        let piece = buffer.read(upTo: count)
        guard piece.isEmpty else {
            // Safety: the caller guarantees that the memory has room for `count` bytes, and the piece has at most
            // `count` bytes.
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

    /// Whether there may be more bytes; `true` while the stream is open and has not ended.
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

    // Events need a run loop, which this stream does not support.
    override var delegate: (any StreamDelegate)? {
        get { nil }
        set { _ = newValue }
    }

    override func schedule(in runLoop: RunLoop, forMode mode: RunLoop.Mode) {}

    override func remove(from runLoop: RunLoop, forMode mode: RunLoop.Mode) {}

    override func property(forKey key: Stream.PropertyKey) -> AnyObject? { nil }

    override func setProperty(_ property: AnyObject?, forKey key: Stream.PropertyKey) -> Bool { false }
}

/// Stores received bytes until a thread reads them, and pauses the sender while the buffer is full.
///
/// One task adds bytes, and is suspended while the buffer is full. One thread removes bytes, and is blocked while the
/// buffer is empty.
private final class BodyBuffer: Sendable {
    /// The reason why no more bytes follow.
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

    /// The end, after all bytes were read or the reader has closed the stream; otherwise `nil`.
    var end: End? { state.withLock { $0.bytes.isEmpty ? $0.end : nil } }

    /// Adds bytes, waits until there is room for more bytes, and returns whether more bytes are needed.
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

    /// Sets the end; a second call has no effect.
    ///
    /// Buffered bytes can still be read, except after ``End/closed``.
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

    /// Removes and returns up to `count` bytes.
    ///
    /// Blocks the thread while the buffer is empty, and returns no bytes at the end.
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

extension RequestBody {
    /// A stream that reads the body.
    package var inputStream: InputStream { BodyInputStream(pieces) }
}
