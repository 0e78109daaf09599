/// Decides about what is stored: everything, nothing, or what a closure makes of it.
public struct ResponseCacher: CachedResponseHandler {
    /// What to do with a response that may be stored.
    public enum Behavior: Sendable {
        /// Store it as it is.
        case cache
        /// Store nothing.
        case doNotCache
        /// Store what a closure returns, or nothing if that is `nil`.
        ///
        /// It gets the request and what would be stored, and runs on the global pool.
        case modify(@Sendable (_ request: any Request, _ response: CachedResponse) async -> CachedResponse?)
    }

    /// What to do with a response that may be stored.
    public let behavior: Behavior

    /// Creates a handler.
    ///
    /// - Parameter behavior: What to do with a response that may be stored.
    public init(behavior: Behavior) {
        self.behavior = behavior
    }

    /// Returns what to store, as the behavior says.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - response: What would be stored.
    /// - Returns: What to store, or `nil` for nothing.
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
    /// A handler that has responses stored as they are.
    public static var cache: ResponseCacher { ResponseCacher(behavior: .cache) }

    /// A handler that has nothing stored.
    public static var doNotCache: ResponseCacher { ResponseCacher(behavior: .doNotCache) }

    /// A handler that has stored what a closure returns, or nothing if that is `nil`.
    ///
    /// - Parameter modify: Gets the request and what would be stored. Runs on the global pool.
    /// - Returns: The handler.
    public static func modify(
        using modify: @escaping @Sendable (_ request: any Request, _ response: CachedResponse) async -> CachedResponse?
    ) -> ResponseCacher { ResponseCacher(behavior: .modify(modify)) }
}
