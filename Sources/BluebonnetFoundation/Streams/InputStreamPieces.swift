import Bluebonnet
import Foundation

/// The bytes of a stream, which a thread of its own reads when they are asked for.
///
/// Foundation's streams block: reading them on the pool would take a thread from everybody else.
struct InputStreamPieces: AsyncSequence {
    let stream: OwnedInputStream

    func makeAsyncIterator() -> Iterator { Iterator(worker: InputStreamWorker(stream)) }

    struct Iterator: AsyncIteratorProtocol {
        private let worker: InputStreamWorker
        private let lifetime: Lifetime

        fileprivate init(worker: InputStreamWorker) {
            self.worker = worker
            lifetime = Lifetime(worker)
        }

        mutating func next() async throws -> Data? { try await worker.next() }

        /// Ends the thread when nobody is going to ask any more.
        private final class Lifetime: Sendable {
            private let worker: InputStreamWorker

            init(_ worker: InputStreamWorker) { self.worker = worker }

            deinit { worker.abandon() }
        }
    }
}

extension InputStreamPieces: Sendable {}

/// Reads a stream on a thread of its own, one piece whenever it is asked for one.
private final class InputStreamWorker: Sendable {
    private typealias Reply = CheckedContinuation<Data?, any Error>

    private enum State {
        /// Nobody has asked for anything.
        case unstarted
        /// The thread waits to be asked.
        case idle
        /// The thread reads for somebody.
        case asked(Reply)
        /// Nobody asks any more; the thread ends when its read returns.
        case abandoned
    }

    private let stream: OwnedInputStream
    private let state = Monitor(State.unstarted)

    init(_ stream: OwnedInputStream) { self.stream = stream }

    /// Waits for a piece; cancelling the task answers at once, even when the stream does not.
    func next() async throws -> Data? {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { ask($0) }
        } onCancel: {
            abandon()
        }
    }

    private func ask(_ reply: Reply) {
        let (isFirst, isAbandoned) = state.withLock { state in
            switch state {
            case .unstarted:
                state = .asked(reply)
                return (true, false)
            case .idle:
                state = .asked(reply)
                return (false, false)
            case .asked, .abandoned: return (false, true)
            }
        }
        if isAbandoned { reply.resume(throwing: CancellationError()) }
        guard isFirst else { return }
        let thread = Thread { self.run() }
        thread.name = "input stream"
        thread.start()
    }

    func abandon() {
        let reply = state.withLock { state -> Reply? in
            defer { state = .abandoned }
            if case .asked(let reply) = state { return reply }
            return nil
        }
        reply?.resume(throwing: CancellationError())
    }

    /// What the thread does.
    private func run() {
        do {
            try stream.begin()
        } catch {
            answer(.failure(error))
            return
        }
        defer { stream.end() }
        while isAsked() {
            let piece = Result { try stream.read() }
            answer(piece)
            guard case .success(.some) = piece else { return }
        }
    }

    /// Waits to be asked; returns whether it was.
    private func isAsked() -> Bool {
        state.wait { state in
            switch state {
            case .unstarted, .idle: nil
            case .asked: true
            case .abandoned: false
            }
        }
    }

    private func answer(_ piece: Result<Data?, any Error>) {
        let reply = state.withLock { state -> Reply? in
            guard case .asked(let reply) = state else { return nil }
            state = .idle
            return reply
        }
        reply?.resume(with: piece)
    }
}
