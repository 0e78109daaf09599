import BluebonnetCompatibility
import BluebonnetTesting
import Foundation
import FoundationNetworking
import Testing

/// Advanced usage: event monitors; with data of our own.
@Suite(.timeLimit(.minutes(10))) struct EventExamples {
    /// A monitor with its own queue, as in code with completion handlers.
    private final class Gardener: EventMonitor {
        let queue = DispatchQueue(label: "garden.events")
        let notes = CallLog<String>()

        func requestDidResume(_ request: Request) {
            dispatchPrecondition(condition: .onQueue(queue))
            notes.note("resumed")
        }

        func request<Value>(_ request: DataRequest, didParseResponse response: DataResponse<Value, AFError>) {
            dispatchPrecondition(condition: .onQueue(queue))
            let failure = response.error.map { "failed \($0.isResponseValidationError)" }
            notes.note("\(Value.self) \(failure ?? "")")
        }
    }

    /// A simple log; it records the lines that it would print.
    private final class Logger: EventMonitor {
        let queue = DispatchQueue(label: "garden.log")
        let lines = CallLog<String>()

        func requestDidResume(_ request: Request) {
            lines.note("Resuming: \(request)")
        }

        func request<Value>(_ request: DataRequest, didParseResponse response: DataResponse<Value, AFError>) {
            lines.note("Finished: \(response.debugDescription)")
        }
    }

    private func session(_ monitors: any EventMonitor...) -> Session {
        Session(
            eventMonitors: monitors,
            transport: StubTransport { request in request.url.path == "/weeds" ? .status(404) : .text("tulips") })
    }

    @Test func `A monitor of a custom type`() async {
        let gardener = Gardener()
        let session = session(gardener)
        _ = await Examples.answer { done in
            session.request("http://garden.test/beds").validate().responseString { done($0) }
        }
        _ = await Examples.answer { done in
            session.request("http://garden.test/weeds").validate().response { done($0) }
        }
        await session.base.shutdown()
        #expect(gardener.notes.entries == ["resumed", "String ", "resumed", "Optional<Data> failed true"])
    }

    @Test func `A log of started requests and parsed responses`() async {
        let logger = Logger()
        let session = session(logger)
        _ = await Examples.answer { done in session.request("http://garden.test/beds").responseString { done($0) } }
        _ = await Examples.answer { done in session.request("http://garden.test/beds").response { done($0) } }
        await session.base.shutdown()
        let lines = logger.lines.entries
        #expect(lines.map { $0.prefix(8) } == ["Resuming", "Finished", "Resuming", "Finished"])
        let finished = lines.filter { $0.hasPrefix("Finished") }
        #expect(finished.allSatisfy { $0.contains("http://garden.test/beds") && $0.contains("success") }, "\(finished)")
    }

    @Test func `A monitor of closures`() async {
        let queue = DispatchQueue(label: "garden.closures")
        let watcher = ClosureEventMonitor(queue: queue)
        let log = CallLog<String>()
        watcher.requestDidCompleteTaskWithError = { (request, task, error) in
            dispatchPrecondition(condition: .onQueue(queue))
            log.note("\(request.description) \(task.originalRequest?.url?.path ?? "") \(error == nil)")
        }
        let session = session(watcher)
        _ = await Examples.answer { done in session.request("http://garden.test/beds").responseData { done($0) } }
        await session.base.shutdown()
        #expect(log.entries.count == 1 && log.entries.first?.hasSuffix(" /beds true") == true, "\(log.entries)")
    }

    @Test func `A monitor without a queue is called on the main queue`() async {
        let monitor = MainGardener()
        let session = session(monitor)
        _ = await Examples.answer { done in session.request("http://garden.test/beds").responseData { done($0) } }
        await session.base.shutdown()
        #expect(monitor.log.entries == ["finished"])
    }

    @Test func `A concurrent queue receives one event after the other`() async {
        let monitor = BusyGardener()
        let session = session(monitor)
        for _ in 0..<20 {
            _ = await Examples.answer { done in session.request("http://garden.test/beds").responseData { done($0) } }
        }
        await session.base.shutdown()
        let once = ["resumed", "created", "finished"]
        #expect(monitor.log.entries == (0..<20).flatMap { _ in once })
    }

    @Test func `A session with queues and monitors`() {
        let session = Session(rootQueue: .main, eventMonitors: [Gardener()])
        #expect(session.eventMonitors.count == 1)
    }
}

private final class MainGardener: EventMonitor {
    let log = CallLog<String>()

    func requestDidFinish(_ request: Request) {
        dispatchPrecondition(condition: .onQueue(.main))
        log.note("finished")
    }
}

private final class BusyGardener: EventMonitor {
    let queue = DispatchQueue(label: "garden.busy", attributes: .concurrent)
    let log = CallLog<String>()

    func requestDidResume(_ request: Request) { log.note("resumed") }
    func request(_ request: Request, didCreateURLRequest urlRequest: URLRequest) { log.note("created") }
    func requestDidFinish(_ request: Request) { log.note("finished") }
}
