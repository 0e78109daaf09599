import COpenSSL
import Glibc

/// Keeps the threads of event loops out of libcurl and OpenSSL while the process ends.
///
/// OpenSSL 1.1.0 to 3.x frees the memory that all threads use in a function that it registers with `atexit`, while
/// other threads run; libcurl, in all versions, has it do so. A program that returned from `main` with a TLS transfer
/// under way was ended by a signal once in twelve times. There are two remedies:
///
/// - OpenSSL is initialized with an option against that, which only counts if OpenSSL was not used in the process
///   before.
/// - A function that is registered after OpenSSL's, and so is called before it, lets each loop come to the end of its
///   turn, and no further. It waits for that, but for no longer than a second, and not for the thread that calls
///   `exit`.
// Safety: the functions are called with constants; `atexit` is given a function without a context.
enum ExitGate {
    /// Has the process end well; to be asked before the first use of OpenSSL or libcurl.
    static let isSet: Bool = {
        let isInitialized = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1
        return atexit { ExitGate.close() } == 0 && isInitialized
    }()

    /// The process that has set the gate: in one that was forked off, there are no threads to wait for.
    private static let process = getpid()

    private struct State {
        var isClosed = false
        var running: [ObjectIdentifier: ActiveLoop] = [:]
    }

    /// A loop that has threads: one that runs it, if it has not ended yet, and those that are about to end.
    private struct ActiveLoop {
        let loop: EventLoop
        var threads: Int
    }

    private static let state = Locked(State())

    /// How long the process's end may wait, in nanoseconds.
    private static let exitTimeout: Int64 = 1_000_000_000

    /// A loop's thread begins; returns whether it may.
    static func enters(_ loop: EventLoop) -> Bool {
        _ = process
        return state.withLock { state in
            guard !state.isClosed else { return false }
            state.running[ObjectIdentifier(loop), default: ActiveLoop(loop: loop, threads: 0)].threads += 1
            return true
        }
    }

    /// A loop's thread is about to end.
    static func leaves(_ loop: EventLoop) {
        // Otherwise OpenSSL does this when the thread has ended for all other code.
        OPENSSL_thread_stop()
        state.withLock { state in
            let key = ObjectIdentifier(loop)
            state.running[key]?.threads -= 1
            if state.running[key]?.threads == 0 { state.running[key] = nil }
        }
    }

    /// Keeps a thread until the process has ended.
    static func park() -> Never {
        while true { pause() }
    }

    private static func close() {
        guard getpid() == process else { return }
        let loops = state.withLock { state in
            state.isClosed = true
            return Array(state.running.values)
        }
        for running in loops { running.loop.processExits() }
        let deadline = MonotonicClock.now() + exitTimeout
        while MonotonicClock.now() < deadline {
            let isQuiet = state.withLock { Array($0.running.values) }.allSatisfy {
                $0.loop.isCurrentThread || $0.loop.isParked(threads: $0.threads)
            }
            if isQuiet { return }
            usleep(200)
        }
    }
}
