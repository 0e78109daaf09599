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
    public init(response: HTTPResponse, data: Data, storagePolicy: StoragePolicy = .memoryAndDisk) {
        self.response = response
        self.data = data
        self.storagePolicy = storagePolicy
    }
}

extension HTTPRequest {
    /// Says what a response cache may do for a request; of no meaning without one, but for ``returnCacheDontLoad``.
    ///
    /// The request's `Cache-Control` field counts beside it (RFC 9111 §5.2.1). No policy changes what is sent, but for the
    /// conditions with which a stored response is validated.
    @nonexhaustive
    public enum CachePolicy: Hashable, Sendable {
        /// Answers with a stored response when that is fresh, and validates one that is not (RFC 9111 §4).
        case useProtocolCachePolicy
        /// Asks the network whatever is stored, and stores the answer.
        case reloadIgnoringCache
        /// Answers with a stored response however old it is, and asks the network when there is none.
        case returnCacheElseLoad
        /// Answers with a stored response however old it is, and never asks the network.
        ///
        /// A request for which nothing is stored fails with `.cache(.notStored)`; so do streams and downloads, and
        /// requests of a session that has no cache.
        case returnCacheDontLoad
        /// Asks the server whether a stored response is still good, unless it is fresh and `immutable` (RFC 8246).
        case reloadRevalidating
    }
}

/// Says where a response came from.
@nonexhaustive
public enum ResponseOrigin: Hashable, Sendable {
    /// From the server.
    case network
    /// From the session's cache, without the server.
    case cache
    /// From the session's cache, after the server had said that it is good still.
    case validated
}

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
