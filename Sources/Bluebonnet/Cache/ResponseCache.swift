public import FoundationEssentials

/// A cache of responses, which answers requests without the network or with less traffic (RFC 9111).
///
/// This is a private cache: it may store responses that were made for a particular user. Share a cache only among
/// sessions that act for the same user and trust the same servers.
///
/// Two requests for the same URL do not receive each other's responses if they differ in one of these respects:
///
/// - the `Authorization` or `Cookie` field, the credential, or the user info of the URL, unless the response is
///   `public`;
/// - the session's ``Session/Configuration/decodesContent``, ``Session/Configuration/unixSocketPath`` or
///   ``Session/Configuration/dns``.
///
/// The comparison does not include the cookies that a session keeps. If the session may send such cookies, responses
/// whose `Vary` field names `Cookie` are neither stored nor used.
///
/// ```swift
/// var configuration = Session.Configuration()
/// configuration.cache = ResponseCache()
/// let session = Session(configuration: configuration)
/// ```
///
/// The cache stores complete responses to GET requests of ``DataRequest`` if the server allows it. It does not store
/// responses to streams and downloads. When the cache is full, it removes the least recently used responses first. A
/// response is stored in memory only if it takes up at most an eighth of the memory capacity; the same rule applies to
/// files and the disk capacity.
///
/// Responses are stored in memory and, if the cache has a directory, also in files. Files outlast the process, and
/// several processes may share a directory. A file error never fails a request, but counts in
/// ``Statistics/diskFailures``. A file that cannot be replaced or removed is emptied, or this process no longer reads
/// it.
public final class ResponseCache: Sendable {
    /// The approximate number of bytes of memory that the responses may take up.
    public let memoryCapacity: Int

    /// The number of bytes that the files may take up; 0 without a directory.
    public let diskCapacity: Int

    /// The directory of the files; `nil` if there are no files.
    public let directory: URL?

    /// Returns the current time.
    let now: @Sendable () -> Date
    private let memory: Locked<MemoryStore>
    private let disk: DiskStore?
    private let epochs = Locked(CacheEpochs())
    private let counts = Locked(Statistics())

    /// Creates a cache in memory and, optionally, in files.
    ///
    /// - Parameters:
    ///   - memoryCapacity: The approximate number of bytes of memory that the responses may take up; 16 MiB by default.
    ///     With 0, nothing is stored in memory.
    ///   - diskCapacity: The number of bytes that the files may take up; 256 MiB by default.
    ///   - directory: A directory for the files of caches only; `nil`, the default, means no files. The cache creates
    ///     the directory when it first needs it, for this user only. An existing directory must belong to this user and
    ///     be writable for this user only. Otherwise, no files are stored, and the failures count in
    ///     ``Statistics/diskFailures``.
    public convenience init(
        memoryCapacity: Int = 16 * 1024 * 1024, diskCapacity: Int = 256 * 1024 * 1024, directory: URL? = nil
    ) {
        self.init(memoryCapacity: memoryCapacity, diskCapacity: diskCapacity, directory: directory) { Date() }
    }

    /// Creates a cache with its own clock, for tests.
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

    /// A response may take up the capacity divided by this number.
    static let shareOfEntry = 8

    // MARK: Public operations

    /// Removes all responses; responses that are being received at this time are not stored.
    @concurrent
    public func removeAll() async {
        epochs.withLock { $0.advanceAll() }
        _ = memory.withLock { exchange(&$0, with: MemoryStore(capacity: memoryCapacity)) }
        disk?.removeAll()
    }

    /// Removes the responses for a URL; responses that are being received at this time are not stored.
    ///
    /// - Parameter url: The URL of the responses; its fragment and user info are ignored.
    @concurrent
    public func remove(for url: URL) async {
        forget([CacheKey(url)])
    }

    /// Returns the stored response for a request, whether it is fresh or stale.
    ///
    /// The lookup does not count in the ``statistics``, but marks the response as recently used. It does not consider
    /// header fields that a session adds: if `Vary` names such a field, add the field to the request. Responses stored
    /// by a session with another view of the URL, such as a Unix domain socket, are not found.
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

    /// The counters of the cache, and its current size.
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

    /// Changes the counts.
    func count(_ change: (inout Statistics) -> Void) {
        counts.withLock { change(&$0) }
    }

    /// Returns the responses in memory.
    func inMemory(_ key: CacheKey) -> [StoredResponse] { memory.withLock { $0.candidates(for: key) } }

    /// Returns the responses in files and adds them to memory; blocks.
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

    /// Returns the epoch of a key; a response that was requested in an earlier epoch is not stored.
    func epoch(of key: CacheKey) -> UInt64 { epochs.withLock { $0[key] } }

    /// Stores a response, unless the key was forgotten since the epoch; blocks if there are files.
    func store(_ entry: StoredResponse, for key: CacheKey, since epoch: UInt64) {
        guard entry.storagePolicy != .notAllowed, self.epoch(of: key) == epoch else { return }
        changeMemory { _ = $0.store(entry, for: key) }
        if entry.storagePolicy == .memoryAndDisk { disk?.store(entry, for: key) } else { disk?.remove(entry, for: key) }
        counts.withLock { $0.stores += 1 }
        // The key may have been forgotten while the response was being stored.
        if self.epoch(of: key) != epoch { discard([key]) }
    }

    /// Removes all responses for the keys, and does not store those being received; blocks if there are files.
    func forget(_ keys: [CacheKey]) {
        guard !keys.isEmpty else { return }
        epochs.withLock { epochs in
            for key in keys { epochs.advance(key) }
        }
        discard(keys)
    }

    /// Removes all responses for the key, but lets those being received be stored; blocks if there are files.
    func drop(_ key: CacheKey) { discard([key]) }

    /// Removes one response; blocks if there are files.
    func drop(_ entry: StoredResponse, for key: CacheKey) {
        changeMemory { $0.remove(entry, for: key) }
        disk?.remove(entry, for: key)
    }

    /// Changes the responses in memory; removed responses are released outside the lock.
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
    /// The counters of a cache, and its current size.
    public struct Statistics: Hashable, Sendable {
        /// The number of requests answered with a stored response, without the network.
        public internal(set) var hits = 0
        /// The number of requests answered with a stored response that the server had confirmed.
        public internal(set) var validations = 0
        /// The number of requests answered with a stale response, because the server could not answer (RFC 5861 §4).
        public internal(set) var staleResponses = 0
        /// The number of requests that the cache was allowed to answer and the network answered instead.
        public internal(set) var misses = 0
        /// The number of responses stored, including stored responses that the server confirmed.
        public internal(set) var stores = 0
        /// The number of file operations that failed, or for which the directory could not be trusted.
        ///
        /// The requests continue without files.
        public internal(set) var diskFailures = 0
        /// The approximate number of bytes of memory that the responses take up.
        public internal(set) var memoryBytes = 0
        /// The number of bytes that the files take up, as far as this process knows.
        public internal(set) var diskBytes = 0

        /// Creates the statistics of an unused cache.
        package init() {}
    }
}
