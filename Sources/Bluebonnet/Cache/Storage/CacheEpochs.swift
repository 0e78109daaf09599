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
