/// One observation of a ``Broadcast``; ends when it is dropped.
package final class StreamSubscription<Element: Sendable>: StreamSource {
    private let core: BroadcastCore<Element>
    private let id: UInt64

    init(core: BroadcastCore<Element>, id: UInt64) {
        self.core = core
        self.id = id
    }

    deinit {
        core.endObserver(id)
    }

    /// Returns the next value, waiting for it, or `nil` when there is none to come.
    package nonisolated(nonsending) func next() async -> Element? {
        // Most values are there already, and then nothing needs to be set up for waiting.
        switch Task.isCancelled ? .ended : core.takeNow(id) {
        case .element(let element): return element
        case .ended:
            core.endObserver(id)
            return nil
        case .none: break
        }
        return await withTaskCancellationHandler {
            await withResumption { continuation in
                core.take(id, continuation)
            }
        } onCancel: {
            core.endObserver(id)
        }
    }
}
