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
/// A session looks up the evaluator of each host only once, and remembers it for up to 1,024 hosts. The manager also
/// evaluates HTTPS proxies.
public struct ServerTrustManager: Sendable {
    /// Whether a request to a host without an evaluator fails.
    ///
    /// If the value is `false`, libcurl makes its own checks of such a host.
    package let allHostsMustBeEvaluated: Bool

    private let match: @Sendable (String) throws -> (any ServerTrustEvaluating)?

    /// Creates a manager from a table of hosts.
    ///
    /// If a host matches both its own entry and a wildcard, its own entry is used. Hosts are compared in a canonical
    /// form, so these spellings are equal:
    ///
    /// - upper and lower case;
    /// - a Unicode name and its ASCII form;
    /// - the forms of an IP address, such as `127.1` and `127.0.0.1`.
    ///
    /// If several entries are for the same host, all of their evaluators must accept the server.
    ///
    /// - Parameters:
    ///   - allHostsMustBeEvaluated: Whether a request to a host without an evaluator fails with
    ///     `.trust(.noRequiredEvaluator)`; `true` by default.
    ///   - evaluators: The evaluators by host, without ports. A leading `*.` matches exactly one label.
    public init(allHostsMustBeEvaluated: Bool = true, evaluators: [String: any ServerTrustEvaluating]) {
        self.allHostsMustBeEvaluated = allHostsMustBeEvaluated
        let table = HostTable(evaluators) { CompositeTrustEvaluator(evaluators: [$0, $1]) }
        match = { table.value(forHost: $0) }
    }

    /// Creates a manager that looks up evaluators with a closure.
    ///
    /// - Parameters:
    ///   - allHostsMustBeEvaluated: Whether a request to a host without an evaluator fails with
    ///     `.trust(.noRequiredEvaluator)`; `true` by default.
    ///   - match: Receives a host, in ASCII and lower case. Returns the host's evaluator, or `nil` if it has none. The
    ///     closure runs on the session's event loop.
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
    /// - Returns: The evaluator; `nil` if the host has no evaluator and needs none.
    /// - Throws: `.trust(.noRequiredEvaluator)` if the host needs an evaluator and has none. A ``RequestError`` of the
    ///   manager's closure is thrown unchanged. Any other error of the closure is the underlying error of
    ///   `.trust(.customEvaluationFailed)`.
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

/// Finds the value for a host, by the host's own name or by a wildcard for one label.
struct HostTable<Value: Sendable>: Sendable {
    private var values: [String: Value] = [:]

    /// Creates a table.
    ///
    /// - Parameters:
    ///   - entries: The values by host, without ports. A leading `*.` matches exactly one label. Upper and lower case
    ///     are equal. A Unicode name is equal to its ASCII form.
    ///   - combine: Combines the values of two entries for the same host, in the sort order of their spellings.
    init(_ entries: [String: Value], combiningTwins combine: (Value, Value) -> Value) {
        for (host, value) in entries.sorted(by: { $0.key < $1.key }) {
            let name = HostName.canonical(host)
            values[name] = values[name].map { combine($0, value) } ?? value
        }
    }

    /// Whether the table has no values.
    var isEmpty: Bool { values.isEmpty }

    /// Returns the value for a host in canonical form; the host's own name takes precedence over a wildcard.
    func value(forHost host: String) -> Value? {
        if let value = values[host] { return value }
        guard let dot = host.firstIndex(of: "."), !IPAddress.isAddress(host) else { return nil }
        return values["*" + host[dot...]]
    }
}
