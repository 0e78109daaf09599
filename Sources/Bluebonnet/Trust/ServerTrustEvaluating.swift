import Synchronization

/// Decides whether a server is trusted.
///
/// Asked in each handshake with a host that a ``ServerTrustManager`` has the evaluator for, in place of libcurl's own
/// checks: what the evaluator does not check, nobody does. A connection that is used again was judged when it was made.
public protocol ServerTrustEvaluating: Sendable {
    /// Judges what a server has shown.
    ///
    /// Runs within the handshake, on the thread of the network, and so must not wait for anything. An evaluator that has
    /// to is an ``AsyncServerTrustEvaluating``.
    ///
    /// - Parameters:
    ///   - trust: What the server has shown.
    ///   - host: The host that the request is for, or the proxy's, without a port.
    /// - Throws: Whatever says why the server is not trusted: a ``RequestError``, or an error of your own, which becomes the
    ///   underlying one of `.trust(.customEvaluationFailed)`. The request is not sent.
    func evaluate(_ trust: ServerTrust, forHost host: String) throws
}

/// Decides whether a server is trusted, and may wait for something to do so.
///
/// The handshake is broken off, the evaluator asked on the global pool, and the connection made again when it accepts,
/// without asking it again for the same host and all that a ``ServerTrust`` says of it: an answer holds for five minutes. Requests that meet the same server meanwhile wait for the same answer; when the last of them has been
/// cancelled, so is the evaluator's task.
public protocol AsyncServerTrustEvaluating: ServerTrustEvaluating {
    /// Judges what a server has shown.
    ///
    /// - Parameters:
    ///   - trust: What the server has shown, in a handshake that was broken off.
    ///   - host: The host that the request is for, or the proxy's, without a port.
    /// - Throws: Whatever says why the server is not trusted; see ``ServerTrustEvaluating/evaluate(_:forHost:)``.
    @concurrent
    func evaluate(_ trust: ServerTrust, forHost host: String) async throws
}

extension AsyncServerTrustEvaluating {
    /// Refuses: an evaluator that has to be awaited was not.
    ///
    /// - Parameters:
    ///   - trust: What the server has shown.
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

    /// Judges, and says it with an error of Bluebonnet's.
    func verdict(on trust: ServerTrust) -> RequestError? {
        do {
            try evaluate(trust, forHost: trust.host)
            return trust.provenChain.refusal
        } catch {
            return trust.provenChain.refusal ?? Self.wrapped(error)
        }
    }

    /// The same for an evaluator that may have to be awaited.
    @concurrent
    func awaitedVerdict(on trust: ServerTrust) async -> RequestError? {
        do {
            try await judge(trust)
            return trust.provenChain.refusal
        } catch {
            return trust.provenChain.refusal ?? Self.wrapped(error)
        }
    }

    /// Asks the evaluator in the way that it has to be asked.
    @concurrent
    func judge(_ trust: ServerTrust) async throws {
        if let composite = self as? CompositeTrustEvaluator {
            for evaluator in composite.evaluators { try await evaluator.judge(trust) }
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

/// Judges as libcurl does without a manager: by the authorities that the session trusts, and by the host's name.
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
    ///   - trust: What the server has shown.
    ///   - host: The host.
    /// - Throws: A `.trust` error that says what is wrong.
    public func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        try trust.evaluateChain()
        if validateHost { try trust.evaluateHost() }
    }
}

extension ServerTrustEvaluating where Self == DefaultTrustEvaluator {
    /// Judges as libcurl does without a manager.
    ///
    /// - Parameter validateHost: Whether the certificate has to be for the host; `true` by default.
    /// - Returns: The evaluator.
    package static func `default`(validateHost: Bool = true) -> DefaultTrustEvaluator {
        DefaultTrustEvaluator(validateHost: validateHost)
    }
}

/// Accepts every server, whoever it is: never in production.
///
/// Whoever can reach the network between you and the server can read and change everything. The first one of a process
/// says so on standard error when it is asked.
public struct DisabledTrustEvaluator: ServerTrustEvaluating {
    private static let hasWarned = Atomic<Bool>(false)

    /// Creates an evaluator that must not be used in production.
    public init() {}

    /// Accepts.
    ///
    /// - Parameters:
    ///   - trust: What the server has shown.
    ///   - host: The host.
    public func evaluate(_ trust: ServerTrust, forHost host: String) {
        guard !Self.hasWarned.exchange(true, ordering: .relaxed) else { return }
        StandardError.write("Bluebonnet: DisabledTrustEvaluator accepts any server as \(host); never in production\n")
    }
}

extension ServerTrustEvaluating where Self == DisabledTrustEvaluator {
    /// Accepts every server, whoever it is: never in production.
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
    ///   - trust: What the server has shown.
    ///   - host: The host.
    /// - Throws: What the first that refuses throws.
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
package struct AsyncClosureTrustEvaluator: AsyncServerTrustEvaluating {
    private let closure: @Sendable (ServerTrust, String) async throws -> Void

    /// Creates an evaluator.
    ///
    /// - Parameter evaluate: Gets what the server has shown and the host, and throws if the server is not trusted. Runs on
    ///   the global pool. What it does not check, nobody does.
    package init(_ evaluate: @escaping @Sendable (_ trust: ServerTrust, _ host: String) async throws -> Void) {
        closure = evaluate
    }

    /// Calls the closure.
    ///
    /// - Parameters:
    ///   - trust: What the server has shown.
    ///   - host: The host.
    /// - Throws: What the closure throws.
    @concurrent
    package func evaluate(_ trust: ServerTrust, forHost host: String) async throws { try await closure(trust, host) }
}
