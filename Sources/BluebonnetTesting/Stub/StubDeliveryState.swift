import Bluebonnet
import FoundationEssentials

/// Decides how the stub hands out a response whose body is held back after its head; a pure value.
///
/// One runner at a time acts on it; whoever is told to complete is the only one ever to be told so.
struct StubDeliveryState {
    /// What the runner does next.
    enum Step {
        case tellHead(HTTPResponse)
        /// Bytes, and how many there were with them.
        case deliver(Data, received: Int64)
        case complete(ExchangeOutcome)
        /// Nothing, until something changes.
        case wait
    }

    private enum Phase {
        case idle
        case toldHead
        case delivering(offset: Int, isFull: Bool)
        case collected
        case completed
    }

    private var phase = Phase.idle
    private var outcome: ExchangeOutcome?
    private var isSuspended = false
    private var isRunning = false
    /// Whether more was asked for while the receiver still had to say that it was full.
    private var wasDemanded = false
    private var abortion: RequestError?

    /// How many bytes a piece has.
    static let pieceSize = 16 * 1024

    /// The answer is there; returns whether a runner has to start, as all events do.
    mutating func answered(_ outcome: ExchangeOutcome) -> Bool {
        self.outcome = outcome
        return startsRunner()
    }

    /// It was said where the body goes: to a receiver, or into the outcome.
    mutating func released(toReceiver: Bool) -> Bool {
        guard case .toldHead = phase else { return false }
        phase = toReceiver ? .delivering(offset: 0, isFull: false) : .collected
        return startsRunner()
    }

    mutating func demanded() -> Bool {
        guard case .delivering(let offset, let isFull) = phase else { return false }
        guard isFull else {
            // The receiver's answer is on its way, and somebody was quicker to make room.
            wasDemanded = true
            return false
        }
        phase = .delivering(offset: offset, isFull: false)
        return startsRunner()
    }

    mutating func setSuspended(_ isSuspended: Bool) -> Bool {
        self.isSuspended = isSuspended
        return !isSuspended && startsRunner()
    }

    mutating func aborted(with error: RequestError) -> Bool {
        guard outcome != nil, abortion == nil else { return false }
        abortion = error
        return startsRunner()
    }

    /// The receiver has answered.
    mutating func received(_ action: ReceiveAction) {
        guard case .delivering(let offset, _) = phase else { return }
        switch action {
        case .goOn: break
        case .pause: if !wasDemanded { phase = .delivering(offset: offset, isFull: true) }
        case .stop: abortion = RequestError(.cancelled)
        }
    }

    private mutating func startsRunner() -> Bool {
        guard !isRunning, outcome != nil else { return false }
        isRunning = true
        return true
    }

    mutating func nextStep() -> Step {
        let step = step()
        if case .wait = step { isRunning = false }
        return step
    }

    private mutating func step() -> Step {
        guard let outcome else { return .wait }
        if case .completed = phase { return .wait }
        if let abortion { return complete(outcome, error: abortion, keepsBody: false) }
        if isSuspended { return .wait }
        switch phase {
        case .idle:
            guard let response = outcome.response else { return complete(outcome, keepsBody: true) }
            phase = .toldHead
            return .tellHead(response)
        case .toldHead:
            return outcome.body.isEmpty ? complete(outcome, keepsBody: true) : .wait
        case .delivering(_, isFull: true), .completed:
            return .wait
        case .delivering(let offset, isFull: false):
            guard offset < outcome.body.count else { return complete(outcome, keepsBody: false) }
            let end = min(offset + Self.pieceSize, outcome.body.count)
            phase = .delivering(offset: end, isFull: false)
            wasDemanded = false
            let start = outcome.body.startIndex
            return .deliver(Data(outcome.body[start + offset..<start + end]), received: Int64(end))
        case .collected:
            return complete(outcome, keepsBody: true)
        }
    }

    private mutating func complete(
        _ outcome: ExchangeOutcome, error: RequestError? = nil, keepsBody: Bool
    ) -> Step {
        phase = .completed
        return .complete(
            ExchangeOutcome(
                response: outcome.response, body: keepsBody ? outcome.body : Data(), error: error ?? outcome.error,
                metrics: outcome.metrics))
    }
}
