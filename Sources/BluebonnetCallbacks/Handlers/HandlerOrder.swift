/// Decides when the handlers of one request are called, as a value: in the order in which they were added, each once.
///
/// Each handler has a ticket. What it is called with becomes known at any time and in any order; it is called when all
/// that were added before have returned.
struct HandlerOrder<Call: Sendable>: Sendable {
    /// What the reporter of an event has to do.
    enum Action: Sendable {
        case nothing
        /// Make this call, and report its return.
        case call(Call)
        /// Forget this value: there is nobody left to call.
        case end
    }

    /// The ticket of the next handler that is added.
    private var nextTicket = 0
    /// The ticket of the next handler that is called.
    private var turn = 0
    private var isCalling = false
    /// The calls whose turn has not come; without a call, there is nothing to be done when it comes.
    private var waiting: [Int: Call?] = [:]

    /// A handler was added; returns its ticket.
    mutating func added() -> Int {
        defer { nextTicket += 1 }
        return nextTicket
    }

    /// It is known what a handler is called with, or that there is nothing to call.
    mutating func answered(_ ticket: Int, with call: Call?) -> Action {
        guard ticket >= turn, waiting[ticket] == nil else { return .nothing }
        // The usual case, without a detour.
        if ticket == turn, !isCalling {
            turn += 1
            if let call { return make(call) }
            return next()
        }
        waiting.updateValue(call, forKey: ticket)
        return .nothing
    }

    /// The call that was under way has returned.
    mutating func returned() -> Action {
        isCalling = false
        return next()
    }

    private mutating func next() -> Action {
        while let call = waiting.removeValue(forKey: turn) {
            turn += 1
            if let call { return make(call) }
        }
        return turn == nextTicket ? .end : .nothing
    }

    private mutating func make(_ call: Call) -> Action {
        isCalling = true
        return .call(call)
    }
}
