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
