public import FoundationEssentials

/// A response as a cache is to keep it.
public struct CachedResponse: Sendable {
    /// Says where a response may be kept.
    @nonexhaustive
    public enum StoragePolicy: Hashable, Sendable {
        /// In memory and in files.
        case memoryAndDisk
        /// In memory only.
        case memoryOnly
        /// Nowhere.
        case notAllowed
    }

    /// The head of the response.
    public var response: HTTPResponse

    /// The body, decoded from its content coding.
    public var data: Data

    /// Where the response may be kept.
    public var storagePolicy: StoragePolicy

    /// Creates a response.
    ///
    /// - Parameters:
    ///   - response: The head.
    ///   - data: The body.
    ///   - storagePolicy: Where it may be kept; everywhere by default.
    package init(response: HTTPResponse, data: Data, storagePolicy: StoragePolicy = .memoryAndDisk) {
        self.response = response
        self.data = data
        self.storagePolicy = storagePolicy
    }
}

extension HTTPRequest {
    /// Says how a request uses the session's response cache.
    ///
    /// The directives of the request's own `Cache-Control` field apply as well (RFC 9111 §5.2.1). A policy adds nothing to
    /// the request that is sent, except the conditions that validate a stored response. A session without a cache ignores
    /// all policies except ``returnCacheDontLoad``.
    @nonexhaustive
    public enum CachePolicy: Hashable, Sendable {
        /// Answers with a fresh stored response, and validates a stale one (RFC 9111 §4).
        case useProtocolCachePolicy
        /// Ignores stored responses, asks the network, and stores the answer.
        case reloadIgnoringCache
        /// Answers with a stored response of any age, and asks the network when there is none.
        case returnCacheElseLoad
        /// Answers with a stored response of any age, and never asks the network.
        ///
        /// When nothing is stored for the request, it fails with `.cache(.notStored)`. Streams and downloads always fail so,
        /// and so do all requests of a session without a cache.
        case returnCacheDontLoad
        /// Validates every stored response with the server, except a fresh one that is `immutable` (RFC 8246).
        case reloadRevalidating
    }
}

/// Says where a response came from.
@nonexhaustive
public enum ResponseSource: Hashable, Sendable {
    /// From the server.
    case network
    /// From the session's cache, without the server.
    case cache
    /// From the session's cache, after the server confirmed that it is still good.
    case validated
}

/// Decides whether a response is stored in the session's cache, and in which form.
///
/// A request's own handler goes before its session's. Without one, responses are stored as they are.
///
/// A handler is asked about each response that may be stored by the rules of RFC 9111 §3, those that redirect included,
/// before the request is answered. It is not asked when the server confirms a stored response.
public protocol CachedResponseHandler: Sendable {
    /// Returns what to store.
    ///
    /// Runs on the global pool, never on the network's loop, and may take its time: the request is answered after it,
    /// with the response as it came. When the request is cancelled meanwhile, the task that runs this is cancelled, its
    /// result is ignored, and nothing is stored.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - response: What would be stored.
    /// - Returns: What to store, or `nil` for nothing.
    @concurrent
    func request(_ request: any Request, willCacheResponse response: CachedResponse) async -> CachedResponse?
}

/// Stores all responses, none, or those that a closure returns.
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
    package let behavior: Behavior

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
