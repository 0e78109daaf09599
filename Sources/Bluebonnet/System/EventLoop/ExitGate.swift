import BluebonnetLibc
import COpenSSL

/// Prevents the threads of event loops from using libcurl and OpenSSL while the process exits.
///
/// OpenSSL 1.1.0 to 3.x registers a function with `atexit` that frees memory while other threads still use it. All
/// versions of libcurl cause this registration. In one of twelve runs, a signal killed a program that returned from
/// `main` during a TLS transfer. There are two remedies:
///
/// - OpenSSL is initialized with an option that prevents the registration. The option takes effect only if the process
///   has not used OpenSSL before.
/// - A function is registered after OpenSSL's function, and is therefore called first. It stops each loop at the end of
///   its turn. It waits for at most one second, and does not wait for the thread that calls `exit`.
// Safety: the functions are called with constants; `atexit` receives a function without a context.
enum ExitGate {
    /// Whether the gate is set up; must be read before the first use of OpenSSL or libcurl.
    static let isSet: Bool = {
        let isInitialized = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1
        return atexit { ExitGate.close() } == 0 && isInitialized
    }()

    /// The process that has set up the gate; a forked process has no threads to wait for.
    private static let process = getpid()

    private struct State {
        var isClosed = false
        /// The loops with their threads: the thread that runs a loop, if it has not ended, and others that soon end.
        ///
        /// An array, because the keys of a dictionary would not be `Int`; see ``TransferID``.
        var running: [(loop: EventLoop, threads: Int)] = []
    }

    private static let state = Locked(State())

    /// The maximum time in nanoseconds by which the exit of the process is delayed.
    private static let exitTimeout: Int64 = 1_000_000_000

    /// Called when a loop's thread begins; returns whether it may run.
    static func enters(_ loop: EventLoop) -> Bool {
        _ = process
        return state.withLock { state in
            guard !state.isClosed else { return false }
            if let index = state.running.firstIndex(where: { $0.loop === loop }) {
                state.running[index].threads += 1
            } else {
                state.running.append((loop, 1))
            }
            return true
        }
    }

    /// Called when a loop's thread is about to end.
    static func leaves(_ loop: EventLoop) {
        // Otherwise, OpenSSL would do this after the thread has already ended for all other code.
        OPENSSL_thread_stop()
        state.withLock { state in
            guard let index = state.running.firstIndex(where: { $0.loop === loop }) else { return }
            state.running[index].threads -= 1
            if state.running[index].threads == 0 { state.running.remove(at: index) }
        }
    }

    /// Blocks the calling thread until the process has exited.
    static func park() -> Never {
        while true { pause() }
    }

    private static func close() {
        guard getpid() == process else { return }
        let loops = state.withLock { state in
            state.isClosed = true
            return state.running
        }
        for running in loops { running.loop.processExits() }
        let deadline = MonotonicClock.now() + exitTimeout
        while MonotonicClock.now() < deadline {
            let isQuiet = state.withLock { $0.running }.allSatisfy {
                $0.loop.isCurrentThread || $0.loop.isParked(threads: $0.threads)
            }
            if isQuiet { return }
            usleep(200)
        }
    }
}
