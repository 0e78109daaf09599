// These turn a handler of the main actor into one that is called on the main queue, which is the same.
// Safety: called on the main queue, or else they trap.

func onMain<Argument: Sendable>(_ handler: @escaping @MainActor (Argument) -> Void) -> @Sendable (Argument) -> Void {
    { argument in MainActor.assumeIsolated { handler(argument) } }
}

/// For a handler that may throw.
func onMain<Argument: Sendable>(
    _ handler: @escaping @MainActor (Argument) throws -> Void
) -> @Sendable (Argument) throws -> Void {
    { argument in try MainActor.assumeIsolated { try handler(argument) } }
}
