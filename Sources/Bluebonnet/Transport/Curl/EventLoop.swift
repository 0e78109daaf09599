import CSystem
import Glibc
import Synchronization

/// Runs everything that touches the network on one thread that waits for sockets, timers and work.
///
/// A session makes a loop of its own unless its configuration hands it one; several sessions can share a loop, and so a
/// thread. As a task executor it saves the hops between threads to a task that prefers it:
///
/// ```swift
/// await withTaskExecutorPreference(session.executor) { … }
/// ```
///
/// Runs here: the session's transfers, timers, socket readiness, and the tasks that prefer this executor. Never runs
/// here: code of the user's, but for those tasks and for synchronous trust evaluators. Code on the loop must not block.
///
/// The thread runs while the loop has clients or pending jobs. A later job starts it again, so no job is lost.
public final class EventLoop: TaskExecutor {
    private let name: String
    private let inbox = Locked(LoopInbox())
    private let serial = LoopSerialExecutor()

    /// Safety: used on the loop's thread alone, of which there is one at a time; the inbox's lock orders them.
    nonisolated(unsafe) private let reactor: Reactor

    /// Safety: as `reactor`.
    nonisolated(unsafe) private var clients: [any EventLoopClient] = []

    /// Whether transfers are refused, since the system has no thread for the loop.
    var isRefusing: Bool { refusal.load(ordering: .relaxed) }
    private let refusal = Atomic<Bool>(false)

    /// How many turns there were since the sockets were looked at.
    ///
    /// Safety: as `reactor`.
    nonisolated(unsafe) private var turnsSincePoll = 0

    /// Creates a loop; its thread starts with the first work.
    ///
    /// - Parameter name: The name of the thread in a debugger; 15 bytes of it are shown.
    public init(name: String = "bluebonnet") {
        self.name = name
        unsafe reactor = Reactor()
        serial.belongs(to: self)
    }

