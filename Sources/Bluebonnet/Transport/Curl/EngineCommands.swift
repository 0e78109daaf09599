/// Hands commands to an engine, in order.
///
/// The loop hears of the first only: it takes all that there are by then, so that many requests at once cost it one piece
/// of work.
final class EngineCommands: Sendable {
    private let waiting = Locked<[EngineCommand]>([])

    /// Adds a command; returns whether the loop has to hear of it.
    func add(_ command: EngineCommand) -> Bool {
        waiting.withLock { commands in
            commands.append(command)
            return commands.count == 1
        }
    }

    /// Takes all that there are; `batch` has to be empty.
    func take(into batch: inout [EngineCommand]) {
        waiting.withLock { swap(&$0, &batch) }
    }
}
