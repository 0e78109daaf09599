import Bluebonnet
import Foundation

/// Holds what was received until a thread reads it, and holds the receiving back meanwhile.
///
/// One task puts bytes in, and suspends while there are as many as allowed; one thread takes them out, and blocks while
/// there are none.
final class BodyBuffer: Sendable {
    /// What became of the bytes.
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
    private let state = Monitor(State())

    init(limit: Int) { self.limit = max(1, limit) }

    /// How it ended, once all bytes were read or nobody reads them any more.
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

    /// Ends the bytes, unless they have ended; what is there can be read, but not when nobody wants it.
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
