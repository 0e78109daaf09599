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
        /// Whether the body is written to a file, which ``begin()`` creates.
        var wantsFile: Bool
        var file: PartialEntry?
    }

    /// Creates a writer without I/O; `nil` if the cache cannot store a body of the expected size.
    init?(_ cache: ResponseCache, _ key: CacheKey, expecting count: Int64?) {
        let fitsInMemory = count ?? 0 <= Int64(cache.memoryCapacity / ResponseCache.shareOfEntry)
        let fitsInFile = count ?? 0 <= Int64(cache.diskCapacity / ResponseCache.shareOfEntry)
        // The server may state any length.
        let memory = fitsInMemory ? Data(capacity: Int(min(count ?? 0, 1 << 20))) : nil
        let progress = Progress(memory: memory, wantsFile: fitsInFile && cache.disk != nil)
        guard progress.memory != nil || progress.wantsFile else { return nil }
        (self.cache, self.key, self.progress) = (cache, key, Locked(progress))
    }

    deinit { abandon() }

    /// Creates the file; returns `false` if the response cannot be stored.
    func begin() -> Bool {
        change { if $0.wantsFile { $0.file = cache.disk?.begin() } }
    }

    /// Adds bytes to the body; returns `false` if the response cannot be stored.
    func append(_ bytes: Data) -> Bool {
        change { now in
            now.memory?.append(bytes)
            if now.memory?.count ?? 0 > cache.memoryCapacity / ResponseCache.shareOfEntry { now.memory = nil }
            guard var file = now.file else { return }
            let isWritten = cache.disk?.append(bytes, to: &file) == true
            if !isWritten { cache.disk?.abandon(file) }
            now.file = isWritten ? file : nil
        }
    }

    /// Changes the progress outside the lock; returns `false` after the end, or if neither memory nor file has the
    /// body.
    private func change(_ body: (inout Progress) -> Void) -> Bool {
        guard var now = progress.withLock({ exchange(&$0, with: nil) }) else { return false }
        body(&now)
        guard now.memory != nil || now.file != nil else { return false }
        progress.withLock { $0 = now }
        return true
    }

    /// Ends the body; returns the body, and its file if it was written; `nil` if it cannot be stored.
    func end() -> (body: StoredBody, file: PartialEntry?)? {
        guard let end = progress.withLock({ exchange(&$0, with: nil) }) else { return nil }
        let body = end.memory.map { .memory($0) } ?? end.file.map { StoredBody.file($0.file, count: Int($0.count)) }
        return body.map { ($0, end.file) }
    }

    /// Stores nothing, and removes the file.
    func abandon() {
        if let file = progress.withLock({ exchange(&$0, with: nil) })?.file { cache.disk?.abandon(file) }
    }
}
