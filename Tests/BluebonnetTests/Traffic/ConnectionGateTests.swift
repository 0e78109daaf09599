import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// The shares of connections, which are decided without I/O.
@Suite struct ConnectionSharesTests {
    private static let host = origin("a")
    private static let other = origin("b")

    private static func origin(_ name: String) -> Origin {
        var parts = URLComponents()
        (parts.scheme, parts.host) = ("https", "\(name).test")
        return Origin(of: parts.url ?? URL(filePath: "/"))
    }

    /// Adds exchanges to a host; returns how many of them run.
    private static func add(
        _ ids: ClosedRange<TransferID>, to host: Origin = host, _ multiplexing: RequestQueue.Multiplexing,
        _ queue: inout RequestQueue
    ) -> Int {
        ids.count { queue.enters($0, to: host, urgency: 3, multiplexing) }
    }

    private static func started(_ queue: inout RequestQueue, _ room: RequestQueue.Room = .init()) -> [TransferID] {
        var ids: [TransferID] = []
        while let id = queue.next(room) { ids.append(id) }
        return ids
    }

    /// How many of 1,000 exchanges with a host run at once, before a request is sent, and when a request was sent.
    @Test(arguments: [
        (RequestQueue.Multiplexing.none, false, 256, 256), (.unknown, false, 100, 256), (.unknown, true, 100, 108),
    ])
    func `the first exchanges show how many connections a host needs`(
        known: RequestQueue.Multiplexing, isMultiplexed: Bool, before: Int, after: Int
    ) {
        var queue = RequestQueue(perHost: 256, total: 1024)
        let first = Self.add(1...1000, known, &queue)
        #expect(first == before)
        for number in 0..<before {
            let isAlone = !isMultiplexed || number == 0
            queue.sent(to: Self.host, isMultiplexed: isMultiplexed, on: isAlone ? .alone : .unproven)
        }
        let running = before + Self.started(&queue).count
        #expect(running == after)
        #expect(queue.running == running)
        // Now the streams that were sent are known to be accepted.
        if isMultiplexed { queue.proved(99, of: Self.host) }
        #expect(queue.running == (isMultiplexed ? 1 + 8 : 256))
    }

    /// A host whose server limits the streams of a connection, which its client learns with the first answer.
    ///
    /// Until then, the client sends up to 100 streams, and the server refuses those that are too many. They are sent
    /// again on connections of their own. The streams end in the order of their exchanges.
    private struct LimitedHost {
        struct Connection {
            var share = ConnectionShare()
            var hasAnswered = false
            var accepted = 0
        }

        let origin: Origin
        let streams: Int
        var connections: [Connection] = []
        var running: [(id: TransferID, connection: Int)] = []
        /// The exchanges that the server refuses.
        var refused: [(id: TransferID, connection: Int)] = []
        var open: Int { connections.count { $0.share.exchanges > 0 } }

        mutating func send(_ id: TransferID, _ queue: inout RequestQueue, onOwnConnection: Bool = false) {
            let room = connections.firstIndex {
                $0.share.exchanges > 0 && $0.share.exchanges < ($0.hasAnswered ? streams : 100)
            }
            let index = onOwnConnection ? nil : room
            if index == nil { connections.append(Connection()) }
            let number = index ?? connections.count - 1
            let use = connections[number].share.began(hasAnswered: connections[number].hasAnswered)
            queue.sent(to: origin, isMultiplexed: true, on: use, isFirst: index == nil && !onOwnConnection)
            if connections[number].accepted < streams {
                connections[number].accepted += 1
                running.append((id, number))
            } else {
                refused.append((id, number))
            }
        }

        /// The server refuses what is too much, and then answers on all connections.
        mutating func answer(_ queue: inout RequestQueue) {
            for (id, number) in exchange(&refused, with: []) {
                queue.leftConnection(of: origin, connections[number].share.ended())
                send(id, &queue, onOwnConnection: true)
            }
            for number in connections.indices where !connections[number].hasAnswered {
                connections[number].hasAnswered = true
                queue.proved(connections[number].share.answered(), of: origin)
            }
        }

        mutating func endFirst(_ queue: inout RequestQueue) {
            let (id, number) = running.removeFirst()
            connections[number].accepted -= 1
            queue.left(id, to: origin, connections[number].share.ended())
        }
    }

