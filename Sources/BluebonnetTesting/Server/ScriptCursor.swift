import FoundationEssentials

/// Where a script stands; a pure value.
struct ScriptCursor {
    typealias Kind = LocalServer.Script.Step.Kind

    private let steps: [LocalServer.Script.Step]
    private var index = 0

    /// Whether the current step has begun.
    private(set) var hasBegun = false
    /// Whether what the current step waits for, other than bytes, has happened.
    var isSatisfied = false
    /// How many bytes the current step has dealt with.
    var progress = 0
    /// The request that is being read.
    var request: PartialRequest?

    /// A request of which a script has read the head, at least.
    struct PartialRequest {
        var head: RequestHead
        var body = Data()
        /// Whether it has been recorded with its head alone.
        var isRecorded = false
    }

    init(_ steps: [LocalServer.Script.Step]) {
        self.steps = steps
    }

    /// The current step; `nil` after the last.
    var step: Kind? { index < steps.count ? steps[index].kind : nil }

    /// Whether the current step can only go on with bytes from the client.
    var waitsForBytes: Bool {
        switch step {
        case .waitForHead, .waitForRequest, .waitForBytes, .waitForClose: true
        default: false
        }
    }

    /// Whether it waits for the client to go away.
    var isStalled: Bool { if case .stall = step { true } else { false } }

    /// Notes that the current step begins; says whether it had not before.
    mutating func begin() -> Bool {
        defer { hasBegun = true }
        return !hasBegun
    }

    /// Goes on to the next step.
    mutating func advance() {
        index += 1
        hasBegun = false
        isSatisfied = false
        progress = 0
    }
}