    /// The executor for actors that live on the loop.
    ///
    /// An executor of its own, since the runtime has to know which of a loop's jobs are an actor's: a task that prefers
    /// the loop would else be sent round the loop at each call of an `async` function.
    package func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        unsafe UnownedSerialExecutor(ordinary: serial)
    }

    // MARK: Work from anywhere

    /// Has work done on the loop's thread, in the order of submission.
    package func submit(_ work: @escaping @Sendable () -> Void) {
        accept(.closure(work))
    }

    /// Takes over a job of Swift's runtime.
    ///
    /// - Parameter job: The job to run on the loop's thread.
    public func enqueue(_ job: consuming ExecutorJob) {
        accept(.job(UnownedJob(job)))
    }

    fileprivate func enqueueIsolated(_ job: UnownedJob) {
        accept(.isolatedJob(job))
    }

    /// Keeps the thread alive until ``detach()`` is called as often.
    package func attach() {
        perform(inbox.withLock { $0.attached() })
    }

    /// Allows the thread to end when there is no more work.
    package func detach() {
        perform(inbox.withLock { $0.detached() })
    }

    private func accept(_ entry: LoopInbox.Entry) {
        perform(inbox.withLock { $0.accepted(entry) })
    }

    private func perform(_ action: LoopInbox.Action) {
        switch action {
        case .nothing: break
        case .wakeThread: unsafe reactor.wake()
        case .startThread: startThread()
        }
    }

    // MARK: Isolation

    /// Traps unless the caller is on the loop's thread.
    private func checkIsolated() {
        precondition(isCurrentThread, "not on the event loop's thread")
    }

    package var isCurrentThread: Bool {
        serial.isCurrentThread
    }

    // MARK: On the loop's thread

    /// Calls `client` in every turn of the loop.
    package func add(_ client: any EventLoopClient) {
        checkIsolated()
        unsafe clients.append(client)
    }

    /// Calls `client` no longer.
    package func remove(_ client: any EventLoopClient) {
        checkIsolated()
        unsafe clients.removeAll { $0 === client }
    }

    /// Calls `handler` whenever `descriptor` is ready, level-triggered, until it is unwatched; with `.refused` if the
    /// system will not watch it.
    ///
    /// While the interest is empty, `idleHandler` is called once when bytes came in, and once when the peer has closed.
    package func watch(
        _ descriptor: Int32, for interest: Interest, by owner: ObjectIdentifier? = nil,
        whileIdle idleHandler: ((Readiness) -> Void)? = nil, _ handler: @escaping (Readiness) -> Void
    ) {
        checkIsolated()
        unsafe reactor.watch(descriptor, for: interest, by: owner, whileIdle: idleHandler, handler)
    }

    /// Reports the descriptors that are ready by now, if work was done since that was last looked at.
    func pollIfStale() {
        checkIsolated()
        guard unsafe turnsSincePoll > 0 else { return }
        unsafe turnsSincePoll = 0
        unsafe reactor.wait(until: 0)
        unsafe reactor.dispatch()
    }

    /// Changes the interest in a watched descriptor; an empty interest keeps it registered, which saves calls.
    package func setInterest(_ interest: Interest, of descriptor: Int32) {
        checkIsolated()
        unsafe reactor.setInterest(interest, of: descriptor)
    }

    /// Lets a descriptor's idle handler be called again: at once if bytes wait that were reported to it before.
    package func rearmIdleHandler(of descriptor: Int32) {
        checkIsolated()
        unsafe reactor.rearmIdleHandler(of: descriptor)
    }

    /// Watches a descriptor no longer; to be called before it is closed.
    package func unwatch(_ descriptor: Int32) {
        checkIsolated()
        unsafe reactor.unwatch(descriptor)
    }

    /// Whether an owner watches a descriptor.
    package func isWatching(_ descriptor: Int32, for owner: ObjectIdentifier) -> Bool {
        checkIsolated()
        return unsafe reactor.isWatching(descriptor, for: owner)
    }

    /// Has an action done once, after a delay.
    package func schedule(after delay: Duration, _ action: @escaping () -> Void) -> TimerID {
        checkIsolated()
        return unsafe reactor.timers.schedule(at: MonotonicClock.now() + delay.nanoseconds, action)
    }

    /// Takes a scheduled action back; does nothing if it has been done.
    package func cancel(_ timer: TimerID) {
        checkIsolated()
        unsafe reactor.timers.cancel(timer)
    }

    private func startThread() {
        guard !DetachedThread.start(name: name, { self.run() }) else { return }
        // Out of threads or memory. The caller that brought the work does not wait for more.
        Task.detached { await self.startLater() }
    }

    /// Starts the thread when the system has one again; after a while, has the work refused.
    private func startLater() async {
        for _ in 0..<Self.startAttempts {
            try? await ContinuousClock().sleep(for: .milliseconds(20))
            if DetachedThread.start(name: name, { self.run() }) { return }
        }
        refusal.store(true, ordering: .relaxed)
        run()
        refusal.store(false, ordering: .relaxed)
    }

    private static let startAttempts = 100

    private func run() {
        guard ExitGate.enters(self) else { return inbox.withLock { $0.barred() } }
        serial.beginOnThisThread()
        var batch: [LoopInbox.Entry] = []
        while true {
            runBatch(&batch)
            let deadline = runClients()
            unsafe turnsSincePoll += 1
            let next = inbox.withLock { $0.willWait() }
            // Work that results from this turn is done before the sockets are asked, which is a system call; but not
            // indefinitely.
            if next == .poll, unsafe turnsSincePoll < Self.turnsPerPoll { continue }
            // From the inbox's `stop` on, the loop may be another thread's.
            if next != .stop { unsafe turnsSincePoll = 0 }
            switch next {
            case .stop:
                // The system may give another thread the same name.
                serial.endOnThisThread()
                return ExitGate.leaves(self)
            case .park: ExitGate.park()
            case .poll: unsafe reactor.wait(until: 0)
            case .sleep: unsafe reactor.wait(until: deadline ?? .max)
            }
            guard inbox.withLock({ $0.woke() }) else { ExitGate.park() }
            unsafe reactor.dispatch()
        }
    }

    /// The process ends: the thread comes to the end of its turn, and then does nothing more.
    func processExits() { inbox.withLock { $0.exits() } }

    /// Whether nothing is done any more since the process ends, if there are so many threads that have not ended.
    func isParked(threads: Int) -> Bool { inbox.withLock { $0.isParked(threads: threads) } }

    /// How many turns there may be, and how often the inbox may be emptied in one, before the sockets are looked at.
    private static let turnsPerPoll = 4
    private static let roundsPerTurn = 16

    /// Does the work in the inbox, and the work that results from it.
    private func runBatch(_ batch: inout [LoopInbox.Entry]) {
        for _ in 0..<Self.roundsPerTurn {
            inbox.withLock { $0.took(into: &batch) }
            guard !batch.isEmpty else { return }
            // By index: an iterator would share the storage, which is to be used again.
            for index in batch.indices {
                switch batch[index] {
                case .closure(let work): work()
                case .job(let job):
                    unsafe job.runSynchronously(on: asUnownedTaskExecutor())
                case .isolatedJob(let job):
                    unsafe job.runSynchronously(
                        isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
                }
            }
            batch.removeAll(keepingCapacity: true)
        }
    }

    /// Lets timers and clients act; returns when one of them wants to be called at the latest.
    private func runClients() -> Int64? {
        var deadline = unsafe reactor.runDueTimers()
        for client in unsafe clients {
            if let time = client.loopWillWait() { deadline = min(deadline ?? time, time) }
        }
        return deadline
    }
}