    /// The server's limit is not known until it refuses streams.
    @Test(arguments: [1, 3, 32, 100, 250], [10, 40, 256])
    func `the streams of a host use no more connections than there are shares`(streams: Int, shares: Int) throws {
        var queue = RequestQueue(perHost: 256, total: shares)
        var hosts = ["a", "b"].map { LimitedHost(origin: Self.origin($0), streams: streams) }
        var (started, most, ended, rounds) = ([TransferID](), 0, 0, 0)
        for id: TransferID in 1...4000 where queue.enters(id, to: hosts[id % 2].origin, urgency: 3, .unknown) {
            started.append(id)
        }
        while !started.isEmpty || hosts.contains(where: { !$0.running.isEmpty }) {
            rounds += 1
            try #require(rounds < 10_000, "some exchanges do not end")
            for id in started { hosts[id % 2].send(id, &queue) }
            #expect(queue.running >= hosts.reduce(0) { $0 + $1.open })
            for index in hosts.indices { hosts[index].answer(&queue) }
            let open = hosts.reduce(0) { $0 + $1.open }
            #expect(queue.running == open)
            most = max(most, open)
            for index in hosts.indices where !hosts[index].running.isEmpty {
                hosts[index].endFirst(&queue)
                ended += 1
            }
            started = Self.started(&queue)
        }
        #expect(ended == 4000)
        #expect(queue.running == 0)
        #expect(most <= shares + 2, "one exchange of each host may find no room")
        #expect(most >= min(shares, 4000 / streams / 2) / 2)
    }

    /// A response that needs one turn proves the connection, too; otherwise, its streams would keep others waiting.
    @Test func `a host with one connection does not keep others waiting`() {
        var queue = RequestQueue(perHost: 256, total: 4)
        var host = LimitedHost(origin: Self.host, streams: 100)
        _ = Self.add(1...40, .unknown, &queue)
        for id: TransferID in 1...4 { host.send(id, &queue) }
        var runs = queue.enters(1000, to: Self.other, urgency: 3, .unknown)
        #expect(!runs)
        for _ in 1...20 where !runs {
            host.answer(&queue)
            for id in Self.started(&queue) {
                if id == 1000 { runs = true } else { host.send(id, &queue) }
            }
        }
        #expect(runs)
        #expect(host.open == 1)
    }

    /// A request that uses an idle connection does not show that the others are full.
    @Test func `an idle connection is no sign of full connections`() {
        var queue = RequestQueue(perHost: 2, total: 1024)
        _ = Self.add(1...2, .unknown, &queue)
        queue.sent(to: Self.host, isMultiplexed: true, isFirst: true)
        queue.left(1, to: Self.host, .alone)
        queue.sent(to: Self.host, isMultiplexed: true, isFirst: true)
        // The first connection is idle, and the second has a long stream.
        _ = Self.add(3...40, .unknown, &queue)
        queue.sent(to: Self.host, isMultiplexed: true)
        #expect(Self.started(&queue).count >= 1)
    }

    @Test func `a connection that was opened beside others shows that they are full`() {
        var queue = RequestQueue(perHost: 2, total: 1024)
        _ = Self.add(1...40, .unknown, &queue)
        for _ in 1...2 { queue.sent(to: Self.host, isMultiplexed: true, isFirst: true) }
        #expect(Self.started(&queue) == [])
        // The end of an exchange makes room for another.
        queue.left(1, to: Self.host, .shared)
        #expect(Self.started(&queue) == [3])
        queue.sent(to: Self.host, isMultiplexed: true, on: .shared)
        // It shares a connection, so there may be room for more.
        #expect(Self.started(&queue) == [4, 5])
    }

    @Test func `a multiplexing host receives the next streams when the last are sent`() {
        var queue = RequestQueue(perHost: 2, total: 1024)
        let first = Self.add(1...300, .unknown, &queue)
        #expect(first == 2)
        for number in 0..<2 { queue.sent(to: Self.host, isMultiplexed: true, on: number == 0 ? .alone : .shared) }
        var running = 2
        while case let count = Self.started(&queue).count, count > 0 {
            #expect(count <= 8)
            running += count
            for _ in 0..<count { queue.sent(to: Self.host, isMultiplexed: true, on: .shared) }
        }
        #expect(running == 300)
        #expect(queue.running == 1)
    }

    @Test func `a stream of an open connection needs no share`() {
        var queue = RequestQueue(perHost: 256, total: 1)
        let first = Self.add(1...3, .unknown, &queue) + Self.add(4...5, to: Self.other, .unknown, &queue)
        #expect(first == 1)
        queue.sent(to: Self.host, isMultiplexed: true)
        var next = Self.started(&queue, .init(isFree: false, hasReserve: false))
        #expect(next == [2])
        queue.sent(to: Self.host, isMultiplexed: true, on: .unproven)
        next = Self.started(&queue, .init(isFree: false, hasReserve: false))
        #expect(next == [], "the server may refuse the second stream")
        queue.proved(1, of: Self.host)
        next = Self.started(&queue, .init(isFree: false, hasReserve: false))
        #expect(next == [3])
        for id: TransferID in 1...3 { queue.left(id, to: Self.host, id == 3 ? nil : id == 2 ? .alone : .shared) }
        next = Self.started(&queue, .init(isFree: false, hasReserve: false))
        #expect(next == [])
        next = Self.started(&queue)
        #expect(next == [4])
    }

