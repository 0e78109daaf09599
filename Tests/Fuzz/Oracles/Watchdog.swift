import Bluebonnet
import Foundation
import Glibc

/// Ends the process when a request is not answered within its limits.
final class Watchdog: Sendable {
    private struct Item {
        let description: @Sendable () -> String
        let allowance: Int
        var begin: Int
        var isReported = false
        var deadline: Int { begin + allowance }
    }

    private struct State {
        var items: [Int: Item] = [:]
        var next = 0
        /// When the machine last kept this process from running.
        var lastLag = 0
    }

    private let state = Locked(State())
    private let findings: Findings
    private let continuesAfterFailure: Bool

    /// Starts the thread that watches.
    init(findings: Findings, continuesAfterFailure: Bool) {
        self.findings = findings
        self.continuesAfterFailure = continuesAfterFailure
        Thread.detachNewThread { [self] in
            while true {
                let before = now()
                usleep(50_000)
                let after = now()
                if after - before > 250 { state.withLock { $0.lastLag = after } }
                look()
            }
        }
    }

    func begin(milliseconds: Int, _ description: @escaping @Sendable () -> String) -> Int {
        let begin = now()
        return state.withLock { state in
            state.next += 1
            state.items[state.next] = Item(description: description, allowance: milliseconds, begin: begin)
            return state.next
        }
    }

    /// Whether this process was kept waiting for the machine since a time; what was late then proves nothing.
    func hasLagged(since time: Int) -> Bool { state.withLock { $0.lastLag >= time } }

    func end(_ number: Int) {
        state.withLock { _ = $0.items.removeValue(forKey: number) }
    }

    private func look() {
        let time = now()
        let overdue = state.withLock { state in
            // A machine that was busy with others proves nothing: the time is given once more.
            for (number, item) in state.items where item.deadline < time && item.begin < state.lastLag {
                state.items[number]?.begin = time
            }
            let overdue = state.items.filter { $0.value.deadline < time && !$0.value.isReported }
            for key in overdue.keys { state.items[key]?.isReported = true }
            return Array(overdue.values)
        }
        guard !overdue.isEmpty else { return }
        for item in overdue { findings.add(.hang, item.description()) }
        guard !continuesAfterFailure else { return }
        Output.print(ProcessState.threads())
        // By a signal, so that the watching process gets the stacks of all threads.
        abort()
    }
}
