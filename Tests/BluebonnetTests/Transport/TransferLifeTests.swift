import Testing

@testable import Bluebonnet

/// The table of all events in all places of a transfer, with the actions and the next places.
@Suite struct TransferLifeTests {
    /// A place, and the events that lead to it.
    enum Situation: String, CaseIterable, Sendable {
        case idle, idleSuspended, queued, queuedAgain, opening, openingSuspended, added, addedSuspended
        case judged, judgedAgain, judgedSuspended, connecting, connectingSuspended, draining, drainingSuspended, ended

        var events: [Event] {
            switch self {
            case .idle: []
            case .idleSuspended: [.suspended]
            case .queued: [.started]
            case .queuedAgain: Self.judgedAgain.events + [.accepted]
            case .opening: [.started, .admittedUnopened]
            case .openingSuspended: Self.opening.events + [.suspended]
            case .added: [.started, .admitted]
            case .addedSuspended: Self.added.events + [.suspendedAfterSending]
            case .judged: Self.added.events + [.awaitsVerdict]
            case .judgedAgain: Self.judgedSuspended.events + [.resumed]
            case .judgedSuspended: Self.judged.events + [.suspended]
            case .connecting: Self.added.events + [.awaitsAddress]
            case .connectingSuspended: Self.addedSuspended.events + [.awaitsAddress]
            case .draining: Self.added.events + [.drains]
            case .drainingSuspended: Self.draining.events + [.suspendedAfterSending]
            case .ended: [.ends]
            }
        }
    }

    enum Event: String, CaseIterable, Sendable {
        case started, admitted, admittedUnopened, bodyOpened, suspended, suspendedAfterSending, resumed
        case awaitsVerdict, accepted, awaitsAddress, addressFound, sendsAgain, drains, ends
    }

    @Test(arguments: Situation.allCases)
    func `every event has the result of the table`(situation: Situation) {
        let rows = EventTable<Event>(Self.table).rows(of: situation.rawValue)
        #expect(Set(rows.keys) == Set(Event.allCases), "each event has a row")
        for (event, row) in rows {
            var life = Self.life(in: situation)
            let met = "\(Self.apply(event, to: &life)) | \(Self.name(of: life))"
            switch row {
            case .result(let expected): #expect(met == expected, "\(event) in \(situation)")
            case .never where Self.reasons[event] == nil: Issue.record("\(event) has no reason")
            case .ignored, .never: #expect(met == "nothing | \(situation)", "\(event) in \(situation)")
            }
        }
    }

    @Test func `the table contains each situation at its position`() {
        for situation in Situation.allCases {
            #expect(Self.name(of: Self.life(in: situation)) == situation.rawValue)
        }
    }

