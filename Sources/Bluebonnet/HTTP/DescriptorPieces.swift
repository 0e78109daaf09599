import BluebonnetLibc
import CSystem
import FoundationEssentials

/// The bytes of an open file descriptor, from its current position to the end, or up to a maximum number of bytes.
// Safety: the system writes into the buffers only within the call, and no more than their size.
struct DescriptorPieces: AsyncSequence, Sendable {
    /// The number by which the program knows the descriptor.
    private let number: Int32
    /// A copy, because the program may close its own descriptor, whose number then belongs to another file.
    private let copy: OwnedDescriptor
    private let length: Int64?

    init(descriptor: Int32, length: Int64?) {
        number = descriptor
        copy = OwnedDescriptor(fcntl(descriptor, F_DUPFD_CLOEXEC, 3))
        self.length = length
    }

    func makeAsyncIterator() -> Iterator {
        Iterator(
            source: DescriptorSource(copy: copy, interruption: OwnedDescriptor(bb_eventfd_create())), number: number,
            remaining: length ?? .max)
    }

    struct Iterator: AsyncIteratorProtocol {
        private static let pieceSize: Int64 = 64 * 1024

        fileprivate let source: DescriptorSource
        fileprivate let number: Int32
        fileprivate var remaining: Int64

        mutating func next() async throws -> Data? {
            guard remaining > 0 else { return nil }
            do throws(SystemError) {
                let piece = try await source.read(Int(Swift.min(Self.pieceSize, remaining)))
                remaining -= Int64(piece.count)
                return piece.isEmpty ? nil : piece
            } catch {
                try Task.checkCancellation()
                throw BodySequenceError(
                    RequestError(.requestBody(.fileUnreadable(path: "/dev/fd/\(number)")), detail: error.message))
            }
        }
    }
}

/// Reads a descriptor without blocking a thread of the global executor while there are no bytes.
private struct DescriptorSource: Sendable {
    let copy: OwnedDescriptor
    let interruption: OwnedDescriptor

    /// Returns at most `count` bytes; no bytes at the end.
    func read(_ count: Int) async throws(SystemError) -> Data {
        if let error = copy.error ?? interruption.error { throw error }
        if let piece = try ready(count, waiting: false) { return piece }
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Result<Data, SystemError>, Never>) in
                // A pipe may have no bytes for hours.
                let isStarted = DetachedThread.start(name: "bluebonnet-read") {
                    continuation.resume(
                        returning: Result { () throws(SystemError) in try ready(count, waiting: true) ?? Data() })
                }
                if !isStarted { continuation.resume(returning: .failure(SystemError(EAGAIN))) }
            }
        } onCancel: {
            bb_eventfd_signal(interruption.descriptor)
        }
        return try result.get()
    }

    /// Reads available bytes; returns `nil` if no bytes are available and `waiting` is `false`.
    private func ready(_ count: Int, waiting: Bool) throws(SystemError) -> Data? {
        while true {
            var states = [copy, interruption].map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
            let number = unsafe poll(&states, 2, waiting ? -1 : 0)
            guard number >= 0 || errno == EINTR else { throw SystemError(errno) }
            if states[1].revents != 0 { throw SystemError(EINTR) }
            guard number > 0, states[0].revents != 0 else {
                guard waiting else { return nil }
                continue
            }
            var data = Data(count: count)
            let read = unsafe data.withUnsafeMutableBytes {
                unsafe BluebonnetLibc.read(copy.descriptor, $0.baseAddress, $0.count)
            }
            if read >= 0 { return data.prefix(read) }
            guard errno == EINTR || errno == EAGAIN else { throw SystemError(errno) }
        }
    }
}

/// A descriptor that is closed when the object is released.
private final class OwnedDescriptor: Sendable {
    let descriptor: Int32
    /// The reason why there is no descriptor.
    let error: SystemError?

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
        error = descriptor < 0 ? SystemError(errno) : nil
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }
}
