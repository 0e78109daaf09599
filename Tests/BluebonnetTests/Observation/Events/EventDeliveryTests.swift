import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

@Suite(.timeLimit(.minutes(10))) struct EventDeliveryTests {
    private let transport = StubTransport { _ in .text("x") }

    private func session(_ monitors: any RequestEventHandler...) -> Session {
        Session(eventMonitors: monitors, transport: transport)
    }

    @Test func `A waiting monitor delays no requests or other monitors, and receives all events`() async throws {
        let (gate, slow, log) = (Gate(), EventLog(), EventLog())
        let waiting = ClosureEventMonitor()
        waiting.requestDidResume = { _ in await gate.wait() }
        waiting.requestDidFinish = { slow.requestDidFinish($0) }
        let session = session(waiting, log)
        var requests: [RequestID] = []
        for _ in 0..<20 {
            let task = session.request("http://stub.test/").serializingString()
            requests.append(task.request.id)
            #expect(try await task.value == "x")
        }
        await log.finished(20)
        #expect(slow.lines.isEmpty)
        gate.open()
        await session.shutdown()
        #expect(slow.all.map(\.request) == requests)
    }

    @Test func `A monitor may be an actor`() async throws {
        let monitor = CountingMonitor()
        let session = session(monitor)
        for _ in 0..<50 { _ = try await session.request("http://stub.test/").serializingString().value }
        await session.shutdown()
        #expect(await monitor.responses == 50)
        #expect(await monitor.finished == 50)
    }

    @Test func `A monitor may be isolated to the main actor`() async throws {
        let monitor = MainMonitor()
        let session = session(monitor)
        _ = try await session.request("http://stub.test/").serializingString().value
        await session.shutdown()
        #expect(await monitor.finished == 1)
    }

    @Test func `A monitor may make requests with the session that it observes`() async throws {
        let answers = Locked<[String]>([])
        let (monitor, log) = (ClosureEventMonitor(), EventLog())
        let session = session(monitor, log)
        monitor.requestDidFinish = { [weak session] request in
            guard let session, request.request?.url.path == "/first" else { return }
            let answer = try? await session.request("http://stub.test/second").serializingString().value
            answers.withLock { $0.append(answer ?? "none") }
        }
        _ = try await session.request("http://stub.test/first").serializingString().value
        await log.finished(2)
        await session.shutdown()
        #expect(answers.withLock { $0 } == ["x"])
    }

    @Test func `A monitor may shut down its session`() async throws {
        let (monitor, done) = (ClosureEventMonitor(), Gate())
        let session = session(monitor)
        monitor.requestDidResume = { [weak session] _ in
            await session?.shutdown()
            done.open()
        }
        // The monitor may be faster than the request.
        let error = await session.request("http://stub.test/").serializingString().response.error
        #expect(error == nil || error?.kind == .sessionShutDown)
        await done.wait()
        await session.shutdown()
    }

    @Test func `A cancelled shutdown does not wait for monitors`() async throws {
        let gate = Gate()
        let monitor = ClosureEventMonitor()
        monitor.requestDidFinish = { _ in await gate.wait() }
        let session = session(monitor)
        _ = try await session.request("http://stub.test/").serializingString().value
        let end = Task { await session.shutdown() }
        end.cancel()
        await end.value
        gate.open()
    }

    @Test func `Monitors receive every event after their session was released`() async throws {
        let log = EventLog()
        let request = session(log).request("http://stub.test/")
        _ = try await request.serializingString().value
        await log.finished(1)
        #expect(log.lines.first == "resume" && log.lines.last == "finish")
    }

    @Test func `A monitor is called on its executor, one call at a time`() async throws {
        let executor = RecordingExecutor()
        let (log, overlaps) = (EventLog(executor: executor), Counter())
        let active = Locked(0)
        let monitor = ClosureEventMonitor(executor: executor)
        monitor.requestDidCreateTask = { _, _ in
            if active.withLock({
                $0 += 1; return $0
            }) > 1 {
                overlaps.next()
            }
            await Task.yield()
            active.withLock { $0 -= 1 }
        }
        monitor.requestDidFinish = { _ in #expect(RecordingExecutor.isCurrent) }
        let session = session(log, monitor)
        for _ in 0..<50 { _ = try await session.request("http://stub.test/").serializingString().value }
        await session.shutdown()
        #expect(overlaps.value == 0)
        #expect(executor.jobs.value > 0)
        #expect(log.lines.count { $0 == "finish" } == 50)
    }

    @Test func `Without an executor, monitors are called on the pool and never on the event loop`()
        async throws
    {
        let server = try await LocalServer { $0.get("/") { _ in .text("x") } }
        let onLoop = Counter()
        let monitor = ClosureEventMonitor()
        let session = Session(eventMonitors: [monitor])
        let loop = try #require(session.executor as? EventLoop)
        let note: @Sendable () -> Void = { if loop.isCurrentThread { onLoop.next() } }
        monitor.requestDidResume = { _ in note() }
        monitor.requestDidCompleteTaskWithError = { _, _, _ in note() }
        monitor.requestDidFinish = { _ in note() }
        try await withTaskExecutorPreference(session.executor) {
            for _ in 0..<50 { _ = try await session.request(server.url("/")).serializingString().value }
        }
        await session.shutdown()
        #expect(onLoop.value == 0)
        await server.stop()
    }

    @Test func `Monitors that are passed together are called separately`() async throws {
        let gate = Gate()
        let (waiting, log) = (ClosureEventMonitor(), EventLog())
        waiting.requestDidResume = { _ in await gate.wait() }
        let composite = CompositeEventMonitor(monitors: [waiting, CompositeEventMonitor(monitors: [log])])
        let session = session(composite)
        #expect(session.eventMonitors.count == 1)
        _ = try await session.request("http://stub.test/").serializingString().value
        await log.finished(1)
        gate.open()
        await session.shutdown()
    }

    @Test func `A session without monitors emits no events`() async throws {
        for session in [session(), session(CompositeEventMonitor(monitors: []))] {
            #expect(session.context.events == nil)
            #expect(session.request("http://stub.test/").core.events == nil)
            await session.shutdown()
        }
    }

    @Test func `Requests, sessions and monitors are released`() async throws {
        weak var request: DataRequest?
        weak var session: Session?
        weak var monitor: EventLog?
        do {
            let log = EventLog()
            let made = self.session(log)
            let ended = made.request("http://stub.test/")
            _ = try await ended.serializingString().value
            // A request that never begins.
            let unbegun = Session(eventMonitors: [log], startRequestsImmediately: false, transport: transport)
                .request("http://stub.test/")
            _ = unbegun.suspend().serializingString()
            weak let dropped = unbegun
            await made.shutdown()
            await log.finished(1)
            (request, session, monitor) = (ended, made, log)
            #expect(request != nil && session != nil && monitor != nil && dropped != nil)
        }
        // The task that called the monitor may not have ended.
        while monitor != nil { await Task.yield() }
        #expect(request == nil && session == nil)
    }

    @Test func `All events of a request that is not retained are reported`() async throws {
        let log = EventLog()
        let session = session(log)
        await session.shutdown()
        for _ in 0..<100 { session.request("http://stub.test/").resume() }
        await log.finished(100)
        #expect(log.lines.count == 200)
    }
}

private actor CountingMonitor: EventMonitor {
    private(set) var finished = 0
    private(set) var responses = 0

    func requestDidFinish(_ request: any Request) { finished += 1 }

    func request<Value: Sendable>(
        _ request: DataRequest, didParseResponse response: DataResponse<Value, RequestError>
    ) async {
        await Task.yield()
        responses += 1
    }
}

@MainActor private final class MainMonitor: EventMonitor {
    private(set) var finished = 0

    func requestDidFinish(_ request: any Request) { finished += 1 }
}

/// Runs jobs on the pool, and knows whether code runs in one of them.
private final class RecordingExecutor: TaskExecutor {
    let jobs = Counter()

    static var isCurrent: Bool { unsafe withUnsafeCurrentTask { unsafe $0?.unownedTaskExecutor != nil } }

    func enqueue(_ job: consuming ExecutorJob) {
        jobs.next()
        let job = UnownedJob(job)
        Task.detached { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