    @Test func `a transfer is in libcurl or in a queue only after the engine was asked to put it there`() {
        let events = Event.allCases
        var state = UInt64(1)
        for _ in 0..<20_000 {
            var life = TransferLife(isSuspended: false)
            var places: Set<String> = []
            for _ in 0..<12 {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                let event = events[Int(state >> 33) % events.count]
                let before = Self.name(of: life)
                let action = Self.apply(event, to: &life)
                let after = Self.name(of: life)
                if action.hasPrefix("add") { #expect(after == "added") }
                if after.hasPrefix("queued"), before != after { #expect(action == "admit") }
                if after == "added", !before.hasPrefix("added") {
                    #expect(action.hasPrefix("add"), "\(before) \(event)")
                }
                if before.hasPrefix("added"), after.hasPrefix("idle") {
                    #expect(action == "withdraw" || action == "leave the gate", "\(before) \(event)")
                }
                places.insert(after)
            }
            if places.contains("ended") { #expect(life.hasEnded) }
        }
    }

    private static func life(in situation: Situation) -> TransferLife {
        var life = TransferLife(isSuspended: false)
        for event in situation.events { _ = apply(event, to: &life) }
        return life
    }

    private static func name(of life: TransferLife) -> String {
        let name =
            switch life.place {
            case .idle: "idle"
            case .queued(let continues): continues ? "queuedAgain" : "queued"
            case .opening: "opening"
            case .added: "added"
            case .awaitingVerdict(_, let wasSuspended): wasSuspended && !life.isSuspended ? "judgedAgain" : "judged"
            case .connecting: "connecting"
            case .draining: "draining"
            case .ended: "ended"
            }
        return life.isSuspended && !life.hasEnded ? name + "Suspended" : name
    }

    private static let key = TrustCache.Key(
        ServerTrust(
            host: "a.test", chain: [], verdict: .init(code: 0, depth: 0), stapledResponse: nil, protocolVersion: "",
            cipher: "", builtChain: [], securityLevel: 1))

    private static func apply(_ event: Event, to life: inout TransferLife) -> String {
        let action: TransferLife.Action
        switch event {
        case .started: action = life.started()
        case .admitted: action = life.admitted(opensBody: false)
        case .admittedUnopened: action = life.admitted(opensBody: true)
        case .bodyOpened: action = life.bodyOpened()
        case .suspended: action = life.suspended(wasSent: false)
        case .suspendedAfterSending: action = life.suspended(wasSent: true)
        case .resumed: action = life.resumed()
        case .awaitsVerdict:
            life.awaitsVerdict(key)
            action = .nothing
        case .accepted: action = life.accepted()
        case .awaitsAddress:
            life.awaitsAddress()
            action = .nothing
        case .addressFound: action = life.addressFound()
        case .sendsAgain: action = life.sendsAgain()
        case .drains: action = life.drains(nil)
        case .ends: return life.ends() == nil ? "over" : "end"
        }
        return switch action {
        case .nothing: "nothing"
        case .admit: "admit"
        case .open: "open"
        case .add(let continues): continues ? "add again" : "add"
        case .withdraw: "withdraw"
        case .leaveQueues: "leave the queues"
        case .leaveGate: "leave the gate"
        case .restartLimit: "restart the limit"
        case .pause: "pause"
        case .unpause: "unpause"
        }
    }

    /// The events that do not occur in some places, and why; they change nothing there.
    private static let reasons: [Event: String] = [
        .started: "the engine starts each transfer once",
        .admitted: "the queues name only transfers that wait, but a permission may cross a suspension",
        .admittedUnopened: "a body is opened once, before the transfer is in libcurl for the first time",
        .bodyOpened: "the body is opened once",
        .suspendedAfterSending: "the request is sent only by libcurl",
        .awaitsVerdict: "only a handshake of libcurl asks for a verdict",
        .accepted: "the coordinator names only transfers that wait for a verdict",
        .awaitsAddress: "only libcurl runs out of addresses",
        .addressFound: "the sockets are closed when the transfer is withdrawn, or ends",
        .sendsAgain: "libcurl reports the end of a transfer that it has",
        .drains: "libcurl reports the end of a transfer that it has",
    ]

    /// For each situation: the events with an effect; those that occur and have none; those that do not occur.
    private static let table = """
        idle
          started: admit | queued
          suspended: nothing | idleSuspended
          suspendedAfterSending: nothing | idleSuspended
          ends: end | ended
          ignored: resumed admitted addressFound
          never: admittedUnopened bodyOpened awaitsVerdict accepted awaitsAddress sendsAgain drains
        idleSuspended
          resumed: admit | queued
          ends: end | ended
          ignored: started suspended suspendedAfterSending admitted addressFound
          never: admittedUnopened bodyOpened awaitsVerdict accepted awaitsAddress sendsAgain drains
        queued
          admitted: add | added
          admittedUnopened: open | opening
          suspended: leave the queues | idleSuspended
          suspendedAfterSending: leave the queues | idleSuspended
          ends: end | ended
          ignored: resumed
          never: started bodyOpened awaitsVerdict accepted awaitsAddress addressFound sendsAgain drains
        queuedAgain
          admitted: add again | added
          admittedUnopened: open | opening
          suspended: leave the queues | idleSuspended
          suspendedAfterSending: leave the queues | idleSuspended
          ends: end | ended
          ignored: resumed
          never: started bodyOpened awaitsVerdict accepted awaitsAddress addressFound sendsAgain drains
        opening
          bodyOpened: add | added
          suspended: nothing | openingSuspended
          suspendedAfterSending: nothing | openingSuspended
          ends: end | ended
          ignored: resumed
          never: started admitted admittedUnopened awaitsVerdict accepted awaitsAddress addressFound sendsAgain drains
        openingSuspended
          bodyOpened: leave the queues | idleSuspended
          resumed: nothing | opening
          ends: end | ended
          ignored: suspended suspendedAfterSending
          never: started admitted admittedUnopened awaitsVerdict accepted awaitsAddress addressFound sendsAgain drains
        added
          suspended: withdraw | idleSuspended
          suspendedAfterSending: pause | addedSuspended
          awaitsVerdict: nothing | judged
          awaitsAddress: nothing | connecting
          sendsAgain: add | added
          drains: leave the gate | draining
          ends: end | ended
          ignored: resumed
          never: started admitted admittedUnopened bodyOpened accepted addressFound
        addedSuspended
          resumed: unpause | added
          awaitsVerdict: nothing | judgedSuspended
          awaitsAddress: nothing | connectingSuspended
          sendsAgain: leave the gate | idleSuspended
          drains: leave the gate | drainingSuspended
          ends: end | ended
          ignored: suspended suspendedAfterSending
          never: started admitted admittedUnopened bodyOpened accepted addressFound
        judged
          suspended: withdraw | judgedSuspended
          suspendedAfterSending: withdraw | judgedSuspended
          accepted: add again | added
          ends: end | ended
          ignored: resumed
          never: started admitted admittedUnopened bodyOpened awaitsVerdict awaitsAddress addressFound sendsAgain drains
        judgedAgain
          suspended: withdraw | judgedSuspended
          suspendedAfterSending: withdraw | judgedSuspended
          accepted: admit | queuedAgain
          ends: end | ended
          ignored: resumed
          never: started admitted admittedUnopened bodyOpened awaitsVerdict awaitsAddress addressFound sendsAgain drains
        judgedSuspended
          resumed: restart the limit | judgedAgain
          accepted: leave the gate | idleSuspended
          ends: end | ended
          ignored: suspended suspendedAfterSending
          never: started admitted admittedUnopened bodyOpened awaitsVerdict awaitsAddress addressFound sendsAgain drains
        connecting
          suspended: withdraw | idleSuspended
          suspendedAfterSending: withdraw | idleSuspended
          addressFound: add | added
          ends: end | ended
          ignored: resumed
          never: started admitted admittedUnopened bodyOpened awaitsVerdict accepted awaitsAddress sendsAgain drains
        connectingSuspended
          resumed: nothing | connecting
          addressFound: withdraw | idleSuspended
          ends: end | ended
          ignored: suspended suspendedAfterSending
          never: started admitted admittedUnopened bodyOpened awaitsVerdict accepted awaitsAddress sendsAgain drains
        draining
          suspended: nothing | drainingSuspended
          suspendedAfterSending: nothing | drainingSuspended
          ends: end | ended
          ignored: resumed
          never: started admitted admittedUnopened bodyOpened awaitsVerdict accepted awaitsAddress addressFound sendsAgain
          never: drains
        drainingSuspended
          resumed: nothing | draining
          ends: end | ended
          ignored: suspended suspendedAfterSending
          never: started admitted admittedUnopened bodyOpened awaitsVerdict accepted awaitsAddress addressFound sendsAgain
          never: drains
        ended
          ends: over | ended
          ignored: resumed suspended suspendedAfterSending admitted bodyOpened accepted addressFound
          never: started admittedUnopened awaitsVerdict awaitsAddress sendsAgain drains
        """
}
