import Testing

@testable import Bluebonnet

/// The steps of a turn.
@Suite struct TurnStepsTests {
    /// Takes all steps of a turn; `during` may ask for others when a step runs.
    private static func run(_ steps: inout TurnSteps, during: (TurnStep, inout TurnSteps) -> Void = { _, _ in })
        -> [TurnStep]
    {
        var taken: [TurnStep] = []
        while let step = steps.next() {
            taken.append(step)
            during(step, &steps)
        }
        return taken
    }

    @Test func `steps run in their order, once, and only if something asked for them`() {
        var steps = TurnSteps()
        let none = Self.run(&steps)
        #expect(none.isEmpty)
        for step in TurnStep.allCases.reversed() + TurnStep.allCases { steps.ask(step) }
        let all = Self.run(&steps)
        let followsAtOnce = steps.turnEnds()
        let later = Self.run(&steps)
        #expect(all == TurnStep.allCases)
        #expect(!followsAtOnce && later.isEmpty)
    }

    @Test(arguments: TurnStep.allCases)
    func `a step that is asked for before its time runs in this turn, and otherwise in the next`(asked: TurnStep) {
        for current in TurnStep.allCases {
            var steps = TurnSteps()
            steps.ask(current)
            // A step may ask for itself.
            var isFirst = true
            let taken = Self.run(&steps) { step, steps in
                if step == current, isFirst { steps.ask(asked) }
                isFirst = false
            }
            let isLater = asked.rawValue > current.rawValue
            #expect(taken == (isLater ? [current, asked] : [current]))
            let urgent: Set<TurnStep> = [.endUploads, .resumeUpgrades, .takeRests, .reportProgress]
            let followsAtOnce = steps.turnEnds()
            #expect(followsAtOnce == (!isLater && urgent.contains(asked)))
            let next = Self.run(&steps)
            #expect(next == (isLater ? [] : [asked]))
        }
    }
}
