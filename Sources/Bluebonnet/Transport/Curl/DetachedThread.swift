import CSystem
import Glibc

/// Starts threads that nobody waits for.
// Safety: the thread takes over the reference to its work; the system's types are passed within the calls.
enum DetachedThread {
    private final class Work: Sendable {
        let name: String
        let body: @Sendable () -> Void

        init(_ name: String, _ body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }

    /// Starts a thread, which gets none of the program's signals; returns whether the system let it.
    ///
    /// Signals are for the program's own threads, and a write to a closed socket must not raise SIGPIPE.
    static func start(name: String, _ body: @escaping @Sendable () -> Void) -> Bool {
        var attributes = pthread_attr_t()
        unsafe pthread_attr_init(&attributes)
        unsafe pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        defer { unsafe pthread_attr_destroy(&attributes) }
        var all = sigset_t()
        var previous = sigset_t()
        unsafe sigfillset(&all)
        for fault in [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT] { unsafe sigdelset(&all, fault) }
        // The thread inherits the mask.
        unsafe pthread_sigmask(SIG_SETMASK, &all, &previous)
        defer { unsafe pthread_sigmask(SIG_SETMASK, &previous, nil) }
        var thread = pthread_t()
        let work = unsafe Unmanaged.passRetained(Work(name, body))
        let code = unsafe pthread_create(
            &thread, &attributes,
            { context in
                guard let context = unsafe context else { return nil }
                let work = unsafe Unmanaged<Work>.fromOpaque(context).takeRetainedValue()
                unsafe bb_name_current_thread(work.name)
                work.body()
                return nil
            }, work.toOpaque())
        if code != 0 { unsafe work.release() }
        return code == 0
    }
}
