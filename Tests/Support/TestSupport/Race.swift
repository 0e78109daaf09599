/// How many times as often as usual the races repeat what they do: `BLUEBONNET_RACE_MULTIPLIER`, 1 by default.
///
/// Tests that use the network or a disk repeat the race less than 10,000 times in a usual run, because they are slow.
public let raceMultiplier = max(1, (try? TestServers.variable("BLUEBONNET_RACE_MULTIPLIER")).flatMap { Int($0) } ?? 1)

/// Repeats a body in groups whose members run at once: 10,000 times in all by default, and that ``raceMultiplier`` times.
public func race(
    groups: Int = 100, of size: Int = 100, _ body: @escaping @Sendable (_ iteration: Int) async throws -> Void
) async throws {
    for group in 0..<groups * raceMultiplier {
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for member in 0..<size { tasks.addTask { try await body(group * size + member) } }
            try await tasks.waitForAll()
        }
    }
}

/// Lets other tasks run, more or less.
public func dawdle(_ iteration: Int) async {
    for _ in 0..<iteration % 23 { await Task.yield() }
}
