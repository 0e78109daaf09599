/// Decides which requests a ``CircuitBreaker`` sends, by key.
///
/// This is a value type without I/O and without a clock. The circuit of a key goes through these phases:
///
///     closed ──enough failures──▶ open ──time──▶ half-open ──enough successes──▶ closed
///                                  ▲───────failure───────┘
struct BreakerTable: Sendable {
    private enum Phase {
        case closed(FailureCount)
        case open(until: Duration)
        /// The values are the number of running probes and the number of successful probes.
        case halfOpen(running: Int, succeeded: Int)
    }

    private struct Circuit {
        var phase: Phase
        /// The time at which the phase began.
        var start: Duration
        var lastUse: Duration
    }

    private let policy: CircuitBreaker.Policy
    private var circuits: [String: Circuit] = [:]

    init(policy: CircuitBreaker.Policy) {
        self.policy = policy
    }

    /// A request is ready to be sent; throws if it must not be sent.
    mutating func requestArrived(_ key: String, now: Duration) throws(RequestError) {
        var circuit = circuits[key] ?? newCircuit(now)
        defer { circuits[key] = circuit }
        circuit.lastUse = now
        if case .open(let end) = circuit.phase {
            guard now >= end else { throw RequestError(.circuitOpen(retryAfter: end - now)) }
            (circuit.phase, circuit.start) = (.halfOpen(running: 0, succeeded: 0), now)
        }
        if case .halfOpen(let running, let succeeded) = circuit.phase {
            guard running + succeeded < max(1, policy.probes) else {
                throw RequestError(.circuitOpen(retryAfter: .zero))
            }
            circuit.phase = .halfOpen(running: running + 1, succeeded: succeeded)
        }
    }

    /// A request has ended; its verdict counts only if the phase in which it was sent still lasts.
    mutating func requestEnded(_ key: String, sent: Duration, _ verdict: CircuitBreaker.Verdict, now: Duration) {
        guard var circuit = circuits[key], sent >= circuit.start else { return }
        var next: Phase?
        switch (circuit.phase, verdict) {
        case (.open, _), (.closed, .ignored): break
        case (.closed(var count), _):
            let isOpening = count.add(isFailure: verdict == .failure, now: now, policy.trip)
            circuit.phase = .closed(count)
            if isOpening { next = .open(until: now + policy.openDuration) }
        case (.halfOpen(let running, let succeeded), .ignored):
            circuit.phase = .halfOpen(running: running - 1, succeeded: succeeded)
        case (.halfOpen(let running, let succeeded), .success) where succeeded + 1 < policy.probes:
            circuit.phase = .halfOpen(running: running - 1, succeeded: succeeded + 1)
        case (.halfOpen, .success): next = .closed(FailureCount())
        case (.halfOpen, .failure): next = .open(until: now + policy.openDuration)
        }
        if let next { (circuit.phase, circuit.start) = (next, now) }
        circuits[key] = circuit
    }

    /// Creates a closed circuit, in place of the least recently used circuit if there are too many.
    private mutating func newCircuit(_ now: Duration) -> Circuit {
        if circuits.count >= max(1, policy.maximumKeys) {
            let oldest = circuits.min { $0.value.lastUse < $1.value.lastUse }
            if let oldest { circuits[oldest.key] = nil }
        }
        return Circuit(phase: .closed(FailureCount()), start: now, lastUse: now)
    }
}

/// The failures of a closed circuit.
private struct FailureCount {
    private var inARow = 0
    /// The number of requests and the number of failures in each tenth of the window.
    private var slices: [Int: SIMD2<Int>] = [:]

    /// Adds a result; returns whether the circuit opens.
    mutating func add(isFailure: Bool, now: Duration, _ trip: CircuitBreaker.Trip) -> Bool {
        switch trip {
        case .consecutiveFailures(let limit):
            inARow = isFailure ? inARow + 1 : 0
            return inARow >= max(1, limit)
        case .failureRate(let rate, let window, let minimum):
            let number = Int(now / max(window, .milliseconds(10)) * 10)
            if slices[number] == nil { slices = slices.filter { $0.key > number - 10 } }
            slices[number, default: .zero] &+= SIMD2(1, isFailure ? 1 : 0)
            let sum = slices.values.reduce(.zero, &+)
            return isFailure && sum.x >= minimum && Double(sum.y) >= rate * Double(sum.x)
        }
    }
}
