import BluebonnetTesting
import FoundationEssentials
import Glibc

/// The values that a test passes to the process of its exit test, because closures of exit tests capture nothing before
/// Swift 6.3.
///
/// ```swift
/// try await ExitTestInput.pass(coding) {
///     await #expect(processExitsWith: .success) {
///         let coding = try ExitTestInput.value(as: String.self)
///     }
/// }
/// ```
public enum ExitTestInput {
    private static let isFree = ObservedState(true)

    /// Passes a value to the exit test that the closure starts.
    ///
    /// Only one test of the process does so at a time, and its time limit includes the wait for the others.
    @discardableResult
    public static func pass<Value: Encodable & Sendable, Answer: Sendable>(
        _ value: Value, to exitTest: () async throws -> Answer
    ) async throws -> Answer {
        try await isFree.wait { isFree -> Result<Void, any Error>? in
            guard isFree else { return nil }
            isFree = false
            return .success(())
        }
        let file = file(of: getpid())
        defer {
            try? FileManager.default.removeItem(at: file)
            isFree.change { $0 = true }
        }
        try JSONEncoder().encode(value).write(to: file)
        return try await exitTest()
    }

    /// The value that the test has passed to this process.
    public static func value<Value: Decodable>(as type: Value.Type) throws -> Value {
        try JSONDecoder().decode(Value.self, from: Data(contentsOf: file(of: getppid())))
    }

    private static func file(of process: pid_t) -> URL {
        FileManager.default.temporaryDirectory.appending(path: "bluebonnet-exit-test-\(process)")
    }
}
