import FoundationEssentials

/// Stores a response whose body arrives in pieces.
///
/// All calls block, and are made by one task at a time. The body is written to a file if the cache has a directory. A
/// body that is small enough for the cache's memory is also collected in memory.
final class ResponseWriter: Sendable {
    private let cache: ResponseCache
    private let key: CacheKey
    /// The received bytes; `nil` after the end.
    private let progress: Locked<Progress?>

    private struct Progress: Sendable {
        /// The body; `nil` if it is too large for the memory.
        var memory: Data?
        var file: PartialEntry?
    }

    /// Creates a writer; `nil` if the cache cannot store a body of the expected size.
    init?(_ cache: ResponseCache, _ key: CacheKey, expecting count: Int64?) {
        let fitsInMemory = count ?? 0 <= Int64(cache.memoryCapacity / ResponseCache.shareOfEntry)
        let fitsInFile = count ?? 0 <= Int64(cache.diskCapacity / ResponseCache.shareOfEntry)
        let progress = Progress(
            memory: fitsInMemory ? Data(capacity: Int(count ?? 0)) : nil, file: fitsInFile ? cache.disk?.begin() : nil)
        guard progress.memory != nil || progress.file != nil else { return nil }
        (self.cache, self.key, self.progress) = (cache, key, Locked(progress))
    }

    deinit { abandon() }

    /// Adds bytes to the body; returns `false` if the response cannot be stored.
    func append(_ bytes: Data) -> Bool {
        guard var now = progress.withLock({ exchange(&$0, with: nil) }) else { return false }
        now.memory?.append(bytes)
        if now.memory?.count ?? 0 > cache.memoryCapacity / ResponseCache.shareOfEntry { now.memory = nil }
        if var file = now.file {
            let isWritten = cache.disk?.append(bytes, to: &file) == true
            if !isWritten { cache.disk?.abandon(file) }
            now.file = isWritten ? file : nil
        }
        guard now.memory != nil || now.file != nil else { return false }
        progress.withLock { $0 = now }
        return true
    }

    /// Stores the response, unless the epoch of the key has changed.
    func finish(
        _ response: HTTPResponse, request: CacheRequest, requestTime: Date, responseTime: Date,
        storagePolicy: CachedResponse.StoragePolicy, since epoch: UInt64
    ) {
        guard let end = progress.withLock({ exchange(&$0, with: nil) }) else { return }
        let body = end.memory.map { .memory($0) } ?? end.file.map { StoredBody.file($0.file, count: Int($0.count)) }
        let entry = body.flatMap {
            StoredResponse(
                response, body: $0, to: request, requestTime: requestTime, responseTime: responseTime,
                storagePolicy: storagePolicy)
        }
        if let entry {
            cache.store(entry, in: end.file, for: key, since: epoch)
        } else if let file = end.file {
            cache.disk?.abandon(file)
        }
    }

    /// Stores nothing, and removes the file.
    func abandon() {
        if let file = progress.withLock({ exchange(&$0, with: nil) })?.file { cache.disk?.abandon(file) }
    }
}
