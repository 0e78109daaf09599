import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// The table of all events in all situations, with the actions and the next situations.
@Suite struct RequestMachineTests {
    typealias Machine = RequestMachine<Int>

    /// A combination of phase, driver and requested state, and the events that lead to it.
    enum PhaseCase: String, CaseIterable, Sendable {
        case idle, heldBack, beginning, called, preparing, adapting
        case sending, driverSending, underWay, suspended, awaited, hasHead, judging, hasOutcome, unheard
        case deciding, retrying, cancelled, serializing, settled, settledUnbegun
    }

    enum Event: String, CaseIterable, Sendable {
        case resumed, suspended, cancelled, attached, attachedWaiting, refused
        case registered, registrationRefused
        case exchangeReturned, headReceived, outcomeReceived, notSent
        case claimed, asked, answered, preparationFailed, sent, redirectSent, awaited, accepted, retried
        case serializationBegan, served, adapting, attemptEnded
    }

    @Test(arguments: PhaseCase.allCases)
    func `Every event has the result of the table`(situation: PhaseCase) {
        let rows = Self.rows(of: situation)
        #expect(Set(rows.keys) == Set(Event.allCases), "each event has a row")
        for (event, row) in rows {
            guard let expected = row else {
                #expect(Self.reasons[event] != nil, "\(event) has a reason")
                continue
            }
            var machine = Self.machine(in: situation)
            let action = machine.apply(event)
            let isIgnored = ["nothing", "do not drive", "no exchange"].contains(action)
            let place = machine.place
            let met = "\(action) | \(place)"
            #expect(expected == met || isIgnored && expected == place, "\(event) in \(situation): \(met)")
        }
    }

    @Test func `The table contains each situation at its position`() {
        let places = PhaseCase.allCases.map { Self.machine(in: $0).place }
        #expect(Set(places).count == places.count, "\(places)")
    }

