import BluebonnetLibc
import CSystem

/// Waits for descriptors and timers for an event loop; belongs to the loop's thread.
///
/// Changes of interest are collected, and made just before the wait. If an interest becomes empty, it stays registered
/// in the kernel until an unwanted event occurs. The reuse of an idle connection therefore needs no system call.
// Safety: the kernel writes into the buffer only within the call, and at most its length. Only the loop's thread uses
// the unchecked properties; see ``Transfer``.
final class Reactor {
    private struct Watch {
        var wanted: UInt32 = 0
        /// The events registered with the kernel, without the peer's close; `nil` if the descriptor is not registered.
        var registered: UInt32?
        var isChanged = false
        var handler: ((Readiness) -> Void)?
        /// The owner of the watch.
        var owner: ObjectIdentifier?
        /// The handler for events while the interest is empty.
        ///
        /// It is called only once for incoming bytes until there is an interest again.
        var idleHandler: ((Readiness) -> Void)?
        var isIdleReported = false

        /// The events that the kernel must report once the descriptor is registered.
        var awaited: UInt32 { wanted == 0 && idleHandler != nil && !isIdleReported ? bb_epoll_in : wanted }

        /// Sets the wanted events; returns whether this is the first change since the kernel was informed.
        mutating func setInterest(_ interest: Interest) -> Bool {
            guard handler != nil else { return false }
            wanted = interest.rawValue
            if wanted != 0 { isIdleReported = false }
            defer { isChanged = true }
            return !isChanged
        }
    }

    var timers = TimerQueue()

    private let epoll: Int32
    private let wakeup: Int32
    /// Indexed by descriptor, because descriptors are small numbers.
    #if !DEBUG
        @safe @exclusivity(unchecked)
    #endif
    private var watches: [Watch] = []
    #if !DEBUG
        @safe @exclusivity(unchecked)
    #endif
    private var changed: [Int32] = []
    /// The descriptors that the kernel refused to watch in the last attempt, and the error codes.
    private var refused: [(descriptor: Int32, code: Int32)] = []
    private var ready: [bb_epoll_ready]
    private var readyCount = 0

    init() {
        epoll = bb_epoll_create()
        wakeup = bb_eventfd_create()
        ready = Array(repeating: bb_epoll_ready(), count: 256)
        _ = bb_epoll_add(epoll, wakeup, bb_epoll_in)
    }

    deinit {
        close(epoll)
        close(wakeup)
    }

    /// Whether the kernel provided the descriptors that waiting needs.
    var isUsable: Bool { epoll >= 0 && wakeup >= 0 }

    /// Ends the current or the next wait; the only method that other threads may call.
    func wake() {
        bb_eventfd_signal(wakeup)
    }

    func watch(
        _ descriptor: Int32, for interest: Interest, by owner: ObjectIdentifier?,
        whileIdle idleHandler: ((Readiness) -> Void)?, _ handler: @escaping (Readiness) -> Void
    ) {
        let index = Int(descriptor)
        // The descriptor of an earlier watch was refused, which may have been closed.
        if !refused.isEmpty { refused.removeAll { $0.descriptor == descriptor } }
        while watches.count <= index { watches.append(Watch()) }
        watches[index].handler = handler
        watches[index].owner = owner
        watches[index].idleHandler = idleHandler
        setInterest(interest, of: descriptor)
    }

    func isWatching(_ descriptor: Int32) -> Bool {
        watches.indices.contains(Int(descriptor)) && watches[Int(descriptor)].handler != nil
    }

    func isWatching(_ descriptor: Int32, for owner: ObjectIdentifier) -> Bool {
        isWatching(descriptor) && watches[Int(descriptor)].owner == owner
    }

    func setInterest(_ interest: Interest, of descriptor: Int32) {
        let index = Int(descriptor)
        guard watches.indices.contains(index), watches[index].setInterest(interest) else { return }
        changed.append(descriptor)
    }

    func interest(in descriptor: Int32) -> Interest { Interest(rawValue: watches[Int(descriptor)].wanted) }

    /// Allows another call of the idle handler, even for unread bytes that were already reported.
    func rearmIdleHandler(of descriptor: Int32) {
        let index = Int(descriptor)
        guard watches.indices.contains(index), watches[index].isIdleReported else { return }
        watches[index].isIdleReported = false
        setInterest(Interest(rawValue: watches[index].wanted), of: descriptor)
    }

    func unwatch(_ descriptor: Int32) {
        guard isWatching(descriptor) else { return }
        let index = Int(descriptor)
        if watches[index].registered != nil { _ = bb_epoll_delete(epoll, descriptor) }
        // The entry in `changed` may stay. Without a handler it is skipped, and with a new handler it is valid again.
        let isChanged = watches[index].isChanged
        watches[index] = Watch()
        watches[index].isChanged = isChanged
    }

    /// Runs the timers that are due; returns the deadline of the next one.
    func runDueTimers() -> Int64? {
        guard timers.count > 0 else { return nil }
        let now = MonotonicClock.now()
        while let action = timers.popDue(at: now) { action() }
        return timers.earliestDeadline
    }

