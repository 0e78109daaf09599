import Testing

@testable import Bluebonnet

/// When a request is sent again, as a table.
struct ResendPolicyTests {
    typealias Connection = ResendPolicy.Connection
    typealias Decision = ResendPolicy.Decision

    /// The connection of a sending.
    private static let new = Connection(isNew: true)
    private static let kept = Connection()
    private static let shared = Connection(isShared: true)
    private static let newShared = Connection(isNew: true, isShared: true)

    /// A sending, and its fate.
    struct Sending: Sendable {
        let connection: Connection
        var knowledge = ResendPolicy.Knowledge.unknown
    }

    private static func lost(_ connection: Connection) -> Sending { Sending(connection: connection) }
    private static func refused(_ connection: Connection) -> Sending {
        Sending(connection: connection, knowledge: .refused)
    }

    private static let again = Decision.restart(.onAnyConnection)
    private static let own = Decision.restart(.onOwnConnection)
    private static let perhaps = Decision.stop(.mayBeProcessed)

    private static func exhausted(_ sends: Int, isRefused: Bool = true) -> Decision {
        .stop(.exhausted(sends: sends, isRefused: isRefused))
    }

    typealias Row = (isIdempotent: Bool, sendings: [Sending], decision: Decision, mayBeProcessed: Bool)

    private static let rows: [Row] = [
        // What the server may have processed.
        (false, [lost(new)], perhaps, true), (false, [lost(kept)], perhaps, true),
        (false, [lost(shared)], perhaps, true),
        (false, [refused(new), lost(kept)], perhaps, true),
        (true, [lost(new)], again, true), (true, [lost(kept)], again, true), (true, [lost(shared)], again, true),
        // What it has not processed.
        (false, [refused(new)], again, false), (false, [refused(kept)], again, false),
        (false, [refused(shared)], again, false), (true, [refused(new)], again, false),
        // Once more, if it was alone.
        (false, [refused(new), refused(new)], exhausted(2), false),
        (false, [refused(kept), refused(new)], exhausted(2), false),
        (true, [lost(new), lost(new)], exhausted(2, isRefused: false), true),
        // Several times among others, then on its own connection.
        (false, [refused(shared), refused(shared), refused(newShared)], again, false),
        (false, [refused(shared), refused(shared), refused(shared), refused(shared)], own, false),
        (false, [Sending](repeating: refused(shared), count: 5), exhausted(5), false),
        (true, [Sending](repeating: lost(kept), count: 4), own, true),
        (true, [Sending](repeating: lost(kept), count: 5), exhausted(5, isRefused: false), true),
        // A refusal does not undo an earlier sending.
        (true, [lost(kept), refused(new)], again, true),
        // HTTP/1.1 is used once.
        (false, [Sending(connection: new, knowledge: .requiresHTTP1)], .restart(.withHTTP1), false),
        (
            false, [Sending](repeating: Sending(connection: new, knowledge: .requiresHTTP1), count: 2), exhausted(2),
            false
        ),
        (false, [refused(new), Sending(connection: new, knowledge: .requiresHTTP1)], .restart(.withHTTP1), false),
        (false, [Sending(connection: kept, knowledge: .unconnected)], .restart(.onOwnConnection), false),
        (
            true, [Sending](repeating: Sending(connection: kept, knowledge: .unconnected), count: 5), exhausted(5),
            false
        ),
    ]

    /// Compares a result of a mutating method, which `#expect` does not take.
    private func expect<Value: Equatable>(
        _ value: Value, _ expected: Value, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(value == expected, sourceLocation: sourceLocation)
    }

    @Test(arguments: rows, [true, false])
    func `a request that failed without a response`(_ row: Row, isRepeatedByLibcurl: Bool) {
        var policy = ResendPolicy(isIdempotent: row.isIdempotent)
        var decision = Decision.send
        for (index, sending) in row.sendings.enumerated() {
            policy.added()
            expect(policy.nextSending(after: sending.connection, isAtStart: true), .send)
            policy.began(connections: sending.connection.isNew ? 1 : 0)
            #expect(policy.isOnNewConnection == sending.connection.isNew)
            policy.learned(sending.knowledge)
            if isRepeatedByLibcurl {
                decision = policy.nextSending(after: sending.connection, isAtStart: true)
                if decision == .send { decision = Self.again }
            } else {
                decision = policy.failed(on: sending.connection, isLost: true) ?? .send
            }
            guard index < row.sendings.count - 1 else { break }
            if case .restart = decision { continue }
            Issue.record("\(decision)")
        }
        #expect(decision == row.decision)
        #expect(policy.mayBeProcessed == row.mayBeProcessed)
    }

