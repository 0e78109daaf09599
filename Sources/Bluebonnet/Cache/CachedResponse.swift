public import FoundationEssentials

/// A response in the form in which a cache stores it.
public struct CachedResponse: Sendable {
    /// The places where a response may be stored.
    @nonexhaustive
    public enum StoragePolicy: Hashable, Sendable {
        /// The response may be stored in memory and in files.
        case memoryAndDisk
        /// The response may be stored in memory only.
        case memoryOnly
        /// The response must not be stored.
        case notAllowed
    }

    /// The status and the header fields of the response.
    public var response: HTTPResponse

    /// The body of the response; it is decoded, unless ``Session/Configuration/decodesContent`` is `false`.
    public var data: Data

    /// The place where the response may be stored.
    public var storagePolicy: StoragePolicy

    /// Creates a response for storage.
    ///
    /// - Parameters:
    ///   - response: The status and the header fields.
    ///   - data: The body.
    ///   - storagePolicy: The place where the response may be stored; in memory and in files by default.
    public init(response: HTTPResponse, data: Data, storagePolicy: StoragePolicy = .memoryAndDisk) {
        self.response = response
        self.data = data
        self.storagePolicy = storagePolicy
    }
}

extension HTTPRequest {
    /// How a request uses the session's response cache.
    ///
    /// The directives of the request's own `Cache-Control` field apply as well (RFC 9111 §5.2.1). A policy changes the
    /// request only by adding the conditions that validate a stored response. A session without a cache ignores all
    /// policies except ``returnCacheDontLoad``.
    @nonexhaustive
    public enum CachePolicy: Hashable, Sendable {
        /// Uses a fresh stored response, validates a stale one, and otherwise sends the request (RFC 9111 §4).
        case useProtocolCachePolicy
        /// Ignores stored responses, sends the request, and stores the response.
        case reloadIgnoringCache
        /// Uses a stored response of any age; if there is none, sends the request.
        case returnCacheElseLoad
        /// Uses a stored response of any age, and never uses the network.
        ///
        /// If no response is stored for the request, it fails with `.cache(.notStored)`. Streams and downloads always
        /// fail with this error, as do all requests of a session without a cache.
        case returnCacheDontLoad
        /// Validates every stored response with the server, except a fresh response that is `immutable` (RFC 8246).
        case reloadRevalidating
    }
}

/// The origin of a response: the server or the cache.
@nonexhaustive
public enum ResponseSource: Hashable, Sendable {
    /// The server sent the response.
    case network
    /// The response comes from the session's cache, without a request to the server.
    case cache
    /// The response comes from the session's cache, and the server confirmed that it is still valid.
    case validated
}

/// Decides whether a response is stored in the session's cache, and in which form.
///
/// A request's own handler replaces the session's handler. Without a handler, responses are stored unchanged.
///
/// A handler is called for each response to a ``DataRequest`` that RFC 9111 §3 allows to be stored, before the request
/// completes. This includes redirects if their `Content-Length` is at most 64 KiB. A handler is not called when the
/// server confirms a stored response.
public protocol CachedResponseHandler: Sendable {
    /// Returns the response to store.
    ///
    /// The method runs on the global pool, never on the network's loop, and may take its time. The request completes
    /// after it, with the original response. If the request is cancelled, the task that runs this method is cancelled,
    /// its result is ignored, and nothing is stored.
    ///
    /// - Parameters:
    ///   - request: The request that the response answers.
    ///   - response: The response that would be stored.
    /// - Returns: The response to store, or `nil` to store nothing. RFC 9111 §3 must allow storing the returned
    ///   response; otherwise, nothing is stored.
    @concurrent
    func request(_ request: any Request, willCacheResponse response: CachedResponse) async -> CachedResponse?
}

/// A handler that stores all responses, none of them, or the responses that a closure returns.
public struct ResponseCacher: CachedResponseHandler {
    /// How to handle a response that may be stored.
    public enum Behavior: Sendable {
        /// Stores the response unchanged.
        case cache
        /// Stores nothing.
        case doNotCache
        /// Stores the response that a closure returns, or nothing if the closure returns `nil`.
        ///
        /// The closure receives the request and the response that would be stored. It runs on the global pool.
        case modify(@Sendable (_ request: any Request, _ response: CachedResponse) async -> CachedResponse?)
    }

    /// How to handle a response that may be stored.
    package let behavior: Behavior

    /// Creates a handler with a behavior.
    ///
    /// - Parameter behavior: How to handle a response that may be stored.
    public init(behavior: Behavior) {
        self.behavior = behavior
    }

    /// Returns the response to store, according to the behavior.
    ///
    /// - Parameters:
    ///   - request: The request that the response answers.
    ///   - response: The response that would be stored.
    /// - Returns: The response to store, or `nil` to store nothing.
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
    /// - Parameter modify: A closure that receives the request and the response that would be stored. It runs on the
    ///   global pool.
    /// - Returns: The handler with this closure.
    public static func modify(
        using modify: @escaping @Sendable (_ request: any Request, _ response: CachedResponse) async -> CachedResponse?
    ) -> ResponseCacher { ResponseCacher(behavior: .modify(modify)) }
}
