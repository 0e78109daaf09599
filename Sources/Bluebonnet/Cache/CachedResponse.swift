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
