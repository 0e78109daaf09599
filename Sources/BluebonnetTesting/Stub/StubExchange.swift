import Bluebonnet
import FoundationEssentials

/// One exchange of the stub: waits for its answer and hands it out, until it is aborted.
///
/// A task on the global pool makes the answer and tells the observer. It starts with the first resume or abort, and makes the only
/// outcome.
final class StubExchange: Exchange {
    /// Makes the answer to the exchange's request.
    typealias OutcomeProvider = @Sendable () async -> ExchangeOutcome

    private struct State: Sendable {
        var isStarted = false
        var isSuspended = false
        var answer: ExchangeOutcome?
        /// Whether it was said where the body goes: to a receiver, or into the outcome.
        var isReleased = false
        var receiver: (any BodyReceiver)?
        var isFull = false
        /// Whether more was asked for while the receiver still had to say that it was full.
        var wasDemanded = false
        /// Why it has to end; the first reason counts.
        var abortReason: RequestError?
    }

    /// How many bytes a piece has of a body that is held back.
    private static let pieceSize = 16 * 1024

    private let state = ObservedState(State())
    private let observer: any ExchangeObserver
    private let pausesBody: Bool
    private let answer: OutcomeProvider
    /// Called after the observer received the outcome.
    private let ended: @Sendable () -> Void

    init(
        observer: any ExchangeObserver, pausesBody: Bool, answer: @escaping OutcomeProvider,
        ended: @escaping @Sendable () -> Void
    ) {
        self.observer = observer
        self.pausesBody = pausesBody
        self.answer = answer
        self.ended = ended
    }

    func cancel() { abort(with: RequestError(.cancelled)) }

    func suspend() {
        state.change { $0.isSuspended = true }
    }

    func resume() {
        state.change { $0.isSuspended = false }
        start(makesAnswer: true)
    }

    func receiveBody(with receiver: (any BodyReceiver)?) {
        // The earlier one goes after the lock: it may be the user's.
        _ = state.change { state in
            state.isReleased = true
            return exchange(&state.receiver, with: receiver)
        }
    }

    func receiveMore() {
        state.change { if $0.isFull { $0.isFull = false } else { $0.wasDemanded = true } }
    }

    /// Ends it, unless it has ended, also while it is suspended or its answer is being made.
    func abort(with error: RequestError) {
        state.change { $0.abortReason = $0.abortReason ?? error }
        start(makesAnswer: false)
    }

    private func start(makesAnswer: Bool) {
        // Not here: the caller may be anywhere, and does not expect to be called back.
        if state.change({ !exchange(&$0.isStarted, with: true) }) { Task { await run(makesAnswer: makesAnswer) } }
    }

    private func run(makesAnswer: Bool) async {
        var outcome = ExchangeOutcome(response: nil)
        do {
            let answer = try await answered(makesAnswer: makesAnswer)
            // Of a response that was begun, the outcome has the head, whatever comes in between.
            if pausesBody { outcome = ExchangeOutcome(response: answer.response, metrics: answer.metrics) }
            let body = try await deliver(answer)
            outcome = ExchangeOutcome(
                response: answer.response, body: body, error: answer.error, metrics: answer.metrics)
        } catch {
            outcome = ExchangeOutcome(
                response: outcome.response, error: error as? RequestError, metrics: outcome.metrics)
        }
        observer.exchangeDidComplete(outcome)
        ended()
    }

    /// Has the answer made, unless it was aborted before that, and waits until it may be handed out.
    private func answered(makesAnswer: Bool) async throws -> ExchangeOutcome {
        let making = Task {
            guard makesAnswer else { return }
            let outcome = await answer()
            state.change { $0.answer = outcome }
        }
        // The task may ignore its cancellation; it is not awaited.
        defer { making.cancel() }
        return try await wait { $0.answer }
    }

    /// Hands out the head, and the body if there is a receiver for it; returns what of it belongs into the outcome.
    private func deliver(_ outcome: ExchangeOutcome) async throws -> Data {
        guard pausesBody, let response = outcome.response else {
            if !outcome.body.isEmpty {
                observer.exchangeDidReceive(
                    Int64(outcome.body.count), ofExpected: outcome.response?.expectedContentLength)
            }
            return outcome.body
        }
        observer.exchangeDidReceiveHead(response)
        try await wait { $0.isReleased || outcome.body.isEmpty ? () : nil }
        guard state.read({ $0.receiver != nil }) else { return outcome.body }
        var received = 0
        while true {
            try await wait { $0.isFull ? nil : () }
            let piece = Data(outcome.body.dropFirst(received).prefix(Self.pieceSize))
            guard !piece.isEmpty else { return Data() }
            received += piece.count
            let receiver = state.change { state in
                state.wasDemanded = false
                return state.receiver
            }
            // The bytes that no receiver got are in the outcome.
            guard let receiver else { return Data(outcome.body.dropFirst(received - piece.count)) }
            observer.exchangeDidReceive(Int64(received), ofExpected: nil)
            switch receiver.receive(piece) {
            case .proceed: break
            case .pause: state.change { $0.isFull = !$0.wasDemanded }
            case .stop: throw RequestError(.cancelled)
            }
        }
    }

    /// Waits until the exchange is not suspended and has something; throws if it is aborted before.
    private func wait<Value: Sendable>(for value: @escaping @Sendable (State) -> Value?) async throws -> Value {
        try await state.wait { state in
            if let abortReason = state.abortReason { return .failure(abortReason) }
            return state.isSuspended ? nil : value(state).map { .success($0) }
        }
    }
}
