/// Decides what happens to a request that is started, held back, cancelled and answered, as a value.
///
/// Events are reported under the request's lock; the action that is returned is carried out after the lock is released.
struct RequestLifecycle: Equatable {
    /// What the reporter of an event has to do.
    enum Action: Equatable {
        case nothing
        /// Let the attempt loop go: this is returned once in a request's life.
        case begin
        /// Make the exchange as suspended as the request is, now or as soon as there is one.
        case alignExchange
        /// End what is under way; the attempt loop answers everyone.
        case interrupt
        /// Answer everyone now: nothing was under way.
        case settle
        /// Serialize the outcome that is there already.
        case serializeOutcome
    }

    private(set) var state = RequestState.initialized
    /// Whether the attempt loop was let go.
    private(set) var hasBegun = false
    /// Whether the outcome is final: all that is attached from now on is served from it.
    private(set) var isSettled = false

    /// `resume()` was called.
    mutating func resumed() -> Action {
        switch state {
        case .initialized, .suspended:
            state = .resumed
            guard hasBegun else { return begun() }
            return .alignExchange
        case .resumed, .cancelled, .finished:
            return .nothing
        }
    }

    /// `suspend()` was called.
    ///
    /// A request that has not begun will not begin before it is resumed.
    mutating func suspended() -> Action {
        switch state {
        case .initialized, .resumed:
            state = .suspended
            return hasBegun ? .alignExchange : .nothing
        case .suspended, .cancelled, .finished:
            return .nothing
        }
    }

    /// `cancel()` was called, or something else ends the request in the same way.
    mutating func cancelled() -> Action {
        switch state {
        case .initialized, .resumed, .suspended:
            state = .cancelled
            guard hasBegun else {
                isSettled = true
                return .settle
            }
            return .interrupt
        case .cancelled, .finished:
            return .nothing
        }
    }

    /// A serializer was attached.
    mutating func serializerAttached(startsImmediately: Bool) -> Action {
        if isSettled { return .serializeOutcome }
        guard startsImmediately, state == .initialized else { return .nothing }
        state = .resumed
        return begun()
    }

    /// Every serializer that is attached has been served.
    mutating func settled() {
        precondition(hasBegun && !isSettled, "a request was settled in state \(self)")
        isSettled = true
        if state != .cancelled { state = .finished }
    }

    /// Something other than the user ends a request that has not begun: its session's shutdown.
    mutating func refused() -> Action {
        guard !hasBegun, !isSettled else { return .nothing }
        isSettled = true
        state = .finished
        return .settle
    }

    private mutating func begun() -> Action {
        hasBegun = true
        return .begin
    }
}