    @Test(arguments: reasons.keys.map(\.rawValue).sorted())
    func `An impossible event traps`(name: String) async throws {
        try await ExitTestInput.pass(name) {
            await #expect(processExitsWith: .failure) {
                let name = try ExitTestInput.value(as: String.self)
                var machine = Self.machine(in: name.hasPrefix("re") ? .settled : .idle)
                _ = Event(rawValue: name).map { machine.apply($0) }
            }
        }
    }

    @Test func `A request begins at most once with events in any order`() {
        let events: [Event] = [.resumed, .suspended, .cancelled, .attached, .attachedWaiting, .refused]
        var sequences: [[Event]] = [[]]
        for _ in 0..<5 { sequences = sequences.flatMap { sequence in events.map { sequence + [$0] } } }
        for sequence in sequences {
            var machine = Machine()
            let actions = sequence.map { machine.apply($0) }
            #expect(actions.count { $0 == "begin" } + actions.count { $0.hasPrefix("settle") } <= 1, "\(sequence)")
        }
        #expect(sequences.count == 7776)
    }

    @Test func `The head precedes the outcome, and both follow the start of the exchange`() {
        var machine = Self.machine(in: .driverSending)
        #expect(machine.apply(.awaited) == "nothing")
        #expect(machine.apply(.headReceived) == "nothing")
        #expect(machine.apply(.outcomeReceived) == "nothing")
        #expect(machine.apply(.exchangeReturned) == "wake with a head")
        #expect(machine.apply(.awaited) == "wake with the outcome")
    }

    @Test func `A serializer that is attached while others run gets its value before the request ends`() {
        var machine = Self.machine(in: .serializing)
        #expect(machine.apply(.attached) == "nothing")
        #expect(machine.apply(.served) == "more to serve")
        #expect(machine.serializationBegan().array.count == 1)
        #expect(machine.apply(.served) == "over")
    }

    // MARK: Support

    static func machine(in situation: PhaseCase) -> Machine {
        var machine = Machine()
        for event in path(to: situation) { _ = machine.apply(event) }
        return machine
    }

    private static func path(to situation: PhaseCase) -> [Event] {
        switch situation {
        case .idle: []
        case .heldBack: [.suspended]
        case .beginning: [.resumed]
        case .called: [.resumed, .registered]
        case .preparing: path(to: .called) + [.claimed]
        case .adapting: path(to: .preparing) + [.asked]
        case .sending: [.resumed, .sent]
        case .driverSending: path(to: .preparing) + [.sent]
        case .underWay: path(to: .sending) + [.exchangeReturned]
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
        case .cancelled:
            let action = cancelled()
            return name(action)
        case .attached: return name(attached(slot, startsImmediately: true))
        case .attachedWaiting: return name(attached(slot, startsImmediately: false))
        case .refused:
            let action = refused(RequestError(.sessionShutDown))
            return name(action)
        case .registered: return name(registered())
        case .registrationRefused:
            let action = registrationRefused(RequestError(.sessionShutDown))
            return name(action)
        case .exchangeReturned: return name(exchangeReturned(FakeExchange()).0)
        case .headReceived: return name(headReceived(Self.response))
        case .outcomeReceived:
            let (action, exchange, _) = outcomeReceived(ExchangeOutcome(response: Self.response))
            return name(action) + (exchange == nil ? "" : ", let the exchange go")
        case .notSent: return name(notSent())
        case .claimed: return claimed().map { $0 == .prepare ? "prepare" : "await" } ?? "do not drive"
        case .asked: return asked {} ? "ask" : "do not ask"
        case .answered: return answered() == nil ? "nothing" : "let the interruption go"
        case .preparationFailed:
            preparationFailed()
            return "nothing"
        case .sent, .redirectSent:
            let attempts = record.attempts
            let sending = sent(Self.request, isRedirect: event == .redirectSent, now: 0)
            return "send\(sending.requestedState == .cancelled ? " not" : "") as attempt +\(sending.attempt - attempts)"
        case .awaited: return name(awaited(by: 7))
        case .accepted: return accepted(Self.response, fileBody: nil).0 == nil ? "no exchange" : "exchange"
        case .retried: return retried() == nil ? "do not retry" : "retry"
        case .adapting: return "adapt attempt +\(adapting(Self.request, hasAdapters: true).attempts - record.attempts)"
        case .attemptEnded:
            _ = attemptEnded(nil)
            return "judge \(isCancelled ? "a cancelled" : "an") attempt"
        case .serializationBegan: return "serve \(serializationBegan().array.count)"
        case .served:
            let attempt = CompletedAttempt(request: nil, outcome: nil, error: nil, attempts: 1)
            return served(attempt).map { $0.attempt === attempt ? "over" : "over, cancelled" } ?? "more to serve"
        }
    }

    private func name(_ action: Action) -> String {
        switch action {
        case .nothing: "nothing"
        case .begin: "begin"
        case .callDriver: "call driver"
        case .wake(let waiter, .head): waiter == 7 ? "wake with a head" : "wake another waiter"
        case .wake(let waiter, .outcome): waiter == 7 ? "wake with the outcome" : "wake another waiter"
        case .alignExchange: "align"
        case .interrupt(let exchange, let interruption):
            "interrupt" + (exchange == nil ? "" : " the exchange") + (interruption == nil ? "" : " the user's code")
        case .settle(let settlement): "settle with \(name(of: settlement.attempt))"
        case .serializeOutcome: "serialize the outcome"
        }
    }

    /// The reason why nothing was under way; later readers must see the same attempt.
    private func name(of attempt: CompletedAttempt) -> String {
        guard attempt === record.last else { return "an attempt that is not recorded" }
        switch attempt.error?.kind {
        case .cancelled: return "cancelled"
        case .sessionShutDown: return "sessionShutDown"
        default: return "something else"
        }
    }

    /// Phase, driver and requested state as text.
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
            case .none: "none"
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

// MARK: The table

