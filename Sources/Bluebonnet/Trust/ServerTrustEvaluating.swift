import Synchronization

/// A type that decides whether a server is trusted.
///
/// A type that conforms to this protocol is called an evaluator. A ``ServerTrustManager`` assigns evaluators to hosts.
/// A synchronous evaluator runs in each TLS handshake with its host; ``AsyncServerTrustEvaluating`` describes when an
/// asynchronous evaluator runs. The evaluator replaces libcurl's checks of the certificates and the host name. When a
/// request reuses a connection, the evaluator does not run again.
public protocol ServerTrustEvaluating: Sendable {
    /// Evaluates a server's certificates and stapled OCSP response.
    ///
    /// The method runs during the handshake, on the session's event loop, so it must not block. An evaluator that has
    /// to wait conforms to ``AsyncServerTrustEvaluating``.
    ///
    /// - Parameters:
    ///   - trust: The server's certificates and stapled OCSP response.
    ///   - host: The host of the request, or of the HTTPS proxy, without a port.
    /// - Throws: An error if the server is not trusted. The request is then not sent. If the error is a
    ///   ``RequestError``, the request fails with this error. With any other error, the request fails with
    ///   `.trust(.customEvaluationFailed)`, and your error is the underlying error.
    func evaluate(_ trust: ServerTrust, forHost host: String) throws
}

/// A type that decides asynchronously whether a server is trusted.
///
/// The session first aborts the TLS handshake, and then calls the evaluator on the global executor. If the evaluator
/// accepts the server, the session opens the connection again. The session remembers for up to five minutes that the
/// server was accepted. During this time, the evaluator does not run again for the same host and the same contents of
/// the ``ServerTrust``.
///
/// If other requests connect to the same server during the evaluation, they wait for the same result. If all waiting
/// requests are cancelled, the evaluator's task is cancelled too.
public protocol AsyncServerTrustEvaluating: ServerTrustEvaluating {
    /// Evaluates a server's certificates and stapled OCSP response.
    ///
    /// - Parameters:
    ///   - trust: The server's certificates and stapled OCSP response, from the aborted handshake.
    ///   - host: The host of the request, or of the HTTPS proxy, without a port.
    /// - Throws: An error if the server is not trusted; see ``ServerTrustEvaluating/evaluate(_:forHost:)``.
    @concurrent
    func evaluate(_ trust: ServerTrust, forHost host: String) async throws
}

extension AsyncServerTrustEvaluating {
    /// Always throws an error, because an asynchronous evaluator must be called through its `async` method.
    ///
    /// - Parameters:
    ///   - trust: The server's certificates and stapled OCSP response. They are ignored.
    ///   - host: The host of the request. It is ignored.
    /// - Throws: A `.trust(.notEvaluated)` error.
    public func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        throw RequestError(.trust(.notEvaluated), detail: "\(Self.self) has to be awaited")
    }
}

extension ServerTrustEvaluating {
    /// Whether the evaluator, or an evaluator inside a composite evaluator, is asynchronous.
    var isAwaited: Bool {
        if let composite = self as? CompositeTrustEvaluator { return composite.evaluators.contains { $0.isAwaited } }
        return self is any AsyncServerTrustEvaluating
    }

    /// Evaluates the server synchronously; returns the refusal as a ``RequestError``, or `nil`.
    func verdict(on trust: ServerTrust) -> RequestError? {
        do {
            try evaluate(trust, forHost: trust.host)
            return trust.signedChain.refusal
        } catch {
            return trust.signedChain.refusal ?? Self.wrapped(error)
        }
    }

    /// Evaluates the server, with `await` if necessary; returns the refusal as a ``RequestError``, or `nil`.
    @concurrent
    func awaitedVerdict(on trust: ServerTrust) async -> RequestError? {
        do {
            try await evaluateServer(trust)
            return trust.signedChain.refusal
        } catch {
            return trust.signedChain.refusal ?? Self.wrapped(error)
        }
    }

