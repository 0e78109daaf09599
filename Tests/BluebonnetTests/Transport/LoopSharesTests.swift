import FoundationEssentials
import Testing

@testable import Bluebonnet

/// How the limits of a session are divided among its event loops.
struct LoopSharesTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let requested: Int
        let perHost: Int?
        let total: Int?
        let loops: Int
        let loopsPerHost: Int

        var testDescription: String { "\(requested) loops, \(perHost ?? 0) per host, \(total ?? 0) in all" }
    }

    private func configuration(_ row: Row) -> Session.Configuration {
        var configuration = Session.Configuration()
        configuration.eventLoops = Session.Configuration.EventLoopCount(row.requested)
        configuration.connectionLimits.perHost = row.perHost
        configuration.connectionLimits.total = row.total
        return configuration
    }

    @Test(arguments: [
        Row(requested: 1, perHost: nil, total: nil, loops: 1, loopsPerHost: 1),
        Row(requested: 4, perHost: nil, total: nil, loops: 4, loopsPerHost: 4),
        Row(requested: 4, perHost: 8, total: nil, loops: 4, loopsPerHost: 4),
        Row(requested: 4, perHost: 6, total: nil, loops: 4, loopsPerHost: 3),
        Row(requested: 4, perHost: 5, total: nil, loops: 4, loopsPerHost: 1),
        Row(requested: 4, perHost: 1, total: nil, loops: 4, loopsPerHost: 1),
        Row(requested: 4, perHost: nil, total: 10, loops: 4, loopsPerHost: 4),
        Row(requested: 4, perHost: nil, total: 3, loops: 3, loopsPerHost: 3),
        Row(requested: 4, perHost: 6, total: 100, loops: 4, loopsPerHost: 3),
        Row(requested: 4, perHost: 6, total: 4, loops: 4, loopsPerHost: 4),
        Row(requested: 4, perHost: 6, total: 5, loops: 1, loopsPerHost: 1),
        Row(requested: 4, perHost: 7, total: 20, loops: 2, loopsPerHost: 1),
        Row(requested: 8, perHost: 2, total: 2, loops: 2, loopsPerHost: 2),
        Row(requested: 64, perHost: 6, total: 1024, loops: 64, loopsPerHost: 6),
    ])
    func `the limits of all loops together are the limits of the session`(_ row: Row) {
        let shares = LoopShares(configuration(row))
        #expect(shares.loops == row.loops)
        #expect(shares.loopsPerHost == row.loopsPerHost)
        let limits = (0..<shares.loops).map { shares.limits(ofLoop: $0) }
        #expect(row.total == nil || limits.reduce(0) { $0 + ($1.total ?? 0) } == row.total)
        if let perHost = row.perHost {
            let reachable = shares.loops == 1 ? perHost : min(perHost, row.total ?? .max)
            #expect(limits.allSatisfy { ($0.perHost ?? 0) * shares.loopsPerHost == reachable })
            // A host can reach its limit, whatever its loops are.
            #expect(shares.loops == 1 || limits.allSatisfy { $0.total ?? .max >= $0.perHost ?? 0 })
        }
    }

    @Test func `a session with limits of the speed has one loop`() {
        var configuration = Session.Configuration()
        configuration.eventLoops = 4
        configuration.speedLimits.download = 1000
        #expect(LoopShares(configuration).loops == 1)
    }

    @Test(arguments: [0, -1, 65, .max]) func `an invalid number of loops is refused`(_ count: Int) {
        var configuration = Session.Configuration()
        configuration.eventLoops = Session.Configuration.EventLoopCount(count)
        #expect(ConfigurationIssue(in: configuration)?.option == "eventLoops")
        #expect((1...64).contains(LoopShares(configuration).loops))
    }

    @Test func `the number of cores is a valid number of loops`() {
        #expect((1...64).contains(Session.Configuration.EventLoopCount.cores.count))
    }
}

/// On which loop an exchange runs.
struct LoopChoiceTests {
    private var choice = LoopChoice(LoopShares(Self.fourLoops), idleLifetime: .seconds(10))
    private var last = 0
    private var loops: [Int: Int] = [:]

