import BluebonnetCallbacks

/// Runs tasks on a dispatch queue.
final class QueueExecutor: TaskExecutor {
    private let queue: DispatchQueue

    init(_ queue: DispatchQueue) {
        self.queue = queue
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        // Safety: the queue runs the job once. The executor reference is unowned, but the closure retains the executor
        // until the job has run.
        queue.async { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
