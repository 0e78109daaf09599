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
