import Synchronization

/// Decides whether a server is trusted.
///
/// Runs in each TLS handshake with a host that a ``ServerTrustManager`` assigns to this evaluator. It replaces
/// libcurl's checks: nothing else checks the server. A reused connection was evaluated when it was opened.
public protocol ServerTrustEvaluating: Sendable {
    /// Evaluates the certificates and the stapled response of a server.
    ///
    /// Runs within the handshake, on the network's thread, and so must not wait for anything. An evaluator that has to
    /// wait is an ``AsyncServerTrustEvaluating``.
    ///
    /// - Parameters:
    ///   - trust: The certificates and the stapled response of the server.
    ///   - host: The host that the request is for, or the proxy's, without a port.
    /// - Throws: The reason why the server is not trusted: a ``RequestError``, or an error of your own, which becomes
    ///   the underlying error of `.trust(.customEvaluationFailed)`. The request is not sent.
    func evaluate(_ trust: ServerTrust, forHost host: String) throws
}

/// Decides whether a server is trusted, and may wait for something to do so.
///
/// The handshake is aborted, the evaluator runs on the global pool, and the connection is made again when it accepts.
/// The evaluator is then not asked again for the same host and the same contents of a ``ServerTrust``: its answer is
/// valid for five minutes. Requests that meet the same server meanwhile wait for the same answer; when the last of them
/// has been cancelled, the evaluator's task is cancelled, too.
public protocol AsyncServerTrustEvaluating: ServerTrustEvaluating {
    /// Evaluates the certificates and the stapled response of a server.
    ///
    /// - Parameters:
    ///   - trust: The certificates and the stapled response of the server, from a handshake that was aborted.
    ///   - host: The host that the request is for, or the proxy's, without a port.
    /// - Throws: The reason why the server is not trusted; see ``ServerTrustEvaluating/evaluate(_:forHost:)``.
    @concurrent
    func evaluate(_ trust: ServerTrust, forHost host: String) async throws
}

extension AsyncServerTrustEvaluating {
    /// Refuses: the evaluator has to be awaited, and was not.
    ///
    /// - Parameters:
    ///   - trust: The certificates and the stapled response of the server.
    ///   - host: The host.
    /// - Throws: A `.trust(.notEvaluated)` error.
    public func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        throw RequestError(.trust(.notEvaluated), detail: "\(Self.self) has to be awaited")
    }
}

extension ServerTrustEvaluating {
    /// Whether the evaluator has to be awaited.
    var isAwaited: Bool {
        if let composite = self as? CompositeTrustEvaluator { return composite.evaluators.contains { $0.isAwaited } }
        return self is any AsyncServerTrustEvaluating
    }

    /// Evaluates the server, and converts a refusal into a ``RequestError``.
    func verdict(on trust: ServerTrust) -> RequestError? {
        do {
            try evaluate(trust, forHost: trust.host)
            return trust.signedChain.refusal
        } catch {
            return trust.signedChain.refusal ?? Self.wrapped(error)
        }
    }

    /// The same for an evaluator that may have to be awaited.
    @concurrent
    func awaitedVerdict(on trust: ServerTrust) async -> RequestError? {
        do {
            try await evaluateServer(trust)
            return trust.signedChain.refusal
        } catch {
            return trust.signedChain.refusal ?? Self.wrapped(error)
        }
    }

    /// Calls the evaluator, awaiting it if necessary.
    @concurrent
    func evaluateServer(_ trust: ServerTrust) async throws {
        if let composite = self as? CompositeTrustEvaluator {
            for evaluator in composite.evaluators { try await evaluator.evaluateServer(trust) }
        } else if let evaluator = self as? any AsyncServerTrustEvaluating {
            try await evaluator.evaluate(trust, forHost: trust.host)
        } else {
            try evaluate(trust, forHost: trust.host)
        }
    }

    private static func wrapped(_ error: any Error) -> RequestError {
        error as? RequestError
            ?? RequestError(.trust(.customEvaluationFailed), detail: "by \(Self.self)", underlying: error)
    }
}

/// Evaluates servers as libcurl does without a manager: by the authorities that the session trusts, and by the host's
/// name.
public struct DefaultTrustEvaluator: ServerTrustEvaluating {
    private let validateHost: Bool

    /// Creates an evaluator.
    ///
    /// - Parameter validateHost: Whether the certificate has to be for the host; `true` by default.
    public init(validateHost: Bool = true) {
        self.validateHost = validateHost
    }

    /// Checks the chain, and the host.
    ///
    /// - Parameters:
    ///   - trust: The certificates and the stapled response of the server.
    ///   - host: The host.
    /// - Throws: A `.trust` error with the reason of the refusal.
    public func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        try trust.evaluateChain()
        if validateHost { try trust.evaluateHost() }
    }
}

