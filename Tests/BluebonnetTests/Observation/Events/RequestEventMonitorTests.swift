import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Testing

/// Monitors of one request.
@Suite(.timeLimit(.minutes(10))) struct RequestEventMonitorTests {
    private static let url = "http://stub.test/rose"

    private func session(
        _ monitors: [any EventMonitor] = [], startRequestsImmediately: Bool = true
    ) -> Session {
        Session(
            eventMonitors: monitors, startRequestsImmediately: startRequestsImmediately,
            transport: StubTransport { _ in .delayed(.milliseconds(1), .text("petals")) })
    }

    private static let events = [
        "resume", "initial", "created", "task 1 of attempt 1", "head 200", "metrics", "complete 1", "Data", "finish",
    ]

    @Test func `A monitor of a request receives the events of this request only`() async {
        let (log, session) = (EventLog(), session())
        _ = await session.request(Self.url).serializingData().response
        let request = session.request(Self.url).eventMonitor(log)
        _ = await request.serializingData().response
        _ = await session.request(Self.url).serializingData().response
        await log.finished(1)
        #expect(log.lines == Self.events)
        #expect(log.all.allSatisfy { $0.request == request.id })
    }

    @Test func `Monitors of the session and of the request receive the same events`() async {
        let (all, first, second) = (EventLog(), EventLog(), EventLog())
        let request = session([all]).request(Self.url).eventMonitor(first)
            .eventMonitor(CompositeEventMonitor(monitors: [second]))
        _ = await request.serializingData().response
        for log in [all, first, second] {
            await log.finished(1)
            #expect(log.lines == Self.events)
        }
    }

    @Test func `A monitor that is added late receives the remaining events`() async {
        let (early, late) = (EventLog(), EventLog())
        let session = session(startRequestsImmediately: false)
        let request = session.request(Self.url).eventMonitor(early)
        request.suspend()
        request.eventMonitor(late)
        let task = request.serializingData()
        request.resume()
        _ = await task.response
        await early.finished(1)
        await late.finished(1)
        #expect(early.lines == ["suspend"] + Self.events)
        #expect(late.lines == Self.events)
        let after = EventLog()
        request.eventMonitor(after)
        _ = await request.serializingString().response
        #expect(!after.lines.contains("finish"))
    }

    @Test func `A request and its monitor are released`() async {
        weak var monitor: EventLog?
        weak var gone: DataRequest?
        do {
            let (log, session) = (EventLog(), session())
            let request = session.request(Self.url).eventMonitor(log)
            (monitor, gone) = (log, request)
            _ = await request.serializingData().response
            await log.finished(1)
            await session.shutdown()
        }
        // The task that delivered the last event may not have ended.
        while monitor != nil || gone != nil { await Task.yield() }
    }

    @Test func `A monitor that is added while the request runs receives the end at most once`() async {
        let session = session()
        for step in 0..<1000 {
            let log = EventLog()
            let request = session.request(Self.url)
            let task = request.serializingData()
            for _ in 0..<(step % 50) { await Task.yield() }
            request.eventMonitor(log)
            let wasOver = request.isFinished
            if step % 3 == 0 { request.cancel() }
            _ = await task.response
            if !wasOver { await log.finished(1) }
            let ends = log.lines.filter { $0 == "finish" }.count
            #expect(wasOver ? ends <= 1 : ends == 1)
        }
    }
}
