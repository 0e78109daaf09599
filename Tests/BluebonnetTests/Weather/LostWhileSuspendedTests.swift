import CCurl
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// An HTTP/2 request whose connection fails while it is suspended.
@Suite(.timeLimit(.minutes(1))) struct LostWhileSuspendedTests {
    private final class Recorder: ExchangeObserver {
        private let outcomes: AsyncStream<ExchangeOutcome>
        private let continuation: AsyncStream<ExchangeOutcome>.Continuation

        init() {
            (outcomes, continuation) = AsyncStream.makeStream()
        }

        var outcome: ExchangeOutcome? {
            get async { await outcomes.first { _ in true } }
        }

        func exchangeDidSend(_ sent: Int64, ofExpected expected: Int64?) {}
        func exchangeDidReceiveHead(_ response: HTTPResponse) {}
        func exchangeDidReceive(_ received: Int64, ofExpected expected: Int64?) {}
        func exchangeDidComplete(_ outcome: ExchangeOutcome) { continuation.yield(outcome) }
    }

    private let loop = EventLoop()
    private let engine: TransferEngine

    init() throws {
        var configuration = Session.Configuration()
        configuration.proxy = .none
        configuration.tls.caFile = try TestCertificates().authority
        engine = TransferEngine(loop: loop, configuration: configuration)
    }

    private func start(_ id: TransferID) throws -> Recorder {
        let recorder = Recorder()
        let request = HTTPRequest(url: try TestServers.nginxTLS.url("/bytes/65536"))
        engine.accept(.start(id, request, .none, ExchangeOptions(), recorder))
        return recorder
    }

    /// Does something on the loop with a transfer, as soon as its request is sent; returns what came of it.
    private func whenSent<Value: Sendable>(
        _ id: TransferID, _ body: @escaping @Sendable (isolated TransferEngine, Transfer) -> Value
    ) async -> Value {
        while true {
            // Work that is submitted has the loop look at its sockets in between.
            let value: Value? = await withCheckedContinuation { continuation in
                loop.submit {
                    let value = engine.assumeIsolated { engine -> Value? in
                        guard let transfer = engine.transfers[id], transfer.wasSent else { return nil }
                        return body(engine, transfer)
                    }
                    continuation.resume(returning: value)
                }
            }
            if let value { return value }
        }
    }

    /// Libcurl before 8.1 keeps what came in meanwhile in its handle, and would hand it over before the next answer.
    @Test func `of an answer that was lost, nothing comes before the next`() async throws {
        var losses = 0
        for id in stride(from: TransferID(1), to: 60, by: 3) {
            // A connection that is there, on which the request goes out at once.
            #expect(try await start(id).outcome?.body.count == 65_536)
            let recorder = try start(id + 1)
            await whenSent(id + 1) { engine, transfer in
                engine.perform(transfer.reception.state.suspended(), on: transfer)
            }
            // Its answer is read for the sake of this one.
            #expect(try await start(id + 2).outcome?.body.count == 65_536)
            let isLost = await whenSent(id + 1) { engine, transfer in
                guard transfer.reception.firstByte == nil, let multi = transfer.multi else { return false }
                engine.finish(transfer, with: CURLE_HTTP2, of: multi)
                return true
            }
            losses += isLost ? 1 : 0
            engine.accept(.resume(id + 1))
            let outcome = await recorder.outcome
            #expect(outcome?.body.count == 65_536 && outcome?.error == nil, "\(String(describing: outcome?.error))")
        }
        #expect(losses > 0)
        await engine.shutDown()
    }
}
