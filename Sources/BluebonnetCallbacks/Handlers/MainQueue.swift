/// Turns a handler of the main actor into one that is called on the main queue, which is the same.
func onMain<Argument: Sendable>(
    _ handler: @escaping @MainActor (Argument) -> Void
) -> @Sendable (Argument) -> Void {
    // Safety: called on the main queue, or else this traps.
    { argument in MainActor.assumeIsolated { handler(argument) } }
}

/// As the other, for a handler that may throw.
func onMain<Argument: Sendable>(
    _ handler: @escaping @MainActor (Argument) throws -> Void
) -> @Sendable (Argument) throws -> Void {
    // Safety: called on the main queue, or else this traps.
    { argument in try MainActor.assumeIsolated { try handler(argument) } }
}

/// As the other, for a handler with a completion handler.
func onMain<Argument: Sendable, Completion: Sendable>(
    _ handler: @escaping @MainActor (Argument, Completion) -> Void
) -> @Sendable (Argument, Completion) -> Void {
    // Safety: called on the main queue, or else this traps.
    { argument, completion in MainActor.assumeIsolated { handler(argument, completion) } }
}

/// As the other, for a closure that wants to know nothing.
func onMain(_ closure: @escaping @MainActor () -> Void) -> @Sendable () -> Void {
    // Safety: called on the main queue, or else this traps.
    { MainActor.assumeIsolated { closure() } }
}
