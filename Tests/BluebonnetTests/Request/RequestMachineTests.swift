import FoundationEssentials
import Testing

@testable import Bluebonnet

/// Every event in every situation: what is to be done, and where the request is then.
@Suite struct RequestMachineTests {
    typealias Machine = RequestMachine<Int>

    /// A combination of phase, driver and wish, and how a request comes there.
    enum Situation: String, CaseIterable, Sendable {
        case idle, heldBack, beginning, called, preparing, adapting
        case sending, driverSending, underWay, suspended, awaited, hasHead, judging, hasOutcome, unheard
        case deciding, retrying, cancelled, serializing, settled, settledUnbegun
    }

    enum Event: String, CaseIterable, Sendable {
        case resumed, suspended, cancelled, attached, attachedWaiting, refused
        case registered, registeredPlain, registrationRefused
        case exchangeReturned, headReceived, outcomeReceived, notSent
        case claimed, asked, answered, preparationFailed, sent, redirectSent, awaited, accepted, retried
        case serializationBegan, served
    }

    /// What follows from an event, in words.
    @Test(arguments: Situation.allCases)
    func `Every event is as the table says`(situation: Situation) throws {
        let rows = try #require(Self.table[situation])
        #expect(Set(rows.keys) == Set(Event.allCases), "each event has a row")
        for event in Event.allCases {
            guard let expected = rows[event], !expected.hasPrefix("never") else { continue }
            var machine = Self.machine(in: situation)
            let action = machine.apply(event)
            #expect("\(action) | \(machine.place)" == expected, "\(event) in \(situation)")
        }
    }

    @Test func `The table names each situation's own place`() {
        let places = Situation.allCases.map { Self.machine(in: $0).place }
        #expect(Set(places).count == places.count, "\(places)")
    }

    @Test func `What cannot occur is our own bug, and traps`() async {
        await #expect(processExitsWith: .failure) {
            var machine = Machine()
            _ = machine.exchangeReturned(FakeExchange())
        }
        await #expect(processExitsWith: .failure) {
            var machine = Machine()
            _ = machine.served(CompletedAttempt(request: nil, outcome: nil, error: nil, attempts: 0))
        }
    }

    @Test func `A request begins at most once, whatever happens in whichever order`() {
        let events: [Event] = [.resumed, .suspended, .cancelled, .attached, .attachedWaiting, .refused]
        var sequences: [[Event]] = [[]]
        for _ in 0..<5 { sequences = sequences.flatMap { sequence in events.map { sequence + [$0] } } }
        for sequence in sequences {
            var machine = Machine()
            let actions = sequence.map { machine.apply($0) }
            #expect(actions.count { $0 == "begin" } + actions.count { $0 == "settle" } <= 1, "\(sequence)")
        }
        #expect(sequences.count == 7776)
    }

    @Test func `A head comes before the outcome, and neither before something can be said to the exchange`() {
        var machine = Self.machine(in: .driverSending)
        #expect(machine.apply(.awaited) == "nothing")
        #expect(machine.apply(.headReceived) == "nothing")
        #expect(machine.apply(.outcomeReceived) == "nothing")
        #expect(machine.apply(.exchangeReturned) == "wake with a head")
        #expect(machine.apply(.awaited) == "wake with the outcome")
    }

    @Test func `A serializer that is attached while others are served is served before the request is over`() {
        var machine = Self.machine(in: .serializing)
        #expect(machine.apply(.attached) == "nothing")
        #expect(machine.apply(.served) == "more to serve")
        #expect(machine.serializationBegan().array.count == 1)
        #expect(machine.apply(.served) == "over")
    }

    // MARK: Support

    static func machine(in situation: Situation) -> Machine {
        var machine = Machine()
        for event in path(to: situation) { _ = machine.apply(event) }
        return machine
    }

    private static func path(to situation: Situation) -> [Event] {
        switch situation {
        case .idle: []
        case .heldBack: [.suspended]
        case .beginning: [.resumed]
        case .called: [.resumed, .registered]
        case .preparing: path(to: .called) + [.claimed]
        case .adapting: path(to: .preparing) + [.asked]
        case .sending: [.resumed, .registeredPlain]
        case .driverSending: path(to: .preparing) + [.sent]
        case .underWay: path(to: .sending) + [.sent, .exchangeReturned]
        case .suspended: path(to: .underWay) + [.suspended]
        case .awaited: path(to: .underWay) + [.claimed, .awaited]
        case .hasHead: path(to: .underWay) + [.headReceived]
        case .judging: path(to: .awaited) + [.headReceived, .asked]
        case .hasOutcome: path(to: .judging) + [.answered, .outcomeReceived]
        case .unheard: path(to: .underWay) + [.outcomeReceived]
        case .deciding: path(to: .awaited) + [.outcomeReceived]
        case .retrying: path(to: .deciding) + [.asked]
        case .cancelled: path(to: .deciding) + [.cancelled]
        case .serializing: path(to: .deciding) + [.serializationBegan]
        case .settled: path(to: .serializing) + [.served]
        case .settledUnbegun: [.cancelled]
        }
    }
}

private final class FakeExchange: Exchange {
    func cancel() {}
    func suspend() {}
    func resume() {}
    func receiveBody(with receiver: (any BodyReceiver)?) {}
    func receiveMore() {}
}

