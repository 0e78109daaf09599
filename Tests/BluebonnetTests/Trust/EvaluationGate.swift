/// Pauses evaluators until the test opens it.
actor EvaluationGate {
    private var isOpen = false
    private var arrivals = 0
    private var evaluators: [CheckedContinuation<Void, Never>] = []
    private var watchers: [(count: Int, CheckedContinuation<Void, Never>)] = []

    /// The number of evaluators that have arrived.
    var count: Int { arrivals }

    /// Waits until the gate is open; cancellation changes nothing.
    func pass() async {
        arrivals += 1
        for watcher in watchers where watcher.count <= arrivals { watcher.1.resume() }
        watchers.removeAll { $0.count <= arrivals }
        if !isOpen { await withCheckedContinuation { evaluators.append($0) } }
    }

    /// Waits until a number of evaluators have arrived.
    func arrival(_ count: Int = 1) async {
        if arrivals < count { await withCheckedContinuation { watchers.append((count, $0)) } }
    }

    func open() {
        isOpen = true
        for evaluator in evaluators { evaluator.resume() }
        evaluators.removeAll()
    }
}
