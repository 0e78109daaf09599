/// Keeps responses in memory, up to a number of bytes: what was not used for the longest time goes first.
struct MemoryStore {
    private let capacity: Int
    private var entries = LeastRecentlyUsed<CacheKey, [StoredResponse]>()
    /// What is not kept any more, to be released by the owner without its lock: bodies may be the user's.
    private var gone: [[StoredResponse]] = []

    init(capacity: Int) {
        self.capacity = capacity
    }

    /// How many bytes are taken, about.
    var bytes: Int { entries.cost }

    /// The responses for a key.
    mutating func candidates(for key: CacheKey) -> [StoredResponse] { entries.use(key) ?? [] }

    /// Keeps a response, in place of the one that answers the same request; returns whether it fits.
    mutating func store(_ entry: StoredResponse, for key: CacheKey) -> Bool {
        guard entry.cost <= capacity / ResponseCache.shareOfEntry else {
            // What was there answers for it no longer.
            remove(entry, for: key)
            return false
        }
        var variants = others(than: entry, for: key)
        variants.append(entry)
        if variants.count > Self.variantLimit { variants.removeFirst() }
        set(variants, for: key)
        while entries.cost > capacity, let oldest = entries.removeOldest() { gone.append(oldest.value) }
        return true
    }

    /// Forgets one response for a key.
    mutating func remove(_ entry: StoredResponse, for key: CacheKey) {
        let variants = others(than: entry, for: key)
        set(variants, for: key)
    }

    /// Forgets all responses for a key.
    mutating func removeAll(for key: CacheKey) {
        if let earlier = entries.remove(key) { gone.append(earlier) }
    }

    /// Takes what is not kept any more.
    mutating func takeGone() -> [[StoredResponse]] {
        defer { gone = [] }
        return gone
    }

    private mutating func others(than entry: StoredResponse, for key: CacheKey) -> [StoredResponse] {
        (entries.use(key) ?? []).filter { $0.selector != entry.selector }
    }

    private mutating func set(_ variants: [StoredResponse], for key: CacheKey) {
        removeAll(for: key)
        guard !variants.isEmpty else { return }
        entries.set(variants, cost: variants.reduce(key.text.utf8.count) { $0 + $1.cost }, for: key)
    }

    /// How many responses are kept for one URL.
    private static let variantLimit = 8
}
