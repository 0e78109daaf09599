/// Decides what an exchange of the stub does next, and that it ends once; a pure value.
///
/// Whoever is told to deliver an outcome is the only one ever to be told so.
struct StubExchangeState<Outcome: Sendable>: Sendable {
    enum Action {
        case nothing
        /// Start to make the answer.
        case begin
        /// Tell the observer.
        case deliver(Outcome)
    }

    private enum Phase {
        /// Suspended before it began.
        case waiting
        /// The answer is being made.
        case answering(isSuspended: Bool)
        /// The answer is there, but the exchange is suspended.
        case holding(Outcome)
        /// An outcome is being or has been delivered.
        case ended
    }

    private var phase = Phase.waiting

    /// Whether an outcome is being or has been delivered.
    var isEnded: Bool { if case .ended = phase { true } else { false } }

    mutating func resumed() -> Action {
        switch phase {
        case .waiting:
            phase = .answering(isSuspended: false)
            return .begin
        case .answering:
            phase = .answering(isSuspended: false)
            return .nothing
        case .holding(let outcome):
            phase = .ended
            return .deliver(outcome)
        case .ended:
            return .nothing
        }
    }

    mutating func suspended() {
        if case .answering = phase { phase = .answering(isSuspended: true) }
    }

    mutating func answered(_ outcome: Outcome) -> Action {
        switch phase {
        case .answering(isSuspended: false):
            phase = .ended
            return .deliver(outcome)
        case .answering(isSuspended: true):
            phase = .holding(outcome)
            return .nothing
        case .waiting, .holding, .ended:
            // It was ended while the answer was being made.
            return .nothing
        }
    }

    /// Cancelled, or shut down.
    mutating func aborted(_ outcome: Outcome) -> Action {
        if case .ended = phase { return .nothing }
        phase = .ended
        return .deliver(outcome)
    }
}
