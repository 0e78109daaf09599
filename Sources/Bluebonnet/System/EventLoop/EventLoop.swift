import BluebonnetLibc
import CSystem
import Synchronization

/// A loop that runs the transfers of sessions on one thread.
///
/// A session creates its own loop unless its configuration contains one. Several sessions can share a loop and its
/// thread. The loop is also a task executor. If a task prefers the loop, each request needs fewer thread switches:
///
/// ```swift
/// await withTaskExecutorPreference(session.executor) { … }
/// ```
///
/// The loop runs the transfers of its sessions, their timers, and the tasks that prefer the loop. It also runs
/// synchronous trust evaluators and the closure of a ``ServerTrustManager``. The observers and body receivers that you
/// pass to a ``CurlTransport`` also run on the loop. Other code that you pass to a session runs on the loop only if a
/// task that prefers the loop calls it. Code on the loop must not block.
///
/// The thread starts with the first work, which is a request or a task that prefers the loop. The thread ends when all
/// transports are shut down and no work is left. New work starts the thread again.
public final class EventLoop: TaskExecutor {
    private let name: String
    private let inbox = Locked(LoopInbox())
    private let serial = LoopSerialExecutor()

    /// Safety: used only on the loop's thread, of which there is one at a time, ordered by the inbox's lock.
    nonisolated(unsafe) private let reactor: Reactor

    /// Safety: used only on the loop's thread, like `reactor`.
    nonisolated(unsafe) private var clients: [any EventLoopClient] = []

    /// Whether transfers are refused because the system cannot start a thread for the loop.
    var isRefusing: Bool { refusal.load(ordering: .relaxed) }
    private let refusal = Atomic<Bool>(false)

    /// The number of turns since the sockets were last polled.
    ///
    /// Safety: used only on the loop's thread, like `reactor`.
    nonisolated(unsafe) private var turnsSincePoll = 0

    /// Creates a loop, whose thread starts with the first work.
    ///
    /// - Parameter name: The name of the thread in debuggers; `bluebonnet` by default. Linux keeps only the first 15
    ///   bytes.
    public init(name: String = "bluebonnet") {
        self.name = name
        unsafe reactor = Reactor()
        serial.belongs(to: self)
    }

