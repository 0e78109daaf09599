public import FoundationEssentials

/// A cache of responses that reduces network traffic (RFC 9111).
///
/// The cache is private: it may store responses for a particular user. Share a cache only among sessions that act for
/// the same user and trust the same servers.
///
/// A stored response is used only for requests that have the same values in these respects:
///
/// - the `Authorization` and `Cookie` fields, the credential, and the user info of the URL, unless the response is
///   `public`;
/// - the session's ``Session/Configuration/decodesContent``, ``Session/Configuration/unixSocketPath`` and
///   ``Session/Configuration/dns``.
///
/// The cookies in the session's cookie storage are not compared. If the session may send such cookies, the cache
/// neither stores nor uses responses whose `Vary` field contains `Cookie`.
///
/// ```swift
/// var configuration = Session.Configuration()
/// configuration.cache = ResponseCache()
/// let session = Session(configuration: configuration)
/// ```
///
/// The cache stores complete responses to GET requests of ``DataRequest`` if the server allows it. It does not store
/// responses to streams and downloads. When the cache is full, it removes the least recently used responses first. A
/// response is stored in memory only if its size is at most an eighth of the memory capacity. A response is stored in a
/// file only if its size is at most an eighth of the disk capacity.
///
/// Responses are stored in memory. If the cache has a directory, they are also stored in files. Files remain when the
/// process ends, and several processes may share a directory. A file error never fails a request, but increases
/// ``Statistics/diskFailures``. If a file cannot be replaced or removed, the cache empties it. If this fails too, this
/// process no longer reads the file.
public final class ResponseCache: Sendable {
    /// The maximum number of bytes that the responses occupy in memory, approximately.
    public let memoryCapacity: Int

    /// The maximum number of bytes that the files occupy; 0 without a directory.
    public let diskCapacity: Int

    /// The directory of the files; `nil` if there are no files.
    public let directory: URL?

    /// Returns the current time.
    let now: @Sendable () -> Date
    private let memory: Locked<MemoryStore>
    private let disk: DiskStore?
    private let epochs = Locked(CacheEpochs())
    private let counts = Locked(Statistics())

    /// Creates a cache that stores responses in memory and, optionally, in files.
    ///
    /// - Parameters:
    ///   - memoryCapacity: The maximum number of bytes that the responses occupy in memory, approximately; 16 MiB by
    ///     default. With 0, nothing is stored in memory.
    ///   - diskCapacity: The maximum number of bytes that the files occupy; 256 MiB by default.
    ///   - directory: The directory for the files; `nil`, the default, for no files. Use the directory only for caches.
    ///     If the directory does not exist, the cache creates it on first use, accessible only to the current user. An
    ///     existing directory must belong to the current user, and other users must not have write access. Otherwise,
    ///     no files are stored, and each attempt increases ``Statistics/diskFailures``.
    public convenience init(
        memoryCapacity: Int = 16 * 1024 * 1024, diskCapacity: Int = 256 * 1024 * 1024, directory: URL? = nil
    ) {
        self.init(memoryCapacity: memoryCapacity, diskCapacity: diskCapacity, directory: directory) { Date() }
    }

    /// Creates a cache with a custom clock, for tests.
    package init(
        memoryCapacity: Int = 16 * 1024 * 1024, diskCapacity: Int = 256 * 1024 * 1024, directory: URL? = nil,
        now: @escaping @Sendable () -> Date
    ) {
        self.now = now
        let path = directory.flatMap { $0.isFileURL ? $0.path(percentEncoded: false) : nil }
        self.memoryCapacity = max(0, memoryCapacity)
        self.diskCapacity = path == nil ? 0 : max(0, diskCapacity)
        self.directory = directory
        memory = Locked(MemoryStore(capacity: self.memoryCapacity))
        disk = path.flatMap { path in
            diskCapacity > 0 && !path.utf8.contains(0) && !path.isEmpty
                ? DiskStore(directory: path, capacity: diskCapacity) : nil
        }
    }

    /// The fraction of the capacity that a single response may occupy is 1 divided by this number.
    static let shareOfEntry = 8

    // MARK: Public operations

    /// Removes all responses; responses that are still being received are not stored.
    @concurrent
    public func removeAll() async {
        epochs.withLock { $0.advanceAll() }
        _ = memory.withLock { exchange(&$0, with: MemoryStore(capacity: memoryCapacity)) }
        disk?.removeAll()
    }

    /// Removes the responses for a URL; responses that are still being received are not stored.
    ///
    /// - Parameter url: The URL of the responses; its fragment and user info are ignored.
    @concurrent
    public func remove(for url: URL) async {
        forget([CacheKey(url)])
    }

