/// Runs the jobs of actors that live on an event loop.
final class LoopSerialExecutor: SerialExecutor {
    /// Safety: set once, by the loop's initializer, before anyone else knows of the executor; the loop owns it.
    nonisolated(unsafe) private unowned var loop: EventLoop?

    func belongs(to loop: EventLoop) {
        unsafe self.loop = loop
    }

    func enqueue(_ job: consuming ExecutorJob) {
        guard let loop = unsafe loop else { preconditionFailure("an executor is used after its loop is gone") }
        loop.enqueueIsolated(UnownedJob(job))
    }

    func isIsolatingCurrentContext() -> Bool? {
        unsafe loop?.isCurrentThread
    }

    func checkIsolated() {
        precondition(unsafe loop?.isCurrentThread == true, "not on the event loop's thread")
    }
}
