/// Decides whether a response is stored in the session's cache, and in which form.
///
/// A request's own handler goes before its session's. Without one, responses are stored as they are.
///
/// A handler is asked about each response that may be stored by the rules of RFC 9111 §3, those that redirect included,
/// before the request is answered. It is not asked when a stored response is found to be good still.
public protocol CachedResponseHandler: Sendable {
    /// Returns what to store.
    ///
    /// Runs on the global pool, never on the network's loop, and may take its time: the request is answered after it, with
    /// the response as it came. When the request is cancelled meanwhile, the task that runs this is cancelled, nobody waits
    /// for it any longer, and nothing is stored.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - response: What would be stored.
    /// - Returns: What to store, or `nil` for nothing.
    @concurrent
    func request(_ request: any Request, willCacheResponse response: CachedResponse) async -> CachedResponse?
}
