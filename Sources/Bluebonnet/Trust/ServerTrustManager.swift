/// Assigns evaluators to hosts.
///
/// ```swift
/// let manager = ServerTrustManager(evaluators: [
///     "api.example.com": PublicKeysTrustEvaluator(keys: [try PublicKey(pin: "sha256/…")]),
///     "*.example.com": DefaultTrustEvaluator(),
/// ])
/// let session = Session(serverTrustManager: manager)
/// ```
///
/// A session asks its manager once for each host, and keeps to the answer. HTTPS proxies are hosts, too.
public struct ServerTrustManager: Sendable {
    /// Whether a request to a host without an evaluator fails; if not, libcurl checks that host as it does without a
    /// manager.
    package let allHostsMustBeEvaluated: Bool

    private let match: @Sendable (String) throws -> (any ServerTrustEvaluating)?

    /// Creates a manager of a few hosts.
    ///
    /// - Parameters:
    ///   - allHostsMustBeEvaluated: Whether a request to another host fails with `.trust(.noRequiredEvaluator)`; `true`
    ///     by default.
    ///   - evaluators: The evaluators by host, without ports. `*.` stands for exactly one label, and a host's own
    ///     evaluator goes before that of a wildcard. Upper and lower case are the same, a Unicode name and its ASCII
    ///     form, and the ways to write an address, such as `127.1` for `127.0.0.1`; evaluators of the same host all
    ///     have to accept.
    public init(allHostsMustBeEvaluated: Bool = true, evaluators: [String: any ServerTrustEvaluating]) {
        self.allHostsMustBeEvaluated = allHostsMustBeEvaluated
        let table = HostTable(evaluators) { CompositeTrustEvaluator(evaluators: [$0, $1]) }
        match = { table.value(forHost: $0) }
    }

    /// Creates a manager that matches hosts with a closure.
    ///
    /// - Parameters:
    ///   - allHostsMustBeEvaluated: Whether a request to a host for which there is no evaluator fails; `true` by
    ///     default.
    ///   - match: Gets a host, in lower case and in ASCII, and returns its evaluator. Runs on the network's thread.
    public init(
        allHostsMustBeEvaluated: Bool = true,
        match: @escaping @Sendable (_ host: String) throws -> (any ServerTrustEvaluating)?
    ) {
        self.allHostsMustBeEvaluated = allHostsMustBeEvaluated
        self.match = match
    }

    /// Returns the evaluator of a host.
    ///
    /// - Parameter host: The host, without a port.
    /// - Returns: The evaluator; `nil` if there is none, and none is needed.
    /// - Throws: `.trust(.noRequiredEvaluator)` if the host needs an evaluator and has none;
    ///   `.trust(.customEvaluationFailed)`, with the closure's error as the underlying error, if the closure throws.
    public func serverTrustEvaluator(forHost host: String) throws(RequestError) -> (any ServerTrustEvaluating)? {
        let found: (any ServerTrustEvaluating)?
        do {
            found = try match(HostName.canonical(host))
        } catch {
            throw error as? RequestError ?? RequestError(.trust(.customEvaluationFailed), underlying: error)
        }
        guard found == nil, allHostsMustBeEvaluated else { return found }
        throw RequestError(.trust(.noRequiredEvaluator(host: host)))
    }
}

/// Finds the value for a host: under its own name, or under a wildcard for one label.
struct HostTable<Value: Sendable>: Sendable {
    private var values: [String: Value] = [:]

    /// Makes a table.
    ///
    /// - Parameters:
    ///   - entries: The values by host, without ports. `*.` stands for exactly one label. Upper and lower case are the
    ///     same, and so are a Unicode name and its ASCII form.
    ///   - combine: Makes one value of those of two entries for the same host, which come in the order of their
    ///     spelling.
    init(_ entries: [String: Value], combiningTwins combine: (Value, Value) -> Value) {
        for (host, value) in entries.sorted(by: { $0.key < $1.key }) {
            let name = HostName.canonical(host)
            values[name] = values[name].map { combine($0, value) } ?? value
        }
    }

    /// Whether the table has no values.
    var isEmpty: Bool { values.isEmpty }

    /// The value for a host, which is in its canonical form; its own name goes before a wildcard.
    func value(forHost host: String) -> Value? {
        if let value = values[host] { return value }
        guard let dot = host.firstIndex(of: "."), !IPAddress.isAddress(host) else { return nil }
        return values["*" + host[dot...]]
    }
}
