import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// A turn of the loop may bring more than a piece of a body: each is handed over as it fills.
@Suite(.timeLimit(.minutes(10))) struct PieceHandoverTests {
    private static let size = 8 << 20

    /// Starts an exchange whose body waits until the system's buffers are full, so that a single turn delivers many
    /// pieces.
    private func exchange(
        on session: Session, with server: LocalServer, to observer: OutcomeObserver
    ) async throws -> any Exchange {
        let exchange = session.context.transport.start(
            HTTPRequest(url: server.url("/a")), options: ExchangeOptions(pausesBody: true),
            observer: observer)
        _ = try await StreamFixture.settled(session) { server.traffic.bytesSent }
        return exchange
    }

    private func server() async throws -> LocalServer {
        try await LocalServer { $0.get("/a") { _ in StreamFixture.patterned(length: Self.size) } }
    }

    @Test(arguments: [1, 2, 5]) func `a receiver that stops gets no more pieces`(count: Int) async throws {
        let server = try await server()
        let session = TestHarness.session()
        let observer = OutcomeObserver()
        let exchange = try await exchange(on: session, with: server, to: observer)
        let receiver = PieceReceiver {
            guard $0 == count else { return .proceed }
            exchange.receiveMore()
            return .stop
        }
        exchange.receiveBody(with: receiver)
        #expect(await observer.outcome.error?.kind == .cancelled)
        #expect(receiver.pieces == count)
        try await TestHarness.end(session, server)
    }

    @Test func `a receiver that pauses after each piece receives the next piece on demand`() async throws {
        let server = try await server()
        let session = TestHarness.session()
        let observer = OutcomeObserver()
        let exchange = try await exchange(on: session, with: server, to: observer)
        let (asks, continuation) = AsyncStream.makeStream(of: Void.self)
        let receiver = PieceReceiver { _ in
            continuation.yield()
            return .pause
        }
        exchange.receiveBody(with: receiver)
        let asking = Task { for await _ in asks { exchange.receiveMore() } }
        #expect(await observer.outcome.error == nil)
        asking.cancel()
        #expect(receiver.body.count == Self.size)
        #expect(StreamFixture.isRight(receiver.body, at: 0))
        try await TestHarness.end(session, server)
    }

    @Test func `a receiver that pauses and never requests more receives no more pieces`() async throws {
        let server = try await server()
        let session = TestHarness.session()
        let observer = OutcomeObserver()
        let exchange = try await exchange(on: session, with: server, to: observer)
        let receiver = PieceReceiver { _ in .pause }
        exchange.receiveBody(with: receiver)
        _ = try await StreamFixture.settled(session) { receiver.body.count }
        // Bytes that have already arrived may follow the first piece.
        #expect((1...2).contains(receiver.pieces))
        exchange.cancel()
        #expect(await observer.outcome.error?.kind == .cancelled)
        try await TestHarness.end(session, server)
    }
}

/// Keeps the pieces, and returns the answers that it was created with.
private final class PieceReceiver: BodyReceiver {
    private let state = Locked<(body: Data, pieces: Int)>((Data(), 0))
    private let answer: @Sendable (Int) -> ReceiveAction

    /// - Parameter answer: Makes the answer to the piece with that number, counted from 1.
    init(_ answer: @escaping @Sendable (Int) -> ReceiveAction) {
        self.answer = answer
    }

    var body: Data { state.withLock { $0.body } }
    var pieces: Int { state.withLock { $0.pieces } }

    func receive(_ bytes: Data) -> ReceiveAction {
        answer(
            state.withLock { state in
                state.body.append(bytes)
                state.pieces += 1
                return state.pieces
            })
    }
}