    /// Calls the evaluator, with `await` if necessary.
    @concurrent
    func evaluateServer(_ trust: ServerTrust) async throws {
        if let composite = self as? CompositeTrustEvaluator, composite.isAwaited {
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

/// Checks that the certificate chain leads to a trusted authority, and that the certificate is valid for the host.
///
/// The trusted authorities are those of the session. libcurl makes the same checks.
public struct DefaultTrustEvaluator: ServerTrustEvaluating {
    private let validateHost: Bool

    /// Creates an evaluator.
    ///
    /// - Parameter validateHost: Whether the certificate must be valid for the host; `true` by default.
    public init(validateHost: Bool = true) {
        self.validateHost = validateHost
    }

    /// Checks the chain, and also the host if `validateHost` is `true`.
    ///
    /// - Parameters:
    ///   - trust: The server's certificates and stapled OCSP response.
    ///   - host: The host of the request, or of the HTTPS proxy, without a port.
    /// - Throws: A ``RequestError`` of the kind `.trust`, with the reason for the refusal.
    public func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        try trust.evaluateChain()
        if validateHost { try trust.evaluateHost() }
    }
}

/// Accepts every server.
///
/// Never use this evaluator in production. An attacker on the network between you and the server could read and change
/// all data. The first use in a process prints a warning to standard error.
public struct DisabledTrustEvaluator: ServerTrustEvaluating {
    private static let hasWarned = Atomic<Bool>(false)

    /// Creates an evaluator that accepts every server.
    public init() {}

    /// Accepts the server.
    ///
    /// The first call in a process writes a warning to standard error.
    ///
    /// - Parameters:
    ///   - trust: The server's certificates and stapled OCSP response. They are ignored.
    ///   - host: The host. The warning contains it.
    public func evaluate(_ trust: ServerTrust, forHost host: String) {
        guard !Self.hasWarned.exchange(true, ordering: .relaxed) else { return }
        StandardError.write("Bluebonnet: DisabledTrustEvaluator accepts any server as \(host); never in production\n")
    }
}

/// Accepts a server only if several evaluators all accept it.
public struct CompositeTrustEvaluator: ServerTrustEvaluating {
    let evaluators: [any ServerTrustEvaluating]

    /// Creates an evaluator that calls other evaluators.
    ///
    /// - Parameter evaluators: The evaluators, in the order in which they are called. After an evaluator has refused
    ///   the server, the later evaluators are not called. The evaluators may be asynchronous. If the array is empty,
    ///   all servers are refused.
    public init(evaluators: [any ServerTrustEvaluating]) {
        self.evaluators = evaluators
    }

    /// Calls the evaluators in order, until an evaluator refuses the server.
    ///
    /// If an evaluator is asynchronous, the session does not call this method, but awaits the evaluators in order.
    ///
    /// - Parameters:
    ///   - trust: The server's certificates and stapled OCSP response.
    ///   - host: The host of the request, or of the HTTPS proxy, without a port.
    /// - Throws: The error of the first evaluator that refuses the server; `.trust(.notEvaluated)` if there are no
    ///   evaluators or if an evaluator is asynchronous.
    public func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        guard !evaluators.isEmpty else {
            throw RequestError(.trust(.notEvaluated), detail: "there is no evaluator for \(host)")
        }
        for evaluator in evaluators { try evaluator.evaluate(trust, forHost: host) }
    }
}

/// Evaluates servers with a synchronous closure.
public struct ClosureTrustEvaluator: ServerTrustEvaluating {
    private let closure: @Sendable (ServerTrust, String) throws -> Void

    /// Creates an evaluator from a closure.
    ///
    /// - Parameter evaluate: A closure that receives the server's certificates and the host. It throws an error if the
    ///   server is not trusted. It runs on the session's event loop, so it must not block. libcurl does not check the
    ///   certificates or the host name.
    public init(_ evaluate: @escaping @Sendable (_ trust: ServerTrust, _ host: String) throws -> Void) {
        closure = evaluate
    }

    /// Calls the closure.
    ///
    /// - Parameters:
    ///   - trust: The server's certificates and stapled OCSP response.
    ///   - host: The host of the request, or of the HTTPS proxy, without a port.
    /// - Throws: The closure's error.
    public func evaluate(_ trust: ServerTrust, forHost host: String) throws { try closure(trust, host) }
}
