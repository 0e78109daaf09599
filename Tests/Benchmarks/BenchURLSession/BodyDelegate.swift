import BenchSupport
import Foundation
import FoundationNetworking
import Synchronization

/// Counts the bytes of a body, piece by piece; for one transfer at a time.
final class BodyDelegate: NSObject, URLSessionDataDelegate {
    typealias Result = (status: Int?, length: Int)

    private struct State {
        var count: @Sendable (Data) throws -> Int = { $0.count }
        var length = 0
        var failure: (any Error)?
        var continuation: CheckedContinuation<Result, any Error>?
    }

    private let state = Mutex(State())

    /// Starts a task, and waits for its end.
    func result(
        of task: URLSessionTask, _ count: @escaping @Sendable (Data) throws -> Int
    ) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            state.withLock { $0 = State(count: count, continuation: continuation) }
            task.resume()
        }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        state.withLock { state in
            do {
                state.length += try state.count(data)
            } catch {
                state.failure = error
            }
        }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let (state, status) = (state.withLock { $0 }, (task.response as? HTTPURLResponse)?.statusCode)
        if let error = error ?? state.failure {
            state.continuation?.resume(throwing: error)
        } else {
            state.continuation?.resume(returning: (status, state.length))
        }
    }
}

/// Decodes the lines of a body that arrives in pieces.
final class LineDecoder: Sendable {
    private let state = Mutex((splitter: LineSplitter(), counter: EventCounter()))

    /// Decodes the lines that a piece completes, and returns how many these are.
    func decode(_ piece: Data) throws -> Int {
        let decoder = JSONDecoder()
        return try state.withLock { state in
            var counter = state.counter
            try state.splitter.append(piece) { try counter.add(try decoder.decode(Event.self, from: $0)) }
            defer { state.counter = counter }
            return counter.count - state.counter.count
        }
    }
}
