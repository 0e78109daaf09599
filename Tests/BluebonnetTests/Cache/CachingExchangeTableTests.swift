import FoundationEssentials
import Testing

@testable import Bluebonnet

/// The table of the events that change the stage of an exchange with a cache, in all stages, with the actions and the
/// next stages.
@Suite struct CachingExchangeTableTests {
    /// A stage, and the events that lead to it.
    enum Situation: String, CaseIterable, Sendable {
        case working, storing, held, heldSuspended
        case unrecorded, fetching, stopping, replaced, forwarded, collected, read
        case delivering, reading, askedForMore, pausing, readToEnd, collecting, idle, idleSuspended, paused, failing
        case ended

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
            case .reading: Self.delivering.events + [.receiverCame]
            case .askedForMore: Self.reading.events + [.moreIsWanted]
            case .pausing: Self.reading.events + [.deliveredAndPaused]
            case .readToEnd: Self.reading.events + [.delivered, .delivered, .delivered]
            case .collecting: Self.delivering.events + [.collectorCame]
            case .idle: Self.delivering.events + [.stepIsDue]
            case .idleSuspended: Self.idle.events + [.suspended]
            case .paused: Self.pausing.events + [.stepIsDue]
            case .failing: Self.delivering.events + [.stopped]
            case .ended: [.ended]
            }
        }
    }

    enum Event: String, CaseIterable, Sendable {
        case suspended, resumed, found, wholeIsDue, headIsDue, receiverCame, collectorCame, moreIsWanted, stepIsDue
        case delivered, deliveredAndPaused
        case willFetch, exchangeStarted, headForwarded, responseReplaced, collects, reads, willWork, workBegan
        case ended, stopped
    }

    @Test(arguments: Situation.allCases)
    func `every event has the result of the table`(situation: Situation) throws {
        let rows = EventTable<Event>(Self.table).rows(of: situation.rawValue)
        #expect(Set(rows.keys) == Set(Event.allCases), "each event has a row")
        for (event, row) in rows {
            var state = try Self.state(in: situation)
            let before = Self.description(of: state)
            let action = try Self.apply(event, to: &state)
            switch row {
            case .result(let expected):
                #expect("\(action) | \(Self.name(of: state))" == expected, "\(event) in \(situation)")
            case .never where Self.reasons[event] == nil: Issue.record("\(event) has no reason")
            case .ignored, .never:
                #expect(Self.refusals.contains(action), "\(event) in \(situation): \(action)")
                #expect(before == Self.description(of: state), "\(event) in \(situation) changes something")
            }
        }
    }

    @Test func `the data of a fetch is kept while its response is received`() throws {
        let key = CacheKey(try #require(URL(string: "http://a.test/")))
        let writer = try #require(ResponseWriter(ResponseCache(), key, expecting: nil))
        let storing = CachingExchangeState.Storing(
            writer: writer, receiver: StoringReceiver(Receiver(), writer: writer) {})
        let head = try CacheFixtures.response(["A": "b"])
        var state = CachingExchangeState(isSuspended: false)
        var fetch = CachingExchangeState.Fetch()
        (fetch.epoch, fetch.isBackground) = (7, true)
        _ = state.willFetch(fetch)
        _ = state.exchangeStarted(Inner())
        #expect(state.fetch?.isForwarded == false && state.fetch?.isBodyRequested == false)
        state.headForwarded(storable: head)
        #expect(state.fetch?.storableHead?.headers["A"] == "b")
        #expect(state.fetch?.isForwarded == true && state.fetch?.isBodyRequested == false)
        var collected = state
        collected.bodyRequested(.collected)
        #expect(collected.fetch?.isCollected == true && collected.fetch?.storing == nil)
        state.bodyRequested(.read(storing))
        #expect(state.fetch?.storing?.writer === writer && state.fetch?.isCollected == false)
        #expect(state.fetch?.isForwarded == true && state.fetch?.isBodyRequested == true)
        #expect(state.fetch?.epoch == 7 && state.fetch?.isBackground == true && state.inner != nil)
        writer.abandon()
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
            case .delivering(let delivery): name(of: delivery)
            case .ended: "ended"
            }
        let waits = ["held", "idle"].contains(name)
        return state.isSuspended && waits ? name + "Suspended" : name
    }

    private static func name(of delivery: CachingExchangeState.Delivery) -> String {
        guard delivery.error == nil else { return "failing" }
        guard delivery.isRunning else { return delivery.isPaused ? "paused" : "idle" }
        switch delivery.reader {
        case .undecided: return "delivering"
        case .collecting: return "collecting"
        case .receiver:
            if delivery.wantsMore { return "askedForMore" }
            return delivery.isPaused ? "pausing" : delivery.offset == 3 ? "readToEnd" : "reading"
        }
    }

    /// All of a state but its suspension, to find changes that its name does not tell.
    private static func description(of state: CachingExchangeState) -> String {
        let stage =
            switch state.stage {
            case .working(let interruption): "\(interruption != nil)"
            case .held: "held"
            case .fetching(let fetch, let inner): "\(fetch) \(inner != nil)"
            case .delivering(let delivery):
                "\(delivery.reader) \(delivery.offset) \(delivery.isRunning) \(delivery.isPaused) \(delivery.wantsMore) "
                    + "\(delivery.error != nil)"
            case .ended: "ended"
            }
        return "\(stage) \(state.stopError != nil)"
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
        case .resumed:
            state.isSuspended = false
            if case .held = state.stage { return "deliver" }
            return state.resumesDelivery() ? "run" : "nothing"
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
          ignored: suspended resumed
          never: wholeIsDue headIsDue receiverCame collectorCame moreIsWanted stepIsDue delivered
          never: deliveredAndPaused exchangeStarted headForwarded responseReplaced collects reads willWork
        storing
          found: deliver | held
          willFetch: fetch | unrecorded
          ended: tell | ended
          stopped: interrupt and tell | ended
          ignored: suspended resumed
          never: wholeIsDue headIsDue receiverCame collectorCame moreIsWanted stepIsDue delivered
          never: deliveredAndPaused exchangeStarted headForwarded responseReplaced collects reads willWork
          never: workBegan
        held
          suspended: nothing | heldSuspended
          resumed: deliver | held
          wholeIsDue: whole | ended
          headIsDue: head | delivering
          ended: tell | ended
          stopped: tell | ended
          never: found receiverCame collectorCame moreIsWanted stepIsDue delivered deliveredAndPaused willFetch
          never: exchangeStarted headForwarded responseReplaced collects reads willWork workBegan
        heldSuspended
          resumed: deliver | held
          ended: tell | ended
          stopped: tell | ended
          ignored: suspended wholeIsDue headIsDue
          never: found receiverCame collectorCame moreIsWanted stepIsDue delivered deliveredAndPaused willFetch
          never: exchangeStarted headForwarded responseReplaced collects reads willWork workBegan
        unrecorded
          exchangeStarted: nothing | fetching
          headForwarded: nothing | unrecorded
          responseReplaced: nothing | unrecorded
          willWork: work | working
          ended: tell | ended
          stopped: nothing | unrecorded
          ignored: suspended resumed
          never: found wholeIsDue headIsDue receiverCame collectorCame moreIsWanted stepIsDue delivered
          never: deliveredAndPaused willFetch collects reads workBegan
        fetching
          headForwarded: nothing | forwarded
          responseReplaced: nothing | replaced
          willWork: work | working
          ended: tell | ended
          stopped: cancel | stopping
          ignored: suspended resumed
          never: found wholeIsDue headIsDue receiverCame collectorCame moreIsWanted stepIsDue delivered
          never: deliveredAndPaused willFetch exchangeStarted collects reads workBegan
        stopping
          exchangeStarted: cancel it | stopping
          headForwarded: nothing | stopping
          responseReplaced: nothing | stopping
          workBegan: interrupt | stopping
          ended: tell | ended
          stopped: cancel | stopping
          ignored: suspended resumed collects reads willWork
          never: found wholeIsDue headIsDue receiverCame collectorCame moreIsWanted stepIsDue delivered
          never: deliveredAndPaused willFetch
        replaced
          willWork: work | working
          ended: tell | ended
          stopped: cancel | stopping
          ignored: suspended resumed
          never: found wholeIsDue headIsDue receiverCame collectorCame moreIsWanted stepIsDue delivered
          never: deliveredAndPaused willFetch exchangeStarted headForwarded responseReplaced collects reads
          never: workBegan
        forwarded
          collects: nothing | collected
          reads: nothing | read
          willWork: work | working
          ended: tell | ended
          stopped: cancel | stopping
          ignored: suspended resumed
          never: found wholeIsDue headIsDue receiverCame collectorCame moreIsWanted stepIsDue delivered
          never: deliveredAndPaused willFetch exchangeStarted headForwarded responseReplaced workBegan
        collected
          willWork: work | working
          ended: tell | ended
          stopped: cancel | stopping
          ignored: suspended resumed
          never: found wholeIsDue headIsDue receiverCame collectorCame moreIsWanted stepIsDue delivered
          never: deliveredAndPaused willFetch exchangeStarted headForwarded responseReplaced collects reads
          never: workBegan
        read
          willWork: work | working
          ended: tell | ended
          stopped: cancel | stopping
          ignored: suspended resumed
          never: found wholeIsDue headIsDue receiverCame collectorCame moreIsWanted stepIsDue delivered
          never: deliveredAndPaused willFetch exchangeStarted headForwarded responseReplaced collects reads
          never: workBegan
        delivering
          receiverCame: nothing | reading
          collectorCame: nothing | collecting
          moreIsWanted: nothing | delivering
          stepIsDue: wait | idle
          delivered: nothing | delivering
          deliveredAndPaused: nothing | delivering
          ended: tell | ended
          stopped: nothing | failing
          ignored: suspended resumed
          never: found wholeIsDue headIsDue willFetch exchangeStarted headForwarded responseReplaced collects
          never: reads willWork workBegan
        reading
          collectorCame: nothing | collecting
          moreIsWanted: nothing | askedForMore
          stepIsDue: read | reading
          delivered: nothing | reading
          deliveredAndPaused: nothing | pausing
          ended: tell | ended
          stopped: nothing | failing
          ignored: suspended resumed receiverCame
          never: found wholeIsDue headIsDue willFetch exchangeStarted headForwarded responseReplaced collects
          never: reads willWork workBegan
        askedForMore
          collectorCame: nothing | collecting
          stepIsDue: read | askedForMore
          delivered: nothing | reading
          deliveredAndPaused: nothing | reading
          ended: tell | ended
          stopped: nothing | failing
          ignored: suspended resumed receiverCame moreIsWanted
          never: found wholeIsDue headIsDue willFetch exchangeStarted headForwarded responseReplaced collects
          never: reads willWork workBegan
        pausing
          collectorCame: nothing | collecting
          moreIsWanted: nothing | askedForMore
          stepIsDue: wait | paused
          delivered: nothing | reading
          deliveredAndPaused: nothing | pausing
          ended: tell | ended
          stopped: nothing | failing
          ignored: suspended resumed receiverCame
          never: found wholeIsDue headIsDue willFetch exchangeStarted headForwarded responseReplaced collects
          never: reads willWork workBegan
        readToEnd
          collectorCame: nothing | collecting
          moreIsWanted: nothing | askedForMore
          stepIsDue: complete | ended
          delivered: nothing | reading
          deliveredAndPaused: nothing | pausing
          ended: tell | ended
          stopped: nothing | failing
          ignored: suspended resumed receiverCame
          never: found wholeIsDue headIsDue willFetch exchangeStarted headForwarded responseReplaced collects
          never: reads willWork workBegan
        collecting
          receiverCame: nothing | reading
          moreIsWanted: nothing | collecting
          stepIsDue: collect | ended
          delivered: nothing | collecting
          deliveredAndPaused: nothing | collecting
          ended: tell | ended
          stopped: nothing | failing
          ignored: suspended resumed collectorCame
          never: found wholeIsDue headIsDue willFetch exchangeStarted headForwarded responseReplaced collects
          never: reads willWork workBegan
        idle
          suspended: nothing | idleSuspended
          resumed: run | delivering
          receiverCame: run | reading
          collectorCame: run | collecting
          moreIsWanted: run | delivering
          delivered: nothing | idle
          deliveredAndPaused: nothing | paused
          ended: tell | ended
          stopped: tell | ended
          never: found wholeIsDue headIsDue stepIsDue willFetch exchangeStarted headForwarded responseReplaced
          never: collects reads willWork workBegan
        idleSuspended
          resumed: run | delivering
          receiverCame: nothing | idleSuspended
          collectorCame: nothing | idleSuspended
          delivered: nothing | idleSuspended
          deliveredAndPaused: nothing | paused
          ended: tell | ended
          stopped: tell | ended
          ignored: suspended moreIsWanted
          never: found wholeIsDue headIsDue stepIsDue willFetch exchangeStarted headForwarded responseReplaced
          never: collects reads willWork workBegan
        paused
          collectorCame: nothing | paused
          moreIsWanted: run | reading
          delivered: nothing | idle
          deliveredAndPaused: nothing | paused
          ended: tell | ended
          stopped: tell | ended
          ignored: suspended resumed
          never: found wholeIsDue headIsDue receiverCame stepIsDue willFetch exchangeStarted headForwarded
          never: responseReplaced collects reads willWork workBegan
        failing
          receiverCame: nothing | failing
          collectorCame: nothing | failing
          moreIsWanted: nothing | failing
          stepIsDue: complete | ended
          delivered: nothing | failing
          deliveredAndPaused: nothing | failing
          workBegan: interrupt | failing
          ended: tell | ended
          ignored: suspended resumed stopped
          never: found wholeIsDue headIsDue willFetch exchangeStarted headForwarded responseReplaced collects
          never: reads willWork
        ended
          stopped: nothing | ended
          ignored: suspended resumed found wholeIsDue headIsDue receiverCame collectorCame moreIsWanted
          ignored: stepIsDue willFetch willWork workBegan ended
          never: delivered deliveredAndPaused exchangeStarted headForwarded responseReplaced collects reads
        """

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
