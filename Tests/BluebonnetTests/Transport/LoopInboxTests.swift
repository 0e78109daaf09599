import Testing

@testable import Bluebonnet

@Suite struct LoopInboxTests {
    private let work = LoopInbox.Entry.closure {}

    private func taken(_ inbox: inout LoopInbox) -> Int {
        var batch: [LoopInbox.Entry] = []
        inbox.took(into: &batch)
        return batch.count
    }

    @Test func `The first work starts the thread, and further work finds it running`() {
        var inbox = LoopInbox()
        #expect(inbox.accepted(work) == .startThread)
        #expect(inbox.accepted(work) == .nothing)
        #expect(taken(&inbox) == 2)
        #expect(taken(&inbox) == 0)
    }

    @Test func `A thread without clients ends, and is started again by new work`() {
        var inbox = LoopInbox()
        _ = inbox.accepted(work)
        _ = taken(&inbox)
        #expect(inbox.willWait() == .stop)
        #expect(inbox.accepted(work) == .startThread)
    }

    @Test func `A thread does not end or sleep while there is work`() {
        var inbox = LoopInbox()
        _ = inbox.accepted(work)
        #expect(inbox.willWait() == .poll)
        #expect(inbox.woke() == true)
        #expect(taken(&inbox) == 1)
    }

    @Test func `A sleeping thread is resumed once, by the first job`() {
        var inbox = LoopInbox()
        #expect(inbox.attached() == .nothing)
        _ = inbox.accepted(work)
        _ = taken(&inbox)
        #expect(inbox.willWait() == .sleep)
        #expect(inbox.accepted(work) == .wakeThread)
        #expect(inbox.accepted(work) == .nothing)
        #expect(inbox.woke() == true)
        #expect(taken(&inbox) == 2)
    }

    @Test func `The last detach resumes a sleeping thread, so that it ends`() {
        var inbox = LoopInbox()
        _ = inbox.attached()
        _ = inbox.attached()
        _ = inbox.accepted(work)
        _ = taken(&inbox)
        #expect(inbox.willWait() == .sleep)
        #expect(inbox.detached() == .nothing)
        #expect(inbox.detached() == .wakeThread)
        #expect(inbox.woke() == true)
        #expect(inbox.willWait() == .stop)
    }

    // MARK: The process's end

    /// The activity of the thread when the process begins to end.
    enum ThreadActivity: CaseIterable, Sendable { case nothing, working, sleeping, wakingUp }

    private func inbox(_ activity: ThreadActivity) -> LoopInbox {
        var inbox = LoopInbox()
        _ = inbox.attached()
        guard activity != .nothing else { return inbox }
        _ = inbox.accepted(work)
        guard activity != .working else { return inbox }
        _ = taken(&inbox)
        _ = inbox.willWait()
        if activity == .wakingUp { _ = inbox.accepted(work) }
        return inbox
    }

    @Test(arguments: ThreadActivity.allCases) func `The thread does nothing when the process ends`(
        _ activity: ThreadActivity
    ) {
        var inbox = inbox(activity)
        inbox.exits()
        let isBusy = activity == .working || activity == .wakingUp
        #expect(inbox.isParked(threads: activity == .nothing ? 0 : 1) == !isBusy)
        switch activity {
        case .nothing: break
        case .working: #expect(inbox.willWait() == .park)
        case .sleeping, .wakingUp: #expect(inbox.woke() == false)
        }
        #expect(inbox.isParked(threads: activity == .nothing ? 0 : 1))
        #expect(inbox.accepted(work) == .nothing)
        #expect(inbox.detached() == .nothing)
    }

    @Test func `A thread that comes too late ends at once`() {
        var inbox = inbox(.nothing)
        #expect(inbox.accepted(work) == .startThread)
        inbox.barred()
        #expect(inbox.isParked(threads: 0))
        #expect(inbox.accepted(work) == .nothing)
    }

    @Test func `The inbox waits for an ending thread next to a sleeping thread`() {
        var inbox = inbox(.sleeping)
        inbox.exits()
        #expect(!inbox.isParked(threads: 2))
        #expect(inbox.isParked(threads: 1))
    }
}
