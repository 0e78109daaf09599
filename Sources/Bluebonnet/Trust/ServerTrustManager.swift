/// Assigns evaluators to hosts; an evaluator decides whether the server of a host is trusted.
///
/// Evaluators conform to ``ServerTrustEvaluating``.
///
/// ```swift
/// let manager = ServerTrustManager(evaluators: [
///     "api.example.com": PublicKeysTrustEvaluator(keys: [try PublicKey(pin: "sha256/…")]),
///     "*.example.com": DefaultTrustEvaluator(),
/// ])
/// let session = Session(serverTrustManager: manager)
/// ```
///
/// A session looks up the evaluator of each host only once, and remembers the result, but not an error. After 1,024
/// hosts, the session forgets all results, and looks up the evaluators of later requests again. A session also looks up
/// an evaluator for each HTTPS proxy, by the host of the proxy. The same rules apply to this host.
public struct ServerTrustManager: Sendable {
    /// Whether an HTTPS request to a host without an evaluator fails.
    ///
    /// If the value is `false`, libcurl itself checks the server of a host without an evaluator.
    package let allHostsMustBeEvaluated: Bool

    private let match: @Sendable (String) throws -> (any ServerTrustEvaluating)?

    /// Creates a manager from a table of hosts.
    ///
    /// If a host matches both an entry with its own name and a wildcard, the entry with its own name is used.
    ///
    /// The manager compares hosts in a canonical form, so the following spellings of a host are equal:
    ///
    /// - a name in upper case and in lower case;
    /// - a Unicode name and its ASCII form;
    /// - an IP address in different forms, such as `127.1` and `127.0.0.1`.
    ///
    /// If several entries have the same canonical form, the evaluators of all these entries must accept the server.
    ///
    /// - Parameters:
    ///   - allHostsMustBeEvaluated: Whether an HTTPS request to a host without an evaluator fails with
    ///     `.trust(.noRequiredEvaluator)`; `true` by default. If the value is `false`, libcurl itself checks the server
    ///     of such a host.
    ///   - evaluators: The evaluator of each host. A key is a host without a port. A leading `*.` stands for exactly
    ///     one label: `*.example.com` matches `www.example.com`, but not `example.com`.
    public init(allHostsMustBeEvaluated: Bool = true, evaluators: [String: any ServerTrustEvaluating]) {
        self.allHostsMustBeEvaluated = allHostsMustBeEvaluated
        let table = HostTable(evaluators) { CompositeTrustEvaluator(evaluators: [$0, $1]) }
        match = { table.value(forHost: $0) }
    }

    /// Creates a manager that looks up evaluators with a closure.
    ///
    /// - Parameters:
    ///   - allHostsMustBeEvaluated: Whether an HTTPS request to a host without an evaluator fails with
    ///     `.trust(.noRequiredEvaluator)`; `true` by default. If the value is `false`, libcurl itself checks the server
    ///     of such a host.
    ///   - match: A closure that receives a host, in ASCII and lower case. It returns the host's evaluator, or `nil` if
    ///     the host has no evaluator. If it throws, the request fails. A session calls the closure on its event loop,
    ///     so the closure must not block.
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
    /// - Returns: The evaluator; `nil` if the host has no evaluator and the manager allows this.
    /// - Throws: `.trust(.noRequiredEvaluator)` if the host has no evaluator and the manager does not allow this. If
    ///   the manager's closure throws a ``RequestError``, the method throws the same error. If the closure throws
    ///   another error, the method throws `.trust(.customEvaluationFailed)` with the closure's error as the underlying
    ///   error.
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
    ///     are not distinguished. A Unicode name is equal to its ASCII form.
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