    /// A connection may seem to have room until the server's limit is known; then the server refuses the streams.
    @Test func `streams that were refused count where they are sent again`() {
        var queue = RequestQueue(perHost: 256, total: 100)
        let first = Self.add(1...300, .unknown, &queue)
        #expect(first == 100)
        for number in 0..<100 {
            queue.sent(to: Self.host, isMultiplexed: true, on: number == 0 ? .alone : .unproven)
        }
        #expect(Self.started(&queue) == [])
        for _ in 1..<100 {
            queue.leftConnection(of: Self.host, .unproven)
            #expect(queue.running == 100)
        }
        #expect(Self.started(&queue) == [])
        for _ in 1..<100 { queue.sent(to: Self.host, isMultiplexed: true, on: .alone) }
        #expect(queue.running == 100)
        for id: TransferID in 1...100 { queue.left(id, to: Self.host, .alone) }
        #expect(queue.running == 0)
        #expect(Self.started(&queue).count == 100)
    }

    @Test func `requests with HTTP 1 do not change what streams need`() {
        var queue = RequestQueue(perHost: 9, total: 1024)
        _ = Self.add(1...200, .unknown, &queue)
        for _ in 1...8 { queue.sent(to: Self.host, isMultiplexed: false, isFirst: true) }
        queue.sent(to: Self.host, isMultiplexed: true, isFirst: true)
        #expect(queue.running == 9)
        // The first stream has opened a connection, because the others carry no streams.
        queue.left(9, to: Self.host, .alone)
        #expect(Self.started(&queue) == [10])
        queue.sent(to: Self.host, isMultiplexed: true)
        queue.left(1, to: Self.host, .alone)
        #expect(Self.started(&queue) == [11])
        queue.sent(to: Self.host, isMultiplexed: true, on: .shared)
        #expect(Self.started(&queue) == [12, 13])
    }

    /// The oldest exchange is first, whichever host it is for.
    @Test func `streams of open connections start in the order of their arrival`() {
        var queue = RequestQueue(perHost: 256, total: 2)
        let hosts = ["a", "b"].map(Self.origin)
        for (id, host) in hosts.enumerated() {
            _ = queue.enters(id, to: host, urgency: 3, .unknown)
        }
        for id: TransferID in 2..<40 { _ = queue.enters(id, to: hosts[id * 7 % 3 % 2], urgency: 3, .unknown) }
        for host in hosts { queue.sent(to: host, isMultiplexed: true) }
        var started: [TransferID] = []
        while let id = queue.next(.init(isFree: false, hasReserve: false)) {
            started.append(id)
            queue.sent(to: hosts[id * 7 % 3 % 2], isMultiplexed: true, on: .shared)
        }
        #expect(started == Array(2..<40))
    }

    @Test func `a host without a connection may use the reserve`() {
        var queue = RequestQueue(perHost: 256, total: 1024)
        _ = queue.enters(1, to: Self.host, urgency: 3)
        let full = RequestQueue.Room(isFree: false)
        var runs = queue.enters(2, to: Self.host, urgency: 3, .none, full)
        #expect(!runs)
        runs = queue.enters(3, to: Self.other, urgency: 3, .none, full)
        #expect(runs)
        runs = queue.enters(4, to: Self.origin("c"), urgency: 3, .none, .init(isFree: false, hasReserve: false))
        #expect(!runs)
        // The reserve is not for the exchange that has waited longest.
        runs = queue.enters(5, to: Self.origin("d"), urgency: 3, .none, full)
        #expect(runs)
        var started = Self.started(&queue, full)
        #expect(started == [])
        queue.left(2, to: Self.host)
        runs = queue.enters(6, to: Self.origin("e"), urgency: 3, .none, full)
        #expect(!runs)
        started = Self.started(&queue, full)
        #expect(started == [4, 6])
    }