    /// Returns the stored response for a request, even if it is stale.
    ///
    /// The lookup does not change the ``statistics``, but marks the response as recently used. It ignores the header
    /// fields that a session adds. If the response's `Vary` field contains the name of such a field, add the field to
    /// the request.
    ///
    /// The lookup finds only responses of sessions with the default ``Session/Configuration/decodesContent``,
    /// ``Session/Configuration/unixSocketPath`` and ``Session/Configuration/dns``.
    ///
    /// - Parameter request: A GET request.
    /// - Returns: The stored response, or `nil` if there is none.
    @concurrent
    public func cachedResponse(for request: HTTPRequest) async -> CachedResponse? {
        let request = CacheRequest(request, settings: CachingTransport.Settings())
        let candidates = inMemory(request.key)
        let entry =
            CacheDecision.newest(candidates, for: request)
            ?? CacheDecision.newest(onDisk(request), for: request)
        return entry.map { CachedResponse(response: $0.response, data: $0.body, storagePolicy: $0.storagePolicy) }
    }

    /// The statistics and the current size of the cache.
    public var statistics: Statistics {
        var statistics = counts.withLock { $0 }
        statistics.memoryBytes = memory.withLock { $0.bytes }
        statistics.diskBytes = disk?.bytes ?? 0
        statistics.diskFailures = disk?.failures ?? 0
        return statistics
    }

    // MARK: Operations for transports

    /// Whether a lookup may block, because it reads files.
    var hasDisk: Bool { disk != nil }

    /// Changes the statistics.
    func count(_ change: (inout Statistics) -> Void) {
        counts.withLock { change(&$0) }
    }

    /// Returns the responses for a key in memory.
    func inMemory(_ key: CacheKey) -> [StoredResponse] { memory.withLock { $0.candidates(for: key) } }

    /// Returns the responses in files, and adds them to memory; blocks.
    func onDisk(_ request: CacheRequest) -> [StoredResponse] {
        guard let disk else { return [] }
        let epoch = epoch(of: request.key)
        let found = disk.candidates(for: request.key, url: request.url)
        for entry in found.sorted(by: { $0.responseTime < $1.responseTime }) {
            changeMemory { _ = $0.store(entry, for: request.key) }
        }
        if self.epoch(of: request.key) != epoch { discard([request.key]) }
        return found
    }

    /// Returns the epoch of a key; a response to a request from an earlier epoch is not stored.
    func epoch(of key: CacheKey) -> UInt64 { epochs.withLock { $0[key] } }

    /// Stores a response, unless the key was forgotten after the epoch; blocks if there are files.
    func store(_ entry: StoredResponse, for key: CacheKey, since epoch: UInt64) {
        guard entry.storagePolicy != .notAllowed, self.epoch(of: key) == epoch else { return }
        changeMemory { _ = $0.store(entry, for: key) }
        if entry.storagePolicy == .memoryAndDisk { disk?.store(entry, for: key) } else { disk?.remove(entry, for: key) }
        counts.withLock { $0.stores += 1 }
        // The key may have been forgotten while the response was being stored.
        if self.epoch(of: key) != epoch { discard([key]) }
    }

    /// Removes all responses for the keys, and prevents responses in transit from being stored; blocks if there are
    /// files.
    func forget(_ keys: [CacheKey]) {
        guard !keys.isEmpty else { return }
        epochs.withLock { epochs in
            for key in keys { epochs.advance(key) }
        }
        discard(keys)
    }

    /// Removes all responses for the key; responses in transit may still be stored; blocks if there are files.
    func drop(_ key: CacheKey) { discard([key]) }

    /// Removes one response; blocks if there are files.
    func drop(_ entry: StoredResponse, for key: CacheKey) {
        changeMemory { $0.remove(entry, for: key) }
        disk?.remove(entry, for: key)
    }

    /// Changes the responses in memory, and releases removed responses outside the lock.
    private func changeMemory(_ change: (inout MemoryStore) -> Void) {
        _ = memory.withLock { memory in
            change(&memory)
            return memory.takeGone()
        }
    }

    private func discard(_ keys: [CacheKey]) {
        for key in keys {
            changeMemory { $0.removeAll(for: key) }
            disk?.removeAll(for: key)
        }
    }
}

extension ResponseCache {
    /// The statistics and the current size of a cache.
    public struct Statistics: Hashable, Sendable {
        /// The number of requests for which a stored response was used, without the network.
        public internal(set) var hits = 0
        /// The number of requests for which a stored response was used after the server validated it.
        public internal(set) var validations = 0
        /// The number of requests for which a stale response was used, because the server failed (RFC 5861 §4).
        public internal(set) var staleResponses = 0
        /// The number of requests that could have used a stored response, but used a response from the network.
        public internal(set) var misses = 0
        /// The number of stored responses, including updates of stored responses after a validation.
        public internal(set) var stores = 0
        /// The number of failed file operations, and of operations that the cache skipped because the directory is not
        /// safe.
        ///
        /// A failure does not affect requests.
        public internal(set) var diskFailures = 0
        /// The number of bytes that the responses occupy in memory, approximately.
        public internal(set) var memoryBytes = 0
        /// The number of bytes that the files occupy, as far as this process knows.
        public internal(set) var diskBytes = 0

        /// Creates the statistics of a new cache.
        package init() {}
    }
}
