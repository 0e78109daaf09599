import BluebonnetTesting
import FoundationEssentials
import Synchronization
import TestSupport
import Testing

@testable import Bluebonnet

/// Streams that are abandoned, cancelled, paused and shut down at any moment.
@Suite(.timeLimit(.minutes(10 * raceMultiplier))) struct StreamRaces {
    /// Where the races are run: on the engine against `LocalServer`, and without a network.
    enum StreamRaceTransport: CaseIterable {
        case engine, stub

        // The body is not read as text, because repairing its bytes is slow.
        static let size = 200_000

        func scene(startRequestsImmediately: Bool = true) async throws -> RaceFixture {
            var configuration = Session.Configuration()
            configuration.proxy = .none
            configuration.bodyHighWatermark = 16 * 1024
            configuration.bodyLowWatermark = 4 * 1024
            configuration.connectionLimits.perHost = 64
            switch self {
            case .engine:
                let server = try await LocalServer { $0.get("/a") { _ in StreamFixture.patterned(length: Self.size) } }
                let session = Session(
                    configuration: configuration, startRequestsImmediately: startRequestsImmediately)
                return RaceFixture(session: session, url: server.url("/a"), server: server)
            case .stub:
                let body = StreamFixture.pattern(0..<Self.size)
                let transport = StubTransport { _ in .response(body: body) }
                let session = Session(
                    configuration: configuration, startRequestsImmediately: startRequestsImmediately,
                    transport: transport)
                return RaceFixture(session: session, url: try "http://stub.test/a".asURL(), stub: transport)
            }
        }
    }

    /// A session, and what answers it.
    struct RaceFixture: Sendable {
        let session: Session
        let url: URL
        var server: LocalServer?
        var stub: StubTransport?

        func task(automaticallyCancelling: Bool = true) -> DataStreamTask {
            session.streamRequest(url).validate().streamTask(automaticallyCancelling: automaticallyCancelling)
        }

        /// Expects that all activity ends.
        func end() async throws {
            await session.shutdown()
            #expect(await session.withAllRequests { $0.count } == 0)
            #expect((stub?.runningCount ?? 0) == 0)
            try await server?.waitForOpenConnections(atMost: 0)
            await server?.stop()
        }
    }

    /// Lets other tasks run, more or less.
    private func dawdle(_ iteration: Int) async {
        for _ in 0..<(iteration * 7) % 61 { await Task.yield() }
    }

    /// Expects that a body is whole, or that its request was cancelled.
    private func check(
        _ answer: (data: Data, error: RequestError?), or kinds: [RequestError.Kind] = [.cancelled],
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(StreamFixture.isRight(answer.data, at: 0), sourceLocation: sourceLocation)
        if let error = answer.error {
            #expect(kinds.contains(error.kind), "\(error)", sourceLocation: sourceLocation)
        } else {
            #expect(answer.data.count == StreamRaceTransport.size, sourceLocation: sourceLocation)
        }
    }

    @Test(arguments: StreamRaceTransport.allCases)
    func `Cancelling during a body ends every reader once with the same result`(track: StreamRaceTransport)
        async throws
    {
        let scene = try await track.scene(startRequestsImmediately: false)
        try await race(groups: 20, of: 30) { iteration in
            let task = scene.task()
            let readers = task.readers(3)
            let (bytes, others, events) = (readers[0].bytes, readers[1].bytes, readers[2].streamingData())
            task.resume()
            async let first = StreamFixture.body(bytes)
            async let second = StreamFixture.body(others)
            async let completions = {
                var (count, completions) = (0, [RequestError?]())
                for await event in events {
                    if let completion = event.completion { completions.append(completion.error) }
                    count += event.value?.count ?? 0
                }
                return (count, completions)
            }()
            await dawdle(iteration)
            task.cancel()
            let (one, other, (count, ends)) = await (first, second, completions)
            check(one)
            check(other)
            #expect(ends.count == 1)
            #expect(one.error?.kind == other.error?.kind && one.error?.kind == ends.first??.kind)
            #expect(one.data == other.data && one.data.count == count)
            #expect(task.request.isCancelled || one.error == nil)
            #expect((task.request.error == nil) == (one.error == nil))
            let late = await StreamFixture.body(task.bytes)
            check((late.data, late.error), or: [.cancelled, .bodyAlreadyRead])
        }
        try await scene.end()
    }

    @Test(arguments: StreamRaceTransport.allCases)
    func `Leaving a loop cancels the request or lets it complete`(track: StreamRaceTransport) async throws {
        let scene = try await track.scene()
        let requests = Locked<[(DataStreamRequest, cancels: Bool)]>([])
        try await race(groups: 20, of: 30) { iteration in
            let cancels = !iteration.isMultiple(of: 3)
            let task = scene.task(automaticallyCancelling: cancels)
            requests.withLock { $0.append((task.request, cancels)) }
            await dawdle(iteration)
            var pieces = iteration % 4
            switch iteration % 5 {
            case 0: for try await _ in task.bytes where pieces == 0 { break }
            case 1:
                var iterator = task.bytes.makeAsyncIterator()
                while pieces > 0, try await iterator.next() != nil { pieces -= 1 }
            case 2: _ = task.bytes.makeAsyncIterator()
            case 3: _ = try await task.response
            default: for await _ in task.streamingData() { break }
            }
        }
        try await scene.end()
        for (request, cancels) in requests.withLock({ $0 }) {
            #expect(request.isFinished || request.isCancelled && cancels, "\(request.state)")
            #expect(request.error == nil || request.error?.kind == .cancelled && cancels)
        }
    }

    @Test(arguments: StreamRaceTransport.allCases)
    func `Cancelling the task of a loop ends the loop and the request`(track: StreamRaceTransport) async throws {
        let scene = try await track.scene()
        try await race(groups: 20, of: 30) { iteration in
            let task = scene.task()
            let reader = Task {
                if iteration.isMultiple(of: 2) { _ = try? await task.response }
                return await StreamFixture.body(task.bytes)
            }
            await dawdle(iteration)
            reader.cancel()
            check(await reader.value)
        }
        try await scene.end()
    }

    @Test(arguments: StreamRaceTransport.allCases)
    func `Suspending and resuming many times loses no bytes`(track: StreamRaceTransport) async throws {
        let scene = try await track.scene()
        try await race(groups: 20, of: 30) { iteration in
            let task = scene.task()
            let bytes = task.bytes
            async let body = StreamFixture.body(bytes)
            await withTaskGroup(of: Void.self) { storm in
                for thread in 0..<3 {
                    storm.addTask {
                        for step in 0..<4 {
                            if (thread + step + iteration).isMultiple(of: 2) { task.suspend() } else { task.resume() }
                            await dawdle(iteration + step)
                        }
                    }
                }
            }
            task.resume()
            let answer = await body
            #expect(answer.error == nil, "\(answer.error?.description ?? "")")
            check(answer)
        }
        try await scene.end()
    }

    @Test(arguments: StreamRaceTransport.allCases)
    func `Slow readers, fast readers and readers that leave do not affect each other`(track: StreamRaceTransport)
        async throws
    {
        let scene = try await track.scene(startRequestsImmediately: false)
        try await race(groups: 20, of: 30) { iteration in
            let task = scene.task()
            let readers = task.readers(3)
            let (whole, slow, short) = (readers[0].bytes, readers[1].bytes, readers[2].bytes)
            task.resume()
            async let quick = StreamFixture.body(whole)
            async let leaver: Void = {
                var pieces = iteration % 5
                for try await _ in short {
                    await dawdle(iteration)
                    if pieces == 0 { break }
                    pieces -= 1
                }
            }()
            var body = Data()
            for try await piece in slow {
                body += piece
                await dawdle(iteration + body.count)
            }
            try await leaver
            let answer = await quick
            #expect(answer.error == nil && answer.data == body)
            check(answer)
        }
        try await scene.end()
    }

    @Test(arguments: StreamRaceTransport.allCases)
    func `Shutting down ends all streams`(track: StreamRaceTransport) async throws {
        for round in 0..<100 * raceMultiplier {
            let scene = try await track.scene()
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for member in 0..<5 {
                    tasks.addTask {
                        await dawdle(member + round)
                        check(await StreamFixture.body(scene.task().bytes), or: [.cancelled, .sessionShutDown])
                    }
                }
                tasks.addTask {
                    await dawdle(round)
                    let end = Task { await scene.session.shutdown() }
                    await dawdle(round / 2)
                    if !round.isMultiple(of: 3) { end.cancel() }
                    await end.value
                }
                try await tasks.waitForAll()
            }
            try await scene.end()
        }
    }
}