    @Test func `an exchange waits beside those of its host, or beside all`() {
        var queue = RequestQueue(perHost: 1, total: 2)
        _ = queue.enters(1, to: Self.host, urgency: 3, now: 10)
        _ = queue.enters(2, to: Self.other, urgency: 3, now: 20)
        _ = queue.enters(3, to: Self.host, urgency: 3, now: 30)
        #expect(queue.lastActivity(beside: Self.host) == 10)
        queue.progressed([Self.host], at: 40)
        #expect(queue.lastActivity(beside: Self.host) == 40)
        queue.progressed([Self.other], at: 50)
        #expect(queue.lastActivity(beside: Self.host) == 40)
        #expect(queue.lastActivity(beside: Self.origin("c")) == 50)
    }

    @Test(arguments: [(1024, 256, 512), (20, 8, 16), (1_048_576, 262_144, 524_288)])
    func `half of the process's descriptors are for connections`(descriptors: Int, limit: Int, sockets: Int) {
        let budget = ConnectionBudget(descriptors: descriptors)
        #expect(budget.limit == limit && budget.socketLimit == sockets)
        budget.changed(by: limit - 1)
        #expect(budget.hasRoom)
        budget.changed(by: 1)
        #expect(!budget.hasRoom)
        budget.changed(by: -1)
        #expect(budget.hasRoom)
        for _ in 0..<sockets { budget.socketOpened() }
        // However many sockets there are, a few exchanges may run.
        #expect(budget.hasRoom == (limit - 1 < 16))
        #expect(!budget.isRelaxed)
        budget.changed(by: 1 - limit)
        #expect(budget.hasRoom)
    }

    @Test func `gates of several sessions share the budget`() {
        let budget = ConnectionBudget(descriptors: 40)
        var limits = Session.Configuration.ConnectionLimits()
        limits.perHost = 100
        var gates = [ConnectionGate(limits, budget: budget), ConnectionGate(limits, budget: budget)]
        var started = 0
        for id: TransferID in 1...20
        where gates[id % 2].enters(id, to: Self.host, urgency: 3, now: 0) {
            started += 1
        }
        #expect(started == 10)
        #expect(gates.map(\.waitingCount) == [5, 5])
        for id: TransferID in 1...10 { gates[id % 2].left(id, to: Self.host, from: .running) }
        #expect(budget.hasRoom)
    }
}

/// Gates of several engines that wait for shares of one budget.
@Suite struct StarvedGatesTests {
    private final class Gate {
        var shares = 0
        /// The exchanges that wait.
        var demand: Int
        var started = 0

        init(demand: Int) { self.demand = demand }

        var id: ObjectIdentifier { ObjectIdentifier(self) }
    }

    /// Lets a gate take what it may, as an engine does in a turn.
    private static func look(_ gate: Gate, _ starved: inout StarvedGates, _ used: inout Int, limit: Int) {
        var isStarved = true
        while gate.demand > 0, used < limit, gate.shares < StarvedGates.part(of: limit, gates: starved.count) {
            (gate.shares, gate.demand, gate.started, used) =
                (gate.shares + 1, gate.demand - 1, gate.started + 1, used + 1)
        }
        if gate.demand == 0 { isStarved = false }
        if isStarved { starved.insert(gate.id, shares: gate.shares) } else { starved.remove(gate.id) }
    }

    /// One gate has all shares when the others begin to wait, and the gate that returns a share looks first.
    @Test(arguments: [
        (10, [1000, 100, 100]), (7, [500, 40, 1, 100]), (256, [2000, 30, 30, 30]), (3, [300, 9, 9, 9, 9]),
    ])
    func `a gate with many exchanges does not keep others waiting`(limit: Int, demands: [Int]) throws {
        let gates = demands.map { Gate(demand: $0) }
        let byID = Dictionary(uniqueKeysWithValues: gates.map { ($0.id, $0) })
        var (starved, used, steps) = (StarvedGates(), 0, 0)
        for gate in gates { Self.look(gate, &starved, &used, limit: limit) }
        #expect(gates[0].shares == limit)
        var isFair = true
        while gates.contains(where: { $0.demand > 0 }) {
            steps += 1
            try #require(steps < 20_000, "the gates wait without an end")
            let ending = try #require(gates.filter { $0.shares > 0 }.randomElement())
            (ending.shares, used) = (ending.shares - 1, used - 1)
            Self.look(ending, &starved, &used, limit: limit)
            var looks = 0
            while used < limit, let next = starved.popFirst(of: limit) {
                let gate = try #require(byID[next])
                Self.look(gate, &starved, &used, limit: limit)
                looks += 1
                try #require(looks <= 2 * gates.count, "the gates notify each other without an end")
            }
            // No share stays unused while an exchange waits.
            #expect(used == limit || !gates.contains { $0.demand > 0 })
            if gates[0].started >= demands[0] / 2, gates[1...].contains(where: { $0.demand > 0 }) { isFair = false }
        }
        #expect(isFair, "the others waited for half of the exchanges of the first gate")
        #expect(starved.count == 0)
    }

