import Bluebonnet

/// Where the peer listens: a host's name, a port, and what is spoken there.
struct Place: Sendable {
    enum SpokenProtocol: Sendable {
        case http1, h2c, tls
    }

    let index: Int
    let host: String
    let speech: SpokenProtocol
    let port: Int
    /// Nothing is sent here that a client need not understand.
    let isTame: Bool
    /// Only answers to control requests come from here.
    let isControl: Bool

    var origin: String { "\(speech == .tls ? "https" : "http")://\(host):\(port)" }
}

/// Everything that the peer's threads need to know about the exchanges that are under way.
final class ExchangeTable: Sendable {
    struct Entry {
        let plan: ExchangePlan
        var served: [Script] = []
        var bodySizes: [Int] = []
        /// Whether a GOAWAY frame was sent on its connection.
        var isRefused = false
        /// Frames of other streams may be in the answers.
        var isMixed = false
    }

    private let entries = Locked<[ExchangeMark: Entry]>([:])
    let families: Families
    private let registry: ExchangeMarkRegistry
    private let report: Reporter

    init(families: Families, registry: ExchangeMarkRegistry, report: Reporter) {
        self.families = families
        self.registry = registry
        self.report = report
    }

    func add(_ plan: ExchangePlan) { entries.withLock { $0[plan.mark] = Entry(plan: plan) } }

    func served(_ mark: ExchangeMark) -> [Script] { entries.withLock { $0[mark]?.served ?? [] } }

    /// Notes the size of a body that has arrived whole.
    func bodyArrived(_ mark: ExchangeMark, bytes: Int) { entries.withLock { $0[mark]?.bodySizes.append(bytes) } }

    /// Notes that exchanges share a connection on which a GOAWAY frame was sent.
    func refuse(_ marks: Set<ExchangeMark>) {
        entries.withLock { entries in
            for mark in marks { entries[mark]?.isRefused = true }
        }
    }

    func isRefused(_ mark: ExchangeMark) -> Bool { entries.withLock { $0[mark]?.isRefused ?? false } }

    func bodySizes(_ mark: ExchangeMark) -> [Int] { entries.withLock { $0[mark]?.bodySizes ?? [] } }

    /// Whether frames of another exchange, which the peer has sent on the wrong stream, may be in this one's answers.
    func isMixed(_ mark: ExchangeMark) -> Bool { entries.withLock { $0[mark]?.isMixed ?? false } }

    /// Notes that a connection's answers are mixed: nothing of them is certain, and their marks are no proof.
    func mix(_ marks: Set<ExchangeMark>) {
        entries.withLock { entries in
            for mark in marks { entries[mark]?.isMixed = true }
        }
        for mark in marks { registry.forget(mark) }
    }

    /// Notes when something of an exchange was sent that may be no part of its answer.
    func noteUnasked(_ mark: ExchangeMark, at time: Int) { registry.noteUnasked(mark, at: time) }

    func remove(_ mark: ExchangeMark) { entries.withLock { _ = $0.removeValue(forKey: mark) } }

    /// What to answer to a request that holds these marks; `nil` when no exchange is among them.
    func answer(marks: [ExchangeMark], at place: Place, stream: UInt32?, isHead: Bool, key: String? = nil) -> (
        script: Script, mark: ExchangeMark
    )? {
        if let scope = registry.misplacedSecret(in: marks, scopes: [place.host, place.origin]) {
            report.failure(.secret, "a secret of \(scope) arrived at \(place.origin)")
        }
        let known: (plan: ExchangePlan, hop: Int)? = entries.withLock { entries in
            marks.compactMap { entries[$0] }.first.map { ($0.plan, $0.served.count) }
        }
        guard let known else { return nil }
        // Generated here, when the request and its place are known: the seed decides the rest.
        let script = known.plan.script(hop: known.hop, at: place, stream: stream, isHead: isHead, key: key)
        entries.withLock { $0[known.plan.mark]?.served.append(script) }
        return (script, known.plan.mark)
    }
}
