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
        private(set) var phase: Phase
        /// The time at which the phase began.
        private(set) var start: Duration
        /// The number of the phase, by which the end of a request is assigned to it.
        private(set) var number: Int
        var lastUse: Duration

        mutating func begin(_ phase: Phase, _ number: Int, now: Duration) {
            (self.phase, self.number, start) = (phase, number, now)
        }

        mutating func update(_ phase: Phase) { self.phase = phase }
    }

    private let policy: CircuitBreaker.Policy
    private var circuits: [String: Circuit] = [:]
    private var lastNumber = 0

    init(policy: CircuitBreaker.Policy) {
        self.policy = policy
    }

    /// A request is ready to be sent; returns the number of the phase, or throws if the request must not be sent.
    mutating func requestArrived(_ key: String, now: Duration) throws(RequestError) -> Int {
        var circuit = circuits[key] ?? newCircuit(now)
        defer { circuits[key] = circuit }
        circuit.lastUse = now
        if case .open(let end) = circuit.phase {
            guard now >= end else { throw RequestError(.circuitOpen(retryAfter: end - now)) }
            circuit.begin(.halfOpen(running: 0, succeeded: 0), nextNumber(), now: now)
        }
        if case .halfOpen(var running, var succeeded) = circuit.phase {
            if running + succeeded >= max(1, policy.probes) {
                // A probe may never end, for example because it is suspended. After some time, others are sent instead.
                let end = circuit.start + max(policy.openDuration, .milliseconds(1))
                guard now >= end else { throw RequestError(.circuitOpen(retryAfter: end - now)) }
                (running, succeeded) = (0, 0)
                circuit.begin(.halfOpen(running: 0, succeeded: 0), nextNumber(), now: now)
            }
            circuit.update(.halfOpen(running: running + 1, succeeded: succeeded))
        }
        return circuit.number
    }

    private mutating func nextNumber() -> Int {
        lastNumber += 1
        return lastNumber
    }

    /// A request has ended; its verdict counts only if the phase in which it was sent still lasts.
    mutating func requestEnded(_ key: String, phase: Int, _ verdict: CircuitBreaker.Verdict, now: Duration) {
        guard var circuit = circuits[key], phase == circuit.number else { return }
        var next: Phase?
        switch (circuit.phase, verdict) {
        case (.open, _), (.closed, .ignored): break
        case (.closed(var count), _):
            let isOpening = count.add(isFailure: verdict == .failure, now: now, policy.trip)
            circuit.update(.closed(count))
            if isOpening { next = .open(until: now + policy.openDuration) }
        case (.halfOpen(let running, let succeeded), .ignored):
            circuit.update(.halfOpen(running: running - 1, succeeded: succeeded))
        case (.halfOpen(let running, let succeeded), .success) where succeeded + 1 < policy.probes:
            circuit.update(.halfOpen(running: running - 1, succeeded: succeeded + 1))
        case (.halfOpen, .success): next = .closed(FailureCount())
        case (.halfOpen, .failure): next = .open(until: now + policy.openDuration)
        }
        if let next { circuit.begin(next, nextNumber(), now: now) }
        circuits[key] = circuit
    }

    /// Creates a closed circuit, in place of the least recently used circuit if there are too many.
    private mutating func newCircuit(_ now: Duration) -> Circuit {
        if circuits.count >= max(1, policy.maximumKeys) {
            let oldest = circuits.min { $0.value.lastUse < $1.value.lastUse }
            if let oldest { circuits[oldest.key] = nil }
        }
        return Circuit(phase: .closed(FailureCount()), start: now, number: nextNumber(), lastUse: now)
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
