import FoundationEssentials
import Testing

@testable import Bluebonnet

/// The groups of equal requests, and which requests are equal.
struct FetchGroupsTests {
    private final class Member {}

    private static let key = FetchKey.validation(CacheKey(URL(filePath: "/")), selector: Data())

    @Test func `the first member leads, and the others follow`() {
        var groups = FetchGroups<Member>()
        let members = (0..<3).map { _ in Member() }
        let leads = members.map { groups.join($0, Self.key) }
        #expect(leads == [true, false, false])
        #expect(members.map { groups.follows($0) } == [false, true, true])
        #expect(groups.contains(Self.key))
    }

    @Test func `a leader hands on to one follower, or lets all go on`() {
        for handsOn in [true, false] {
            var groups = FetchGroups<Member>()
            let members = (0..<3).map { _ in Member() }
            for member in members { _ = groups.join(member, Self.key) }
            switch groups.leave(members[0], handsOn: handsOn) {
            case .leader(let next):
                #expect(handsOn && members[1...].contains { $0 === next })
                #expect(!groups.follows(next) && groups.contains(Self.key))
            case .all(let followers): #expect(!handsOn && followers.count == 2 && !groups.contains(Self.key))
            case .none: Issue.record("no member continues")
            }
        }
    }

    @Test func `a follower that leaves changes nothing for the others, and no member leaves twice`() {
        var groups = FetchGroups<Member>()
        let members = (0..<3).map { _ in Member() }
        for member in members { _ = groups.join(member, Self.key) }
        for _ in 0..<2 {
            guard case .none = groups.leave(members[1], handsOn: true) else {
                Issue.record("a member continues")
                return
            }
        }
        guard case .leader(let next) = groups.leave(members[0], handsOn: true), next === members[2],
            case .none = groups.leave(members[0], handsOn: true), case .none = groups.leave(next, handsOn: true)
        else {
            Issue.record("the wrong member leads")
            return
        }
        #expect(!groups.contains(Self.key))
    }

    @Test func `every member goes on exactly once, in any order of events`() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<500 {
            var groups = FetchGroups<Member>()
            var (waiting, leaders): ([ObjectIdentifier: Member], [Member]) = ([:], [])
            for _ in 0..<40 {
                if Bool.random(using: &random) || (waiting.isEmpty && leaders.isEmpty) {
                    let member = Member()
                    if groups.join(member, Self.key) {
                        leaders.append(member)
                    } else {
                        waiting[ObjectIdentifier(member)] = member
                    }
                } else {
                    let member = leaders.first ?? waiting.values.first
                    guard let leaving = Bool.random(using: &random) ? waiting.values.first ?? member : member else {
                        break
                    }
                    let led = leaders.first === leaving
                    if led { leaders = [] } else { waiting[ObjectIdentifier(leaving)] = nil }
                    switch groups.leave(leaving, handsOn: Bool.random(using: &random)) {
                    case .none: #expect(!led || waiting.isEmpty)
                    case .leader(let next):
                        #expect(led && waiting.removeValue(forKey: ObjectIdentifier(next)) != nil)
                        leaders = [next]
                    case .all(let followers):
                        #expect(led && followers.count == waiting.count)
                        waiting = [:]
                    }
                }
                #expect(leaders.count <= 1 && (waiting.isEmpty || leaders.count == 1))
                #expect(waiting.values.allSatisfy { groups.follows($0) })
            }
        }
    }

    @Test func `requests are equal if everything that is sent is equal`() throws {
        let plain = HTTPRequest(url: try #require(URL(string: "http://a.test/x?a")), headers: ["A": "1", "B": "2"])
        func key(_ change: (inout HTTPRequest) throws -> Void = { _ in }) rethrows -> EqualRequest {
            var request = plain
            try change(&request)
            return EqualRequest(request, key: CacheKey(request.url))
        }
        #expect(try key() == key { $0.headers = ["B": "2", "a": "1"] })
        #expect(try key() == key { $0.url = try #require(URL(string: "http://a.test/x?a#part")) })
        let others: [(inout HTTPRequest) throws -> Void] = [
            { $0.url = try #require(URL(string: "http://a.test/x?b")) },
            { $0.url = try #require(URL(string: "http://u:p@a.test/x?a")) },
            { $0.headers.update(name: "A", value: "2") },
            { $0.headers.update(name: "Authorization", value: "Bearer t") },
            { $0.headers.update(name: "Cookie", value: "a=b") },
            { $0.headers.update(name: "Range", value: "bytes=0-1") },
            { $0.credential = Credential(username: "u", password: "p") },
            { $0.cachePolicy = .returnCacheElseLoad }, { $0.timeouts.total = .seconds(1) },
            { $0.priority = HTTPPriority(urgency: 1) }, { $0.handlesCookies = false },
            { $0.httpVersion = .http1_1 }, { $0.proxy = Session.Configuration.Proxy.none },
            { $0.omitsSessionSecrets = true },
        ]
        for (index, change) in others.enumerated() { #expect(try key() != key(change), "\(index)") }
    }
}
