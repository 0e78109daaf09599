import CSystem
import Glibc

/// Waits for descriptors and timers on behalf of an event loop; belongs to the loop's thread.
///
/// Changes of interest are collected and made just before waiting, and an interest that has become empty stays in the
/// kernel until an event proves it a nuisance: a kept-alive connection that is used again costs no system call.
// Safety: the kernel writes into the buffer within the call that it is given to, and no more than its length.
final class Reactor {
    private struct Watch {
        var wanted: UInt32 = 0
        /// What the kernel knows; `nil` when it does not know the descriptor.
        var registered: UInt32?
        var isChanged = false
        var handler: ((Readiness) -> Void)?

        /// Notes a wish; returns whether the kernel is to hear of a change that it was not to hear of before.
        mutating func want(_ interest: Interest) -> Bool {
            guard handler != nil else { return false }
            wanted = interest.rawValue
            defer { isChanged = true }
            return !isChanged
        }
    }

    var timers = TimerHeap()

    private let epoll: Int32
    private let wakeup: Int32
    /// Indexed by descriptor, since those are small numbers.
    private var watches: [Watch] = []
    private var changed: [Int32] = []
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

    /// Whether the kernel gave the descriptors that waiting needs.
    var isUsable: Bool { epoll >= 0 && wakeup >= 0 }

    static func now() -> Int64 { bb_monotonic_now() }

    /// Ends the current or the next wait; the only method for other threads.
    func wake() {
        bb_eventfd_signal(wakeup)
    }

    func watch(_ descriptor: Int32, for interest: Interest, _ handler: @escaping (Readiness) -> Void) {
        let index = Int(descriptor)
        while watches.count <= index { watches.append(Watch()) }
        watches[index].handler = handler
        setInterest(interest, of: descriptor)
    }

    func isWatching(_ descriptor: Int32) -> Bool {
        watches.indices.contains(Int(descriptor)) && watches[Int(descriptor)].handler != nil
    }

    func setInterest(_ interest: Interest, of descriptor: Int32) {
        let index = Int(descriptor)
        guard watches.indices.contains(index), watches[index].want(interest) else { return }
        changed.append(descriptor)
    }

    func unwatch(_ descriptor: Int32) {
        guard isWatching(descriptor) else { return }
        let index = Int(descriptor)
        if watches[index].registered != nil { _ = bb_epoll_delete(epoll, descriptor) }
        // The place in `changed` may stay: without a handler it is skipped, with a new one it is right again.
        let isChanged = watches[index].isChanged
        watches[index] = Watch()
        watches[index].isChanged = isChanged
    }

    /// Does what is due; returns when the next is.
    func runDueTimers() -> Int64? {
        guard timers.count > 0 else { return nil }
        let now = Self.now()
        while let action = timers.popDue(at: now) { action() }
        return timers.earliestDeadline
    }

    /// Waits until a time on the monotonic clock (0: not at all, `.max`: for ever).
    func wait(until deadline: Int64) {
        makeChanges()
        let nanoseconds: Int64 =
            switch deadline {
            case 0: 0
            case .max: -1
            default: max(0, deadline - Self.now())
            }
        guard isUsable else {
            // Without descriptors nothing can be watched, but submitted work is still done.
            usleep(1000)
            readyCount = 0
            return
        }
        let count = unsafe ready.withUnsafeMutableBufferPointer { buffer in
            unsafe bb_epoll_wait(epoll, buffer.baseAddress, Int32(buffer.count), nanoseconds)
        }
        readyCount = max(0, Int(count))
    }

    /// Calls the handlers of what the last wait found ready.
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
    }

    private func deliver(_ event: bb_epoll_ready) {
        let index = Int(event.descriptor)
        guard watches.indices.contains(index), let handler = watches[index].handler else { return }
        let awaited = watches[index].wanted | bb_epoll_error | bb_epoll_hangup
        guard watches[index].wanted != 0, event.events & awaited != 0 else {
            // Nobody waits for this: have the kernel forget it, or it would tell us again and again.
            if watches[index].registered != nil { _ = bb_epoll_delete(epoll, event.descriptor) }
            watches[index].registered = nil
            return setInterest(Interest(rawValue: watches[index].wanted), of: event.descriptor)
        }
        handler(Readiness(rawValue: event.events))
    }

    private func makeChanges() {
        for descriptor in changed {
            let index = Int(descriptor)
            watches[index].isChanged = false
            let wanted = watches[index].wanted
            guard watches[index].handler != nil, wanted != watches[index].registered else { continue }
            guard let registered = watches[index].registered else {
                if wanted != 0, bb_epoll_add(epoll, descriptor, wanted) == 0 { watches[index].registered = wanted }
                continue
            }
            // Readable interest may outlive its need; writable interest would report at once, for ever.
            if wanted == 0, registered == bb_epoll_in { continue }
            watches[index].registered = bb_epoll_modify(epoll, descriptor, wanted) == 0 ? wanted : nil
        }
        changed.removeAll(keepingCapacity: true)
    }
}
