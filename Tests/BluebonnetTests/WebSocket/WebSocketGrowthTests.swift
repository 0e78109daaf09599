import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// A slow reader and a fast sender use bounded memory, and sockets do not disturb the requests of their session.
///
/// The tests of memory have processes of their own, as in ``GrowthTests``. Each has a control without a bound, which
/// shows that the measurement would find the difference.
@Suite(.timeLimit(.minutes(10)), .serialized) struct WebSocketGrowthTests {
    private typealias Fixture = WebSocketFixture

    /// The bytes of an endless sender.
    enum Flood: String, CaseIterable, Codable {
        case large, small, empty, fragments

        /// The frames of one step, and how often the step is repeated.
        var frames: (Data, Int) {
            switch self {
            case .large: (Data(Self.repeated(Fixture.frame(0x82, Array(repeating: 5, count: 60_000)), 4)), 400)
            case .small: (Data(Self.repeated(Fixture.frame(0x82, Array(repeating: 5, count: 20)), 10_000)), 60)
            case .empty: (Data(Self.repeated([0x81, 0], 10_000)), 150)
            case .fragments: (Data([0x02, 0] + Self.repeated([0x00, 1, 7], 10_000)), 150)
            }
        }

        private static func repeated(_ frame: [UInt8], _ count: Int) -> [UInt8] {
            (0..<count).flatMap { _ in frame }
        }
    }

    /// The growth of the process in KiB, while a reader sleeps before a flood.
    private static func growth(of flood: Flood, watermark: Int) async throws -> Int {
        let (frames, count) = flood.frames
        var options = LocalServer.Options()
        options.sendBufferBytes = 64 * 1024
        let server = try await LocalServer(options: options) { router in
            router.get("/socket") { request in
                // The fragments belong to one message, so only the first step has its beginning.
                let rest = LocalServer.Script.Step.bytes(flood == .fragments ? frames.dropFirst(2) : frames)
                let steps = [.bytes(frames)] + Array(repeating: rest, count: count - 1)
                return .script(LocalServer.Script([Fixture.accept(request)] + steps + [.waitForClose]))
            }
        }
        let session = TestHarness.session {
            $0.bodyHighWatermark = watermark
            $0.bodyLowWatermark = 256 * 1024
        }
        _ = try await StreamFixture.settled(session) { 0 }
        let before = try ProcessResources.now().residentKiB
        let task = Fixture.request(session, server).webSocketTask()
        _ = try await task.response
        let total = (frames.count - 2) * count
        if watermark > total {
            try await server.waitForBytesSent(atLeast: total)
            for await progress in task.request.downloadProgressUpdates() where progress.completed >= total { break }
        } else {
            _ = try await server.waitForQuiet(of: .milliseconds(500))
        }
        let growth = try ProcessResources.now().residentKiB - before
        let sent = server.traffic.bytesSent
        print("before \(flood), watermark \(watermark): \(growth) KiB more, \(sent) of \(total) bytes")
        task.request.cancel()
        try await TestHarness.end(session, server)
        return growth
    }

    @Test(.measuresMemory, arguments: Flood.allCases)
    func `a reader that sleeps before an endless sender holds the bound`(flood: Flood) async throws {
        let result = try await ExitTestInput.pass(flood) {
            await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
                let flood = try ExitTestInput.value(as: Flood.self)
                #expect(try await Self.growth(of: flood, watermark: 1 << 20) < 16 << 10)
                let unbounded = try await Self.growth(of: flood, watermark: 1 << 40)
                #expect(unbounded > 24 << 10)
            }
        }
        report(result)
    }

    /// The growth of the process in KiB, and the number of messages, while a peer does not read.
    private static func sending(watermark: Int) async throws -> (growth: Int, messages: Int) {
        var options = LocalServer.Options()
        options.receiveBufferBytes = 64 * 1024
        let mayRead = Gate()
        let server = try await LocalServer(options: options) { router in
            router.get("/socket") { .script(Fixture.accept($0), .wait { await mayRead.wait() }, .waitForClose) }
        }
        let session = TestHarness.session {
            $0.bodyHighWatermark = watermark
            $0.bodyLowWatermark = 256 * 1024
        }
        _ = try await StreamFixture.settled(session) { 0 }
        let before = try ProcessResources.now().residentKiB
        let task = Fixture.request(session, server).webSocketTask()
        _ = try await task.response
        let sent = Locked(0)
        let sender = Task {
            let message = Data(repeating: 1, count: 50_000)
            while sent.withLock({ $0 }) < 1500 {
                try await task.send(message)
                sent.withLock { $0 += 1 }
            }
        }
        if watermark > 1500 * 60_000 { try await sender.value }
        let messages = try await StreamFixture.settled(session) { sent.withLock { $0 } }
        let growth = try ProcessResources.now().residentKiB - before
        print("before a deaf peer, watermark \(watermark): \(growth) KiB more, \(messages) messages")
        sender.cancel()
        _ = await sender.result
        task.request.cancel()
        mayRead.open()
        try await TestHarness.end(session, server)
        return (growth, messages)
    }

    @Test(.measuresMemory)
    func `a sender before a peer that does not read holds the bound, and waits`() async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
            let bounded = try await Self.sending(watermark: 1 << 20)
            #expect(bounded.growth < 16 << 10)
            #expect(bounded.messages < 400)
            let unbounded = try await Self.sending(watermark: 1 << 40)
            #expect(unbounded.growth > 32 << 10)
            #expect(unbounded.messages == 1500)
        }
        report(result)
    }

    private func report(_ result: ExitTest.Result?) {
        let output = String(decoding: result?.standardOutputContent ?? [], as: UTF8.self)
        for line in output.split(separator: "\n") where line.contains("before ") { print(line) }
    }

    // MARK: Neighbours

    /// Whether six requests at once reach the server while six other exchanges are open.
    private func sixRequestsArrive(whileOpen open: (LocalServer, Session) async throws -> [any Request]) async throws
        -> Bool
    {
        let (arrived, all) = (Locked(0), Gate())
        let server = try await LocalServer { router in
            router.get("/socket") { .script(Fixture.accept($0), .waitForClose) }
            router.get("/stream") { _ in .script(.text("HTTP/1.1 200 OK\r\n\r\n"), .waitForClose) }
            router.get("/a") { _ in
                // Each request needs a connection of its own.
                if arrived.withLock({
                    $0 += 1; return $0
                }) == 6 {
                    all.open()
                }
                await all.wait()
                return .text("a")
            }
        }
        let session = TestHarness.session {
            $0.connectionLimits.perHost = 6
            $0.connectionLimits.total = 6
            $0.timeouts.pool = .milliseconds(500)
        }
        let others = try await open(server, session)
        let answers = await withTaskGroup(of: String?.self) { group in
            for _ in 0..<6 {
                group.addTask { await session.request(server.url("/a")).serializingString().response.value }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        all.open()
        #expect(others.allSatisfy { $0.state == .resumed })
        for other in others { other.cancel() }
        try await TestHarness.end(session, server)
        return answers == Array(repeating: "a", count: 6)
    }

    @Test func `six sockets to a host leave six connections for its requests, and six streams do not`() async throws {
        let besideSockets = try await sixRequestsArrive { server, session in
            let tasks = (0..<6).map { _ in Fixture.request(session, server).webSocketTask(automaticallyClosing: false) }
            for task in tasks { _ = try await task.response }
            return tasks.map(\.request)
        }
        #expect(besideSockets)
        let besideStreams = try await sixRequestsArrive { server, session in
            let tasks = (0..<6).map { _ in
                session.streamRequest(server.url("/stream")).streamTask(automaticallyCancelling: false)
            }
            for task in tasks { _ = try await task.response }
            return tasks.map(\.request)
        }
        #expect(!besideStreams)
    }

    @Test(arguments: [false, true])
    func `a socket whose reader sleeps lives while 100 requests start`(isTight: Bool) async throws {
        let frames = Data((0..<200).flatMap { Fixture.frame(0x82, Array(repeating: UInt8($0), count: 20_000)) })
        let server = try await LocalServer { router in
            router.get("/socket") {
                .script(
                    Fixture.accept($0), .bytes(frames), Fixture.received(1), Fixture.close(1000), Fixture.received(2))
            }
            router.get("/a") { _ in .text("a") }
        }
        let session = TestHarness.session {
            $0.bodyHighWatermark = 64 * 1024
            $0.bodyLowWatermark = 16 * 1024
            // Libcurl closes idle connections to make room.
            $0.connectionLimits.idle = 1
            if isTight { $0.connectionLimits.total = 2 }
        }
        let task = Fixture.request(session, server).webSocketTask()
        var iterator = task.messages.makeAsyncIterator()
        _ = try await iterator.next()
        _ = try await server.waitForQuiet()
        try await withThrowingTaskGroup { group in
            for number in 0..<100 {
                group.addTask {
                    let host = number.isMultiple(of: 2) ? "127.0.0.1" : "localhost"
                    let answer = await session.request("http://\(host):\(server.port)/a").serializingString().response
                    #expect(answer.value == "a", "\(answer)")
                }
            }
            try await group.waitForAll()
        }
        #expect(task.request.state == .resumed)
        for number in 1..<200 {
            #expect(try await iterator.next() == .binary(Data(repeating: UInt8(number), count: 20_000)))
        }
        try await task.send("x")
        #expect(try await iterator.next() == nil)
        try await TestHarness.end(session, server)
    }
}
