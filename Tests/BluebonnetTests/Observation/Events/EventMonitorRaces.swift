import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

@Suite(.timeLimit(.minutes(10 * raceMultiplier))) struct EventMonitorRaces {
    private func events(of log: EventLog) -> [[String]] {
        Array(Dictionary(grouping: log.all, by: \.request).values.map { $0.map(\.text) })
    }

    /// A description of a fault in the events of a request; `nil` if there is no fault.
    private func fault(in events: [String]) -> String? {
        var (isOpen, isSuspended, isCancelled, starts, retries) = (false, false, false, 0, 0)
        for event in events.dropLast() {
            switch event.prefix(while: { $0 != " " && $0 != ":" }) {
            case "task": if isOpen { return "an exchange began in another" } else { isOpen = true }
            case "complete": if !isOpen { return "no exchange ended" } else { isOpen = false }
            case "head", "metrics": if !isOpen { return "something came after an exchange" }
            case "initial": starts += 1
            case "retrying":
                retries += 1
                if isCancelled { return "a cancelled request was retried" }
            case "cancel": if isCancelled { return "cancelled twice" } else { isCancelled = true }
            case "suspend": if isSuspended || isCancelled { return "suspended twice" } else { isSuspended = true }
            case "resume": isSuspended = false
            case "finish": return "there is something after the end"
            default: break
            }
        }
        if events.last != "finish" { return "there is no end" }
        if isOpen { return "an exchange did not end" }
        if starts > retries + 1 { return "more attempts than retries" }
        return nil
    }

    @Test(arguments: RaceTransport.allCases)
    func `Cancelling during completion is reported in order and completely`(track: RaceTransport) async throws {
        let log = EventLog()
        let (session, url) = try track.session(eventMonitors: [log])
        try await race { iteration in
            let request = session.request(url)
            if iteration % 3 == 0 { request.validate { _, _, _ in .failure(CancellationError()) } }
            if iteration % 6 == 0 { request.retry { request, _, _ in request.retryCount < 2 ? .retry : .doNotRetry } }
            let task = request.serializingData()
            async let answer = task.response
            await dawdle(iteration)
            request.cancel()
            _ = await answer
        }
        await session.shutdown()
        let all = events(of: log)
        #expect(all.count == 10_000)
        let faults = all.filter { fault(in: $0) != nil }
        #expect(faults.isEmpty, "\(faults.first ?? []): \(faults.first.flatMap { fault(in: $0) } ?? "")")
        #expect(all.contains { $0.contains("cancel") })
    }

    @Test(arguments: RaceTransport.allCases)
    func `Starts, suspensions and cancellations are reported in order`(track: RaceTransport) async throws {
        let log = EventLog()
        let (session, url) = try track.session(startRequestsImmediately: false, eventMonitors: [log])
        try await race { iteration in
            let request = session.request(url)
            let task = request.serializingData()
            async let answer = task.response
            async let first: Void = {
                await dawdle(iteration)
                for _ in 0..<3 { request.suspend().resume() }
            }()
            async let second: Void = {
                await dawdle(iteration / 23)
                request.suspend()
                if iteration % 2 == 0 { request.cancel() } else { request.resume() }
            }()
            _ = await (first, second)
            request.resume()
            _ = await answer
        }
        await session.shutdown()
        let faults = events(of: log).filter { fault(in: $0) != nil }
        #expect(faults.isEmpty, "\(faults.first ?? []): \(faults.first.flatMap { fault(in: $0) } ?? "")")
    }

    @Test func `Shutting down during requests loses no event`() async throws {
        try await race(groups: 20, of: 20) { iteration in
            let log = EventLog()
            let session = Session(eventMonitors: [log], transport: StubTransport { _ in .text("x") })
            let tasks = (0..<10).map { _ in session.request("http://stub.test/").serializingString() }
            async let answers: Void = { for task in tasks { _ = await task.response } }()
            await dawdle(iteration)
            await session.shutdown()
            let finishCount = log.lines.count { $0 == "finish" }
            #expect(finishCount == 10)
            await answers
        }
    }
}
