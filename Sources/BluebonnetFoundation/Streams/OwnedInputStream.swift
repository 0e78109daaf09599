import Bluebonnet
import Foundation

/// A stream that nobody else uses any more, and what is known of who has read it.
// Safety: after it was handed over, only the one thread uses the stream that has claimed it.
struct OwnedInputStream: @unchecked Sendable {
    private let stream: InputStream

    init(_ stream: InputStream) { self.stream = stream }

    /// The streams that a thread is reading now.
    private static let claimed = Monitor<Set<ObjectIdentifier>>([])

    /// Makes the calling thread the one that reads the stream, and opens it.
    ///
    /// A stream that was opened, and not read yet, is fine.
    func begin() throws {
        guard Self.claimed.withLock({ $0.insert(ObjectIdentifier(stream)).inserted }) else { throw Self.notReplayable }
        switch stream.streamStatus {
        case .notOpen: stream.open()
        case .opening, .open, .reading, .writing, .error: break
        case .atEnd, .closed:
            release()
            throw Self.notReplayable
        @unknown default: break
        }
        if let error = failure {
            end()
            throw error
        }
    }

    /// Waits for some bytes; `nil` at the end.
    func read() throws -> Data? {
        var bytes = Data(count: Self.pieceSize)
        // Safety: the pointer is to as many bytes as are named, and ends with the call.
        let count = unsafe bytes.withUnsafeMutableBytes { buffer -> Int in
            guard let start = buffer.baseAddress else { return 0 }
            return unsafe stream.read(start.assumingMemoryBound(to: UInt8.self), maxLength: buffer.count)
        }
        guard count >= 0 else { throw failure ?? CocoaError(.fileReadUnknown) }
        return count == 0 ? nil : bytes.prefix(count)
    }

    /// Closes the stream; it is nobody's from then on.
    func end() {
        stream.close()
        release()
    }

    private func release() {
        _ = Self.claimed.withLock { $0.remove(ObjectIdentifier(stream)) }
    }

    /// Asking a stream for its error that has none traps in Foundation.
    private var failure: (any Error)? { stream.streamStatus == .error ? stream.streamError : nil }

    private static var notReplayable: BodySequenceError {
        BodySequenceError(
            RequestError(.requestBody(.notReplayable), underlying: URLError(.requestBodyStreamExhausted)))
    }

    private static let pieceSize = 64 * 1024
}
