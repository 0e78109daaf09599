import FoundationEssentials
import Testing

@testable import Bluebonnet

@Suite struct RequestQueueTests {
    private static func host(_ name: String) -> Origin {
        var parts = URLComponents()
        (parts.scheme, parts.host) = ("https", "\(name).test")
        return Origin(of: parts.url ?? URL(filePath: "/"))
    }
    private let a = host("a")
    private let b = host("b")

    private func queue(perHost: Int? = nil, total: Int? = nil) throws -> RequestQueue {
        try #require(RequestQueue(Session.Configuration.RequestLimits(perHost: perHost, total: total)))
    }

    /// Returns all exchanges that may run now.
    private func runnable(_ queue: inout RequestQueue) -> [TransferID] {
        var ids: [TransferID] = []
        while let id = queue.next() { ids.append(id) }
        return ids
    }

    @Test func `Without limits, there is no queue`() {
        #expect(RequestQueue(Session.Configuration.RequestLimits()) == nil)
    }

    @Test func `At most the total runs, and the others follow in order`() throws {
        var queue = try queue(total: 2)
        let entered = (1...5).map { queue.enters($0, to: $0 % 2 == 0 ? a : b, urgency: 3) }
        #expect(entered == [true, true, false, false, false])
        queue.left(1, to: b)
        var next = runnable(&queue)
        #expect(next == [3])
        queue.left(2, to: a)
        queue.left(3, to: b)
        next = runnable(&queue)
        #expect(next == [4, 5])
    }

    @Test func `A busy host lets the others pass`() throws {
        var queue = try queue(perHost: 1, total: 2)
        var entered = [1, 2, 3].map { queue.enters($0, to: a, urgency: 3) }
        entered += [4, 5].map { queue.enters($0, to: b, urgency: 3) }
        #expect(entered == [true, false, false, true, false])
        queue.left(4, to: b)
        var next = runnable(&queue)
        #expect(next == [5])
        queue.left(1, to: a)
        next = runnable(&queue)
        #expect(next == [2])
        queue.left(2, to: a)
        next = runnable(&queue)
        #expect(next == [3])
    }

    @Test func `The most urgent exchange is first, and then the oldest`() throws {
        var queue = try queue(total: 1)
        _ = queue.enters(0, to: a, urgency: 7)
        for (id, urgency) in [(1, 5), (2, 3), (3, 0), (4, 3), (5, 7), (6, 0)] {
            let runs = queue.enters(TransferID(id), to: id % 2 == 0 ? a : b, urgency: urgency)
            #expect(!runs)
        }
        var order: [TransferID] = []
        var running: TransferID = 0
        while true {
            queue.left(running, to: running % 2 == 0 ? a : b)
            guard let next = queue.next() else { break }
            order.append(next)
            running = next
        }
        #expect(order == [3, 6, 2, 4, 1, 5])
    }

    @Test func `An exchange that ends while it waits leaves its place`() throws {
        var queue = try queue(perHost: 1)
        for id: TransferID in 1...4 { _ = queue.enters(id, to: a, urgency: 3) }
        queue.left(2, to: a)
        queue.left(1, to: a)
        queue.left(3, to: a)
        var next = runnable(&queue)
        #expect(next == [4])
        queue.left(4, to: a)
        let runs = queue.enters(5, to: a, urgency: 3)
        #expect(runs)
        next = runnable(&queue)
        #expect(next == [])
    }

    /// Random arrivals and ends: the limits hold, no place stays unused while an exchange could take it, those of a host
    /// and an urgency start in order, and no exchange waits without end.
    @Test(arguments: (0..<200).filter { $0 % 20 != 0 })
    func `Every exchange runs, within the limits and in order`(round: Int) throws {
        let (perHost, total) = (round % 3 + 1, round % 7 + 1)
        var queue = try queue(perHost: round % 5 == 0 ? nil : perHost, total: round % 4 == 0 ? nil : total)
        let hosts = "abcd".map { Self.host(String($0)) }
        var (waiting, running):
            ([(id: TransferID, host: Int, urgency: Int)], [(id: TransferID, host: Int, urgency: Int)])
        (waiting, running) = ([], [])
        if queue.next() != nil { Issue.record("an empty queue has no exchange") }
        func check() {
            if round % 4 != 0 { #expect(running.count <= total) }
            for host in 0..<4 where round % 5 != 0 { #expect(running.count { $0.host == host } <= perHost) }
        }
        for id: TransferID in 1...300 {
            let entry = (id: id, host: Int.random(in: 0..<4), urgency: Int.random(in: 2...4))
            if queue.enters(id, to: hosts[entry.host], urgency: entry.urgency) {
                running.append(entry)
            } else {
                waiting.append(entry)
            }
            check()
            for _ in 0..<Int.random(in: 0...2) where !running.isEmpty {
                let ended = running.remove(at: .random(in: running.indices))
                queue.left(ended.id, to: hosts[ended.host])
            }
            if Bool.random(), Bool.random(), !waiting.isEmpty {
                let ended = waiting.remove(at: .random(in: waiting.indices))
                queue.left(ended.id, to: hosts[ended.host])
            }
            start()
        }
        while !running.isEmpty {
            let ended = running.removeFirst()
            queue.left(ended.id, to: hosts[ended.host])
            start()
        }
        #expect(waiting.isEmpty)

        func start() {
            while let id = queue.next() {
                guard let index = waiting.firstIndex(where: { $0.id == id }) else {
                    Issue.record("\(id) does not wait")
                    continue
                }
                let entry = waiting.remove(at: index)
                let isFirst = !waiting[..<index].contains { $0.host == entry.host && $0.urgency == entry.urgency }
                #expect(isFirst)
                running.append(entry)
                check()
            }
            let isPlaceUnused = waiting.contains { entry in
                (round % 4 == 0 || running.count < total)
                    && (round % 5 == 0 || running.count { $0.host == entry.host } < perHost)
            }
            #expect(!isPlaceUnused)
        }
    }
}
