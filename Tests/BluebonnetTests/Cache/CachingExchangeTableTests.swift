import FoundationEssentials
import Testing

@testable import Bluebonnet

/// The table of all events in all stages of an exchange with a cache, with the actions and the next stages.
@Suite struct CachingExchangeTableTests {
    /// A stage, and the events that lead to it.
    enum Situation: String, CaseIterable, Sendable {
        case working, storing, held, heldSuspended
        case unrecorded, fetching, stopping, replaced, forwarded, collected, read
        case delivering, idle, idleSuspended, paused, failing, ended

        fileprivate var events: [Event] {
            switch self {
            case .working: []
            case .storing: Self.fetching.events + [.willWork, .workBegan]
            case .held: [.found]
            case .heldSuspended: [.suspended, .found]
            case .unrecorded: [.willFetch]
            case .fetching: [.willFetch, .exchangeStarted]
            case .stopping: Self.fetching.events + [.stopped]
            case .replaced: Self.fetching.events + [.responseReplaced]
            case .forwarded: Self.fetching.events + [.headForwarded]
            case .collected: Self.forwarded.events + [.collects]
            case .read: Self.forwarded.events + [.reads]
            case .delivering: [.found, .headIsDue]
            case .idle: Self.delivering.events + [.stepIsDue]
            case .idleSuspended: Self.idle.events + [.suspended]
            case .paused: Self.delivering.events + [.receiverCame, .deliveredAndPaused, .stepIsDue]
            case .failing: Self.delivering.events + [.stopped]
            case .ended: [.ended]
            }
        }
    }

    enum Event: String, CaseIterable, Sendable {
        case suspended, found, wholeIsDue, headIsDue, receiverCame, collectorCame, moreIsWanted, stepIsDue
        case delivered, deliveredAndPaused
        case willFetch, exchangeStarted, headForwarded, responseReplaced, collects, reads, willWork, workBegan
        case ended, stopped
    }

    @Test(arguments: Situation.allCases)
    func `every event has the result of the table`(situation: Situation) throws {
        let rows = try Self.rows(of: situation)
        #expect(Set(rows.keys) == Set(Event.allCases), "each event has a row")
        for (event, expected) in rows {
            var state = try Self.state(in: situation)
            let action = try Self.apply(event, to: &state)
            #expect("\(action) | \(Self.name(of: state))" == expected, "\(event) in \(situation)")
        }
    }

    @Test func `the table contains each situation at its position`() throws {
        for situation in Situation.allCases {
            #expect(Self.name(of: try Self.state(in: situation)) == situation.rawValue)
        }
    }

    private static func state(in situation: Situation) throws -> CachingExchangeState {
        var state = CachingExchangeState(isSuspended: false)
        for event in situation.events { _ = try apply(event, to: &state) }
        return state
    }

    private static func name(of state: CachingExchangeState) -> String {
        let name =
            switch state.stage {
            case .working(let interruption): interruption == nil ? "working" : "storing"
            case .held: "held"
            case .fetching(_, nil): "unrecorded"
            case .fetching where state.stopError != nil: "stopping"
            case .fetching(let fetch, _):
                switch fetch.response {
                case .held: "fetching"
                case .replaced: "replaced"
                case .forwarded: "forwarded"
                case .collected: "collected"
                case .read: "read"
                }
            case .delivering(let delivery):
                delivery.error != nil
                    ? "failing" : delivery.isRunning ? "delivering" : delivery.isPaused ? "paused" : "idle"
            case .ended: "ended"
            }
        let waits = ["held", "idle"].contains(name)
        return state.isSuspended && waits ? name + "Suspended" : name
    }

    private final class Receiver: BodyReceiver {
        func receive(_ bytes: Data) -> ReceiveAction { .proceed }
    }

    private final class Inner: Exchange {
        func cancel() {}
        func suspend() {}
        func resume() {}
        func receiveBody(with receiver: (any BodyReceiver)?) {}
        func receiveMore() {}
    }

