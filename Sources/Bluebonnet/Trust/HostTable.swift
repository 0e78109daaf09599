/// Finds what is said of a host: under its own name, or under a wildcard for one label.
struct HostTable<Value: Sendable>: Sendable {
    private var values: [String: Value] = [:]

    /// Makes a table.
    ///
    /// - Parameters:
    ///   - entries: The values by host, without ports. `*.` stands for exactly one label. Upper and lower case are the same,
    ///     and so are a Unicode name and its ASCII form.
    ///   - combine: Makes one value of those of two entries for the same host, which come in the order of their spelling.
    init(_ entries: [String: Value], combiningTwins combine: (Value, Value) -> Value) {
        for (host, value) in entries.sorted(by: { $0.key < $1.key }) {
            let name = HostName.canonical(host)
            values[name] = values[name].map { combine($0, value) } ?? value
        }
    }

    /// Whether nothing is said of any host.
    var isEmpty: Bool { values.isEmpty }

    /// What is said of a host, which is in its canonical form; its own name goes before a wildcard.
    func value(forHost host: String) -> Value? {
        if let value = values[host] { return value }
        guard let dot = host.firstIndex(of: "."), !IPAddress.isAddress(host) else { return nil }
        return values["*" + host[dot...]]
    }
}
