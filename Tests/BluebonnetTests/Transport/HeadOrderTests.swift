import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// The order in which an observer is told.
@Suite(.timeLimit(.minutes(1))) struct HeadOrderTests {
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

    /// Ends the exchange on the loop as soon as its head has come in, before the turn is over: a judge's verdict on another
    /// connection has the observers told then.
    private static func endBehindHead(_ engine: TransferEngine, _ loop: EventLoop) {
        // Work that submits work has the loop look at its sockets in between.
        loop.submit {
            let isOver = engine.assumeIsolated { engine in
                guard let transfer = engine.shared.withHeads.first else { return engine.transfers.isEmpty }
                engine.finish(transfer, with: RequestError(.cancelled))
                engine.tellObservers()
                return true
            }
            if !isOver { endBehindHead(engine, loop) }
        }
    }

    @Test func `the head is told before the end`() async throws {
        let server = try await LocalServer.scripted(
            .waitForRequest, .bytes("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"), .stall)
        var configuration = Session.Configuration()
        configuration.proxy = .none
        let loop = EventLoop()
        let engine = TransferEngine(loop: loop, configuration: configuration)
        let recorder = Recorder()
        var options = ExchangeOptions()
        options.holdsBody = true
        engine.accept(.start(1, HTTPRequest(url: server.url("/")), .none, options, recorder))
        Self.endBehindHead(engine, loop)
        var events = recorder.events.makeAsyncIterator()
        #expect(await events.next() == "head")
        #expect(await events.next() == "end")
        await engine.shutDown()
        await server.stop()
    }
}