    private static func apply(_ event: Event, to state: inout CachingExchangeState) throws -> String {
        switch event {
        case .suspended:
            state.isSuspended = true
            return "nothing"
        case .found:
            let answer = HeldResponse(
                response: try CacheFixtures.response([:]), body: .memory(Data("abc".utf8)), bytes: 0..<3,
                source: .cache)
            return state.found(answer) ? "deliver" : "nothing"
        case .wholeIsDue, .headIsDue:
            return switch state.delivering(headFirst: event == .headIsDue) {
            case .wait: "wait"
            case .head: "head"
            case .whole: "whole"
            }
        case .receiverCame: return state.resumesDelivery { $0.reader = .receiver(Receiver()) } ? "run" : "nothing"
        case .collectorCame: return state.resumesDelivery { $0.reader = .collecting } ? "run" : "nothing"
        case .moreIsWanted:
            return state.resumesDelivery { ($0.isPaused, $0.wantsMore) = (false, true) } ? "run" : "nothing"
        case .stepIsDue:
            return switch state.nextStep() {
            case .wait: "wait"
            case .collect: "collect"
            case .read: "read"
            case .complete: "complete"
            }
        case .delivered: state.delivered(1, isPaused: false, error: nil)
        case .deliveredAndPaused: state.delivered(1, isPaused: true, error: nil)
        case .willFetch: return state.willFetch(CachingExchangeState.Fetch()) == nil ? "do not fetch" : "fetch"
        case .exchangeStarted: return state.exchangeStarted(Inner()) ? "cancel it" : "nothing"
        case .headForwarded: state.headForwarded(storable: nil)
        case .responseReplaced: state.responseReplaced()
        case .collects: state.bodyRequested(.collected)
        case .reads: state.bodyRequested(.read(nil))
        case .willWork: return state.willWork() ? "work" : "do not work"
        case .workBegan: return state.workBegan {} ? "interrupt" : "nothing"
        case .ended: return state.ended() ? "tell" : "nothing"
        case .stopped:
            return switch state.stopped(with: RequestError(.cancelled)) {
            case .nothing: "nothing"
            case .cancel: "cancel"
            case .complete(_, let interruption): interruption == nil ? "tell" : "interrupt and tell"
            }
        }
        return "nothing"
    }

    /// For each situation: the events with an effect; those that occur without one; those that do not occur.
    private static let table = """
        working
          found: deliver | held
          willFetch: fetch | unrecorded
          workBegan: nothing | storing
          ended: tell | ended
          stopped: tell | ended
          ignored: suspended
          never: wholeIsDue headIsDue receiverCame collectorCame moreIsWanted stepIsDue delivered
          never: deliveredAndPaused exchangeStarted headForwarded responseReplaced collects reads willWork
        storing
          found: deliver | held
          willFetch: fetch | unrecorded
          ended: tell | ended
          stopped: interrupt and tell | ended
          ignored: suspended
          never: wholeIsDue headIsDue receiverCame collectorCame moreIsWanted stepIsDue delivered
          never: deliveredAndPaused exchangeStarted headForwarded responseReplaced collects reads willWork
          never: workBegan
        held
          suspended: nothing | heldSuspended
          wholeIsDue: whole | ended
          headIsDue: head | delivering
          ended: tell | ended
          stopped: tell | ended
          never: found receiverCame collectorCame moreIsWanted stepIsDue delivered deliveredAndPaused willFetch
          never: exchangeStarted headForwarded responseReplaced collects reads willWork workBegan
        heldSuspended
          ended: tell | ended
          stopped: tell | ended
          ignored: suspended wholeIsDue headIsDue
          never: found receiverCame collectorCame moreIsWanted stepIsDue delivered deliveredAndPaused willFetch
          never: exchangeStarted headForwarded responseReplaced collects reads willWork workBegan
        unrecorded
          exchangeStarted: nothing | fetching
          willWork: work | working
          ended: tell | ended
          ignored: suspended stopped
          never: found wholeIsDue headIsDue receiverCame collectorCame moreIsWanted stepIsDue delivered
          never: deliveredAndPaused willFetch headForwarded responseReplaced collects reads workBegan
        fetching
          headForwarded: nothing | forwarded
          responseReplaced: nothing | replaced
          collects: nothing | collected
          reads: nothing | read
          willWork: work | working
          ended: tell | ended
          stopped: cancel | stopping
          ignored: suspended
          never: found wholeIsDue headIsDue receiverCame collectorCame moreIsWanted stepIsDue delivered
          never: deliveredAndPaused willFetch exchangeStarted workBegan
        stopping
          exchangeStarted: cancel it | stopping
          workBegan: interrupt | stopping
          ended: tell | ended
          stopped: cancel | stopping
          ignored: suspended headForwarded responseReplaced collects reads willWork
          never: found wholeIsDue headIsDue receiverCame collectorCame moreIsWanted stepIsDue delivered
          never: deliveredAndPaused willFetch
        replaced
          willWork: work | working
          ended: tell | ended
          stopped: cancel | stopping
          ignored: suspended
          never: found wholeIsDue headIsDue receiverCame collectorCame moreIsWanted stepIsDue delivered
          never: deliveredAndPaused willFetch exchangeStarted headForwarded responseReplaced collects reads
          never: workBegan
        forwarded
          collects: nothing | collected
          reads: nothing | read
          willWork: work | working
          ended: tell | ended
          stopped: cancel | stopping
          ignored: suspended
          never: found wholeIsDue headIsDue receiverCame collectorCame moreIsWanted stepIsDue delivered
          never: deliveredAndPaused willFetch exchangeStarted headForwarded responseReplaced workBegan
        collected
          reads: nothing | read
          willWork: work | working
          ended: tell | ended
          stopped: cancel | stopping
          ignored: suspended
          never: found wholeIsDue headIsDue receiverCame collectorCame moreIsWanted stepIsDue delivered
          never: deliveredAndPaused willFetch exchangeStarted headForwarded responseReplaced collects workBegan
        read
          collects: nothing | collected
          willWork: work | working
          ended: tell | ended
          stopped: cancel | stopping
          ignored: suspended
          never: found wholeIsDue headIsDue receiverCame collectorCame moreIsWanted stepIsDue delivered
          never: deliveredAndPaused willFetch exchangeStarted headForwarded responseReplaced reads workBegan
        delivering
          stepIsDue: wait | idle
          ended: tell | ended
          stopped: nothing | failing
          ignored: suspended receiverCame collectorCame moreIsWanted delivered deliveredAndPaused
          never: found wholeIsDue headIsDue willFetch exchangeStarted headForwarded responseReplaced collects
          never: reads willWork workBegan
        idle
          suspended: nothing | idleSuspended
          receiverCame: run | delivering
          collectorCame: run | delivering
          moreIsWanted: run | delivering
          deliveredAndPaused: nothing | paused
          ended: tell | ended
          stopped: tell | ended
          never: found wholeIsDue headIsDue stepIsDue delivered willFetch exchangeStarted headForwarded
          never: responseReplaced collects reads willWork workBegan
        idleSuspended
          deliveredAndPaused: nothing | paused
          ended: tell | ended
          stopped: tell | ended
          ignored: suspended receiverCame collectorCame moreIsWanted
          never: found wholeIsDue headIsDue stepIsDue delivered willFetch exchangeStarted headForwarded
          never: responseReplaced collects reads willWork workBegan
        paused
          moreIsWanted: run | delivering
          delivered: nothing | idle
          ended: tell | ended
          stopped: tell | ended
          ignored: suspended
          never: found wholeIsDue headIsDue receiverCame collectorCame stepIsDue deliveredAndPaused willFetch
          never: exchangeStarted headForwarded responseReplaced collects reads willWork workBegan
        failing
          stepIsDue: complete | ended
          workBegan: interrupt | failing
          ended: tell | ended
          ignored: suspended receiverCame collectorCame moreIsWanted delivered deliveredAndPaused stopped
          never: found wholeIsDue headIsDue willFetch exchangeStarted headForwarded responseReplaced collects
          never: reads willWork
        ended
          ignored: suspended found wholeIsDue headIsDue receiverCame collectorCame moreIsWanted stepIsDue
          ignored: willFetch willWork workBegan ended stopped
          never: delivered deliveredAndPaused exchangeStarted headForwarded responseReplaced collects reads
        """

