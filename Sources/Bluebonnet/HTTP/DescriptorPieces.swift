import BluebonnetLibc
import CSystem
import FoundationEssentials

/// The bytes of a file descriptor that the program has opened, from its position to its end.
// Safety: the system writes into the buffers only within the call, and no more than their size.
struct DescriptorPieces: AsyncSequence, Sendable {
    let descriptor: Int32

    func makeAsyncIterator() -> Iterator { Iterator(descriptor: descriptor, interruption: Interruption()) }

    struct Iterator: AsyncIteratorProtocol {
        private static let pieceSize = 64 * 1024

        let descriptor: Int32
        fileprivate let interruption: Interruption

        mutating func next() async throws -> Data? {
            let (descriptor, interruption) = (descriptor, interruption)
            let piece = await withTaskCancellationHandler {
                await withCheckedContinuation { (continuation: CheckedContinuation<Result<Data, SystemError>, Never>) in
                    // A pipe may have no bytes for hours, in which no thread of the pool may wait.
                    let isStarted = DetachedThread.start(name: "bluebonnet-read") {
                        continuation.resume(returning: Self.read(descriptor, unless: interruption))
                    }
                    if !isStarted { continuation.resume(returning: .failure(SystemError(EAGAIN))) }
                }
            } onCancel: {
                interruption.interrupt()
            }
            switch piece {
            case .success(let data): return data.isEmpty ? nil : data
            case .failure(let error):
                try Task.checkCancellation()
                let path = "/dev/fd/\(descriptor)"
                throw BodySequenceError(
                    RequestError(.requestBody(.fileUnreadable(path: path)), detail: error.message))
            }
        }

        /// Waits for bytes and reads them; returns no bytes at the end.
        private static func read(
            _ descriptor: Int32, unless interruption: Interruption
        ) -> Result<Data, SystemError> {
            while true {
                var states = [
                    pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
                    pollfd(fd: interruption.descriptor, events: Int16(POLLIN), revents: 0),
                ]
                guard unsafe poll(&states, 2, -1) >= 0 || errno == EINTR else { return .failure(SystemError(errno)) }
                if states[1].revents != 0 { return .failure(SystemError(EINTR)) }
                guard states[0].revents != 0 else { continue }
                var data = Data(count: pieceSize)
                let count = unsafe data.withUnsafeMutableBytes {
                    unsafe BluebonnetLibc.read(descriptor, $0.baseAddress, $0.count)
                }
                if count >= 0 { return .success(data.prefix(count)) }
                guard errno == EINTR || errno == EAGAIN else { return .failure(SystemError(errno)) }
            }
        }
    }

    /// Ends a wait for bytes.
    fileprivate final class Interruption: Sendable {
        let descriptor = bb_eventfd_create()

        deinit { close(descriptor) }

        func interrupt() { bb_eventfd_signal(descriptor) }
    }
}
