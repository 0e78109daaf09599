import BluebonnetTesting
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@testable import Bluebonnet

/// Where the races are run: on the engine against nginx, with one and with four event loops, and without a network.
enum RaceTransport: CaseIterable, Sendable {
    case engine, fourLoops, stub

    func session(
        startRequestsImmediately: Bool = true, eventMonitors: [any EventMonitor] = []
    ) throws -> (Session, URL) {
        switch self {
        case .engine, .fourLoops:
            var configuration = Session.Configuration()
            if self == .fourLoops { configuration.eventLoops = 4 }
            configuration.connectionLimits.perHost = 64
            let session = Session(
                configuration: configuration, eventMonitors: eventMonitors,
                startRequestsImmediately: startRequestsImmediately)
            return (session, try TestServers.nginx.url("/small.json"))
        case .stub:
            let transport = StubTransport { _ in .json(["name": "Ada"]) }
            let session = Session(
                eventMonitors: eventMonitors, startRequestsImmediately: startRequestsImmediately, transport: transport)
            return (session, try "http://stub.test/".asURL())
        }
    }
}

@Suite(.timeLimit(.minutes(10 * raceMultiplier))) struct RequestRaces {
    @Test(arguments: RaceTransport.allCases)
    func `Cancelling during completion ends a request once, as its state says`(track: RaceTransport) async throws {
        let (session, url) = try track.session()
        try await race { iteration in
            let request = session.request(url)
            let task = request.serializingData()
            async let answer = task.response
            await dawdle(iteration)
            request.cancel()
            let response = await answer
            switch response.result {
            case .success: #expect(request.state == .finished || request.state == .cancelled)
            case .failure(let error):
                #expect(error.isCancellation, "\(error)")
                #expect(request.state == .cancelled)
            }
            let again = await task.response
            #expect(again.error?.kind == response.error?.kind)
        }
        let left = await session.withAllRequests { $0.count }
        #expect(left == 0)
        await session.shutdown()
    }

    @Test(arguments: RaceTransport.allCases)
    func `Cancelling during the start resumes all waiting tasks`(track: RaceTransport) async throws {
        let (session, url) = try track.session(startRequestsImmediately: false)
        try await race { iteration in
            let request = session.request(url)
            let task = request.serializingString()
            async let answer = task.response
            async let start: Void = {
                await dawdle(iteration)
                request.resume()
            }()
            async let cancellation: Void = {
                await dawdle(iteration / 23)
                request.cancel()
            }()
            let response = await answer
            _ = await (start, cancellation)
            #expect(response.error == nil || response.error?.isCancellation == true, "\(response)")
        }
        await session.shutdown()
    }

    @Test(arguments: RaceTransport.allCases)
    func `Cancelling the waiting task resumes it and cancels the request`(track: RaceTransport) async throws {
        let (session, url) = try track.session()
        try await race { iteration in
            let request = session.request(url)
            let waiter = Task { await request.serializingData().result }
            await dawdle(iteration)
            waiter.cancel()
            if case .failure(let error) = await waiter.value {
                #expect(error.isCancellation, "\(error)")
                #expect(request.isCancelled)
            }
        }
        await session.shutdown()
    }

    @Test(arguments: RaceTransport.allCases)
    func `All tasks that wait for one task get the same result`(track: RaceTransport) async throws {
        let (session, url) = try track.session()
        try await race { iteration in
            let request = session.request(url)
            let task = request.serializingData(automaticallyCancelling: iteration.isMultiple(of: 2))
            let answers = await withTaskGroup(of: Data?.self) { waiters in
                for _ in 0..<5 { waiters.addTask { await task.response.value } }
                return await waiters.reduce(into: [Data?]()) { $0.append($1) }
            }
            #expect(answers.count == 5)
            #expect(Set(answers).count == 1)
            #expect(answers.first != .some(nil))
            #expect(request.requests.count == 1)
        }
        await session.shutdown()
    }

    @Test(arguments: RaceTransport.allCases)
    func `Serializers attached at any time all get values from one exchange`(track: RaceTransport) async throws {
        let (session, url) = try track.session()
        try await race { iteration in
            let request = session.request(url)
            async let first = request.serializingData().response
            await dawdle(iteration)
            async let second = request.serializingString().response
            async let third = request.serializingJSON().response
            let answers = await (first, second, third)
            #expect(answers.0.value?.isEmpty == false)
            #expect(answers.1.value?.isEmpty == false)
            #expect(answers.2.value != nil)
            #expect(request.requests.count == 1)
        }
        await session.shutdown()
    }

    @Test(arguments: RaceTransport.allCases)
    func `Suspending and resuming many times loses no bytes`(track: RaceTransport) async throws {
        let (session, url) = try track.session()
        try await race { iteration in
            let request = session.request(url)
            let task = request.serializingData()
            await withTaskGroup(of: Void.self) { storm in
                for thread in 0..<3 {
                    storm.addTask {
                        for step in 0..<4 {
                            if (thread + step + iteration).isMultiple(of: 2) {
                                request.suspend()
                            } else {
                                request.resume()
                            }
                            await Task.yield()
                        }
                    }
                }
            }
            request.resume()
            let response = await task.response
            #expect(response.value?.isEmpty == false, "\(response)")
        }
        await session.shutdown()
    }

    @Test(arguments: RaceTransport.allCases)
    func `Shutting down ends all running requests`(track: RaceTransport) async throws {
        // 1,000 sessions with ten requests each.
        for round in 0..<1000 * raceMultiplier {
            let (session, url) = try track.session()
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for member in 0..<10 {
                    tasks.addTask {
                        await dawdle(member + round)
                        let response = await session.request(url).serializingData().response
                        let kind = response.error?.kind
                        #expect(kind == nil || kind == .sessionShutDown || kind == .cancelled, "\(response)")
                    }
                }
                tasks.addTask {
                    await dawdle(round)
                    if round.isMultiple(of: 3) { await session.cancelAllRequests() }
                    await session.shutdown()
                }
                try await tasks.waitForAll()
            }
        }
    }

    @Test(arguments: RaceTransport.allCases)
    func `Requests complete after their session is released`(track: RaceTransport) async throws {
        for _ in 0..<1000 * raceMultiplier {
            let tasks = try {
                let (session, url) = try track.session()
                return (0..<10).map { _ in session.request(url).serializingData() }
            }()
            for task in tasks { _ = try await task.value }
        }
    }

    @Test func `Cancelling ends a request at once although a serializer never returns`() async throws {
        let (session, url) = try RaceTransport.stub.session()
        for _ in 0..<1000 * raceMultiplier {
            let (began, beginning) = AsyncStream<Void>.makeStream()
            let stuck = StuckSerializer(began: beginning)
            let request = session.request(url)
            let task = request.serializingResponse(using: stuck)
            async let answer = task.response
            for await _ in began {}
            request.cancel()
            let response = await answer
            #expect(response.error?.isCancellation == true)
            stuck.letGo()
        }
        await session.shutdown()
    }
}

/// A serializer that is deaf to its cancellation.
private final class StuckSerializer: ResponseSerializer {
    private let began: AsyncStream<Void>.Continuation
    private let waiting = Locked<CheckedContinuation<Void, Never>?>(nil)

    init(began: AsyncStream<Void>.Continuation) { self.began = began }

    func serialize(_ input: SerializerInput) async throws -> String {
        await withCheckedContinuation { continuation in
            waiting.withLock { $0 = continuation }
            began.finish()
        }
        return "too late"
    }

    func letGo() {
        waiting.withLock { $0.take() }?.resume()
    }
}
