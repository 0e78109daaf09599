/// Judges by a closure.
public struct ClosureTrustEvaluator: ServerTrustEvaluating {
    private let closure: @Sendable (ServerTrust, String) throws -> Void

    /// Creates an evaluator.
    ///
    /// - Parameter evaluate: Gets what the server has shown and the host, and throws if the server is not trusted. Runs on
    ///   the network's thread, and must not wait for anything. What it does not check, nobody does.
    public init(_ evaluate: @escaping @Sendable (_ trust: ServerTrust, _ host: String) throws -> Void) {
        closure = evaluate
    }

    /// Calls the closure.
    ///
    /// - Parameters:
    ///   - trust: What the server has shown.
    ///   - host: The host.
    /// - Throws: What the closure throws.
    public func evaluate(_ trust: ServerTrust, forHost host: String) throws { try closure(trust, host) }
}

/// Judges by a closure that is awaited.
public struct AsyncClosureTrustEvaluator: AsyncServerTrustEvaluating {
    private let closure: @Sendable (ServerTrust, String) async throws -> Void

    /// Creates an evaluator.
    ///
    /// - Parameter evaluate: Gets what the server has shown and the host, and throws if the server is not trusted. Runs on
    ///   the global pool. What it does not check, nobody does.
    public init(_ evaluate: @escaping @Sendable (_ trust: ServerTrust, _ host: String) async throws -> Void) {
        closure = evaluate
    }

    /// Calls the closure.
    ///
    /// - Parameters:
    ///   - trust: What the server has shown.
    ///   - host: The host.
    /// - Throws: What the closure throws.
    @concurrent
    public func evaluate(_ trust: ServerTrust, forHost host: String) async throws { try await closure(trust, host) }
}
