import BluebonnetLibc
import Synchronization

/// Guards a value with a mutex that the thread sanitizer recognizes.
///
/// This is a reference, so its copies guard the same value. The mutex and the value share one allocation. Code inside
/// ``withLock(_:)`` must follow two rules:
///
/// - It must not call or await anything that could take another lock. The only exception is a request that adds an
///   event to the queue of an event monitor; the queue calls no other code.
/// - It must not release objects of the user, because their `deinit` may run any code. Instead, the closure returns the
///   objects that it removes or replaces, for example with `exchange(_:with:)`.
// Safety: the value is only accessed inside `withLock`, and enters and leaves it as `sending`.
@safe
package struct Locked<Value: ~Copyable>: @unchecked Sendable {
    private let buffer: MutexBuffer<Value>

    /// Creates a lock for a value.
    package init(_ value: consuming sending Value) {
        // Safety: `create` made a buffer of exactly this type; it is initialized before any other code can access it.
        let made = unsafe MutexBuffer<Value>.create(minimumCapacity: 1) { _ in unsafe pthread_mutex_t() }
        unsafe buffer = unsafeDowncast(made, to: MutexBuffer<Value>.self)
        let (mutex, element) = unsafe buffer.withUnsafeMutablePointers { unsafe ($0, $1) }
        let code = unsafe pthread_mutex_init(mutex, nil)
        precondition(code == 0, "a mutex could not be made: \(code)")
        unsafe element.initialize(to: value)
        extendLifetime(buffer)
    }

    /// Calls a closure with the value while no other thread can access it.
    package func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        let mutex = unsafe buffer.withUnsafeMutablePointerToHeader { unsafe $0 }
        // Safety: the buffer outlives the pointers; the mutex is held while the value is borrowed, and nothing else
        // uses the value then. Swift 6.2 does not see that of a pointer.
        nonisolated(unsafe) let element = unsafe buffer.withUnsafeMutablePointerToElements { unsafe $0 }
        unsafe pthread_mutex_lock(mutex)
        defer {
            unsafe pthread_mutex_unlock(mutex)
            extendLifetime(buffer)
        }
        return try unsafe body(&element.pointee)
    }
}

/// Destroys the mutex and the value together with the allocation.
@safe
private final class MutexBuffer<Value: ~Copyable>: ManagedBuffer<pthread_mutex_t, Value> {
    deinit {
        // Safety: the last reference is gone, so no thread holds the lock.
        unsafe withUnsafeMutablePointers { mutex, element in
            unsafe pthread_mutex_destroy(mutex)
            unsafe element.deinitialize(count: 1)
        }
    }
}

/// Holds an object that is created on first use.
///
/// If several threads create the object, the first stored object is used. The type works like `AtomicLazyReference`,
/// but checks a flag first. Each access to an `AtomicLazyReference`, even if it is empty, takes about 600 instructions
/// (Swift 6.3). It is generic code that requests type metadata from the runtime.
struct LazyReference<Instance: AnyObject & Sendable>: ~Copyable, Sendable {
    private let reference = AtomicLazyReference<Instance>()
    private let isStored = Atomic(false)

    /// Returns the object; `nil` if none has been stored.
    func load() -> Instance? {
        isStored.load(ordering: .acquiring) ? reference.load() : nil
    }

    /// Stores an object unless there is already a stored object; returns the stored object.
    func storeIfNil(_ instance: consuming Instance) -> Instance {
        let stored = reference.storeIfNil(instance)
        isStored.store(true, ordering: .releasing)
        return stored
    }
}

/// A waiting task, which must be resumed exactly once.
///
/// A debug build traps if the task is resumed twice, and prints a warning if it is never resumed. A release build has
/// no checks, because a checked continuation would need an allocation, and a type of dynamic size, for each wait.
// Safety: each owner of a value removes it under a lock before resuming it, and therefore resumes it once. Debug builds
// check this.
@safe
struct Resumption<Value: Sendable>: Sendable {
    #if DEBUG
        fileprivate let continuation: CheckedContinuation<Value, Never>
        /// Informs the thread sanitizer, which does not recognize continuations, that the value was created before its
        /// use.
        fileprivate let handover: Locked<Void>
    #else
        fileprivate let continuation: UnsafeContinuation<Value, Never>
    #endif

    func resume(returning value: Value) {
        #if DEBUG
            handover.withLock { _ in }
            continuation.resume(returning: value)
        #else
            unsafe continuation.resume(returning: value)
        #endif
    }
}

extension Resumption<Void> {
    func resume() {
        resume(returning: ())
    }
}

/// Suspends the task until it is resumed; `body` runs immediately and receives the resumption.
func withResumption<Value>(_ body: (Resumption<Value>) -> Void) async -> Value {
    #if DEBUG
        let handover = Locked(())
        let value = await withCheckedContinuation { body(Resumption(continuation: $0, handover: handover)) }
        handover.withLock { _ in }
        return value
    #else
        return unsafe await withUnsafeContinuation { unsafe body(Resumption(continuation: $0)) }
    #endif
}
