public import FoundationEssentials

extension ResponseCache {
    /// A description of a stored response.
    public struct Entry: Hashable, Sendable {
        /// The URL of the response, without user info and fragment.
        public let url: URL
        /// The status code of the response.
        public let statusCode: Int
        /// The number of bytes in the body.
        public let size: Int
        /// The age of the response (RFC 9111 §4.2.3).
        public let age: Duration
        /// The time for which the response remains fresh; negative if the response is stale.
        public let freshness: Duration
        /// Whether the response is in memory.
        public let isInMemory: Bool
        /// Whether the response is in a file.
        public let isInFile: Bool
        let key: CacheKey
        let selector: Data

        init(_ response: StoredResponse, _ key: CacheKey, isInMemory: Bool, isInFile: Bool, now: Date) {
            url = key.url ?? response.response.url
            statusCode = response.response.statusCode
            size = response.body.count
            age = .seconds(response.freshness.age(at: now))
            freshness = .seconds(-response.freshness.staleness(at: now))
            (self.isInMemory, self.isInFile, self.key) = (isInMemory, isInFile, key)
            selector = response.selector
        }
    }

    /// The descriptions of stored responses: first of the responses in memory, then of the other responses in files.
    ///
    /// The iteration reads one file at a time, without its body.
    public struct Entries: AsyncSequence, Sendable {
        fileprivate let cache: ResponseCache

        /// Creates an iterator.
        public func makeAsyncIterator() -> Iterator { Iterator(cache: cache) }

        /// Iterates over the descriptions.
        public struct Iterator: AsyncIteratorProtocol, Sendable {
            fileprivate let cache: ResponseCache
            private var memory: [Entry] = []
            /// The selectors of the responses that are in memory and in files.
            private var known: [CacheKey: [Data]] = [:]
            /// The digests of the remaining keys; `nil` before the iteration.
            private var digests: [String]?
            /// The remaining names of the last key, the last name first.
            private var names: [String] = []

            fileprivate init(cache: ResponseCache) { self.cache = cache }

            /// Returns the next description, or `nil` at the end.
            @concurrent
            public mutating func next() async -> Entry? {
                if digests == nil {
                    memory = cache.entriesInMemory()
                    for entry in memory where entry.isInFile { known[entry.key, default: []].append(entry.selector) }
                    digests = cache.disk?.allDigests() ?? []
                }
                if let entry = memory.popLast() { return entry }
                guard let disk = cache.disk else { return nil }
                while true {
                    while let name = names.popLast() {
                        guard let (key, response) = disk.inspect(name) else { continue }
                        let entry = Entry(response, key, isInMemory: false, isInFile: true, now: cache.now())
                        if known[key]?.contains(entry.selector) != true { return entry }
                    }
                    guard let digest = digests?.popLast() else { return nil }
                    // A file only moves to a later name meanwhile, so that none is missed.
                    names = disk.names(digest).reversed()
                }
            }
        }
    }

    /// Returns the descriptions of all stored responses.
    ///
    /// The sequence does not change the ``statistics``. Responses that are stored or removed during the iteration may
    /// be missing.
    ///
    /// - Returns: The descriptions: first of the responses in memory, then of the other responses. Within each
    ///   group, the order is not specified.
    public func entries() -> Entries { Entries(cache: self) }

    /// Removes the responses that a closure selects.
    ///
    /// If a request for the URL of a removed response is already running during this call, it is possible that the
    /// cache does not store the response to this request.
    ///
    /// - Parameter isRemoved: A closure that returns whether a response is removed. It runs on the global executor.
    @concurrent
    public func remove(where isRemoved: @Sendable (Entry) -> Bool) async {
        for await entry in entries() where isRemoved(entry) {
            advanceEpoch(of: entry.key)
            drop(entry.selector, for: entry.key)
        }
    }
}

extension CacheKey {
    /// The URL without a default port.
    fileprivate var url: URL? {
        for (scheme, port) in [("http", ":80"), ("https", ":443")] where text.hasPrefix("\(scheme)://") {
            let authority = text.dropFirst(scheme.count + 3).prefix { $0 != "/" }
            guard authority.hasSuffix(port) else { break }
            return URL(string: "\(scheme)://\(authority.dropLast(port.count))\(text[authority.endIndex...])")
        }
        return URL(string: text)
    }
}
