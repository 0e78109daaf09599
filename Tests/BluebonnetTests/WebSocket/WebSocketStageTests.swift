import Testing

@testable import Bluebonnet

/// The table of all events in all stages of a WebSocket's request, with their results and the next stages.
@Suite struct WebSocketStageTests {
    enum Situation: String, CaseIterable, Sendable {
        case opening, openingShutDown, abandoned, open, ended, endedByFailure, finished, finishedByFailure

        fileprivate var events: [Event] {
            switch self {
            case .opening: []
            case .openingShutDown: [.sessionShutsDown]
            case .abandoned: [.closeRequested]
            case .open: [.opened]
            case .ended: [.opened, .exchangeEnded]
            case .endedByFailure: [.opened, .exchangeFailed]
            case .finished: [.opened, .exchangeEnded, .finished]
            case .finishedByFailure: [.opened, .exchangeFailed, .failed]
            }
        }
    }

    enum Event: String, CaseIterable, Sendable {
        case opened, closeRequested, sessionShutsDown
        case exchangeEnded, exchangeCancelled, exchangeFailed, finished, failed
    }

    @Test(arguments: Situation.allCases)
    func `every event has the result of the table`(situation: Situation) throws {
        let lines = try #require(Self.table[situation])
        var rows: [Event: String] = [:]
        for line in lines.split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 1).map { $0.drop { $0 == " " } }
            for name in parts[0].split(separator: " ") {
                let event = try #require(Event(rawValue: String(name)))
                #expect(rows.updateValue(String(parts[1]), forKey: event) == nil, "\(event) has one row")
            }
        }
        #expect(Set(rows.keys) == Set(Event.allCases), "each event has a row")
        for (event, expected) in rows {
            var stage = Self.stage(in: situation)
            let result = Self.apply(event, to: &stage)
            let met = "\(result), \(Self.name(of: stage))"
            guard !expected.hasPrefix("never") else {
                // The rest of the line says why; the event changes nothing.
                let isRefused = ["refused", "over"].contains(result)
                #expect(isRefused && Self.name(of: stage) == situation.rawValue, "\(event) in \(situation): \(met)")
                continue
            }
            #expect(met == expected, "\(event) in \(situation)")
        }
    }

    private static func stage(in situation: Situation) -> WebSocketStage {
        var stage = WebSocketStage()
        for event in situation.events { _ = apply(event, to: &stage) }
        return stage
    }

    private final class Inner: Exchange {
        func cancel() {}
        func suspend() {}
        func resume() {}
        func receiveBody(with receiver: (any BodyReceiver)?) {}
        func receiveMore() {}
    }

    private static let exchange = ExchangeReference(Inner())

    private static func apply(_ event: Event, to stage: inout WebSocketStage) -> String {
        let failure = RequestError(.connection(.lost))
        switch event {
        case .opened:
            return switch stage.opened(exchange) {
            case .accepted: "accepted"
            case .closes: "closes"
            case .refused: "refused"
            }
        case .closeRequested: return stage.closeRequested() ? "close" : "not open"
        case .sessionShutsDown: return stage.sessionShutsDown() ? "close" : "nothing to close"
        case .exchangeEnded: stage.exchangeEnded(nil)
        case .exchangeCancelled: stage.exchangeEnded(RequestError(.cancelled))
        case .exchangeFailed: stage.exchangeEnded(failure)
        case .finished: return released(stage.finished(nil, ofLoops: RequestError(.internal)))
        case .failed: return released(stage.finished(failure, ofLoops: nil))
        }
        return "over"
    }

    /// What is released without the lock at the end.
    private static func released(_ parts: (exchange: ExchangeReference?, error: RequestError?)) -> String {
        (parts.exchange === exchange ? "over with the exchange" : "over")
            + (parts.error.map { " and \($0.kind == .connection(.lost) ? "its" : "another") error" } ?? "")
    }

    @Test func `each stage knows what can be done`() {
        for situation in Situation.allCases {
            let stage = Self.stage(in: situation)
            let isOver = ["ended", "endedByFailure", "finished", "finishedByFailure"].contains(situation.rawValue)
            #expect(stage.isOver == isOver, "\(situation)")
            #expect(stage.isFinished == situation.rawValue.hasPrefix("finished"), "\(situation)")
            #expect(stage.isConnected == (situation == .open), "\(situation)")
            let hasExchange = [.open, .ended, .endedByFailure].contains(situation)
            #expect((stage.exchange === Self.exchange) == hasExchange, "\(situation)")
            #expect((stage.error != nil) == situation.rawValue.hasSuffix("Failure"), "\(situation)")
            #expect((stage.errorOfLoops?.kind == .internal) == (situation == .finished), "\(situation)")
        }
    }

    private static func name(of stage: WebSocketStage) -> String {
        switch stage {
        case .opening(let isShuttingDown): isShuttingDown ? "openingShutDown" : "opening"
        case .abandoned: "abandoned"
        case .open: "open"
        case .ended(_, let error): error == nil ? "ended" : "endedByFailure"
        case .finished(let error, _): error == nil ? "finished" : "finishedByFailure"
        }
    }

    private static let table: [Situation: String] = [
        .opening: """
        opened: accepted, open
        closeRequested: not open, abandoned
        sessionShutsDown: nothing to close, openingShutDown
        exchangeEnded exchangeCancelled exchangeFailed: never: there is no exchange with an end before the handshake
        finished: over, finished
        failed: over, finishedByFailure
        """,
        .openingShutDown: """
        opened: closes, open
        closeRequested: not open, abandoned
        sessionShutsDown: nothing to close, openingShutDown
        exchangeEnded exchangeCancelled exchangeFailed: never: there is no exchange with an end before the handshake
        finished: over, finished
        failed: over, finishedByFailure
        """,
        .abandoned: """
        opened: refused, abandoned
        closeRequested: not open, abandoned
        sessionShutsDown: nothing to close, abandoned
        exchangeEnded exchangeCancelled exchangeFailed: never: the connection is not opened any more
        finished: over, finished
        failed: over, finishedByFailure
        """,
        .open: """
        opened: never: a request has one handshake that is accepted
        closeRequested: close, open
        sessionShutsDown: close, open
        exchangeEnded exchangeCancelled: over, ended
        exchangeFailed: over, endedByFailure
        finished: over with the exchange, finished
        failed: over with the exchange, finishedByFailure
        """,
        .ended: """
        opened: never: a request has one handshake that is accepted
        closeRequested: close, ended
        sessionShutsDown: close, ended
        exchangeEnded exchangeCancelled exchangeFailed: never: an exchange ends once
        finished: over with the exchange, finished
        failed: over with the exchange, finishedByFailure
        """,
        .endedByFailure: """
        opened: never: a request has one handshake that is accepted
        closeRequested: close, endedByFailure
        sessionShutsDown: close, endedByFailure
        exchangeEnded exchangeCancelled exchangeFailed: never: an exchange ends once
        finished: over with the exchange and its error, finished
        failed: over with the exchange and its error, finishedByFailure
        """,
        .finished: """
        opened: refused, finished
        closeRequested: close, finished
        sessionShutsDown: nothing to close, finished
        exchangeEnded exchangeCancelled exchangeFailed: never: the request has ended after its exchange
        finished failed: never: a request ends once
        """,
        .finishedByFailure: """
        opened: refused, finishedByFailure
        closeRequested: close, finishedByFailure
        sessionShutsDown: nothing to close, finishedByFailure
        exchangeEnded exchangeCancelled exchangeFailed: never: the request has ended after its exchange
        finished failed: never: a request ends once
        """,
    ]
}