    private static func rows(of situation: Situation) throws -> [Event: String] {
        var rows: [Event: String] = [:]
        var isInside = false
        for line in table.split(separator: "\n") {
            guard line.hasPrefix(" ") else {
                isInside = line == situation.rawValue
                continue
            }
            guard isInside, let colon = line.firstIndex(of: ":") else { continue }
            let name = line[..<colon].drop { $0 == " " }
            if let event = Event(rawValue: String(name)) {
                rows[event] = String(line[colon...].dropFirst(2))
                continue
            }
            for event in line[colon...].split(separator: " ").compactMap({ Event(rawValue: String($0)) }) {
                if name == "never" { #expect(reasons[event] != nil, "\(event) has a reason") }
                var state = try Self.state(in: situation)
                let place = Self.name(of: state)
                // What an event returns where it has no effect is the same everywhere.
                let refusal = try apply(event, to: &state)
                #expect(refusals.contains(refusal), "\(event) in \(situation) has an effect: \(refusal)")
                rows[event] = "\(refusal) | \(place)"
            }
        }
        return rows
    }

    private static let refusals: Set = ["nothing", "wait", "do not fetch", "do not work"]

    /// The events that do not occur in some stages, and why; they change nothing there.
    private static let reasons: [Event: String] = [
        .found: "a response is found once, before a fetch or after it",
        .wholeIsDue: "a delivery begins once, as the exchange's options say",
        .headIsDue: "a delivery begins once, as the exchange's options say",
        .receiverCame: "the caller asks for the body when it has the head",
        .collectorCame: "the caller asks for the body when it has the head",
        .moreIsWanted: "the caller asks for more when its receiver has paused",
        .stepIsDue: "only the thread that delivers asks for the next step",
        .delivered: "only the thread that delivers has delivered a piece",
        .deliveredAndPaused: "only the thread that delivers has delivered a piece",
        .willFetch: "a fetch follows a lookup, or the refusal of what an earlier fetch has brought",
        .exchangeStarted: "each fetch has one inner exchange",
        .headForwarded: "an inner exchange has one head, which is forwarded at most once",
        .responseReplaced: "an inner exchange has one head, which is forwarded or replaced",
        .collects: "the caller asks for the body once, when it has the head",
        .reads: "the caller asks for the body once, when it has the head",
        .willWork: "only the outcome of an inner exchange leads to more work",
        .workBegan: "the work begins once, after an outcome",
    ]
}
