public import FoundationEssentials

/// Keeps responses, so that requests can be answered without the network, or with less of it (RFC 9111).
///
/// A private cache: it may keep what was made for one user. So share one among sessions that act for the same user only,
/// and trust the same servers; requests that differ in their `Authorization` or `Cookie` fields, in their credential or in
/// the user info of their URLs do not get each other's responses unless those are `public`, but the cookies that sessions
/// keep are not looked at. Sessions that differ in what a URL means to them (``Session/Configuration/decodesContent``,
/// ``Session/Configuration/unixSocketPath``, ``Session/Configuration/dns``) do not get each other's either.
///
/// ```swift
/// var configuration = Session.Configuration()
/// configuration.cache = ResponseCache()
/// let session = Session(configuration: configuration)
/// ```
///
/// The cache keeps complete responses to the GET requests of ``DataRequest``, as servers allow it, and none to streams and
/// downloads. When it is full, it drops the least recently used first. It never keeps a response that takes more than an
/// eighth of its capacity.
///
/// In memory, and with a directory also in files, which outlast the process and may be shared by several. Nothing that
/// goes wrong with files fails a request; ``Statistics/diskFailures`` counts it. A file that cannot be replaced or removed
/// is emptied, or not read again by this process.
public final class ResponseCache: Sendable {
    /// How many bytes of memory the responses may take, about.
    package let memoryCapacity: Int

    /// How many bytes the files may have; 0 without a directory.
    package let diskCapacity: Int

    /// Where the files are; `nil` when there are none.
    package let directory: URL?

    /// The present.
    let now: @Sendable () -> Date
    private let memory: Locked<MemoryStore>
    private let disk: DiskStore?
    private let epochs = Locked(CacheEpochs())
    private let counts = Locked(Statistics())

    /// Creates a cache.
    ///
    /// - Parameters:
    ///   - memoryCapacity: How many bytes of memory the responses may take; 16 MiB by default, none if it is 0.
    ///   - diskCapacity: How many bytes the files may have; 256 MiB by default.
    ///   - directory: Where to keep files, and nothing else; made when it is first needed, for this user only. A directory
    ///     that exists must belong to this user, and only this user may write to it. Otherwise no file is kept, and
    ///     ``Statistics/diskFailures`` counts. `nil`, the default, for no files.
    public convenience init(
        memoryCapacity: Int = 16 * 1024 * 1024, diskCapacity: Int = 256 * 1024 * 1024, directory: URL? = nil
    ) {
        self.init(memoryCapacity: memoryCapacity, diskCapacity: diskCapacity, directory: directory) { Date() }
    }

    /// Creates a cache with a clock of its own, for tests.
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

    /// One response may take the capacity divided by this.
    static let shareOfEntry = 8

    // MARK: For everyone

    /// Forgets all responses, also those that are under way.
    @concurrent
    public func removeAll() async {
        epochs.withLock { $0.advanceAll() }
        _ = memory.withLock { exchange(&$0, with: MemoryStore(capacity: memoryCapacity)) }
        disk?.removeAll()
    }

    /// Forgets the responses for a URL, also those that are under way.
    ///
    /// - Parameter url: The URL; its fragment and its user do not matter.
    @concurrent
    public func remove(for url: URL) async {
        forget([CacheKey(url)])
    }

    /// Returns what is kept for a request, fresh or not.
    ///
    /// The lookup does not count as a use. It ignores the fields that a session adds: when `Vary` names one of those, the
    /// request must have it. Responses that were stored by a session with another view of the URL, such as a unix socket,
    /// are not found.
    ///
    /// - Parameter request: The request, a GET.
    /// - Returns: The response; `nil` when there is none.
    @concurrent
    public func cachedResponse(for request: HTTPRequest) async -> CachedResponse? {
        let request = CacheRequest(request, settings: CachingTransport.Settings())
        let candidates = inMemory(request.key)
        let entry =
            CacheDecision.newest(candidates, for: request)
            ?? CacheDecision.newest(onDisk(request), for: request)
        return entry.map { CachedResponse(response: $0.response, data: $0.body, storagePolicy: $0.storagePolicy) }
    }

    /// What the cache has done so far, and how large it is.
    public var statistics: Statistics {
        var statistics = counts.withLock { $0 }
        statistics.memoryBytes = memory.withLock { $0.bytes }
        statistics.diskBytes = disk?.bytes ?? 0
        statistics.diskFailures = disk?.failures ?? 0
        return statistics
    }

    // MARK: For transports

    /// Whether looking something up may block.
    var hasDisk: Bool { disk != nil }

    /// Counts something.
    func count(_ change: (inout Statistics) -> Void) {
        counts.withLock { change(&$0) }
    }

    /// What is in memory.
    func inMemory(_ key: CacheKey) -> [StoredResponse] { memory.withLock { $0.candidates(for: key) } }

    /// What is in files, which blocks; kept in memory from now on.
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

    /// The count to hand back with a response, so that it is stored only if nothing was forgotten meanwhile.
    func epoch(of key: CacheKey) -> UInt64 { epochs.withLock { $0[key] } }

    /// Keeps a response, unless the key was forgotten since the epoch; blocks if there are files.
    func store(_ entry: StoredResponse, for key: CacheKey, since epoch: UInt64) {
        guard entry.storagePolicy != .notAllowed, self.epoch(of: key) == epoch else { return }
        changeMemory { _ = $0.store(entry, for: key) }
        if entry.storagePolicy == .memoryAndDisk { disk?.store(entry, for: key) } else { disk?.remove(entry, for: key) }
        counts.withLock { $0.stores += 1 }
        // What was forgotten meanwhile is not here again.
        if self.epoch(of: key) != epoch { discard([key]) }
    }

    /// Forgets everything about the keys, also what is under way; blocks if there are files.
    func forget(_ keys: [CacheKey]) {
        guard !keys.isEmpty else { return }
        epochs.withLock { epochs in
            for key in keys { epochs.advance(key) }
        }
        discard(keys)
    }

    /// Has nothing about the key any more, but keeps what is under way; blocks if there are files.
    func drop(_ key: CacheKey) { discard([key]) }

    /// Has one response no more; blocks if there are files.
    func drop(_ entry: StoredResponse, for key: CacheKey) {
        changeMemory { $0.remove(entry, for: key) }
        disk?.remove(entry, for: key)
    }

    /// Changes the responses in memory; those removed are released after the lock.
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
    /// What a cache has done so far, and how large it is.
    public struct Statistics: Hashable, Sendable {
        /// How many requests were answered with what was stored, without the network.
        public internal(set) var hits = 0
        /// How many were answered with a stored response that the server had confirmed.
        public internal(set) var validations = 0
        /// How many were answered with a stale response, since the server could not answer (RFC 5861 §4).
        package internal(set) var staleResponses = 0
        /// How many were answered by the network, although the cache might have answered them.
        public internal(set) var misses = 0
        /// How many responses were stored, freshened ones included.
        public internal(set) var stores = 0
        /// How often a file operation failed, or the directory could not be trusted; the requests continued without the
        /// disk.
        public internal(set) var diskFailures = 0
        /// How many bytes of memory the responses take, about.
        public internal(set) var memoryBytes = 0
        /// How many bytes the files have, as far as is known.
        public internal(set) var diskBytes = 0

        /// Creates statistics of a cache that was not used.
        package init() {}
    }
}
