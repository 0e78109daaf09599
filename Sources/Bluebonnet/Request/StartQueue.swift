/// Starts requests whose making may take its time, if nobody does who awaits them.
///
/// Mostly somebody does: whoever awaits a request drives it, and starts it first. What is left, one task starts.
final class StartQueue: Sendable {
    private let waiting = Locked<[RequestCore]>([])

    func add(_ core: RequestCore) {
        let isFirst = waiting.withLock { waiting in
            waiting.append(core)
            return waiting.count == 1
        }
        if isFirst { startInTask() }
    }

    @inline(never)
    private func startInTask() {
        Task { [self] in
            let cores = waiting.withLock { waiting in
                defer { waiting.removeAll() }
                return waiting
            }
            for core in cores { core.launchIfNeeded(inTask: true) }
        }
    }
}
