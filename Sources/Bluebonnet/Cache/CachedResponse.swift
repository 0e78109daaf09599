public import FoundationEssentials

/// A response that a cache stores.
public struct CachedResponse: Sendable {
    /// The storage options for a response: in memory and in files, in memory only, or not at all.
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

    /// The body of the response.
    ///
    /// If ``Session/Configuration/decodesContent`` is `true`, the session has removed the content coding of the body,
    /// such as gzip. If it is `false`, the body still has its content coding.
    public var data: Data

    /// Whether the response may be stored in memory and in files, in memory only, or not at all.
    public var storagePolicy: StoragePolicy

    /// Creates a response for storage.
    ///
    /// - Parameters:
    ///   - response: The status and the header fields.
    ///   - data: The body.
    ///   - storagePolicy: Whether the response may be stored in memory and in files, in memory only, or not at all; in
    ///     memory and in files by default.
    public init(response: HTTPResponse, data: Data, storagePolicy: StoragePolicy = .memoryAndDisk) {
        self.response = response
        self.data = data
        self.storagePolicy = storagePolicy
    }
}

extension HTTPRequest {
    /// The ways in which a request uses the session's ``ResponseCache``.
    ///
    /// The request can also have a `Cache-Control` field (RFC 9111 §5.2.1). With ``useProtocolCachePolicy``, all
    /// directives of this field apply. With the other policies, only `no-store` and `only-if-cached` apply.
    ///
    /// To validate a stored response, the session adds conditions such as `If-None-Match` to the request. With
    /// ``reloadIgnoringCache`` and ``reloadRevalidating``, the session also adds a `Cache-Control` field to a GET or
    /// HEAD request that has no such field. With this field, the policy also applies to caches between the session and
    /// the server. A session without a cache ignores all policies except ``returnCacheDontLoad``.
    @nonexhaustive
    public enum CachePolicy: Hashable, Sendable {
        /// Uses a stored response if it is fresh, and validates a stored response if it is stale (RFC 9111 §4).
        ///
        /// If there is no stored response, the session sends the request.
        case useProtocolCachePolicy
        /// Ignores stored responses, sends the request with `Cache-Control: no-cache`, and stores the new response if
        /// RFC 9111 §3 allows the storage.
        case reloadIgnoringCache
        /// Uses a stored response of any age, or sends the request if there is no stored response.
        ///
        /// A response with `no-cache` or `must-revalidate` is used, too.
        case returnCacheElseLoad
        /// Uses a stored response of any age, and never uses the network.
        ///
        /// A response with `no-cache` or `must-revalidate` is used, too.
        ///
        /// If there is no stored response, the request fails with `.cache(.notStored)`. These requests cannot receive a
        /// stored response, and always fail with this error:
        ///
        /// - requests with a method other than GET and HEAD;
        /// - requests with a `Range` field for several ranges, with a condition such as `If-None-Match`, or with the
        ///   `no-store` directive;
        /// - all requests of a session without a cache.
        case returnCacheDontLoad
        /// Validates a stored response with the server, even if the response is fresh.
        ///
        /// The request has `Cache-Control: max-age=0`.
        ///
        /// A fresh response with the `immutable` directive is used without validation (RFC 8246).
        case reloadRevalidating
    }
}

/// The source of a response: the server or the cache.
@nonexhaustive
public enum ResponseSource: Hashable, Sendable {
    /// The server sent the response.
    case network
    /// The response comes from the session's cache, and the server did not validate it.
    ///
    /// The cache provides the response in these cases:
    ///
    /// - The stored response is fresh.
    /// - The cache policy or the request accepts a stale response.
    /// - The response is stale, and the session validates it in the background (RFC 5861 §3).
    /// - The response is stale, and the server failed (RFC 5861 §4).
    /// - Another request has just received the response.
    case cache
    /// The response comes from the session's cache, after the server validated it.
    case validated
}

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
