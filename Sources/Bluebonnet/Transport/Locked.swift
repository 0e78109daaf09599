import Glibc

/// Guards a value with a mutex that the thread sanitizer sees.
///
/// A reference: copies of it guard the same value. Nothing is called or awaited inside ``withLock(_:)`` that could take
/// another lock, but for the mailboxes of event monitors, which a request fills there, and which call nothing. Nothing of
/// the user's is released there either, since its `deinit` may call anything: the closure returns what it removes or
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

    /// Calls a closure with the value while nobody else can reach it.
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
        // Safety: the last reference is gone, so nobody holds the lock.
        unsafe withUnsafeMutablePointers { mutex, element in
            unsafe pthread_mutex_destroy(mutex)
            unsafe element.deinitialize(count: 1)
        }
    }
}