    /// The executor for actors that run on the loop.
    ///
    /// This is a separate executor, because the runtime must know which of the loop's jobs belong to an actor.
    /// Otherwise, a task that prefers the loop would be enqueued again at each call of an `async` function.
    package func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        unsafe UnownedSerialExecutor(ordinary: serial)
    }

    /// Whether the system has provided the descriptors that the loop needs.
    var isUsable: Bool { unsafe reactor.isUsable }

    // MARK: Work from anywhere

    /// Runs a closure on the loop's thread; closures run in the order in which they were submitted.
    package func submit(_ work: @escaping @Sendable () -> Void) {
        accept(.closure(work))
    }

    /// Runs a job of the Swift runtime on the loop's thread.
    ///
    /// - Parameter job: The job to run.
    public func enqueue(_ job: consuming ExecutorJob) {
        accept(.job(UnownedJob(job)))
    }

    /// Keeps the thread alive until ``detach()`` is called as often as this method.
    package func attach() {
        perform(inbox.withLock { $0.attached() })
    }

    /// Reverts one call of ``attach()``.
    ///
    /// The thread ends when all calls are reverted and no work is left.
    package func detach() {
        perform(inbox.withLock { $0.detached() })
    }

    fileprivate func accept(_ entry: LoopInbox.Entry) {
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

    /// The reactor for a caller on the loop's thread; traps on any other thread.
    private var ownReactor: Reactor {
        serial.checkIsolated()
        return unsafe reactor
    }

    package var isCurrentThread: Bool {
        serial.isCurrentThread
    }

    // MARK: On the loop's thread

    /// Adds a client that is called in every turn of the loop.
    package func add(_ client: any EventLoopClient) {
        serial.checkIsolated()
        unsafe clients.append(client)
    }

    /// Removes a client.
    package func remove(_ client: any EventLoopClient) {
        serial.checkIsolated()
        unsafe clients.removeAll { $0 === client }
    }

    /// Calls `handler` whenever `descriptor` is ready, level-triggered, until it is unwatched.
    ///
    /// If the system refuses to watch the descriptor, `handler` is called with `.refused`. While the interest is empty,
    /// `idleHandler` is called once for incoming bytes, and once when the peer has closed the connection.
    package func watch(
        _ descriptor: Int32, for interest: Interest, by owner: ObjectIdentifier? = nil,
        whileIdle idleHandler: ((Readiness) -> Void)? = nil, _ handler: @escaping (Readiness) -> Void
    ) {
        ownReactor.watch(descriptor, for: interest, by: owner, whileIdle: idleHandler, handler)
    }

    /// Polls the descriptors and handles their events, if work was done since the last poll.
    func pollIfStale() {
        serial.checkIsolated()
        guard unsafe turnsSincePoll > 0 else { return }
        unsafe turnsSincePoll = 0
        unsafe reactor.wait(until: 0)
        unsafe reactor.dispatch()
    }

    /// Changes the interest in a watched descriptor.
    ///
    /// A descriptor without interest stays registered, which saves system calls.
    package func setInterest(_ interest: Interest, of descriptor: Int32) {
        ownReactor.setInterest(interest, of: descriptor)
    }

    /// The interest in a watched descriptor.
    package func interest(in descriptor: Int32) -> Interest { ownReactor.interest(in: descriptor) }

    /// Allows another call of a descriptor's idle handler, even for unread bytes that were already reported.
    package func rearmIdleHandler(of descriptor: Int32) { ownReactor.rearmIdleHandler(of: descriptor) }

    /// Stops watching a descriptor, which must still be open.
    package func unwatch(_ descriptor: Int32) { ownReactor.unwatch(descriptor) }

    /// Whether an owner watches a descriptor.
    package func isWatching(_ descriptor: Int32, for owner: ObjectIdentifier) -> Bool {
        ownReactor.isWatching(descriptor, for: owner)
    }

    /// Runs an action once, after a delay.
    package func schedule(after delay: Duration, _ action: @escaping () -> Void) -> TimerID {
        ownReactor.timers.schedule(at: MonotonicClock.now() + delay.nanoseconds, action)
    }

    /// Cancels a scheduled action; does nothing if the action has already run.
    package func cancel(_ timer: TimerID) { ownReactor.timers.cancel(timer) }

    private func startThread() {
        guard !DetachedThread.start(name: name, { self.run() }) else { return }
        // The system has no more threads or memory. The caller that submitted the work must not wait.
        Task.detached { await self.startLater() }
    }

    /// Tries to start the thread for two seconds, and then refuses the pending transfers.
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
            // Work that results from this turn is done before the sockets are polled, because polling is a system call.
            // There is a limit, so that the sockets do not have to wait too long.
            if next == .poll, unsafe turnsSincePoll < Self.turnsPerPoll { continue }
            // Once the inbox has returned `stop`, another thread may own the loop.
            if next != .stop { unsafe turnsSincePoll = 0 }
            switch next {
            case .stop:
                // The system may reuse the ID for another thread.
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

    /// Called when the process exits: the thread finishes its turn and then does nothing more.
    func processExits() { inbox.withLock { $0.exits() } }

    /// Whether the loop has stopped because the process exits, and the given number of threads are still running.
    func isParked(threads: Int) -> Bool { inbox.withLock { $0.isParked(threads: threads) } }

    /// The limits before the sockets are polled: the number of turns, and how often the inbox is emptied per turn.
    private static let turnsPerPoll = 4
    private static let roundsPerTurn = 16

    /// Runs the work in the inbox, and the work that results from it.
    private func runBatch(_ batch: inout [LoopInbox.Entry]) {
        for _ in 0..<Self.roundsPerTurn {
            inbox.withLock { $0.took(into: &batch) }
            guard !batch.isEmpty else { return }
            // Accessed by index, because an iterator would share the array's storage, which is reused.
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

    /// Runs due timers and calls the clients; returns the latest time at which one of them must be called again.
    private func runClients() -> Int64? {
        var deadline = unsafe reactor.runDueTimers()
        for client in unsafe clients {
            if let time = client.loopWillWait() { deadline = min(deadline ?? time, time) }
        }
        return deadline
    }
}

/// A type that is called in every turn of an event loop.
package protocol EventLoopClient: AnyObject {
    /// Called on the loop's thread, after the work of a turn and before the loop waits.
    ///
    /// - Returns: The latest time for the next call, in nanoseconds on the monotonic clock; `nil` for no limit.
    func loopWillWait() -> Int64?
}

/// Identifies a scheduled action.
package struct TimerID: Hashable, Sendable {
    let number: UInt64
}

/// The events for which a descriptor is watched.
package struct Interest: OptionSet, Sendable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }
    package static let readable = Interest(rawValue: bb_epoll_in)
    package static let writable = Interest(rawValue: bb_epoll_out)
}

/// The events for which a descriptor is ready.
package struct Readiness: OptionSet, Sendable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }
    package static let readable = Readiness(rawValue: bb_epoll_in)
    package static let writable = Readiness(rawValue: bb_epoll_out)
    package static let error = Readiness(rawValue: bb_epoll_error)
    package static let hangup = Readiness(rawValue: bb_epoll_hangup)
    /// The peer has closed its side of the connection, although unread bytes may remain.
    package static let peerClosed = Readiness(rawValue: bb_epoll_peer_closed)
    /// The system cannot watch the descriptor.
    ///
    /// This is always combined with ``error``. Without this event, ``error`` may mean that the connection was reset.
    package static let refused = Readiness(rawValue: bb_epoll_refused)
}

