import Bluebonnet
import FoundationEssentials

/// An exchange of the stub, which waits for a response and delivers it to the observer.
///
/// A task on the global executor creates the response and notifies the observer. The task starts when the exchange is
/// first resumed or aborted, and delivers exactly one outcome.
final class StubExchange: Exchange {
    /// The outcome, and the behaviour of the server after a 101 response that opens a WebSocket.
    typealias Answer = (outcome: ExchangeOutcome, socket: WebSocketScript?)
    /// A closure that returns the answer to the request of the exchange.
    typealias AnswerProvider = @Sendable () async -> Answer

    private struct State: Sendable {
        var isStarted = false
        var isSuspended = false
        /// The result of the last closure.
        var result: (any Sendable)?
        /// Whether the exchange has decided if it delivers the body to a receiver or in the outcome.
        var isReleased = false
        var receiver: (any BodyReceiver)?
        var isFull = false
        /// Whether more bytes were requested before the receiver reported that it is full.
        var wasDemanded = false
        /// The error of the first abort.
        var abortReason: RequestError?
        /// The bytes for an open WebSocket that its server has not received.
        var sent = Data()
    }

    /// The maximum size of a piece of a body, in bytes.
    private static let pieceSize = 16 * 1024

    private let state = ObservedState(State())
    private let observer: any ExchangeObserver
    private let pausesBody: Bool
    private let answer: AnswerProvider
    /// A closure that is called after the observer has received the outcome.
    private let ended: @Sendable () -> Void

    init(
        observer: any ExchangeObserver, pausesBody: Bool, answer: @escaping AnswerProvider,
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

    func send(_ bytes: Data) { state.change { $0.sent.append(bytes) } }

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
            let (answer, socket) = try await answered(makesAnswer: makesAnswer)
            // If the exchange fails after the response has begun, the outcome still contains the response head.
            if pausesBody { outcome = ExchangeOutcome(response: answer.response, metrics: answer.metrics) }
            let body = try await deliver(answer, socket)
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
    private func answered(makesAnswer: Bool) async throws -> Answer {
        try await makesAnswer ? result(of: answer) : wait { _ in nil }
    }

    /// Waits for a closure, which runs in a task; throws if the exchange is aborted first.
    private func result<Value: Sendable>(
        of make: @escaping @Sendable () async -> Value
    ) async throws -> Value {
        state.change { $0.result = nil }
        let making = Task {
            let value = await make()
            state.change { $0.result = value }
        }
        // The task is not awaited, because it may ignore its cancellation.
        defer { making.cancel() }
        return try await wait { $0.result as? Value }
    }

    /// Delivers the head, and delivers the body to a receiver; returns the part of the body for the outcome.
    private func deliver(_ outcome: ExchangeOutcome, _ socket: WebSocketScript?) async throws -> Data {
        guard pausesBody, let response = outcome.response else {
            if !outcome.body.isEmpty {
                observer.exchangeDidReceive(
                    Int64(outcome.body.count), ofExpected: outcome.response?.expectedContentLength)
            }
            return outcome.body
        }
        observer.exchangeDidReceiveHead(response)
        try await wait { $0.isReleased || (outcome.body.isEmpty && socket == nil) ? () : nil }
        guard state.read({ $0.receiver != nil }) else { return outcome.body }
        var received: Int64 = 0
        guard let socket else { return try await deliver(outcome.body, received: &received) }
        try await run(socket, received: &received)
        return Data()
    }

    /// Delivers bytes to the receiver; returns the rest of the bytes if there is no receiver any more.
    private func deliver(_ bytes: Data, received: inout Int64) async throws -> Data {
        var rest = bytes
        while true {
            try await wait { $0.isFull ? nil : () }
            let piece = Data(rest.prefix(Self.pieceSize))
            guard !piece.isEmpty else { return Data() }
            let receiver = state.change { state in
                state.wasDemanded = false
                return state.receiver
            }
            // Without a receiver, the remaining bytes become part of the outcome.
            guard let receiver else { return Data(rest) }
            rest = rest.dropFirst(piece.count)
            received += Int64(piece.count)
            observer.exchangeDidReceive(received, ofExpected: nil)
            switch receiver.receive(piece) {
            case .proceed: break
            case .pause: state.change { $0.isFull = !$0.wasDemanded }
            case .stop: throw RequestError(.cancelled)
            }
        }
    }

    /// Answers the messages of the client until the WebSocket ends.
    private func run(_ script: WebSocketScript, received: inout Int64) async throws {
        var server = WebSocketServerSide(script)
        var (sent, bytes) = (Int64(0), Data())
        while true {
            switch server.next(adding: exchange(&bytes, with: Data())) {
            case .send(let bytes): _ = try await deliver(bytes, received: &received)
            case .reply(let message):
                server.answer(try await result(of: { await script.replies(to: message) }))
            case .end: return
            case nil:
                try await wait { $0.sent.isEmpty ? nil : () }
                bytes = state.change { exchange(&$0.sent, with: Data()) }
                sent += Int64(bytes.count)
                observer.exchangeDidSend(sent, ofExpected: nil)
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
