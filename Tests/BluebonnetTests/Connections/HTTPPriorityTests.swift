import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

@Suite(.timeLimit(.minutes(10))) struct HTTPPriorityTests {
    @Test(arguments: [
        (-1, 0, 256), (0, 0, 256), (1, 1, 256), (2, 2, 64), (3, 3, 16), (4, 4, 4), (5, 5, 1), (7, 7, 1), (8, 7, 1),
    ])
    func `an urgency is one of eight, and has a weight`(_ given: Int, urgency: Int, weight: Int) {
        let priority = HTTPPriority(urgency: given)
        #expect(priority.urgency == urgency)
        #expect(priority.weight == weight)
    }

    @Test(arguments: [
        (Int.min, 1, 5), (1, 1, 5), (3, 3, 5), (4, 4, 4), (15, 15, 4), (16, 16, 3), (63, 63, 3), (64, 64, 2),
        (255, 255, 2), (256, 256, 1), (Int.max, 256, 1),
    ])
    func `a weight is one of 256, and has an urgency`(_ given: Int, weight: Int, urgency: Int) {
        let priority = HTTPPriority(weight: given)
        #expect(priority.weight == weight)
        #expect(priority.urgency == urgency)
    }

    @Test func `the named priorities have the same urgency and weight`() {
        #expect(HTTPPriority.high == HTTPPriority(weight: 256))
        #expect(HTTPPriority.normal == HTTPPriority(weight: 16))
        #expect(HTTPPriority.low == HTTPPriority(weight: 1))
    }

    struct Answer: Decodable, Equatable {
        var weight: Int?
        var field: String?
    }

    /// Libcurl 8.23 no longer sends weights; 16 is the default weight of a stream.
    private static func weight(_ weight: Int) -> Int { Libcurl.version > 0x08_0e_01 ? 16 : weight }

    static let fields: [(HTTPPriority, String?)] = [
        (.high, "u=1"), (.low, "u=5"), (.init(urgency: 0, isIncremental: true), "u=0, i"),
        (.init(urgency: 3, isIncremental: true), "i"), (.normal, nil), (.init(weight: 200), "u=2"),
    ]

    @Test(arguments: fields)
    func `the priority is sent as the stream's weight and as a field`(
        _ priority: HTTPPriority, field: String?
    ) async throws {
        let session = try TestHarness.trustingSession()
        var request = HTTPRequest(url: try TestServers.misbehavingHTTP2.url("/priority"))
        request.priority = priority
        let answer = try await session.request(request).serializingDecodable(Answer.self).value
        #expect((answer.weight ?? 16) == Self.weight(priority.weight))
        #expect(answer.field == field)
        await session.shutdown()
    }

    @Test func `a request without a priority sends no priority, even after a request with a priority`() async throws {
        let session = try TestHarness.trustingSession()
        var request = HTTPRequest(url: try TestServers.misbehavingHTTP2.url("/priority"))
        request.priority = .low
        _ = try await session.request(request).serializingDecodable(Answer.self).value
        request.priority = nil
        let answer = try await session.request(request).serializingDecodable(Answer.self).value
        #expect((answer.weight ?? 16) == 16)
        #expect(answer.field == nil)
        await session.shutdown()
    }

    @Test func `a field of the request is kept, and a field of the session is replaced`() async throws {
        let session = try TestHarness.trustingSession { $0.headers["Priority"] = "u=7" }
        var request = HTTPRequest(url: try TestServers.misbehavingHTTP2.url("/priority"))
        request.priority = .high
        let first = try await session.request(request).serializingDecodable(Answer.self).value
        #expect((first.weight ?? 16) == Self.weight(256) && first.field == "u=1", "\(first)")
        request.headers["Priority"] = "u=4"
        let second = try await session.request(request).serializingDecodable(Answer.self).value
        #expect((second.weight ?? 16) == Self.weight(256) && second.field == "u=4", "\(second)")
        await session.shutdown()
    }

    @Test func `HTTP/1.1 sends the field only`() async throws {
        let server = try await LocalServer { $0.fallback { _ in .text("x") } }
        let session = TestHarness.session()
        var request = HTTPRequest(url: server.url)
        request.priority = .high
        _ = try await session.request(request).serializingString().value
        #expect(try await server.nextRequest().headers.values(for: "Priority") == ["u=1"])
        try await TestHarness.end(session, server)
    }
}