extension Duration {
    /// The duration in nanoseconds, clamped to half the range of `Int64`.
    package var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        guard seconds < Int64.max / 2_000_000_000 else { return Int64.max / 2 }
        guard seconds > Int64.min / 2_000_000_000 else { return Int64.min / 2 }
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}

/// Runs the jobs of actors that run on an event loop.
private final class LoopSerialExecutor: SerialExecutor {
    /// Safety: set once, by the loop's initializer, before any other code knows the executor; the loop owns it.
    nonisolated(unsafe) private unowned var loop: EventLoop?

    /// The thread that runs the jobs; 0 if there is none.
    private let thread = Atomic<UInt>(0)

    private static var currentThread: UInt { UInt(pthread_self()) }

    var isCurrentThread: Bool { thread.load(ordering: .relaxed) == Self.currentThread }

    func belongs(to loop: EventLoop) {
        unsafe self.loop = loop
    }

    func beginOnThisThread() {
        thread.store(Self.currentThread, ordering: .relaxed)
    }

    /// Clears the thread, unless another thread has begun in the meantime.
    func endOnThisThread() {
        _ = thread.compareExchange(expected: Self.currentThread, desired: 0, ordering: .relaxed)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        guard let loop = unsafe loop else { preconditionFailure("an executor is used after its loop is gone") }
        loop.accept(.isolatedJob(UnownedJob(job)))
    }

    func isIsolatingCurrentContext() -> Bool? {
        isCurrentThread
    }

    func checkIsolated() {
        precondition(isCurrentThread, "not on the event loop's thread")
    }
}

/// Starts threads that are never joined.
// Safety: the thread takes over the reference to its work; the system's types are passed only within the calls.
enum DetachedThread {
    private final class ThreadStart: Sendable {
        let name: String
        let body: @Sendable () -> Void

        init(_ name: String, _ body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }

    /// Starts a thread that receives no signals except faults; returns whether the system allowed it.
    ///
    /// Signals are for the program's own threads. A write to a closed socket must not raise SIGPIPE.
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