extension ServerTrustEvaluating where Self == DefaultTrustEvaluator {
    /// Evaluates servers as libcurl does without a manager.
    ///
    /// - Parameter validateHost: Whether the certificate has to be for the host; `true` by default.
    /// - Returns: The evaluator.
    package static func `default`(validateHost: Bool = true) -> DefaultTrustEvaluator {
        DefaultTrustEvaluator(validateHost: validateHost)
    }
}

/// Accepts every server.
///
/// Never use this in production. An attacker on the network between you and the server can read and change everything.
/// The first one of a process prints a warning on standard error when it is asked.
public struct DisabledTrustEvaluator: ServerTrustEvaluating {
    private static let hasWarned = Atomic<Bool>(false)

    /// Creates an evaluator that must not be used in production.
    public init() {}

    /// Accepts.
    ///
    /// - Parameters:
    ///   - trust: The certificates and the stapled response of the server.
    ///   - host: The host.
    public func evaluate(_ trust: ServerTrust, forHost host: String) {
        guard !Self.hasWarned.exchange(true, ordering: .relaxed) else { return }
        StandardError.write("Bluebonnet: DisabledTrustEvaluator accepts any server as \(host); never in production\n")
    }
}

extension ServerTrustEvaluating where Self == DisabledTrustEvaluator {
    /// Accepts every server.
    ///
    /// Never use this in production.
    package static var disabled: DisabledTrustEvaluator { DisabledTrustEvaluator() }
}

/// Accepts servers that all of several evaluators accept.
public struct CompositeTrustEvaluator: ServerTrustEvaluating {
    let evaluators: [any ServerTrustEvaluating]

    /// Creates an evaluator.
    ///
    /// - Parameter evaluators: The evaluators, asked in this order up to the first that refuses. Some may have to be
    ///   awaited. With none, no server is accepted.
    public init(evaluators: [any ServerTrustEvaluating]) {
        self.evaluators = evaluators
    }

    /// Asks the evaluators.
    ///
    /// - Parameters:
    ///   - trust: The certificates and the stapled response of the server.
    ///   - host: The host.
    /// - Throws: The error of the first evaluator that refuses.
    public func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        guard !evaluators.isEmpty else {
            throw RequestError(.trust(.notEvaluated), detail: "there is no evaluator for \(host)")
        }
        for evaluator in evaluators { try evaluator.evaluate(trust, forHost: host) }
    }
}

extension ServerTrustEvaluating where Self == CompositeTrustEvaluator {
    /// Accepts servers that all of several evaluators accept.
    ///
    /// - Parameter evaluators: The evaluators, asked in this order.
    /// - Returns: The evaluator.
    package static func composite(_ evaluators: [any ServerTrustEvaluating]) -> CompositeTrustEvaluator {
        CompositeTrustEvaluator(evaluators: evaluators)
    }
}

/// Evaluates servers with a closure.
public struct ClosureTrustEvaluator: ServerTrustEvaluating {
    private let closure: @Sendable (ServerTrust, String) throws -> Void

    /// Creates an evaluator.
    ///
    /// - Parameter evaluate: Gets the server's trust and the host, and throws if the server is not trusted. Runs on the
    ///   network's thread, and must not wait for anything. This closure is the only check.
    public init(_ evaluate: @escaping @Sendable (_ trust: ServerTrust, _ host: String) throws -> Void) {
        closure = evaluate
    }

    /// Calls the closure.
    ///
    /// - Parameters:
    ///   - trust: The certificates and the stapled response of the server.
    ///   - host: The host.
    /// - Throws: The closure's error.
    public func evaluate(_ trust: ServerTrust, forHost host: String) throws { try closure(trust, host) }
}

/// Evaluates servers with a closure that is awaited.
package struct AsyncClosureTrustEvaluator: AsyncServerTrustEvaluating {
    private let closure: @Sendable (ServerTrust, String) async throws -> Void

    /// Creates an evaluator.
    ///
    /// - Parameter evaluate: Gets the server's trust and the host, and throws if the server is not trusted. Runs on the
    ///   global pool. This closure is the only check.
    package init(_ evaluate: @escaping @Sendable (_ trust: ServerTrust, _ host: String) async throws -> Void) {
        closure = evaluate
    }

    /// Calls the closure.
    ///
    /// - Parameters:
    ///   - trust: The certificates and the stapled response of the server.
    ///   - host: The host.
    /// - Throws: The closure's error.
    @concurrent
    package func evaluate(_ trust: ServerTrust, forHost host: String) async throws { try await closure(trust, host) }
}
