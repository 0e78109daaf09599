import Bluebonnet

/// Records calls from any thread, in their order, and wakes the tasks that wait for a number of them.
final class CallLog<Entry: Sendable>: Sendable {
    private struct State {
        var entries: [Entry] = []
        var waiting: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Locked(State())

    var entries: [Entry] { state.withLock { $0.entries } }

    func note(_ entry: Entry) {
        let ready = state.withLock { state in
            state.entries.append(entry)
            let count = state.entries.count
            let ready = state.waiting.filter { $0.count <= count }.map(\.continuation)
            state.waiting.removeAll { $0.count <= count }
            return ready
        }
        for continuation in ready { continuation.resume() }
    }

    /// Waits until there are as many calls, or until the task is cancelled, as at the time limit of a test.
    func wait(for count: Int) async -> [Entry] {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isDone = state.withLock { state in
                    if state.entries.count >= count || Task.isCancelled { return true }
                    state.waiting.append((count, continuation))
                    return false
                }
                if isDone { continuation.resume() }
            }
        } onCancel: {
            let waiting = state.withLock { exchange(&$0.waiting, with: []) }
            for waiter in waiting { waiter.continuation.resume() }
        }
        return entries
    }
}