extension RequestMachine<Int> {
    fileprivate mutating func apply(_ event: RequestMachineTests.Event) -> String {
        let slot = SerializationSlot(PreparedSerializer(DataResponseSerializer()))
        switch event {
        case .resumed: return name(resumed())
        case .suspended: return name(suspended())
        case .cancelled: return name(cancelled())
        case .attached: return name(attached(slot, startsImmediately: true))
        case .attachedWaiting: return name(attached(slot, startsImmediately: false))
        case .refused: return name(refused())
        case .registered: return name(registered(needsPreparation: true))
        case .registeredPlain: return name(registered(needsPreparation: false))
        case .registrationRefused: return name(registrationRefused())
        case .exchangeReturned: return name(exchangeReturned(FakeExchange()).0)
        case .headReceived: return name(headReceived(Self.response))
        case .outcomeReceived:
            let (action, exchange, _) = outcomeReceived(ExchangeOutcome(response: Self.response))
            return name(action) + (exchange == nil ? "" : ", let the exchange go")
        case .notSent: return name(notSent(RequestError(.cancelled)))
        case .claimed: return claimed().map { $0 == .prepare ? "prepare" : "await" } ?? "do not drive"
        case .asked: return asked {} ? "ask" : "do not ask"
        case .answered: return answered() == nil ? "nothing" : "let the interruption go"
        case .preparationFailed:
            preparationFailed()
            return "nothing"
        case .sent, .redirectSent:
            let attempts = record.attempts
            let sending = sent(Self.request, isRedirect: event == .redirectSent, now: 0)
            return "send\(sending.wish == .cancelled ? " not" : "") as attempt +\(sending.attempt - attempts)"
        case .awaited: return name(awaited(by: 7))
        case .accepted: return accepted(Self.response, fileBody: nil).0 == nil ? "no exchange" : "exchange"
        case .retried: return retried() == nil ? "do not retry" : "retry"
        case .serializationBegan: return "serve \(serializationBegan().array.count)"
        case .served:
            let attempt = CompletedAttempt(request: nil, outcome: nil, error: nil, attempts: 1)
            return served(attempt).map { $0.isCancelled ? "over, cancelled" : "over" } ?? "more to serve"
        }
    }

    private func name(_ action: Action) -> String {
        switch action {
        case .nothing: "nothing"
        case .begin: "begin"
        case .send: "send"
        case .callDriver: "call driver"
        case .wake(let waiter, .head): waiter == 7 ? "wake with a head" : "wake somebody else"
        case .wake(let waiter, .outcome): waiter == 7 ? "wake with the outcome" : "wake somebody else"
        case .alignExchange: "align"
        case .interrupt(let exchange, let interruption):
            "interrupt" + (exchange == nil ? "" : " the exchange") + (interruption == nil ? "" : " the user's code")
        case .settle: "settle"
        case .serializeOutcome: "serialize the outcome"
        }
    }

    /// Phase, driver and wish in words.
    fileprivate var place: String {
        let phase =
            switch phase {
            case .idle: "idle"
            case .beginning: "beginning"
            case .preparing: "preparing"
            case .exchanging(let exchanging):
                switch exchanging.handle {
                case .starting: "starting"
                case .underWay: "under way"
                case .ended: "ended"
                }
            case .deciding: "deciding"
            case .serializing: "serializing"
            case .settled: "settled"
            }
        let driver =
            switch driver {
            case .nobody: "nobody"
            case .called: "called"
            case .running: "running"
            case .waiting: "waiting"
            case .asking: "asking"
            }
        return "\(phase), \(driver), \(state)"
    }

    private static var request: HTTPRequest { HTTPRequest(url: url) }
    private static var response: HTTPResponse { HTTPResponse(url: url, statusCode: 200) }
    private static var url: URL { URL(filePath: "/") }
}

extension RequestMachineTests {
    static let table: [Situation: [Event: String]] = [:]

    @Test func `zz generate`() {
        for situation in Situation.allCases {
            print("SIT", situation, Self.machine(in: situation).place)
            for event in Event.allCases {
                if Self.traps(event, in: situation) { print("ROW", event, "never"); continue }
                var machine = Self.machine(in: situation)
                let action = machine.apply(event)
                print("ROW", event, "\(action) | \(machine.place)")
            }
        }
    }
    static func traps(_ event: Event, in situation: Situation) -> Bool {
        let m = machine(in: situation)
        let phase: String = switch m.phase { case .idle: "idle"; case .beginning: "beginning"; case .preparing: "preparing"; case .exchanging(let e): e.isStarting ? "starting" : "exchanging"; case .deciding: "deciding"; case .serializing: "serializing"; case .settled: "settled" }
        switch event {
        case .registered, .registeredPlain, .registrationRefused: return phase != "beginning"
        case .exchangeReturned, .notSent: return phase != "starting"
        case .preparationFailed: return phase != "preparing"
        case .sent, .redirectSent: return !["preparing", "deciding", "starting"].contains(phase)
        case .awaited: return !["starting", "exchanging"].contains(phase)
        case .retried, .serializationBegan: return !["deciding", "serializing"].contains(phase)
        case .served: return phase != "serializing"
        default: return false
        }
    }
}
