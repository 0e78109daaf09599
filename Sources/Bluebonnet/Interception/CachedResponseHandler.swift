/// A type that decides whether a response is stored in the session's cache, and in which form.
///
/// If a request has its own handler, this handler replaces the session's handler. If there is no handler, responses are
/// stored unchanged.
///
/// The session calls the handler for each complete response that RFC 9111 §3 allows the cache to store. If the server
/// only validates a stored response, or only sends the rest of an incomplete stored response, the session does not call
/// the handler. Incomplete responses are not stored if there is a handler.
///
/// If a validation in the background receives a new response, the original request may already have ended when the
/// handler is called.
///
/// For a stream, a download or a redirect, the handler is called after the body has been received. The handler then
/// receives an empty ``CachedResponse/data``, and its changes of the data are ignored.
public protocol CachedResponseHandler: Sendable {
    /// Returns the response to store.
    ///
    /// The method runs on the global executor, not on the network's event loop, so it may take time. The request
    /// completes after the method returns. The request receives the original response, not the response that the method
    /// returns. If the request is cancelled, the task that runs the method is cancelled too. In this case, the cache
    /// ignores the method's result and stores nothing.
    ///
    /// - Parameters:
    ///   - request: The request that received the response.
    ///   - response: The response that would be stored.
    /// - Returns: The response to store; `nil` to store nothing. If RFC 9111 §3 does not allow storing the returned
    ///   response, nothing is stored.
    @concurrent
    func request(_ request: any Request, willCacheResponse response: CachedResponse) async -> CachedResponse?
}

/// A handler that stores all responses, no responses, or the responses that a closure returns.
public struct ResponseCacher: CachedResponseHandler {
    /// The ways to handle a response that may be stored.
    public enum Behavior: Sendable {
        /// Stores the response unchanged.
        case cache
        /// Stores nothing.
        case doNotCache
        /// Stores the response that a closure returns, or nothing if the closure returns `nil`.
        ///
        /// The closure receives the request and the response that would be stored. The closure runs on the global
        /// executor.
        case modify(@Sendable (_ request: any Request, _ response: CachedResponse) async -> CachedResponse?)
    }

    /// The way to handle a response that may be stored.
    package let behavior: Behavior

    /// Creates a handler with a behavior.
    ///
    /// - Parameter behavior: The way to handle a response that may be stored.
    public init(behavior: Behavior) {
        self.behavior = behavior
    }

    /// Returns the response to store, according to the behavior.
    ///
    /// - Parameters:
    ///   - request: The request that received the response.
    ///   - response: The response that would be stored.
    /// - Returns: The response to store; `nil` to store nothing.
    @concurrent
    public func request(
        _ request: any Request, willCacheResponse response: CachedResponse
    ) async -> CachedResponse? {
        switch behavior {
        case .cache: response
        case .doNotCache: nil
        case .modify(let modify): await modify(request, response)
        }
    }
}

extension CachedResponseHandler where Self == ResponseCacher {
    /// A handler that stores responses unchanged.
    public static var cache: ResponseCacher { ResponseCacher(behavior: .cache) }

    /// A handler that stores nothing.
    public static var doNotCache: ResponseCacher { ResponseCacher(behavior: .doNotCache) }

    /// Returns a handler that stores the response that a closure returns, or nothing if the closure returns `nil`.
    ///
    /// - Parameter modify: A closure that receives the request and the response that would be stored. It returns the
    ///   response to store, or `nil` to store nothing. It runs on the global executor.
    /// - Returns: A handler that calls the closure.
    public static func modify(
        using modify: @escaping @Sendable (_ request: any Request, _ response: CachedResponse) async -> CachedResponse?
    ) -> ResponseCacher { ResponseCacher(behavior: .modify(modify)) }
}
