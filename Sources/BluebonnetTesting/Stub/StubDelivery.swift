import Bluebonnet
import FoundationEssentials

/// Hands out the response of an exchange of the stub whose body is held back after its head.
///
/// Runs on the global pool, in a task that waits while the exchange is suspended or the receiver is full.
final class StubDelivery: Sendable {
    private struct State: Sendable {
        /// Whether it was said where the body goes: to a receiver, or into the outcome.
        var isReleased = false
        var receiver: (any BodyReceiver)?
        var isSuspended = false
        var isFull = false
        /// Whether more was asked for while the receiver still had to say that it was full.
        var wasDemanded = false
        var abortion: RequestError?
    }

    /// How many bytes a piece has.
    private static let pieceSize = 16 * 1024

    private let state = Watched(State())
    private let observer: any ExchangeObserver
    private let ended: @Sendable () -> Void

    init(observer: any ExchangeObserver, ended: @escaping @Sendable () -> Void) {
        self.observer = observer
        self.ended = ended
    }

    /// Begins when the answer is there; called once.
    func begin(with outcome: ExchangeOutcome) {
        Task {
            var (body, error) = (Data(), outcome.error)
            do { body = try await handOut(outcome) } catch let abortion { error = abortion as? RequestError }
            observer.exchangeDidComplete(
                ExchangeOutcome(response: outcome.response, body: body, error: error, metrics: outcome.metrics))
            ended()
        }
    }

    func release(to receiver: (any BodyReceiver)?) {
        // The earlier one goes after the lock: it may be the user's.
        _ = state.change { state in
            state.isReleased = true
            return exchange(&state.receiver, with: receiver)
        }
    }

    func demand() {
        state.change { if $0.isFull { $0.isFull = false } else { $0.wasDemanded = true } }
    }

    func setSuspended(_ isSuspended: Bool) {
        state.change { $0.isSuspended = isSuspended }
    }

    func abort(with error: RequestError) {
        state.change { $0.abortion = $0.abortion ?? error }
    }

    /// Hands out the head, and the body if there is a receiver for it; returns what of it belongs into the outcome.
    private func handOut(_ outcome: ExchangeOutcome) async throws -> Data {
        try await wait { _ in true }
        guard let response = outcome.response else { return outcome.body }
        observer.exchangeDidReceiveHead(response)
        try await wait { $0.isReleased || outcome.body.isEmpty }
        guard state.read({ $0.receiver != nil }) else { return outcome.body }
        var received = 0
        while true {
            try await wait { !$0.isFull }
            let piece = Data(outcome.body.dropFirst(received).prefix(Self.pieceSize))
            guard !piece.isEmpty else { return Data() }
            received += piece.count
            let receiver = state.change { state in
                state.wasDemanded = false
                return state.receiver
            }
            guard let receiver else { continue }
            observer.exchangeDidReceive(Int64(received), ofExpected: nil)
            switch receiver.receive(piece) {
            case .goOn: break
            case .pause: state.change { $0.isFull = !$0.wasDemanded }
            case .stop: throw RequestError(.cancelled)
            }
        }
    }

    /// Waits until the exchange is not suspended and something is so; throws if it is aborted before.
    private func wait(until isSo: @escaping @Sendable (State) -> Bool) async throws {
        try await state.wait { state -> Result<Void, any Error>? in
            if let abortion = state.abortion { return .failure(abortion) }
            return !state.isSuspended && isSo(state) ? .success(()) : nil
        }
    }
}