    /// Waits until a time on the monotonic clock; 0 means not to wait, and `.max` to wait indefinitely.
    func wait(until deadline: Int64) {
        makeChanges()
        let nanoseconds: Int64 =
            switch deadline {
            case _ where !refused.isEmpty: 0
            case 0: 0
            case .max: -1
            default: max(0, deadline - MonotonicClock.now())
            }
        guard isUsable else {
            // Without these descriptors, no socket can be watched, but submitted work still runs.
            usleep(1000)
            readyCount = 0
            return
        }
        let count = unsafe ready.withUnsafeMutableBufferPointer { buffer in
            unsafe bb_epoll_wait(epoll, buffer.baseAddress, Int32(buffer.count), nanoseconds)
        }
        readyCount = max(0, Int(count))
    }

    /// Calls the handlers of the descriptors that the last wait found ready.
    func dispatch() {
        for index in 0..<readyCount {
            let event = ready[index]
            guard event.descriptor != wakeup else {
                bb_eventfd_clear(wakeup)
                continue
            }
            deliver(event)
        }
        readyCount = 0
        guard !refused.isEmpty else { return }
        // Otherwise, the owner of a descriptor that cannot be watched would wait indefinitely.
        for (descriptor, _) in refused where isWatching(descriptor) {
            watches[Int(descriptor)].handler?([.error, .refused])
        }
        refused.removeAll(keepingCapacity: true)
    }

    private func deliver(_ event: bb_epoll_ready) {
        let index = Int(event.descriptor)
        guard watches.indices.contains(index), let handler = watches[index].handler else { return }
        let awaited = watches[index].wanted | bb_epoll_error | bb_epoll_hangup
        guard watches[index].wanted == 0 || event.events & awaited == 0 else {
            return handler(Readiness(rawValue: event.events))
        }
        // No handler waits for this event. The kernel must no longer report the bytes, because it would report them
        // repeatedly. It must only report that the peer has closed, and nothing afterwards.
        let isOver = event.events & (bb_epoll_error | bb_epoll_hangup | bb_epoll_peer_closed) != 0
        if !isOver, watches[index].wanted == 0, modify(event.descriptor, 0) {
            watches[index].registered = 0
        } else if watches[index].registered != nil {
            _ = bb_epoll_delete(epoll, event.descriptor)
            watches[index].registered = nil
        }
        if watches[index].wanted == 0 { watches[index].isIdleReported = true }
        setInterest(Interest(rawValue: watches[index].wanted), of: event.descriptor)
        if watches[index].wanted == 0 { watches[index].idleHandler?(Readiness(rawValue: event.events)) }
    }

    /// The events that the kernel reports for a descriptor.
    ///
    /// They include the peer's close, unless only writing is wanted.
    private func mask(_ wanted: UInt32) -> UInt32 {
        wanted == bb_epoll_out ? wanted : wanted | bb_epoll_peer_closed
    }

    private func modify(_ descriptor: Int32, _ wanted: UInt32) -> Bool {
        bb_epoll_modify(epoll, descriptor, mask(wanted)) == 0
    }

    private func makeChanges() {
        for descriptor in changed {
            let index = Int(descriptor)
            watches[index].isChanged = false
            let (wanted, awaited) = (watches[index].wanted, watches[index].awaited)
            guard watches[index].handler != nil, awaited != watches[index].registered else { continue }
            guard let registered = watches[index].registered else {
                guard awaited != 0 else { continue }
                let code = bb_epoll_add(epoll, descriptor, mask(awaited))
                if code == 0 { watches[index].registered = awaited } else { refused.append((descriptor, code)) }
                continue
            }
            // An unneeded interest in reading may stay, but an unneeded interest in writing would cause endless
            // reports.
            if wanted == 0, registered == bb_epoll_in { continue }
            watches[index].registered = modify(descriptor, awaited) ? awaited : nil
            if watches[index].registered == nil, wanted != 0 { refused.append((descriptor, bb_errno())) }
        }
        changed.removeAll(keepingCapacity: true)
    }
}

/// Stores timers with their deadlines, the earliest first.
///
/// There are few timers, because libcurl or the engine handles the time limits of transfers.
struct TimerQueue {
    /// The timer with the latest deadline comes first; among equal deadlines, the timer that was scheduled last.
    private var entries: [(deadline: Int64, id: TimerID, action: () -> Void)] = []
    private var lastNumber: UInt64 = 0

    /// The number of scheduled actions.
    var count: Int { entries.count }

    /// The deadline of the earliest action.
    var earliestDeadline: Int64? { entries.last?.deadline }

    mutating func schedule(at deadline: Int64, _ action: @escaping () -> Void) -> TimerID {
        lastNumber += 1
        let id = TimerID(number: lastNumber)
        let place = entries.firstIndex { $0.deadline <= deadline } ?? entries.endIndex
        entries.insert((deadline, id, action), at: place)
        return id
    }

    mutating func cancel(_ id: TimerID) {
        entries.removeAll { $0.id == id }
    }

    /// Removes the earliest action if it is due.
    mutating func popDue(at now: Int64) -> (() -> Void)? {
        guard let earliest = entries.last, earliest.deadline <= now else { return nil }
        return entries.removeLast().action
    }
}
