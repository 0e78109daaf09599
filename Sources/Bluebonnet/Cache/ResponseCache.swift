public import FoundationEssentials

/// A cache of responses that reduces network traffic (RFC 9111).
///
/// The cache is private, which means that it may store responses for a particular user. Share a cache only among
/// sessions that act for the same user and trust the same servers.
///
/// The cache uses a stored response only for requests with the same URL. The fragment of the URL is ignored. These
/// properties of the requests must also be the same:
///
/// - the request fields that the `Vary` field of the response lists;
/// - the `Authorization` and `Cookie` fields, the credential, and the user info of the URL, except if the
///   `Cache-Control` field of the response contains `public`;
/// - the session's ``Session/Configuration/decodesContent``, ``Session/Configuration/unixSocketPath`` and
///   ``Session/Configuration/dns``.
///
/// The cookies in the session's cookie storage are compared only if the `Vary` field contains `Cookie`. If the session
/// has your own transport, which may store cookies itself, such responses are neither stored nor used. A response that
/// changes the cookies that its request had is not stored either.
///
/// ```swift
/// var configuration = Session.Configuration()
/// configuration.cache = ResponseCache()
/// let session = Session(configuration: configuration)
/// ```
///
/// The cache stores the response to a GET request if RFC 9111 §3 allows the storage. A body that a stream or a download
/// receives is stored while your code reads it. If a body is not received completely, its beginning is stored only if
/// the response has a strong validator. A later data request then fetches the rest. When the cache is full, it removes
/// the least recently used responses first. A response is stored in memory only if its size is at most an eighth of the
/// memory capacity. A response is stored in a file only if its size is at most an eighth of the disk capacity.
///
/// If a session starts equal GET requests at the same time and no stored response can be used, only one of them is
/// sent, and the others wait for its response. Requests are equal if their URLs, their header fields and all other
/// properties except their tags are equal. Streams, downloads, requests with speed limits and requests that need a
/// validation are always sent. See also ``HTTPRequest/allowsCollapsing``.
///
/// A response with `stale-while-revalidate` is used for the stated time after it has become stale, and is validated in
/// the background (RFC 5861 §3).
///
/// The cache stores responses in memory. If the cache has a directory, it also stores them in files. The files remain
/// when the process ends, and several processes may share a directory. If a file operation fails, the request does not
/// fail, but the cache increases ``Statistics/diskFailures``. If the cache cannot write a file, it removes the files of
/// all responses for the URL. If the cache cannot remove a file, it empties the file. If this fails too, the process no
/// longer reads the file.
public final class ResponseCache: Sendable {
    /// The maximum number of bytes that the responses occupy in memory, approximately.
    public let memoryCapacity: Int

    /// The maximum number of bytes that the files occupy, each in blocks of 4 KiB; 0 if the cache has no directory.
    public let diskCapacity: Int

    /// The directory in which the cache stores files; `nil` if the cache was created without a directory.
    public let directory: URL?

    /// Returns the current time.
    let now: @Sendable () -> Date
    private let memory: Locked<MemoryStore>
    let disk: DiskStore?
    private let epochs = Locked(CacheEpochs())
    private let counts = Locked(Statistics())

    /// Creates a cache that stores responses in memory and, optionally, in files.
    ///
    /// - Parameters:
    ///   - memoryCapacity: The maximum number of bytes that the responses occupy in memory, approximately; 16 MiB by
    ///     default. If the value is 0, the cache stores nothing in memory.
    ///   - diskCapacity: The maximum number of bytes that the files occupy, each in blocks of 4 KiB; 256 MiB by
    ///     default.
    ///   - directory: The directory for the files; `nil` by default, which means no files. A URL that is not a file URL
    ///     is ignored. Use the directory only for caches. If the directory does not exist, the cache creates it on
    ///     first use. Only the current user can access the new directory. An existing directory must belong to the
    ///     current user and be writable for this user. Other users must not have write access. If these conditions are
    ///     not met, the cache does not use files, and each attempt to use them increases ``Statistics/diskFailures``.
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

    /// Removes all responses.
    ///
    /// If a request is already running during this call, the cache does not store the response to this request.
    @concurrent
    public func removeAll() async {
        epochs.withLock { $0.advanceAll() }
        changeMemory { $0.removeAll() }
        disk?.removeAll()
    }

    /// Removes all responses for a URL.
    ///
    /// If a request for the URL is already running during this call, the cache does not store the response to this
    /// request.
    ///
    /// - Parameter url: The URL of the responses; its fragment and user info are ignored.
    @concurrent
    public func remove(for url: URL) async {
        forget([CacheKey(url)])
    }

