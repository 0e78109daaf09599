public import BluebonnetCallbacks
public import BluebonnetReachability

extension NetworkReachabilityManager {
    /// Alamofire's name for the status.
    public typealias NetworkReachabilityStatus = Status

    /// A closure that receives each new status.
    public typealias Listener = @Sendable (NetworkReachabilityStatus) -> Void

    /// Calls a handler on a queue with the current status, and again whenever the status changes.
    ///
    /// The new handler replaces the previous handler.
    ///
    /// - Parameters:
    ///   - queue: The queue on which the handler is called; the main queue by default.
    ///   - listener: The handler of the status. It can still be called after `stopListening()`, for statuses that are
    ///     already on the queue.
    /// - Returns: Always `true`. If the kernel cannot be queried, the handler receives the status `.unknown`.
    @discardableResult
    public func startListening(
        onQueue queue: DispatchQueue = .main, onUpdatePerforming listener: @escaping Listener
    ) -> Bool {
        startListening { status in
            queue.async { listener(status) }
        } as Void
        return true
    }
}
