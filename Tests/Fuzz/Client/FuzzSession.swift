import Bluebonnet
import Foundation

/// The options and records that all sessions of a run share.
struct FuzzContext: Sendable {
    let options: Options
    let findings: Findings
    let watchdog: Watchdog
    let loop = EventLoop(name: "shared")
    let tls: TLSIdentity?
    let registry = ExchangeMarkRegistry()
    let counters = Locked(Counters())
}

struct Counters: Sendable {
    var begun = 0
    var lives = 0
    var rounds = 0
    var requests = 0
    var slowestControl = 0
    /// How much later than its limits a request was answered at most.
    var latest = 0
}

/// A session that lives for some rounds, with the peer that it speaks to; all of it decided by a seed.
struct FuzzSession {
    let seed: UInt64
    let context: FuzzContext
    let journal: Journal
    private let settings: SessionSettings
    private let rounds: Int

    init(seed: UInt64, context: FuzzContext, journal: Journal) {
        var random = Random(seed: seed)
        self.seed = seed
        self.context = context
        self.journal = journal
        rounds = random.pick([3, 10, 30])
        settings = SessionSettings(&random, families: context.options.families)
    }

    /// Runs the rounds, or one of them alone.
    func run(only: Int? = nil, until: (@Sendable () -> Bool)? = nil) async {
        let directory = NSTemporaryDirectory() + "bluebonnet-fuzz-\(ProcessInfo.processInfo.processIdentifier)-\(seed)"
        try? FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let reporter = Reporter(findings: context.findings, place: String(seed, radix: 16))
        let table = ExchangeTable(families: context.options.families, registry: context.registry, report: reporter)
        let peer = Peer(seed: Random.derive(seed, -1), wishes: wishes, table: table, tls: context.tls)
        let configuration = settings.configuration(
            places: peer.places, directory: directory, loop: context.loop, authority: context.tls?.authority)
        var session = Session(configuration: configuration, interceptor: settings.interceptor)
        if context.options.isVerbose { Output.print("\(settings)") }
        for number in 0..<rounds where only == nil || only == number {
            if let until, until() { break }
            let round = Round(
                seed: Random.derive(seed, number), name: "\(String(seed, radix: 16)).\(number)", fuzzSession: self,
                peer: peer,
                table: table, directory: directory, settings: settings)
            journal.begin(round.name)
            if await round.run(session) {
                session = Session(configuration: configuration, interceptor: settings.interceptor)
            }
            context.counters.withLock { $0.rounds += 1 }
        }
        await watched("shutdown") { await session.shutdown() }
        await peer.stop()
        context.counters.withLock { $0.lives += 1 }
    }

    /// Waits for something that must come to an end soon.
    func watched<Result>(_ name: String, _ body: () async -> Result) async -> Result {
        let place = String(seed, radix: 16)
        let item = context.watchdog.begin(milliseconds: settings.longest + context.options.slack) {
            "--round \(place): \(name)"
        }
        defer { context.watchdog.end(item) }
        return await body()
    }

    private var wishes: [(host: String, speech: Place.SpokenProtocol, isTame: Bool, isControl: Bool)] {
        let families = context.options.families
        let h2c: Place.SpokenProtocol = families.has(.h2c) ? .h2c : .http1
        let tls: Place.SpokenProtocol = families.has(.tls) && context.tls != nil ? .tls : .http1
        let wild: [(String, Place.SpokenProtocol)] = [
            ("a.test", .http1), ("b.test", .http1), ("a.test", h2c), ("a.test", tls), ("b.test", tls),
        ]
        return wild.enumerated().map { ($1.0, $1.1, settings.tame.contains($0), false) }
            + [("d.test", .http1, true, true), ("d.test", tls, true, true)]
    }
}

/// Writes down which round is under way, so that the script can say it when the process dies.
struct Journal: Sendable {
    let path: String?

    func begin(_ round: String) {
        guard let path else { return }
        try? (round + "\n").write(toFile: path, atomically: false, encoding: .utf8)
    }
}
