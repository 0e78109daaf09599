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
