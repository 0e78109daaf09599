import Bluebonnet
import Foundation

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
