import Bluebonnet
import FoundationEssentials

/// An exchange of the stub, which waits for a response and delivers it to the observer.
///
/// A task on the global executor creates the response and notifies the observer. The task starts when the exchange is
/// first resumed or aborted, and delivers exactly one outcome.
final class StubExchange: Exchange {
    /// A closure that returns the outcome for the request of the exchange.
    typealias OutcomeProvider = @Sendable () async -> ExchangeOutcome

    private struct State: Sendable {
        var isStarted = false
        var isSuspended = false
        var answer: ExchangeOutcome?
        /// Whether the exchange has decided if it delivers the body to a receiver or in the outcome.
        var isReleased = false
        var receiver: (any BodyReceiver)?
        var isFull = false
        /// Whether more bytes were requested before the receiver reported that it is full.
        var wasDemanded = false
        /// The error of the first abort.
        var abortReason: RequestError?
    }

    /// The maximum size of a piece of a body, in bytes.
    private static let pieceSize = 16 * 1024

    private let state = ObservedState(State())
    private let observer: any ExchangeObserver
    private let pausesBody: Bool
    private let answer: OutcomeProvider
    /// A closure that is called after the observer has received the outcome.
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
        // The previous receiver is released outside the lock, because it may be user code.
        _ = state.change { state in
            state.isReleased = true
            return exchange(&state.receiver, with: receiver)
        }
    }

    func receiveMore() {
        state.change { if $0.isFull { $0.isFull = false } else { $0.wasDemanded = true } }
    }

    /// Ends the exchange, even if it is suspended or its response is being created.
    func abort(with error: RequestError) {
        state.change { $0.abortReason = $0.abortReason ?? error }
        start(makesAnswer: false)
    }

    private func start(makesAnswer: Bool) {
        // A new task calls the observer, because the caller may hold locks.
        if state.change({ !exchange(&$0.isStarted, with: true) }) { Task { await run(makesAnswer: makesAnswer) } }
    }

    private func run(makesAnswer: Bool) async {
        var outcome = ExchangeOutcome(response: nil)
        do {
            let answer = try await answered(makesAnswer: makesAnswer)
            // If the exchange fails after the response has begun, the outcome still contains the response head.
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

    /// Creates the response and waits until it may be delivered; throws if the exchange is aborted first.
    private func answered(makesAnswer: Bool) async throws -> ExchangeOutcome {
        let making = Task {
            guard makesAnswer else { return }
            let outcome = await answer()
            state.change { $0.answer = outcome }
        }
        // The task is not awaited, because it may ignore its cancellation.
        defer { making.cancel() }
        return try await wait { $0.answer }
    }

    /// Delivers the head, and delivers the body to a receiver; returns the part of the body for the outcome.
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
            // Without a receiver, the remaining bytes become part of the outcome.
            guard let receiver else { return Data(outcome.body.dropFirst(received - piece.count)) }
            observer.exchangeDidReceive(Int64(received), ofExpected: nil)
            switch receiver.receive(piece) {
            case .proceed: break
            case .pause: state.change { $0.isFull = !$0.wasDemanded }
            case .stop: throw RequestError(.cancelled)
            }
        }
    }

    /// Waits until the exchange is not suspended and a value is available; throws if the exchange is aborted first.
    private func wait<Value: Sendable>(for value: @escaping @Sendable (State) -> Value?) async throws -> Value {
        try await state.wait { state in
            if let abortReason = state.abortReason { return .failure(abortReason) }
            return state.isSuspended ? nil : value(state).map { .success($0) }
        }
    }
}
