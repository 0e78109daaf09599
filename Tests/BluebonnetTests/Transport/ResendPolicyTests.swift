import Testing

@testable import Bluebonnet

/// How often libcurl may send a request, as a table.
struct ResendPolicyTests {
    /// A request that libcurl is about to send, with the number of its connections and whether it has a response.
    struct Beginning: Sendable {
        let connections: Int
        var isAnswered = false
    }

    private static let kept = Beginning(connections: 0)
    private static let new = Beginning(connections: 1)
    private static let second = Beginning(connections: 2)
    private static let third = Beginning(connections: 3)
    private static let answered = Beginning(connections: 1, isAnswered: true)

    @Test(
        arguments: [
            ([new], [true]), ([kept], [true]),
            // Refused once, twice.
            ([new, second], [true, true]), ([new, second, third], [true, true, false]),
            // Dead connections, one after the other; the last one is new.
            ([kept, kept, kept, kept], [true, true, true, true]), ([kept, new], [true, true]),
            ([kept, new, second], [true, true, false]), ([kept, kept, new, second], [true, true, true, false]),
            // A challenge can be answered any number of times on the same connection.
            ([new, answered, answered, answered], [true, true, true, true]),
        ] as [([Beginning], [Bool])])
    func `a refused request is sent one more time`(_ beginnings: [Beginning], answers: [Bool]) {
        var state = ResendPolicy()
        let given = beginnings.map { state.requestBegins(connections: $0.connections, isAnswered: $0.isAnswered) }
        #expect(given == answers)
    }

    @Test func `new connections are distinguished from reused connections`() {
        var state = ResendPolicy()
        var known: [Bool] = []
        for connections in [0, 0, 1, 1, 2] {
            _ = state.requestBegins(connections: connections, isAnswered: false)
            known.append(state.isOnNewConnection)
        }
        #expect(known == [false, false, true, false, true])
    }
}
