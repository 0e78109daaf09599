import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// The order of the calls to an observer.
@Suite(.timeLimit(.minutes(10))) struct HeadOrderTests {
    private final class Recorder: ExchangeObserver {
        let events: AsyncStream<String>
        private let continuation: AsyncStream<String>.Continuation

        init() {
            (events, continuation) = AsyncStream.makeStream()
        }

        func exchangeDidSend(_ sent: Int64, ofExpected expected: Int64?) {}
        func exchangeDidReceiveHead(_ response: HTTPResponse) { continuation.yield("head") }
        func exchangeDidReceive(_ received: Int64, ofExpected expected: Int64?) {}
        func exchangeDidComplete(_ outcome: ExchangeOutcome) { continuation.yield("end") }
    }

    /// Ends the exchange on the loop as soon as its head has come in, before the turn is over: an evaluator's verdict
    /// on another connection makes the engine notify the observers at that time.
    ///
    /// `whenDone` receives whether this was in time: the turn may have reported the head already.
    private static func endBehindHead(
        _ engine: TransferEngine, _ loop: EventLoop, whenDone: @escaping @Sendable (Bool) -> Void
    ) {
        // Work that submits work has the loop look at its sockets in between.
        loop.submit {
            let wasInTime: Bool? = engine.assumeIsolated { engine in
                guard let transfer = engine.transfers.values.first, transfer.hasReportedHead else { return nil }
                let isInTime = !engine.shared.withHeads.isEmpty
                engine.finish(transfer, with: RequestError(.cancelled))
                engine.notifyObservers()
                return isInTime
            }
            guard let wasInTime else { return endBehindHead(engine, loop, whenDone: whenDone) }
            whenDone(wasInTime)
        }
    }

    @Test func `the head is reported before the end`() async throws {
        let head: LocalServer.Script.Step = .bytes("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n")
        let server = try await LocalServer { router in router.get("/", .script(head, .stall)) }
        var configuration = Session.Configuration()
        configuration.proxy = .none
        let loop = EventLoop()
        let engine = TransferEngine(loop: loop, configuration: configuration)
        var options = ExchangeOptions()
        options.pausesBody = true
        var wasInTime = false
        for id in 1...100 where !wasInTime {
            let recorder = Recorder()
            let request = HTTPRequest(url: server.url("/"))
            let body = UploadBody(nil, of: request, isLimited: false)
            engine.accept(.start(TransferID(id), request, body, options, recorder))
            wasInTime = await withCheckedContinuation { continuation in
                Self.endBehindHead(engine, loop) { continuation.resume(returning: $0) }
            }
            var events = recorder.events.makeAsyncIterator()
            #expect(await events.next() == "head")
            #expect(await events.next() == "end")
        }
        #expect(wasInTime)
        await engine.shutDown()
        await server.stop()
    }
}
