import Bluebonnet
public import Dispatch

nonisolated extension Session {
    /// Calls a closure with the requests that are under way or awaited.
    ///
    /// Returns at once; requests may begin and end before the closure is called.
    ///
    /// - Parameter action: Gets the requests, in the order of their creation; called on the global pool.
    @preconcurrency
    public func withAllRequests(perform action: @escaping @Sendable (_ requests: [any Request]) -> Void) {
        Task { await withAllRequests(action) }
    }

    /// Cancels every request that was made so far, and calls a closure on a queue when all of them have been answered.
    ///
    /// Returns at once. Requests that are made meanwhile go on, and are not waited for. That a request has been answered
    /// does not say that its handlers have been called.
    ///
    /// - Parameters:
    ///   - queue: Where the closure is called.
    ///   - completion: Called once.
    @preconcurrency
    public func cancelAllRequests(completingOn queue: DispatchQueue, completion: @escaping @Sendable () -> Void) {
        // In the caller's order with the requests that it makes before and after this.
        Task.immediate {
            await cancelAllRequests()
            queue.async(execute: completion)
        }
    }
    /// As ``cancelAllRequests(completingOn:completion:)``, on the main queue.
    ///
    /// - Parameter completion: Called once, if there is one.
    public func cancelAllRequests(completion: (@MainActor () -> Void)? = nil) {
        cancelAllRequests(completingOn: .main) { onMain { completion?() }(()) }
    }

    /// As ``cancelAllRequests(completingOn:completion:)``.
    @preconcurrency
    public func cancelAllRequests(completingOnQueue queue: DispatchQueue, completion: @escaping @Sendable () -> Void) {
        cancelAllRequests(completingOn: queue, completion: completion)
    }
}
