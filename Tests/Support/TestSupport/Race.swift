/// Repeats a body in groups whose members run at once, 10,000 times in all by default.
public func race(
    groups: Int = 100, of size: Int = 100, _ body: @escaping @Sendable (_ iteration: Int) async throws -> Void
) async throws {
    for group in 0..<groups {
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
