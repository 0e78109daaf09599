import FoundationEssentials

/// Remembers which servers evaluators that have to be awaited have accepted, for a while.
///
/// Belongs to the engine; never leaves the loop's thread.
final class TrustMemory {
    /// A server, by what it has shown, and what OpenSSL makes of that: it may show that it was revoked, or have expired.
    struct Key: Hashable {
        let host: String
        let chain: Data
        let verdict: ServerTrust.Verdict
        let staple: Data?

        init(_ trust: ServerTrust) {
            host = trust.host
            chain = trust.chain.reduce(into: Data()) { $0 += OpenSSLBuffer.sha256(of: $1.derRepresentation) }
            verdict = trust.verdict
            staple = trust.stapledResponse.map(OpenSSLBuffer.sha256)
        }
    }

    /// For how many nanoseconds an answer holds.
    static let lifetime: Int64 = 300_000_000_000
    private static let limit = 1024

    private var accepted: [Key: Int64] = [:]
    private let now: () -> Int64

    init(now: @escaping () -> Int64 = { Reactor.now() }) {
        self.now = now
    }

    func hasAccepted(_ trust: ServerTrust) -> Bool {
        accepted[Key(trust)].map { now() - $0 < Self.lifetime } ?? false
    }

    func accept(_ trust: ServerTrust) {
        let time = now()
        if accepted.count >= Self.limit { accepted = accepted.filter { time - $0.value < Self.lifetime } }
        if accepted.count >= Self.limit { accepted.removeAll() }
        accepted[Key(trust)] = time
    }
}
