import Testing

@testable import BluebonnetCallbacks

/// The order of the handlers of one request, as a table.
struct HandlerOrderTests {
    /// An event of an order of three handlers, or the expected action.
    enum Step: Sendable {
        /// The call of the handler is ready; the values are the expected actions.
        case answered(Int, Consequence)
        /// The handler has nothing to be called with.
        case left(Int, Consequence)
        /// The call under way has returned.
        case returned(Consequence)
    }

    enum Consequence: Equatable, Sendable {
        case nothing, call(Int), end

        init(_ action: HandlerOrder<Int>.Action) {
            switch action {
            case .nothing: self = .nothing
            case .call(let handler): self = .call(handler)
            case .end: self = .end
            }
        }
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let steps: [Step]
    }

    static let rows = [
        Row(
            testDescription: "answered in order, each after the return of the one before",
            steps: [
                .answered(0, .call(0)), .returned(.nothing), .answered(1, .call(1)), .returned(.nothing),
                .answered(2, .call(2)), .returned(.end),
            ]),
        Row(
            testDescription: "answered in the opposite order",
            steps: [
                .answered(2, .nothing), .answered(1, .nothing), .answered(0, .call(0)), .returned(.call(1)),
                .returned(.call(2)), .returned(.end),
            ]),
        Row(
            testDescription: "answered while the first is called",
            steps: [
                .answered(0, .call(0)), .answered(1, .nothing), .answered(2, .nothing), .returned(.call(1)),
                .returned(.call(2)), .returned(.end),
            ]),
        Row(
            testDescription: "answered twice is answered once",
            steps: [
                .answered(0, .call(0)), .answered(0, .nothing), .answered(1, .nothing), .answered(1, .nothing),
                .returned(.call(1)), .answered(1, .nothing), .returned(.nothing), .answered(2, .call(2)),
                .answered(2, .nothing), .returned(.end),
            ]),
        Row(
            testDescription: "one that has nothing to say keeps its place until it leaves",
            steps: [
                .answered(1, .nothing), .answered(2, .nothing), .left(0, .call(1)), .returned(.call(2)),
                .returned(.end),
            ]),
        Row(
            testDescription: "one in the middle leaves",
            steps: [
                .left(1, .nothing), .answered(0, .call(0)), .returned(.nothing), .answered(2, .call(2)),
                .returned(.end),
            ]),
        Row(testDescription: "all leave", steps: [.left(2, .nothing), .left(1, .nothing), .left(0, .end)]),
    ]

    @Test(arguments: rows)
    func `handlers are called in the order in which they were added, one after the other, each once`(
        _ row: Row
    ) {
        var order = HandlerOrder<Int>()
        #expect((0..<3).map { _ in order.added() } == [0, 1, 2])
        for step in row.steps {
            switch step {
            case .answered(let handler, let expected):
                #expect(Consequence(order.answered(handler, with: handler)) == expected)
            case .left(let handler, let expected):
                #expect(Consequence(order.answered(handler, with: nil)) == expected)
            case .returned(let expected):
                #expect(Consequence(order.returned()) == expected)
            }
        }
    }

    @Test func `a handler that is added during a call is called`() {
        var order = HandlerOrder<Int>()
        _ = order.added()
        #expect(Consequence(order.answered(0, with: 0)) == .call(0))
        #expect(order.added() == 1)
        #expect(Consequence(order.returned()) == .nothing)
        #expect(Consequence(order.answered(1, with: 1)) == .call(1))
        #expect(Consequence(order.returned()) == .end)
    }

    @Test func `Any order of responses results in one order of calls`() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<200 {
            let count = Int.random(in: 1...12, using: &generator)
            var order = HandlerOrder<Int>()
            for _ in 0..<count { _ = order.added() }
            var answers = Array(0..<count).shuffled(using: &generator)
            var called: [Int] = []
            var isCalling = false
            var hasEnded = false
            while !answers.isEmpty || isCalling {
                let returns = isCalling && (answers.isEmpty || Bool.random(using: &generator))
                let action: HandlerOrder<Int>.Action
                if returns {
                    isCalling = false
                    action = order.returned()
                } else {
                    let handler = answers.removeLast()
                    action = order.answered(handler, with: handler)
                }
                switch action {
                case .nothing: break
                case .call(let handler):
                    #expect(!isCalling)
                    isCalling = true
                    called.append(handler)
                case .end: hasEnded = true
                }
            }
            #expect(called == Array(0..<count) && hasEnded)
        }
    }
}