    private static let fourLoops: Session.Configuration = {
        var configuration = Session.Configuration()
        configuration.eventLoops = 4
        return configuration
    }()

    private mutating func begin(
        _ host: String = "a", mayMultiplex: Bool = false, at now: Int64 = 0
    ) -> (id: Int, loop: Int) {
        last += 1
        let key = ConnectionDestination.server(host: host, port: 80)
        let loop = choice.choose(for: last, to: key, mayMultiplex: mayMultiplex, now: now)
        loops[last] = loop
        return (last, loop)
    }

    private mutating func end(_ id: Int, isMultiplexed: Bool? = false) throws {
        choice.ended(id, on: try #require(loops[id]), isMultiplexed: isMultiplexed)
    }

    @Test mutating func `requests one after another use one loop, although it has more work`() throws {
        let first = begin()
        _ = begin("b")
        try end(first.id)
        let others = (0..<8).map { _ in begin("c").loop }
        #expect(Set(others) == [0, 1, 2, 3])
        for _ in 0..<3 {
            let (id, loop) = begin()
            #expect(loop == first.loop)
            try end(id)
        }
    }

    @Test mutating func `concurrent HTTP/1.1 requests use all loops evenly`() {
        let loops = (0..<64).map { _ in begin().loop }
        for loop in 0..<4 { #expect(loops.count { $0 == loop } == 16) }
    }

    @Test(arguments: [(4, true), (5, false)])
    mutating func `a loop with much more work is not used, although it has an idle connection`(
        more: Int, isUsed: Bool
    ) throws {
        let first = begin("a")
        try end(first.id)
        let others = (0..<40).map { _ in begin("b") }
        for (id, loop) in others where loop != first.loop { try end(id) }
        for (id, _) in others.filter({ $0.loop == first.loop }).dropFirst(more) { try end(id) }
        #expect((begin("a").loop == first.loop) == isUsed)
    }

    @Test mutating func `concurrent HTTP/2 requests use another loop when a connection has many streams`() throws {
        let loops = (0..<LoopChoice.streams + 1).map { _ in begin(mayMultiplex: true).loop }
        #expect(Set(loops.dropLast()) == [0])
        #expect(loops.last != 0)
    }

    @Test mutating func `a server over TLS without HTTP/2 is noticed`() throws {
        let first = begin(mayMultiplex: true)
        #expect(begin(mayMultiplex: true).loop == first.loop)
        try end(first.id, isMultiplexed: false)
        let loops = (0..<8).map { _ in begin(mayMultiplex: true).loop }
        #expect(Set(loops) == [0, 1, 2, 3])
    }

    @Test mutating func `connections are expected to be closed after their idle lifetime`() throws {
        let first = begin()
        let busy = begin("b")
        try end(first.id)
        for _ in 0..<3 where busy.loop != first.loop { _ = begin("c") }
        _ = begin("d")
        #expect(begin(at: 9_000_000_000).loop == first.loop)
        var later = LoopChoiceTests()
        let again = later.begin()
        try later.end(again.id)
        _ = later.begin("b")
        // Loop 0 has work now, and its idle connection is too old.
        #expect(later.begin(at: 11_000_000_000).loop == 1)
    }

    @Test mutating func `an idle destination is forgotten when there are many`() throws {
        for number in 0..<5000 { try end(begin("h\(number)").id) }
        var text = ""
        dump(choice, to: &text)
        #expect(text.split(separator: "lastUse").count <= 1025)
    }

    @Test func `a host with a limit uses its own loops only`() {
        var configuration = Self.fourLoops
        configuration.connectionLimits.perHost = 2
        var choice = LoopChoice(LoopShares(configuration), idleLifetime: .seconds(10))
        var all: Set<Int> = []
        for host in 0..<50 {
            let key = ConnectionDestination.server(host: "h\(host)", port: 80)
            let loops = Set(
                (0..<8).map {
                    choice.choose(for: host * 8 + $0, to: key, mayMultiplex: false, now: 0)
                })
            #expect(loops.count == 2)
            all.formUnion(loops)
        }
        #expect(all == [0, 1, 2, 3])
    }
}