    @Test func `a second sending begins with the first byte of the body`() {
        for knowledge in [ResendPolicy.Knowledge.unknown, .refused] {
            var policy = ResendPolicy(isIdempotent: true)
            policy.began(connections: 1)
            policy.learned(knowledge)
            expect(policy.nextSending(after: Self.kept, isAtStart: false), Self.again)
            expect(policy.nextSending(after: Self.kept, isAtStart: true), .send)
        }
    }

    @Test func `what was not opened is sent again, and what was opened may be processed`() {
        for isOpened in [true, false] {
            var policy = ResendPolicy(isIdempotent: false)
            policy.began(connections: 0, reportsOpening: true)
            if isOpened { policy.opened() }
            #expect(policy.isUnanswered)
            #expect(policy.mayBeProcessed == isOpened)
            let decision = policy.nextSending(after: Self.kept, isAtStart: true)
            #expect(decision == (isOpened ? Self.perhaps : .send))
        }
    }

    @Test func `what can be learned is learned before the decision`() {
        for knowledge in [ResendPolicy.Knowledge.unknown, .refused] {
            var policy = ResendPolicy(isIdempotent: false)
            policy.began(connections: 0)
            for _ in 1...2 { expect(policy.nextSending(after: Self.kept, isAtStart: true, canAsk: true), .ask) }
            policy.learned(knowledge)
            let decision = policy.failed(on: Self.kept, isLost: true)
            #expect(decision == (knowledge == .refused ? Self.again : Self.perhaps))
        }
        var refused = ResendPolicy(isIdempotent: false)
        refused.began(connections: 0)
        refused.learned(.refused)
        expect(refused.nextSending(after: Self.kept, isAtStart: true, canAsk: true), .send)
    }

    @Test func `a failure of another kind is no reason to send a request again`() {
        var policy = ResendPolicy(isIdempotent: true)
        expect(policy.failed(on: Self.new, isLost: true), nil)
        policy.began(connections: 1)
        expect(policy.failed(on: Self.new, isLost: false), nil)
        #expect(policy.mayBeProcessed)
        policy.learned(.refused)
        expect(policy.failed(on: Self.new, isLost: false), Self.again)
    }

    @Test func `what has a response is not sent again, but challenges are answered`() {
        var policy = ResendPolicy(isIdempotent: false)
        for connections in 1...3 {
            expect(policy.nextSending(after: Self.new, isAtStart: true), .send)
            policy.began(connections: connections)
            policy.answered()
            policy.challenged()
            policy.learned(.refused)
            expect(policy.failed(on: Self.new, isLost: true), nil)
        }
        // The answer to a challenge may be lost like any other request, and its response may begin.
        expect(policy.nextSending(after: Self.new, isAtStart: true), .send)
        policy.began(connections: 3)
        var answered = policy
        expect(policy.nextSending(after: Self.kept, isAtStart: true), Self.perhaps)
        answered.answered()
        expect(answered.nextSending(after: Self.kept, isAtStart: true), .stop(.isAnswered))
    }

    @Test func `challenges without end have an end`() {
        var policy = ResendPolicy(isIdempotent: true)
        for _ in 1...ResendPolicy.maximumSends {
            expect(policy.nextSending(after: Self.kept, isAtStart: true), .send)
            policy.began(connections: 1)
            policy.challenged()
        }
        expect(policy.nextSending(after: Self.kept, isAtStart: true), .stop(.endless))
    }

    @Test func `the trailers of a challenge are no answer`() {
        var policy = ResendPolicy(isIdempotent: false)
        policy.began(connections: 1)
        policy.answered()
        policy.challenged()
        policy.answered()
        expect(policy.nextSending(after: Self.new, isAtStart: true), .send)
    }

    @Test func `restarts have an end, and a new start has not begun`() {
        var policy = ResendPolicy(isIdempotent: true)
        for _ in 1...ResendPolicy.maximumSends { expect(policy.restarted(), true) }
        expect(policy.restarted(), false)
        policy.began(connections: 1)
        #expect(policy.hasBegun)
        policy.added()
        #expect(!policy.hasBegun)
    }

    @Test func `a misdirected request is sent once more`() {
        var policy = ResendPolicy(isIdempotent: false)
        policy.began(connections: 1)
        policy.answered()
        expect(policy.misdirected(), true)
        expect(policy.nextSending(after: Self.kept, isAtStart: true), .send)
        policy.began(connections: 2)
        policy.answered()
        expect(policy.misdirected(), false)
    }
}
