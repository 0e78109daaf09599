/// Decides which try of a hedged exchange answers.
///
/// This is a value type without I/O and without a clock. Before a try has won, all tries race. The first head, the
/// first bytes or the first complete response makes its try the winner. A failure ends the exchange only if no other
/// try is running. The events of all other tries are dropped.
struct HedgeState<Handle: Sendable>: Sendable {
    private enum Stage {
        /// No try has answered. The values are the running tries by number; a handle is `nil` until it is recorded.
        case racing([Int: Handle?])
        /// A try has answered, and its events are forwarded.
        case won(Int, Handle?)
        /// The outcome has been forwarded.
        case ended
    }

    private var stage = Stage.racing([:])
    private var lastNumber = 0
    private var isCancelled = false
    var isSuspended: Bool

    init(isSuspended: Bool) {
        self.isSuspended = isSuspended
    }

    /// The recorded handles of the running tries.
    var handles: [Handle] {
        switch stage {
        case .racing(let tries): tries.values.compactMap(\.self)
        case .won(_, let handle): [handle].compactMap(\.self)
        case .ended: []
        }
    }

    /// The handle of the try that has answered; `nil` if it is not recorded yet.
    var winner: Handle? { if case .won(_, let handle) = stage { handle } else { nil } }

    /// Whether an additional try may start.
    var mayStart: Bool { if case .racing = stage { !isCancelled && !isSuspended } else { false } }

    private func hasWon(_ number: Int) -> Bool { if case .won(number, _) = stage { true } else { false } }

    /// Begins a try; returns its number, or `nil` if it must not start.
    mutating func willStart() -> Int? {
        guard case .racing(var tries) = stage, lastNumber == 0 || mayStart else { return nil }
        lastNumber += 1
        tries.updateValue(nil, forKey: lastNumber)
        stage = .racing(tries)
        return lastNumber
    }

    /// Records the handle of a try; returns whether the try goes on.
    mutating func started(_ number: Int, _ handle: Handle) -> Bool {
        switch stage {
        case .racing(var tries) where tries.keys.contains(number):
            tries[number] = handle
            stage = .racing(tries)
        case .won(number, _): stage = .won(number, handle)
        case .racing, .won, .ended: return false
        }
        return !isCancelled
    }

    /// A try has an event; returns the tries to cancel, or `nil` if the event is dropped.
    mutating func received(_ event: ExchangeObserverEvent, from number: Int) -> [Handle]? {
        switch event {
        case .sentBytes: return hasWon(number) ? [] : nil
        // While there is only one try, its informational responses are those of the request.
        case .informational:
            if case .racing(let tries) = stage, tries.count == 1, tries.keys.contains(number) { return [] }
            return hasWon(number) ? [] : nil
        case .head, .receivedBytes: return answered(number)
        case .outcome(let outcome):
            if outcome.error != nil, case .racing(var tries) = stage, tries.count > 1 {
                tries.removeValue(forKey: number)
                stage = .racing(tries)
                return nil
            }
            let losers = answered(number)
            if losers != nil { stage = .ended }
            return losers
        }
    }

    private mutating func answered(_ number: Int) -> [Handle]? {
        guard case .racing(var tries) = stage, let handle = tries.removeValue(forKey: number) else {
            return hasWon(number) ? [] : nil
        }
        stage = .won(number, handle)
        return tries.values.compactMap(\.self)
    }

    /// The exchange is cancelled; returns the tries to cancel.
    mutating func cancelled() -> [Handle] {
        isCancelled = true
        return handles
    }
}
