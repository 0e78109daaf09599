import Bluebonnet
import FoundationEssentials
import Testing

@testable import BluebonnetTesting

/// The delivery of bodies that wait after the head.
@Suite(.timeLimit(.minutes(10))) struct StubBodyTests {
    private static let body = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 / 251) })

    /// Receives pieces, and calls a closure with each piece.
    private final class Taker: BodyReceiver {
        private let pieces = ObservedState([Data]())
        private let answer: @Sendable (Int) -> ReceiveAction

        /// - Parameter answer: Makes the answer to the piece with that number, counted from 1.
        init(_ answer: @escaping @Sendable (Int) -> ReceiveAction) {
            self.answer = answer
        }

        var taken: [Data] { pieces.read { $0 } }

        func receive(_ bytes: Data) -> ReceiveAction {
            answer(
                pieces.change { pieces in
                    pieces.append(bytes)
                    return pieces.count
                })
        }
    }

    /// Starts an exchange whose body waits.
    private func exchange(told observer: RecordingObserver) throws -> any Exchange {
        let transport = StubTransport { _ in .response(body: Self.body) }
        let url = try #require(URL(string: "http://stub.test/"))
        return transport.start(HTTPRequest(url: url), options: ExchangeOptions(pausesBody: true), observer: observer)
    }

    @Test(arguments: [1, 2, 5], [ReceiveAction.proceed, .pause])
    func `The outcome contains the bytes after a receiver was removed`(
        count: Int, action: ReceiveAction
    ) async throws {
        let observer = RecordingObserver()
        let exchange = try exchange(told: observer)
        let taker = Taker { number in
            if number == count { exchange.receiveBody(with: nil) }
            exchange.receiveMore()
            return action
        }
        exchange.receiveBody(with: taker)
        let outcome = try await observer.outcome
        #expect(outcome.error == nil)
        #expect(taker.taken.count == count)
        let whole = taker.taken.reduce(Data(), +) + outcome.body
        #expect(whole == Self.body)
    }

    @Test func `Another receiver continues where the first stopped`() async throws {
        let observer = RecordingObserver()
        let exchange = try exchange(told: observer)
        let second = Taker { _ in .proceed }
        let first = Taker { number in
            if number == 2 { exchange.receiveBody(with: second) }
            return .proceed
        }
        exchange.receiveBody(with: first)
        #expect(try await observer.outcome.body.isEmpty)
        let whole = (first.taken + second.taken).reduce(Data(), +)
        #expect(first.taken.count == 2)
        #expect(whole == Self.body)
    }
}