extension RequestMachineTests {
    /// Why events cannot occur where the table says "never".
    ///
    /// What the driver reports is reported by one task at a time, which is none before it was claimed, and does nothing
    /// else while it waits or awaits the user's code.
    static let reasons: [Event: String] = [
        .registered: "reported once, by the task that got `begin`",
        .registrationRefused: "reported once, by the task that got `begin`",
        .exchangeReturned: "reported once for each `sent`, by the sender",
        .notSent: "reported in the place of `exchangeReturned` by the sender",
        .asked: "the driver's; one piece of the user's code at a time",
        .preparationFailed: "the driver's, who makes the request in `preparing` alone",
        .sent: "the driver's, who has made the request in `preparing`; or of the task that got `begin`, once",
        .redirectSent: "the driver's, when it has taken the outcome",
        .awaited: "the driver's, when the transport was asked, and it has not taken the outcome",
        .retried: "the driver's, when it has taken the outcome",
        .serializationBegan: "the driver's, when it has taken the outcome",
        .served: "the driver's, after `serializationBegan`",
        .adapting: "the driver's, who makes the request in `preparing` alone",
        .attemptEnded: "the driver's, when it has taken the outcome",
    ]

    /// For each situation its place, what each event leads to, which ones are ignored, and which cannot occur.
    static let table = """
        idle: idle, none, initialized
          resumed: begin | beginning, none, resumed
          suspended: nothing | idle, none, suspended
          cancelled: settle with cancelled | settled, none, cancelled
          attached: begin | beginning, none, resumed
          refused: settle with sessionShutDown | settled, none, finished
          ignored: attachedWaiting headReceived outcomeReceived claimed answered accepted
          never: registered registrationRefused exchangeReturned notSent asked preparationFailed sent
          never: redirectSent awaited retried serializationBegan served
          never: adapting attemptEnded
        heldBack: idle, none, suspended
          resumed: begin | beginning, none, resumed
          cancelled: settle with cancelled | settled, none, cancelled
          refused: settle with sessionShutDown | settled, none, finished
          ignored: suspended attached attachedWaiting headReceived outcomeReceived claimed answered
          ignored: accepted
          never: registered registrationRefused exchangeReturned notSent asked preparationFailed sent
          never: redirectSent awaited retried serializationBegan served
          never: adapting attemptEnded
        beginning: beginning, none, resumed
          suspended: align | beginning, none, suspended
          cancelled: interrupt | beginning, none, cancelled
          registered: call driver | preparing, called, resumed
          registrationRefused: settle with sessionShutDown | settled, none, finished
          sent: send as attempt +1 | starting, none, resumed
          ignored: resumed attached attachedWaiting refused headReceived outcomeReceived claimed answered
          ignored: accepted
          never: exchangeReturned notSent asked preparationFailed redirectSent awaited retried serializationBegan
          never: served
          never: adapting attemptEnded
        called: preparing, called, resumed
          suspended: align | preparing, called, suspended
          cancelled: interrupt | preparing, called, cancelled
          claimed: prepare | preparing, running, resumed
          ignored: resumed attached attachedWaiting refused headReceived outcomeReceived answered accepted
          never: registered registrationRefused exchangeReturned notSent asked preparationFailed sent
          never: redirectSent awaited retried serializationBegan served
          never: adapting attemptEnded
        preparing: preparing, running, resumed
          suspended: align | preparing, running, suspended
          cancelled: interrupt | preparing, running, cancelled
          asked: ask | preparing, asking, resumed
          preparationFailed: nothing | deciding, running, resumed
          sent: send as attempt +1 | starting, running, resumed
          ignored: resumed attached attachedWaiting refused headReceived outcomeReceived claimed answered
          ignored: accepted
          never: registered registrationRefused exchangeReturned notSent redirectSent awaited retried
          never: serializationBegan served
          adapting: adapt attempt +0 | preparing, running, resumed
          never: attemptEnded
        adapting: preparing, asking, resumed
          suspended: align | preparing, asking, suspended
          cancelled: interrupt the user's code | preparing, running, cancelled
          answered: let the interruption go | preparing, running, resumed
          ignored: resumed attached attachedWaiting refused headReceived outcomeReceived claimed accepted
          never: registered registrationRefused exchangeReturned notSent asked preparationFailed sent
          never: redirectSent awaited retried serializationBegan served
          never: adapting attemptEnded
        sending: starting, none, resumed
          suspended: align | starting, none, suspended
          cancelled: interrupt | starting, none, cancelled
          exchangeReturned: nothing | under way, none, resumed
          notSent: call driver | ended, called, resumed
          claimed: await | starting, running, resumed
          ignored: resumed attached attachedWaiting refused headReceived outcomeReceived answered accepted
          never: registered registrationRefused asked preparationFailed sent redirectSent awaited retried
          never: serializationBegan served
          never: adapting attemptEnded
        driverSending: starting, running, resumed
          suspended: align | starting, running, suspended
          cancelled: interrupt | starting, running, cancelled
          exchangeReturned: nothing | under way, running, resumed
          notSent: nothing | ended, running, resumed
          asked: ask | starting, asking, resumed
          awaited: nothing | starting, waiting, resumed
          ignored: resumed attached attachedWaiting refused headReceived outcomeReceived claimed answered
          ignored: accepted
          never: registered registrationRefused preparationFailed sent redirectSent retried
          never: serializationBegan served
          never: adapting attemptEnded
        underWay: under way, none, resumed
          suspended: align | under way, none, suspended
          cancelled: interrupt the exchange | under way, none, cancelled
          headReceived: call driver | under way, called, resumed
          outcomeReceived: call driver, let the exchange go | ended, called, resumed
          claimed: await | under way, running, resumed
          accepted: exchange | under way, none, resumed
          ignored: resumed attached attachedWaiting refused answered
          never: registered registrationRefused exchangeReturned notSent asked preparationFailed sent
          never: redirectSent awaited retried serializationBegan served
          never: adapting attemptEnded
        suspended: under way, none, suspended
          resumed: align | under way, none, resumed
          cancelled: interrupt the exchange | under way, none, cancelled
          headReceived: call driver | under way, called, suspended
          outcomeReceived: call driver, let the exchange go | ended, called, suspended
          claimed: await | under way, running, suspended
          accepted: exchange | under way, none, suspended
          ignored: suspended attached attachedWaiting refused answered
          never: registered registrationRefused exchangeReturned notSent asked preparationFailed sent
          never: redirectSent awaited retried serializationBegan served
          never: adapting attemptEnded
        awaited: under way, waiting, resumed
          suspended: align | under way, waiting, suspended
          cancelled: interrupt the exchange | under way, waiting, cancelled
          headReceived: wake with a head | under way, running, resumed
          outcomeReceived: wake with the outcome, let the exchange go | deciding, running, resumed
          accepted: exchange | under way, waiting, resumed
          ignored: resumed attached attachedWaiting refused claimed answered
          never: registered registrationRefused exchangeReturned notSent asked preparationFailed sent
          never: redirectSent awaited retried serializationBegan served
          never: adapting attemptEnded
        hasHead: under way, called, resumed
          suspended: align | under way, called, suspended
          cancelled: interrupt the exchange | under way, called, cancelled
          outcomeReceived: nothing, let the exchange go | ended, called, resumed
          claimed: await | under way, running, resumed
          accepted: exchange | under way, called, resumed
          ignored: resumed attached attachedWaiting refused headReceived answered
          never: registered registrationRefused exchangeReturned notSent asked preparationFailed sent
          never: redirectSent awaited retried serializationBegan served
          never: adapting attemptEnded
        judging: under way, asking, resumed
          suspended: align | under way, asking, suspended
          cancelled: interrupt the exchange the user's code | under way, running, cancelled
          outcomeReceived: nothing, let the exchange go | ended, asking, resumed
          answered: let the interruption go | under way, running, resumed
          accepted: exchange | under way, asking, resumed
          ignored: resumed attached attachedWaiting refused headReceived claimed
          never: registered registrationRefused exchangeReturned notSent asked preparationFailed sent
          never: redirectSent awaited retried serializationBegan served
          never: adapting attemptEnded
        hasOutcome: ended, running, resumed
          suspended: align | ended, running, suspended
          cancelled: interrupt | ended, running, cancelled
          asked: ask | ended, asking, resumed
          awaited: wake with the outcome | deciding, running, resumed
          ignored: resumed attached attachedWaiting refused headReceived outcomeReceived claimed answered
          ignored: accepted
          never: registered registrationRefused exchangeReturned notSent preparationFailed sent
          never: redirectSent retried serializationBegan served
          never: adapting attemptEnded
        unheard: ended, called, resumed
          suspended: align | ended, called, suspended
          cancelled: interrupt | ended, called, cancelled
          claimed: await | ended, running, resumed
          ignored: resumed attached attachedWaiting refused headReceived outcomeReceived answered accepted
          never: registered registrationRefused exchangeReturned notSent asked preparationFailed sent
          never: redirectSent awaited retried serializationBegan served
          never: adapting attemptEnded
        deciding: deciding, running, resumed
          suspended: align | deciding, running, suspended
          cancelled: interrupt | deciding, running, cancelled
          asked: ask | deciding, asking, resumed
          redirectSent: send as attempt +0 | starting, running, resumed
          retried: retry | preparing, running, resumed
          serializationBegan: serve 0 | serializing, running, resumed
          ignored: resumed attached attachedWaiting refused headReceived outcomeReceived claimed answered
          ignored: accepted
          never: registered registrationRefused exchangeReturned notSent preparationFailed sent awaited
          never: served
          attemptEnded: judge an attempt | deciding, running, resumed
          never: adapting
        retrying: deciding, asking, resumed
          suspended: align | deciding, asking, suspended
          cancelled: interrupt the user's code | deciding, running, cancelled
          answered: let the interruption go | deciding, running, resumed
          ignored: resumed attached attachedWaiting refused headReceived outcomeReceived claimed accepted
          never: registered registrationRefused exchangeReturned notSent asked preparationFailed sent
          never: redirectSent awaited retried serializationBegan served
          never: adapting attemptEnded
        cancelled: deciding, running, cancelled
          asked: do not ask | deciding, running, cancelled
          redirectSent: send not as attempt +0 | starting, running, cancelled
          retried: do not retry | deciding, running, cancelled
          serializationBegan: serve 0 | serializing, running, cancelled
          ignored: resumed suspended cancelled attached attachedWaiting refused headReceived
          ignored: outcomeReceived claimed answered accepted
          never: registered registrationRefused exchangeReturned notSent preparationFailed sent awaited
          never: served
          attemptEnded: judge a cancelled attempt | deciding, running, cancelled
          never: adapting
        serializing: serializing, running, resumed
          suspended: align | serializing, running, suspended
          cancelled: interrupt | serializing, running, cancelled
          asked: ask | serializing, asking, resumed
          retried: retry | preparing, running, resumed
          serializationBegan: serve 0 | serializing, running, resumed
          served: over | settled, none, finished
          ignored: resumed attached attachedWaiting refused headReceived outcomeReceived claimed answered
          ignored: accepted
          never: registered registrationRefused exchangeReturned notSent preparationFailed sent
          never: redirectSent awaited
          never: adapting attemptEnded
        settled: settled, none, finished
          attached: serialize the outcome | settled, none, finished
          attachedWaiting: serialize the outcome | settled, none, finished
          ignored: resumed suspended cancelled refused headReceived outcomeReceived claimed answered
          ignored: accepted
          never: registered registrationRefused exchangeReturned notSent asked preparationFailed sent
          never: redirectSent awaited retried serializationBegan served
          never: adapting attemptEnded
        settledUnbegun: settled, none, cancelled
          attached: serialize the outcome | settled, none, cancelled
          attachedWaiting: serialize the outcome | settled, none, cancelled
          ignored: resumed suspended cancelled refused headReceived outcomeReceived claimed answered
          ignored: accepted
          never: registered registrationRefused exchangeReturned notSent asked preparationFailed sent
          never: redirectSent awaited retried serializationBegan served
          never: adapting attemptEnded
        """

    /// The rows of a situation; an event that is ignored has the place alone, one that cannot occur is `nil`.
    static func rows(of situation: PhaseCase) -> [Event: String?] {
        var rows: [Event: String?] = [:]
        var isInside = false
        for line in table.split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 1).map { $0.drop { $0 == " " } }
            guard parts.count == 2 else { continue }
            if !line.hasPrefix(" ") {
                isInside = parts[0] == situation.rawValue
            } else if isInside, let event = Event(rawValue: String(parts[0])) {
                rows[event] = String(parts[1])
            } else if isInside {
                for name in parts[1].split(separator: " ") {
                    guard let event = Event(rawValue: String(name)) else { continue }
                    rows[event] = parts[0] == "never" ? .some(nil) : machine(in: situation).place
                }
            }
        }
        return rows
    }
}
