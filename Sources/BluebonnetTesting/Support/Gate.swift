/// Holds tasks back until it is opened, so that a test decides when a route answers.
///
/// ```swift
/// let gate = Gate()
/// let server = try await LocalServer { router in
///     router.get("/late") { _ in await gate.wait(); return .ok }
/// }
/// ```
public final class Gate: Sendable {
    private let state: Watched<Bool>

    /// Creates a gate.
    ///
    /// - Parameter isOpen: Whether it is open from the beginning.
    public init(isOpen: Bool = false) {
        state = Watched(isOpen)
    }

    /// Whether it is open.
    public var isOpen: Bool { state.read { $0 } }

    /// How many tasks wait.
    public var waiterCount: Int { state.waiterCount }

    /// Lets everyone pass, those who wait and those who come.
    public func open() {
        state.change { $0 = true }
    }

    /// Holds everyone back who comes from now on.
    public func close() {
        state.change { $0 = false }
    }

    /// Returns when the gate is open, or when the task is cancelled.
    public func wait() async {
        try? await state.wait { $0 ? .success(()) : nil }
    }
}
