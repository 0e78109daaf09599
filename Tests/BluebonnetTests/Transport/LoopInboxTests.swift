import Testing

@testable import Bluebonnet

@Suite struct LoopInboxTests {
    private let work = LoopInbox.Entry.closure {}

    private func taken(_ inbox: inout LoopInbox) -> Int {
        var batch: [LoopInbox.Entry] = []
        inbox.took(into: &batch)
        return batch.count
    }

    @Test func `The first work starts the thread, further work finds it awake`() {
        var inbox = LoopInbox()
        #expect(inbox.accepted(work) == .startThread)
        #expect(inbox.accepted(work) == .nothing)
        #expect(taken(&inbox) == 2)
        #expect(taken(&inbox) == 0)
    }

    @Test func `A thread that nobody is attached to ends, and is started again by new work`() {
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
        inbox.woke()
        #expect(taken(&inbox) == 1)
    }

    @Test func `A sleeping thread is woken once, by the first who brings work`() {
        var inbox = LoopInbox()
        #expect(inbox.attached() == .nothing)
        _ = inbox.accepted(work)
        _ = taken(&inbox)
        #expect(inbox.willWait() == .sleep)
        #expect(inbox.accepted(work) == .wakeThread)
        #expect(inbox.accepted(work) == .nothing)
        inbox.woke()
        #expect(taken(&inbox) == 2)
    }

    @Test func `The last to detach wakes a sleeping thread, so that it ends`() {
        var inbox = LoopInbox()
        _ = inbox.attached()
        _ = inbox.attached()
        _ = inbox.accepted(work)
        _ = taken(&inbox)
        #expect(inbox.willWait() == .sleep)
        #expect(inbox.detached() == .nothing)
        #expect(inbox.detached() == .wakeThread)
        inbox.woke()
        #expect(inbox.willWait() == .stop)
    }
}
