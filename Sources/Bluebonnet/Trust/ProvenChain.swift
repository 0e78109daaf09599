/// Finds the certificates of a chain that have signed each other, with bounded work.
///
/// A server can show some 300 certificates of the same name, with which each signature would be checked against each key.
/// OpenSSL stops at a depth of 100, too.
struct ChainSearch<Link: ChainLink> {
    /// How many signatures are checked at most.
    static var checkLimit: Int { 100 }

    /// The chain as far as it is proven, the first certificate first; `nil` if that takes more checks than the limit.
    private(set) var chain: [Link]?
    /// How many signatures were checked.
    private(set) var checks = 0

    init(_ shown: [Link]) {
        guard var last = shown.first else {
            chain = []
            return
        }
        var found = [last]
        var rest = Array(shown.dropFirst())
        while !last.isSelfIssued {
            var next: Int?
            for index in rest.indices where last.isIssued(by: rest[index]) {
                guard checks < Self.checkLimit else { return }
                checks += 1
                guard last.isSigned(by: rest[index]) else { continue }
                next = index
                break
            }
            guard let next else { break }
            last = rest.remove(at: next)
            found.append(last)
        }
        chain = found
    }
}

/// A certificate, as the search for a chain sees it.
protocol ChainLink {
    /// Whether the certificate names itself as its issuer.
    var isSelfIssued: Bool { get }

    /// Whether another certificate is that of the issuer, by all that can be told without checking a signature.
    func isIssued(by issuer: Self) -> Bool

    /// Whether the signature was made with the key of another certificate.
    func isSigned(by issuer: Self) -> Bool
}

/// The certificates that a server has shown, and those of them that have signed each other.
///
/// The search is done once, when its result is first asked for, however many evaluators ask.
final class ProvenChain: Sendable {
    private let shown: [Certificate]
    private let result = Locked<Result?>(nil)

    private enum Result {
        case proven([Certificate])
        case tooLong
    }

    init(_ shown: [Certificate]) {
        self.shown = shown
    }

    /// The certificates that have signed each other, from the first on; `nil` if that is too much to find out.
    var certificates: [Certificate]? {
        switch result.withLock(\.self) ?? search() {
        case .proven(let certificates): certificates
        case .tooLong: nil
        }
    }

    /// Why the server is refused whatever an evaluator says, if one asked for more than can be found out.
    var refusal: RequestError? {
        guard case .tooLong? = result.withLock(\.self) else { return nil }
        return Self.error(shown.count)
    }

    /// The error for a chain that takes too many checks.
    static func error(_ count: Int) -> RequestError {
        let limit = ChainSearch<X509Certificate>.checkLimit
        return RequestError(
            .trust(.chainTooLong),
            detail: "\(count) certificates were shown, and no more than \(limit) signatures are checked")
    }

    private func search() -> Result {
        let found = ChainSearch(shown.map(\.x509)).chain.map { Result.proven($0.map(Certificate.init)) } ?? .tooLong
        result.withLock { $0 = found }
        return found
    }
}
