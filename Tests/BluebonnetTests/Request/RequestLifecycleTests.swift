import Testing

@testable import Bluebonnet

/// What can happen to a request, as the lifecycle is told of it.
enum LifecycleEvent: CaseIterable, Sendable {
    case resume, suspend, cancel, attach, attachWaiting, refuse, settle
}

extension RequestLifecycle {
    fileprivate mutating func apply(_ event: LifecycleEvent) -> Action {
        switch event {
        case .resume: return resumed()
        case .suspend: return suspended()
        case .cancel: return cancelled()
        case .attach: return serializerAttached(startsImmediately: true)
        case .attachWaiting: return serializerAttached(startsImmediately: false)
        case .refuse: return refused()
        case .settle:
            settled()
            return .nothing
        }
    }
}

@Suite struct RequestLifecycleTests {
    /// The events that lead somewhere, the event in question, and what comes of it.
    struct Row: Sendable, CustomTestStringConvertible {
        let before: [LifecycleEvent]
        let event: LifecycleEvent
        let action: RequestLifecycle.Action
        let state: RequestState

        init(
            _ before: [LifecycleEvent], _ event: LifecycleEvent, _ action: RequestLifecycle.Action,
            _ state: RequestState
        ) {
            self.before = before
            self.event = event
            self.action = action
            self.state = state
        }

        var testDescription: String { "\(before) then \(event): \(action), \(state)" }
    }

    static let table: [Row] = [
        // initialized
        Row([], .resume, .begin, .resumed),
        Row([], .suspend, .nothing, .suspended),
        Row([], .cancel, .settle, .cancelled),
        Row([], .attach, .begin, .resumed),
        Row([], .attachWaiting, .nothing, .initialized),
        Row([], .refuse, .settle, .finished),
        // suspended before it began: only `resume` begins it
        Row([.suspend], .resume, .begin, .resumed),
        Row([.suspend], .suspend, .nothing, .suspended),
        Row([.suspend], .cancel, .settle, .cancelled),
        Row([.suspend], .attach, .nothing, .suspended),
        Row([.suspend], .attachWaiting, .nothing, .suspended),
        Row([.suspend], .refuse, .settle, .finished),
        // resumed
        Row([.resume], .resume, .nothing, .resumed),
        Row([.resume], .suspend, .alignExchange, .suspended),
        Row([.resume], .cancel, .interrupt, .cancelled),
        Row([.resume], .attach, .nothing, .resumed),
        Row([.resume], .attachWaiting, .nothing, .resumed),
        Row([.resume], .refuse, .nothing, .resumed),
        Row([.resume], .settle, .nothing, .finished),
        // suspended under way
        Row([.resume, .suspend], .resume, .alignExchange, .resumed),
        Row([.resume, .suspend], .suspend, .nothing, .suspended),
        Row([.resume, .suspend], .cancel, .interrupt, .cancelled),
        Row([.resume, .suspend], .attach, .nothing, .suspended),
        Row([.resume, .suspend], .refuse, .nothing, .suspended),
        Row([.resume, .suspend], .settle, .nothing, .finished),
        // cancelled under way, the attempt loop still running
        Row([.resume, .cancel], .resume, .nothing, .cancelled),
        Row([.resume, .cancel], .suspend, .nothing, .cancelled),
        Row([.resume, .cancel], .cancel, .nothing, .cancelled),
        Row([.resume, .cancel], .attach, .nothing, .cancelled),
        Row([.resume, .cancel], .refuse, .nothing, .cancelled),
        Row([.resume, .cancel], .settle, .nothing, .cancelled),
        // cancelled and answered
        Row([.cancel], .resume, .nothing, .cancelled),
        Row([.cancel], .attach, .serializeOutcome, .cancelled),
        Row([.cancel], .refuse, .nothing, .cancelled),
        Row([.resume, .cancel, .settle], .attach, .serializeOutcome, .cancelled),
        Row([.resume, .cancel, .settle], .resume, .nothing, .cancelled),
        // finished: never sent again
        Row([.resume, .settle], .resume, .nothing, .finished),
        Row([.resume, .settle], .suspend, .nothing, .finished),
        Row([.resume, .settle], .cancel, .nothing, .finished),
        Row([.resume, .settle], .attach, .serializeOutcome, .finished),
        Row([.resume, .settle], .attachWaiting, .serializeOutcome, .finished),
        Row([.resume, .settle], .refuse, .nothing, .finished),
        // refused by the session
        Row([.refuse], .resume, .nothing, .finished),
        Row([.refuse], .attach, .serializeOutcome, .finished),
    ]

    @Test(arguments: table)
    func `Every transition is as the table says`(row: Row) {
        var lifecycle = RequestLifecycle()
        for event in row.before { _ = lifecycle.apply(event) }
        #expect(lifecycle.apply(row.event) == row.action)
        #expect(lifecycle.state == row.state)
    }

    @Test func `A request begins at most once, whatever happens in whichever order`() {
        // All sequences of five events but `settle`, which is the attempt loop's own.
        let events = LifecycleEvent.allCases.filter { $0 != .settle }
        var sequences: [[LifecycleEvent]] = [[]]
        for _ in 0..<5 { sequences = sequences.flatMap { sequence in events.map { sequence + [$0] } } }
        for sequence in sequences {
            var lifecycle = RequestLifecycle()
            let actions = sequence.map { lifecycle.apply($0) }
            let begun = actions.count { $0 == .begin }
            let settled = actions.count { $0 == .settle }
            #expect(begun + settled <= 1, "\(sequence)")
            #expect(lifecycle.hasBegun == (begun == 1), "\(sequence)")
        }
        #expect(sequences.count == 7776)
    }
}
