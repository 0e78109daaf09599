public import BluebonnetCallbacks
public import BluebonnetReachability

extension NetworkReachabilityManager {
    /// The status under the name that code has which was written for Alamofire.
    public typealias NetworkReachabilityStatus = Status

    /// A closure that receives statuses.
    public typealias Listener = @Sendable (NetworkReachabilityStatus) -> Void

    /// Calls a handler on a queue with the present status, and with each that differs from the one before.
    ///
    /// A handler that was given before is replaced.
    ///
    /// - Parameters:
    ///   - queue: Where the handler is called, the main queue by default.
    ///   - listener: Called with the status. After `stopListening()` the queue may still have calls to make.
    /// - Returns: Always `true`: where the kernel cannot be asked, the status is unknown.
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
