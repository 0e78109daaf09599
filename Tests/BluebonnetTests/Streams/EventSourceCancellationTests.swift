import FoundationEssentials
import Testing

@testable import Bluebonnet

@Suite(.timeLimit(.minutes(10))) struct EventSourceCancellationTests {
    private static let iterations = 1000

    /// Where a source waits, and how to see that it does.
    enum Place: CaseIterable {
        case connecting, reading, waiting

        func server() -> (FakeEventServer, Latch) {
            switch self {
            case .connecting:
                let server = FakeEventServer(.silence)
                return (server, server.connecting)
            case .reading:
                let server = FakeEventServer(.events("data:1\n\n", end: .hang))
                return (server, server.reading)
            case .waiting:
                let server = FakeEventServer(.failure(.connection(.refused)))
                return (server, server.waiting)
            }
        }
    }

    private static func reader(_ source: EventSource) -> Task<RequestError?, Never> {
        Task {
            do throws(RequestError) {
                for try await _ in source {}
                return nil
            } catch {
                return error
            }
        }
    }

    @Test(arguments: Place.allCases)
    func `cancelling ends the wait, closes the connection and throws a cancellation error`(_ place: Place) async {
        for _ in 0..<Self.iterations {
            let (server, isThere) = place.server()
            let reader = Self.reader(server.source(waitsForEver: true))
            await isThere.wait()
            reader.cancel()
            let error = await reader.value
            #expect(error?.isCancellation == true)
            #expect(server.openConnections == 0)
            #expect(server.requests.count == 1)
        }
    }

    @Test func `cancelling at any moment ends the source and leaves no connection`() async {
        for round in 0..<Self.iterations {
            let server = FakeEventServer(
                .events("data:1\n\n"), .failure(.connection(.refused)), .events("data:2\n\ndata:3\n\n"),
                .events("data:4\n\n", end: round.isMultiple(of: 2) ? .hang : .close), .silence)
            let reader = Self.reader(server.source())
            for _ in 0..<(round % 20) { await Task.yield() }
            reader.cancel()
            let error = await reader.value
            #expect(error?.isCancellation == true)
            #expect(server.openConnections == 0)
        }
    }

    @Test func `A task that is cancelled before it reads opens no connection`() async throws {
        let server = FakeEventServer(.events("data:1\n\n"))
        let start = Latch()
        let source = server.source()
        let reader = Task { () async throws -> Void in
            await start.wait()
            var iterator = source.makeAsyncIterator()
            let error = await #expect(throws: RequestError.self) { try await iterator.next() }
            #expect(error?.isCancellation == true)
            #expect(try await iterator.next() == nil)
        }
        reader.cancel()
        start.open()
        try await reader.value
        #expect(server.requests.isEmpty)
    }

    @Test(arguments: ["events", "entries", "values"])
    func `A cancelled task receives nothing more of what has arrived`(_ reads: String) async {
        let server = FakeEventServer(.events("data:1\n\ndata:2\n\n", end: .hang))
        let source = server.source()
        let loop = CancelledLoop()
        let reader = Task {
            switch reads {
            case "events": for try await _ in source { loop.receive() }
            case "entries": for try await _ in source.entries { loop.receive() }
            default: for try await _ in source.decodables(of: Int.self) { loop.receive() }
            }
        }
        let error = await #expect(throws: RequestError.self) { try await reader.value }
        #expect(error?.isCancellation == true)
        #expect(loop.count == 1)
        #expect(server.openConnections == 0)
    }

    @Test func `A cancellation keeps the error of the previous connection`() async {
        let (server, isThere) = Place.waiting.server()
        let reader = Self.reader(server.source(waitsForEver: true))
        await isThere.wait()
        reader.cancel()
        let earlier = await reader.value?.underlying as? RequestError
        #expect(earlier?.kind == .connection(.refused))
    }

    @Test func `Dropping an iterator closes its connection`() async throws {
        for _ in 0..<Self.iterations {
            let server = FakeEventServer(.events("data:1\n\n", end: .hang))
            do {
                var iterator = server.source().makeAsyncIterator()
                #expect(try await iterator.next()?.data == "1")
            }
            #expect(server.openConnections == 0)
        }
    }

    @Test func `The default wait is cancellable too`() async {
        let isWaiting = Latch()
        let real = EventSource.Timing()
        let timing = EventSource.Timing(
            sleep: { delay in
                isWaiting.open()
                try await real.sleep(.seconds(3600) + delay)
            }, jitter: real.jitter)
        let source = EventSource(timing: timing) { _ throws(RequestError) in
            throw RequestError(.connection(.refused))
        }
        let reader = Self.reader(source)
        await isWaiting.wait()
        reader.cancel()
        #expect(await reader.value?.isCancellation == true)
        #expect((0...1).contains(real.jitter()))
    }
}