    /// Returns the stored response for a request, even if it is stale.
    ///
    /// The lookup does not change the ``statistics``, but marks the response as recently used.
    ///
    /// A session adds header fields to the requests that it sends. The lookup does not add these fields. If the `Vary`
    /// field of the response lists a field that the session adds, add this field to the request yourself.
    ///
    /// The lookup finds a response only if the session that received the response had the default values of
    /// ``Session/Configuration/decodesContent``, ``Session/Configuration/unixSocketPath`` and
    /// ``Session/Configuration/dns``.
    ///
    /// - Parameter request: A GET request.
    /// - Returns: The stored response, or `nil` if there is none.
    @concurrent
    public func cachedResponse(for request: HTTPRequest) async -> CachedResponse? {
        let request = CacheRequest(request, settings: CacheSettings())
        let entry =
            CacheDecision.newest(inMemory(request), for: request)
            ?? CacheDecision.newest(onDisk(request), for: request)
        guard let entry, !entry.isPart, let data = try? entry.body.all() else { return nil }
        return CachedResponse(response: entry.response, data: data, storagePolicy: entry.storagePolicy)
    }

    /// The statistics and the current size of the cache.
    public var statistics: Statistics {
        var statistics = counts.withLock { $0 }
        (statistics.memoryBytes, statistics.evictions) = memory.withLock { ($0.bytes, $0.evictions) }
        statistics.evictions += disk?.evictions ?? 0
        statistics.diskBytes = disk?.bytes ?? 0
        statistics.diskFailures = disk?.failures ?? 0
        return statistics
    }

    // MARK: Operations for transports

    /// Changes the statistics.
    func count(_ change: (inout Statistics) -> Void) {
        counts.withLock { change(&$0) }
    }

    /// Returns the responses for a request in memory.
    ///
    /// Asks the file system whether another process has replaced or removed the file of the response. In this case, the
    /// response is removed from memory.
    func inMemory(_ request: CacheRequest) -> [StoredResponse] {
        let candidates = memory.withLock { $0.candidates(for: request.key) }
        return candidates.filter { entry in
            guard let file = entry.file.load(), candidates.count == 1 || entry.matches(request), !file.isCurrent else {
                return true
            }
            changeMemory { $0.remove(entry.selector, for: request.key) }
            return false
        }
    }

    /// Returns the responses for a request in files, and adds them to memory; blocks.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - inPieces: Whether a body of more than 256 KiB remains in its file. Such a response is not added to memory.
    /// - Returns: The responses that match the request.
    func onDisk(_ request: CacheRequest, inPieces: Bool = false) -> [StoredResponse] {
        guard let disk else { return [] }
        let epoch = epoch(of: request.key)
        let found = disk.candidates(for: request.key, url: request.url, matching: request, inPieces: inPieces)
        for entry in found.sorted(by: { $0.responseTime < $1.responseTime }) {
            if case .memory = entry.body { changeMemory { _ = $0.store(entry, for: request.key) } }
        }
        if self.epoch(of: request.key) != epoch { discard([request.key]) }
        return found
    }

    /// Returns the descriptions of the responses in memory.
    func entriesInMemory() -> [Entry] {
        let now = now()
        return memory.withLock { $0.all }.compactMap { key, response in
            let file = response.file.load()
            guard file?.isCurrent ?? true else { return nil }
            return Entry(response, key, isInMemory: true, isInFile: file != nil, now: now)
        }
    }

    /// Returns the epoch of a key; a response to a request from an earlier epoch is not stored.
    func epoch(of key: CacheKey) -> UInt64 { epochs.withLock { $0[key] } }

    /// Makes later responses to running requests for a key unstorable.
    func advanceEpoch(of key: CacheKey) { epochs.withLock { $0.advance(key) } }

    /// The maximum number of bytes in the body of a stored response.
    var maximumBodyCount: Int { max(memoryCapacity, diskCapacity) / Self.shareOfEntry }

