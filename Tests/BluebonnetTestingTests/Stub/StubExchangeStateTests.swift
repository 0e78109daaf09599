import Testing

@testable import BluebonnetTesting

@Suite struct StubExchangeStateTests {
    enum Event: Sendable, CaseIterable {
        case resumed, suspended, answered, aborted
    }

    static func run(_ events: [Event]) -> [String] {
        var state = StubExchangeState<String>()
        return events.map { event in
            let action =
                switch event {
                case .resumed: state.resumed()
                case .suspended: suspend(&state)
                case .answered: state.answered("answer")
                case .aborted: state.aborted("end")
                }
            return switch action {
            case .nothing: "-"
            case .begin: "begin"
            case .deliver(let outcome): outcome
            }
        }
    }

    private static func suspend(_ state: inout StubExchangeState<String>) -> StubExchangeState<String>.Action {
        state.suspended()
        return .nothing
    }

    @Test(
        arguments: [
            ([.resumed, .answered], ["begin", "answer"]),
            ([.resumed, .resumed, .answered, .resumed], ["begin", "-", "answer", "-"]),
            ([.resumed, .suspended, .answered, .resumed], ["begin", "-", "-", "answer"]),
            ([.resumed, .suspended, .resumed, .answered], ["begin", "-", "-", "answer"]),
            ([.resumed, .suspended, .answered, .aborted, .resumed], ["begin", "-", "-", "end", "-"]),
            ([.resumed, .aborted, .answered, .aborted], ["begin", "end", "-", "-"]),
            ([.suspended, .resumed, .answered], ["-", "begin", "answer"]),
            ([.aborted, .resumed, .answered], ["end", "-", "-"]),
            ([.resumed, .answered, .aborted, .suspended, .resumed], ["begin", "answer", "-", "-", "-"]),
        ] as [([Event], [String])])
    func `Each event has its action`(events: [Event], actions: [String]) {
        #expect(Self.run(events) == actions)
    }

    @Test func `Whatever happens, there is one outcome at most, and one after an end`() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<5000 {
            let events = (0..<12).compactMap { _ in Event.allCases.randomElement(using: &random) }
            let outcomes = Self.run(events).filter { $0 == "answer" || $0 == "end" }
            #expect(outcomes.count <= 1)
            if events.contains(.aborted) { #expect(outcomes.count == 1) }
        }
    }
}
