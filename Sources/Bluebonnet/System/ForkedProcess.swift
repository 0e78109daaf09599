import BluebonnetLibc
import Synchronization

/// Whether this process is a copy that `fork()` has made of a process that had sent a request.
///
/// The copy has only the thread that called `fork()`: neither the threads of event loops nor those of Swift's tasks. A
/// request could not end there, and the other threads may have held any lock.
enum ForkedProcess {
    private static let copied = Atomic(false)

    /// Whether the system tells the copy; it is first read when the first request begins.
    private static let isWatching: Bool = {
        // The value must exist before the system calls the function.
        _ = copied.load(ordering: .relaxed)
        return pthread_atfork(nil, nil) { ForkedProcess.copied.store(true, ordering: .relaxed) } == 0
    }()

    static var isCopy: Bool { isWatching && copied.load(ordering: .relaxed) }
}
