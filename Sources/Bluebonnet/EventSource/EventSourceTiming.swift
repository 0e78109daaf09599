/// How an ``EventSource`` waits: tests put a clock of their own here.
package struct EventSourceTiming: Sendable {
    /// Waits; throws when the task is cancelled meanwhile.
    package let sleep: @Sendable (Duration) async throws -> Void
    /// Returns the next random number between 0 and 1.
    package let jitter: @Sendable () -> Double

    package init(
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await ContinuousClock().sleep(for: $0) },
        jitter: @escaping @Sendable () -> Double = { Double.random(in: 0...1) }
    ) {
        self.sleep = sleep
        self.jitter = jitter
    }
}