/// Has a part in every turn of an event loop.
package protocol EventLoopClient: AnyObject {
    /// Called on the loop's thread, after the work of a turn is done and before the loop waits.
    ///
    /// - Returns: When, on the monotonic clock in nanoseconds, the client wants to be called at the latest.
    func loopWillWait() -> Int64?
}

/// Names a scheduled action.
package struct TimerID: Hashable, Sendable {
    let number: UInt64
}

/// The events to watch a descriptor for.
package struct Interest: OptionSet, Sendable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }
    package static let readable = Interest(rawValue: bb_epoll_in)
    package static let writable = Interest(rawValue: bb_epoll_out)
}

/// The events that a descriptor is ready for.
package struct Readiness: OptionSet, Sendable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }
    package static let readable = Readiness(rawValue: bb_epoll_in)
    package static let writable = Readiness(rawValue: bb_epoll_out)
    package static let error = Readiness(rawValue: bb_epoll_error)
    package static let hangup = Readiness(rawValue: bb_epoll_hangup)
    /// The peer will send no more, though there may be bytes to read.
    package static let peerClosed = Readiness(rawValue: bb_epoll_peer_closed)
    /// The system does not watch the descriptor; with ``error``, which alone may come from a connection that was reset.
    package static let refused = Readiness(rawValue: bb_epoll_refused)
}

extension Duration {
    /// The duration in nanoseconds, or the largest number there is.
    package var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        guard seconds < Int64.max / 2_000_000_000 else { return Int64.max / 2 }
        guard seconds > Int64.min / 2_000_000_000 else { return Int64.min / 2 }
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}

/// Runs the jobs of actors that live on an event loop.
private final class LoopSerialExecutor: SerialExecutor {
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

/// Starts threads that no other thread joins.
// Safety: the thread takes over the reference to its work; the system's types are passed within the calls.
enum DetachedThread {
    private final class ThreadStart: Sendable {
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
        let work = unsafe Unmanaged.passRetained(ThreadStart(name, body))
        let code = unsafe pthread_create(
            &thread, &attributes,
            { context in
                guard let context = unsafe context else { return nil }
                let work = unsafe Unmanaged<ThreadStart>.fromOpaque(context).takeRetainedValue()
                unsafe bb_name_current_thread(work.name)
                work.body()
                return nil
            }, work.toOpaque())
        if code != 0 { unsafe work.release() }
        return code == 0
    }
}
