import Foundation

/// Guards a value with a lock, and lets threads wait until it has changed.
///
/// For the threads that read Foundation's blocking streams, and for the callers of those threads.
// Safety: the value is reached only while the lock of the condition is held.
final class ConditionLock<Value: Sendable>: @unchecked Sendable {
    private let condition = NSCondition()
    private var value: Value

    init(_ value: Value) { self.value = value }

    /// Changes the value, and wakes the threads that wait for a change.
    func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
        condition.lock()
        defer {
            condition.broadcast()
            condition.unlock()
        }
        return body(&value)
    }

    /// Blocks the thread until the value lets a closure return something.
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
