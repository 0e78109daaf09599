import Glibc
import Synchronization

/// Guards a value with a mutex that the thread sanitizer sees.
///
/// A reference: copies of it guard the same value. Nothing is called or awaited inside ``withLock(_:)`` that could take
/// another lock, but for the mailboxes of event monitors, which a request fills there, and which call nothing. Nothing
/// of the user's is released there either, since its `deinit` may call anything: the closure returns what it removes or
/// replaces, for instance by `exchange(_:with:)`. Mutex and value are one allocation.
// Safety: the value is only reached inside `withLock`, and enters and leaves it as `sending`.
@safe
package struct Locked<Value: ~Copyable>: @unchecked Sendable {
    private let buffer: MutexBuffer<Value>

    /// Creates the guard of a value.
    package init(_ value: consuming sending Value) {
        // Safety: `create` made a buffer of this very type; it is initialized before anyone else knows of it.
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
        // Safety: the buffer outlives the pointers; the mutex is held while the value is borrowed.
        let (mutex, element) = unsafe buffer.withUnsafeMutablePointers { unsafe ($0, $1) }
        unsafe pthread_mutex_lock(mutex)
        defer {
            unsafe pthread_mutex_unlock(mutex)
            extendLifetime(buffer)
        }
        return try unsafe body(&element.pointee)
    }
}

/// Ends the mutex and the value together with the allocation.
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

/// Holds an object that is made when it is first needed, by the first thread that needs it.
///
/// As `AtomicLazyReference`, of which every look, even at one that is empty, costs some 600 instructions (Swift 6.3: it
/// is generic code that asks the runtime for its types); here a flag is looked at first.
struct LazyReference<Instance: AnyObject & Sendable>: ~Copyable, Sendable {
    private let reference = AtomicLazyReference<Instance>()
    private let isStored = Atomic(false)

    /// Returns the object, if there is one.
    func load() -> Instance? {
        isStored.load(ordering: .acquiring) ? reference.load() : nil
    }

    /// Stores an object unless there is one; returns the one that is there then.
    func storeIfNil(_ instance: consuming Instance) -> Instance {
        let stored = reference.storeIfNil(instance)
        isStored.store(true, ordering: .releasing)
        return stored
    }
}

/// A waiting task; to be resumed exactly once.
///
/// A debug build traps when that is done twice, and warns when it is never done. A release build does without: a
/// checked continuation is an allocation, and a type whose size the compiler does not know, for each wait.
// Safety: each owner of a value takes it from behind a lock to resume it, and so resumes it once; debug builds check
// that.
@safe
struct Resumption<Value: Sendable>: Sendable {
    #if DEBUG
        fileprivate let continuation: CheckedContinuation<Value, Never>
        /// Shows the thread sanitizer, which does not see continuations, that the value was made before it is used.
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

/// Waits until the resumption that `body` gets is used; `body` runs at once.
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
