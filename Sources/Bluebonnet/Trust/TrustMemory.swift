import FoundationEssentials

/// Remembers which servers evaluators that have to be awaited have accepted, for a while.
///
/// Belongs to the engine; never leaves the loop's thread.
final class TrustMemory {
    /// A server, by all that an evaluator may have judged.
    ///
    /// It may show later that it was revoked, have expired, or speak an older version of TLS.
    struct Key: Hashable {
        let host: String
        let chain: Data
        let builtChain: Data
        let verdict: ServerTrust.Verdict
        let staple: Data?
        let protocolVersion: String
        let cipher: String

        init(_ trust: ServerTrust) {
            host = trust.host
            chain = Self.digests(of: trust.chain)
            builtChain = Self.digests(of: trust.builtChain)
            verdict = trust.verdict
            staple = trust.stapledResponse.map(Digest.sha256)
            protocolVersion = trust.protocolVersion
            cipher = trust.cipher
        }

        private static func digests(of chain: [Certificate]) -> Data {
            chain.reduce(into: Data()) { $0 += Digest.sha256(of: $1.derRepresentation) }
        }
    }

    /// For how many nanoseconds an answer holds.
    static let lifetime: Int64 = 300_000_000_000
    private static let limit = 1024

    private var accepted: [Key: Int64] = [:]
    private let now: () -> Int64

    init(now: @escaping () -> Int64 = { MonotonicClock.now() }) {
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
