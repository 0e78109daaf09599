import FoundationEssentials

/// Stores responses in memory up to a number of bytes, and removes the least recently used responses first.
struct MemoryStore {
    private let capacity: Int
    private var entries = LeastRecentlyUsed<CacheKey, [StoredResponse]>()
    /// The number of responses that were removed to make room.
    private(set) var evictions = 0
    /// The removed responses, which the owner releases outside its lock.
    ///
    /// The release of a body may run the user's code.
    private var gone: [[StoredResponse]] = []

    init(capacity: Int) {
        self.capacity = capacity
    }

    /// The number of bytes in use, approximately.
    var bytes: Int { entries.cost }

    /// Returns the responses for a key.
    mutating func candidates(for key: CacheKey) -> [StoredResponse] { entries.use(key) ?? [] }

    /// Whether the response to a later request is stored, while this response was in transit.
    mutating func hasLater(than entry: StoredResponse, for key: CacheKey) -> Bool {
        candidates(for: key).contains {
            $0.selector == entry.selector && entry.isOutdated(byRequestAt: $0.requestTime, isForPart: $0.isPart)
        }
    }

    /// Stores a response, and replaces the response to the same request; returns whether the new response fits.
    mutating func store(_ entry: StoredResponse, for key: CacheKey) -> Bool {
        guard entry.cost <= capacity / ResponseCache.shareOfEntry else {
            // The earlier response to the same request is outdated, even if the new response does not fit.
            remove(entry.selector, for: key)
            return false
        }
        var variants = others(than: entry.selector, for: key)
        variants.append(entry)
        if variants.count > Self.variantLimit { variants.removeFirst() }
        set(variants, for: key)
        while entries.cost > capacity, let oldest = entries.removeOldest() {
            gone.append(oldest.value)
            evictions += oldest.value.count
        }
        return true
    }

    /// Removes one response for a key.
    mutating func remove(_ selector: Data, for key: CacheKey) { set(others(than: selector, for: key), for: key) }

    /// Removes all responses.
    mutating func removeAll() {
        gone.append(all.map(\.entry))
        entries = LeastRecentlyUsed()
    }

    /// All responses with their keys.
    var all: [(key: CacheKey, entry: StoredResponse)] {
        entries.used(after: 0).flatMap { item in item.value.map { (item.key, $0) } }
    }

    /// Removes all responses for a key.
    mutating func removeAll(for key: CacheKey) {
        if let earlier = entries.remove(key) { gone.append(earlier) }
    }

    /// Returns the removed responses and clears the list.
    mutating func takeGone() -> [[StoredResponse]] {
        defer { gone = [] }
        return gone
    }

    private mutating func others(than selector: Data, for key: CacheKey) -> [StoredResponse] {
        (entries.use(key) ?? []).filter { $0.selector != selector }
    }

    private mutating func set(_ variants: [StoredResponse], for key: CacheKey) {
        removeAll(for: key)
        guard !variants.isEmpty else { return }
        entries.set(variants, cost: variants.reduce(key.text.utf8.count) { $0 + $1.cost }, for: key)
    }

    /// The maximum number of responses for one URL.
    private static let variantLimit = 8
}

/// Stores values by key, with their costs and the order of their last uses.
struct LeastRecentlyUsed<Key: Hashable, Value> {
    private struct Entry {
        let value: Value
        let cost: Int
        var lastUse = 0
    }

    private var entries: [Key: Entry] = [:]
    /// The uses in order; only the last use of each key is valid.
    private var uses: [(key: Key, time: Int)] = []
    /// The number of processed uses at the front.
    private var passed = 0
    /// The number of uses so far.
    private(set) var time = 0

    /// The total cost of all values.
    private(set) var cost = 0

    /// Returns the value of a key, and marks it as most recently used.
    mutating func use(_ key: Key) -> Value? {
        guard let entry = entries[key] else { return nil }
        note(key)
        return entry.value
    }

    /// Stores the value of a key, and marks it as most recently used.
    mutating func set(_ value: Value, cost: Int, for key: Key) {
        remove(key)
        entries[key] = Entry(value: value, cost: cost)
        self.cost += cost
        note(key)
    }

    /// Removes the value of a key, if there is one.
    @discardableResult
    mutating func remove(_ key: Key) -> Value? {
        guard let entry = entries.removeValue(forKey: key) else { return nil }
        cost -= entry.cost
        return entry.value
    }

    /// Removes the least recently used value.
    mutating func removeOldest() -> (key: Key, value: Value)? {
        while passed < uses.count {
            let use = uses[passed]
            passed += 1
            if entries[use.key]?.lastUse == use.time, let value = remove(use.key) { return (use.key, value) }
        }
        return nil
    }

    /// Returns the values that were used after a number of uses, in the order of their last uses.
    func used(after time: Int) -> [(key: Key, value: Value)] {
        uses[passed...].compactMap { use in
            guard use.time > time, let entry = entries[use.key], entry.lastUse == use.time else { return nil }
            return (use.key, entry.value)
        }
    }

    private mutating func note(_ key: Key) {
        time += 1
        entries[key]?.lastUse = time
        uses.append((key, time))
        // The outdated uses are dropped before they outnumber the current uses.
        guard uses.count > entries.count * 2 + 64 else { return }
        uses = uses[passed...].filter { entries[$0.key]?.lastUse == $0.time }
        passed = 0
    }
}

/// Counts how often each key was forgotten.
///
/// A response that was in transit when its key was forgotten is not stored. The changed count shows this. Many keys
/// share a count, so a response may be rejected although only another key was forgotten.
struct CacheEpochs {
    private var counts = [UInt64](repeating: 0, count: 256)

    subscript(key: CacheKey) -> UInt64 { counts[Self.index(key)] }

    mutating func advance(_ key: CacheKey) { counts[Self.index(key)] += 1 }

    mutating func advanceAll() {
        for index in counts.indices { counts[index] += 1 }
    }

    private static func index(_ key: CacheKey) -> Int { Int(UInt(bitPattern: key.hashValue) % 256) }
}
