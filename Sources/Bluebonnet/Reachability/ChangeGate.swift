/// Decides when a burst of changes is over: what happens to a network happens in many small steps.
struct ChangeGate {
    /// How long it has to be quiet, and how long a burst is waited for at most, in nanoseconds.
    static let quiet: Int64 = 50_000_000
    static let longest: Int64 = 500_000_000

    private var first: Int64?
    private var last: Int64 = 0

    /// When the changes so far are to be looked at; `nil` if there were none.
    var deadline: Int64? { first.map { min($0 + Self.longest, last + Self.quiet) } }

    /// Something changed.
    mutating func changed(at now: Int64) {
        first = first ?? now
        last = now
    }

    /// Time went by; returns whether the changes are to be looked at now, and then forgets them.
    mutating func opens(at now: Int64) -> Bool {
        guard let deadline, now >= deadline else { return false }
        first = nil
        return true
    }
}