    /// Stores a response, unless the epoch of the key has changed, or the response to a later request is stored; blocks
    /// if there are files.
    ///
    /// - Parameters:
    ///   - entry: The response.
    ///   - partial: The file with the body, if it has already been written.
    ///   - key: The key of the response.
    ///   - epoch: The epoch of the key when the request was sent.
    /// - Returns: Whether the response is stored.
    @discardableResult
    func store(
        _ entry: StoredResponse, in partial: PartialEntry? = nil, for key: CacheKey, since epoch: UInt64
    ) -> Bool {
        let isOutdated = memory.withLock { $0.hasLater(than: entry, for: key) }
        guard !isOutdated, self.epoch(of: key) == epoch else {
            if let partial { disk?.abandon(partial) }
            return false
        }
        var isInFile: Bool? = false
        if entry.storagePolicy == .memoryAndDisk, let disk {
            isInFile = if var partial { disk.finish(&partial, entry, for: key) } else { disk.store(entry, for: key) }
        } else {
            if let partial { disk?.abandon(partial) }
            disk?.remove(entry.selector, for: key)
        }
        guard var isStored = isInFile else { return false }
        changeMemory { memory in
            // Another thread may have stored the response to a later request meanwhile.
            guard !memory.hasLater(than: entry, for: key) else { return }
            if case .memory = entry.body {
                isStored = memory.store(entry, for: key) || isStored
            } else {
                memory.remove(entry.selector, for: key)
            }
        }
        if isStored { counts.withLock { $0.stores += 1 } }
        // The key may have been forgotten while the response was being stored.
        guard self.epoch(of: key) != epoch else { return isStored }
        discard([key])
        return false
    }

    /// Removes all responses for the keys, and prevents responses in transit from being stored; blocks if there are
    /// files.
    func forget(_ keys: [CacheKey]) { _ = forget(keys, and: nil, since: 0) }

    /// Removes all responses for the keys, and prevents responses in transit from being stored; blocks if there are
    /// files.
    ///
    /// - Parameters:
    ///   - keys: The keys.
    ///   - key: One of the keys, whose new epoch is needed.
    ///   - epoch: The epoch of this key when its request was sent.
    /// - Returns: The new epoch of the key; `nil` if it had been forgotten since its request was sent.
    func forget(_ keys: [CacheKey], and key: CacheKey?, since epoch: UInt64) -> UInt64? {
        let advanced = epochs.withLock { epochs -> UInt64? in
            let isCurrent = key.map { epochs[$0] == epoch } ?? false
            for key in keys { epochs.advance(key) }
            return isCurrent ? key.map { epochs[$0] } : nil
        }
        discard(keys)
        return advanced
    }

    /// Removes the response with a selector; blocks if there are files.
    func drop(_ selector: Data, for key: CacheKey) {
        changeMemory { $0.remove(selector, for: key) }
        disk?.remove(selector, for: key)
    }

    /// Changes the responses in memory, and releases removed responses outside the lock.
    private func changeMemory(_ change: (inout MemoryStore) -> Void) {
        _ = memory.withLock { memory in
            change(&memory)
            return memory.takeGone()
        }
    }

    /// Removes all responses for keys; responses in transit may still be stored; blocks if there are files.
    func discard(_ keys: [CacheKey]) {
        for key in keys {
            changeMemory { $0.removeAll(for: key) }
            disk?.removeAll(for: key)
        }
    }
}

extension ResponseCache {
    /// The statistics and the current size of a cache.
    public struct Statistics: Hashable, Sendable {
        /// The number of requests that received a stored response without network access of their own.
        ///
        /// This includes requests that waited for the response to an equal request, and stale responses that are
        /// validated in the background.
        public internal(set) var hits = 0
        /// The number of requests that received a stored response after the server had validated the response.
        public internal(set) var validations = 0
        /// The number of requests that received a stale response because the server failed (RFC 5861 §4).
        public internal(set) var staleResponses = 0
        /// The number of requests that were allowed to use a stored response, but received a response from the network.
        public internal(set) var misses = 0
        /// The number of times that the cache stored a response, or updated a stored response after a validation or a
        /// HEAD request.
        public internal(set) var stores = 0
        /// The number of responses that the cache removed from memory or from files to make room for other responses.
        ///
        /// A response that was removed from memory may still be in a file.
        public internal(set) var evictions = 0
        /// The number of file operations that failed, or that the cache skipped because the directory is not safe or
        /// cannot be created.
        ///
        /// For the conditions for a safe directory, see ``ResponseCache/init(memoryCapacity:diskCapacity:directory:)``.
        ///
        /// A failed file operation does not affect requests.
        public internal(set) var diskFailures = 0
        /// The number of bytes that the responses occupy in memory, approximately.
        public internal(set) var memoryBytes = 0
        /// The number of bytes that the files occupy, as far as this process knows.
        ///
        /// Other processes that share the directory may have changed the files.
        public internal(set) var diskBytes = 0

        /// Creates the statistics of a new cache.
        package init() {}
    }
}