    @Test func `the only gate that waits may have all shares`() {
        #expect(StarvedGates.part(of: 256, gates: 1) == .max)
        #expect(StarvedGates.part(of: 256, gates: 2) == 128)
        #expect(StarvedGates.part(of: 256, gates: 150) == 2)
    }
}

/// Thousands of requests at once on the wire.
@Suite(.timeLimit(.minutes(10))) struct ConnectionGateTests {
    /// Requests that a server handles at this moment, and the most so far.
    private final class Counter: Sendable {
        private let counts = Locked((now: 0, most: 0))
        var now: Int { counts.withLock { $0.now } }
        var most: Int { counts.withLock { $0.most } }

        func enter() { counts.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) } }
        func leave() { counts.withLock { $0.now -= 1 } }
    }

    @Test func `2,000 requests at once use 256 connections, and some that are not counted`() async throws {
        let counter = Counter()
        let server = try await LocalServer { router in
            router.get("/") { _ in
                counter.enter()
                try? await Task.sleep(for: .milliseconds(2))
                counter.leave()
                return .text("ok")
            }
        }
        let session = TestHarness.session()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<2000 {
                group.addTask {
                    let text = try await session.request(server.url("/")).serializingString().value
                    #expect(text == "ok")
                }
            }
            try await group.waitForAll()
        }
        let bound = 256 + 64
        #expect((1...bound).contains(counter.most))
        let counts = await session.connectionCounts()
        #expect(counts.waiting == 0 && counts.open <= bound)
        try await TestHarness.end(session, server)
    }

    /// Requests that hold all connections; the others fail after the idle limit, with an error that names the limits.
    @Test func `no request waits indefinitely behind streams without a reader`() async throws {
        let server = try await LocalServer { router in
            router.get("/", .data(Data(count: 4 << 20)))
            router.get("/next", .text("next"))
        }
        var configuration = Session.Configuration()
        configuration.connectionLimits.perHost = 2
        configuration.timeouts.idle = .seconds(1)
        let session = Session(configuration: configuration)
        var readers = (0..<2).map { _ in
            session.streamRequest(server.url("/")).streamTask().bytes.makeAsyncIterator()
        }
        for index in readers.indices {
            let first = try await readers[index].next()
            #expect(first != nil)
        }
        let response = await session.request(server.url("/next")).serializingString().response
        #expect(response.error?.kind == .timedOut(.pool))
        let text = response.error.map { "\($0)" } ?? ""
        #expect(text.contains("no connection became free for 1.0 seconds"))
        #expect(text.contains("connectionLimits.perHost is 2"))
        // A stream that is read to its end makes room.
        async let next = session.request(server.url("/next")).serializingString().value
        for index in readers.indices { while try await readers[index].next() != nil {} }
        let end = try await next
        #expect(end == "next")
        try await TestHarness.end(session, server)
    }

    @Test(arguments: ["cancel", "suspend", "shutdown"])
    func `requests that wait for a connection can be cancelled and suspended`(action: String) async throws {
        let gate = Gate()
        let running = Counter()
        let server = try await LocalServer { router in
            router.get("/held") { _ in
                running.enter()
                await gate.wait()
                return .ok
            }
            router.get("/", .text("ok"))
        }
        var configuration = Session.Configuration()
        configuration.connectionLimits.perHost = 1
        let session = Session(configuration: configuration)
        let held = session.request(server.url("/held")).serializingNothing()
        while running.now == 0 { await Task.yield() }
        let requests = (0..<3).map { _ in session.request(server.url("/")) }
        let tasks = requests.map { $0.serializingString() }
        while await session.connectionCounts().waiting < 3 { await Task.yield() }
        var shutdown: Task<Void, Never>?
        switch action {
        case "cancel": requests[0].cancel()
        case "suspend": requests[0].suspend()
        default: shutdown = Task { await session.shutdown(within: .seconds(100)) }
        }
        while await session.connectionCounts().waiting == 3 { await Task.yield() }
        gate.open()
        if action == "shutdown" {
            for task in tasks {
                let error = await task.response.error
                #expect(error?.kind == .sessionShutDown, "\(String(describing: error))")
            }
            await shutdown?.value
            return await server.stop()
        }
        _ = await held.response
        for task in tasks[1...] {
            let text = try await task.value
            #expect(text == "ok")
        }
        if action == "suspend" { requests[0].resume() }
        let first = await tasks[0].response
        #expect(action == "suspend" ? first.value == "ok" : first.error?.kind == .cancelled)
        try await TestHarness.end(session, server)
    }
}
