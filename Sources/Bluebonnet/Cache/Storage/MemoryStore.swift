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

/// Keeps values by key, in the order of their last use, with what each costs.
struct LeastRecentlyUsed<Key: Hashable, Value> {
    private struct Node {
        let key: Key
        var value: Value
        var cost: Int
        var newer: Int?
        var older: Int?
    }

    private var nodes: [Node?] = []
    private var free: [Int] = []
    private var indices: [Key: Int] = [:]
    private var newest: Int?
    private var oldest: Int?
    /// What all of it costs.
    private(set) var cost = 0

    var count: Int { indices.count }
    var keys: [Key] { Array(indices.keys) }

    /// Returns the value, which is the last to be used from now on.
    mutating func use(_ key: Key) -> Value? {
        guard let index = indices[key], let node = nodes[index] else { return nil }
        if index != newest {
            detach(index)
            attach(index)
        }
        return node.value
    }

    /// Keeps a value, in place of the one that has the key, as the last that was used.
    mutating func set(_ value: Value, cost: Int, for key: Key) {
        remove(key)
        let index = free.popLast() ?? nodes.endIndex
        if index == nodes.endIndex { nodes.append(nil) }
        nodes[index] = Node(key: key, value: value, cost: cost)
        indices[key] = index
        self.cost += cost
        attach(index)
    }

    /// Removes a value, if it is there.
    @discardableResult
    mutating func remove(_ key: Key) -> Value? {
        guard let index = indices.removeValue(forKey: key), let node = nodes[index] else { return nil }
        detach(index)
        nodes[index] = nil
        free.append(index)
        cost -= node.cost
        return node.value
    }

    /// Removes the value that was not used for the longest time.
    mutating func removeOldest() -> (key: Key, value: Value)? {
        guard let oldest, let node = nodes[oldest] else { return nil }
        remove(node.key)
        return (node.key, node.value)
    }

    private mutating func attach(_ index: Int) {
        nodes[index]?.older = newest
        nodes[index]?.newer = nil
        if let newest { nodes[newest]?.newer = index }
        newest = index
        if oldest == nil { oldest = index }
    }

    private mutating func detach(_ index: Int) {
        guard let node = nodes[index] else { return }
        if let newer = node.newer { nodes[newer]?.older = node.older } else { newest = node.older }
        if let older = node.older { nodes[older]?.newer = node.newer } else { oldest = node.newer }
    }
}

/// Counts how often what is stored under a key was forgotten, so that what was under way then is not stored after it.
///
/// Many keys share a count: what is under way for one may then not be stored although only another was forgotten.
struct CacheEpochs {
    private var counts = [UInt64](repeating: 0, count: 256)

    subscript(key: CacheKey) -> UInt64 { counts[Self.index(key)] }

    mutating func advance(_ key: CacheKey) { counts[Self.index(key)] += 1 }

    mutating func advanceAll() {
        for index in counts.indices { counts[index] += 1 }
    }

    private static func index(_ key: CacheKey) -> Int { Int(UInt(bitPattern: key.hashValue) % 256) }
}
