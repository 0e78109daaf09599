import Foundation

/// Protects a value with a lock, and lets threads wait for a change of the value.
///
/// The threads that read Foundation's blocking streams use this lock, and so do the tasks that wait for these threads.
// Safety: the value is only accessed while the condition's lock is held.
final class ConditionLock<Value: Sendable>: @unchecked Sendable {
    private let condition = NSCondition()
    private var value: Value

    init(_ value: Value) { self.value = value }

    /// Changes the value, and resumes the threads that wait for a change.
    // The closure always has a result, so this never waits.
    func withLock<Result>(_ body: (inout Value) -> Result) -> Result { wait { .some(body(&$0)) } }

    /// Blocks the thread until the closure returns a result.
    func wait<Result>(_ body: (inout Value) -> Result?) -> Result {
        condition.lock()
        defer {
            condition.broadcast()
            condition.unlock()
        }
        while true {
            if let result = body(&value) { return result }
            condition.wait()
        }
    }
}
