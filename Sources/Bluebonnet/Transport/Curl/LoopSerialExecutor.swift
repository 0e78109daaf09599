import Glibc
import Synchronization

/// Runs the jobs of actors that live on an event loop.
final class LoopSerialExecutor: SerialExecutor {
    /// Safety: set once, by the loop's initializer, before anyone else knows of the executor; the loop owns it.
    nonisolated(unsafe) private unowned var loop: EventLoop?

    /// The thread that runs the jobs, or 0.
    private let thread = Atomic<UInt>(0)

    private static var currentThread: UInt { UInt(pthread_self()) }

    var isCurrentThread: Bool { thread.load(ordering: .relaxed) == Self.currentThread }

    func belongs(to loop: EventLoop) {
        unsafe self.loop = loop
    }

    func beginOnThisThread() {
        thread.store(Self.currentThread, ordering: .relaxed)
    }

    /// Does nothing if another thread has begun since.
    func endOnThisThread() {
        _ = thread.compareExchange(expected: Self.currentThread, desired: 0, ordering: .relaxed)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        guard let loop = unsafe loop else { preconditionFailure("an executor is used after its loop is gone") }
        loop.enqueueIsolated(UnownedJob(job))
    }

    func isIsolatingCurrentContext() -> Bool? {
        isCurrentThread
    }

    func checkIsolated() {
        precondition(isCurrentThread, "not on the event loop's thread")
    }
}
