import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// Existing connections: each is used only by the sessions for which it was evaluated, according to the server's log.
@Suite(.timeLimit(.minutes(10))) struct TrustPoolTests {
    /// An evaluator that counts how often it has accepted.
    private struct CountingEvaluator: ServerTrustEvaluating {
        let accepted = Counter()
        var isAccepting = true

        func evaluate(_ trust: ServerTrust, forHost host: String) throws {
            guard isAccepting else { throw TestFailure("not this one") }
            accepted.next()
        }
    }

    /// The configuration that the sessions share.
    enum SharedState: CaseIterable, Sendable {
        case nothing, loop
    }

    /// The numbers of the connections on which requests of a name came, one for each request.
    ///
    /// The server writes the log after its response, so a later response shows that the log is complete.
    private static func connections(_ name: String) async throws -> [Substring] {
        let session = try TrustFixture.session(.disabled)
        _ = await session.request("https://127.0.0.1:\(try ChainServer.extra.port())/").serializingData().response
        await session.shutdown()
        let log = String(decoding: try Data(contentsOf: URL(filePath: try ChainServer.log())), as: UTF8.self)
        let lines = log.split(separator: "\n").filter { $0.contains("/\(name)/") }
        return lines.compactMap { $0.split(separator: " ").first }
    }

    private static func name() -> String { "pool-\(UInt64.random(in: .min ... .max))" }

    /// Sends 1,000 requests, at most 50 at once, in turn; returns their errors by the name that they have.
    private static func interleave(
        _ parties: [(name: String, session: Session)], port: Int, version: HTTPVersionPreference
    ) async -> [String: [RequestError.Kind?]] {
        await withTaskGroup(of: (String, RequestError.Kind?).self) { group in
            var outcomes: [String: [RequestError.Kind?]] = [:]
            for number in 0..<1000 {
                if number >= 50, let (name, kind) = await group.next() { outcomes[name, default: []].append(kind) }
                let party = parties[number % parties.count]
                group.addTask {
                    let request = party.session.request("https://127.0.0.1:\(port)/\(party.name)/\(number)")
                    return (party.name, await request.serializingData().response.error?.kind)
                }
            }
            for await (name, kind) in group { outcomes[name, default: []].append(kind) }
            return outcomes
        }
    }

    @Test(arguments: SharedState.allCases, [HTTPVersionPreference.automatic, .http1_1])
    func `1,000 interleaved requests of sessions with their own managers`(
        _ sharing: SharedState, _ version: HTTPVersionPreference
    ) async throws {
        let loop = sharing == .loop ? EventLoop() : nil
        let (one, other) = (CountingEvaluator(), CountingEvaluator())
        var refusing = CountingEvaluator()
        refusing.isAccepting = false
        var parties: [(name: String, session: Session)] = []
        for evaluator in [one, other, refusing] {
            let session = try TrustFixture.session(evaluator) {
                $0.httpVersion = version
                $0.eventLoop = loop
            }
            parties.append((Self.name(), session))
        }
        let port = try ChainServer.threeLevels.port()
        let outcomes = await Self.interleave(parties, port: port, version: version)
        #expect(outcomes[parties[0].name]?.allSatisfy { $0 == nil } == true)
        #expect(outcomes[parties[1].name]?.allSatisfy { $0 == nil } == true)
        #expect(outcomes[parties[2].name]?.allSatisfy { $0 == .trust(.customEvaluationFailed) } == true)
        #expect(outcomes.values.reduce(0) { $0 + $1.count } == 1000)
        let used = [try await Self.connections(parties[0].name), try await Self.connections(parties[1].name)]
        #expect(used[0].count == 334 && used[1].count == 333)
        #expect(Set(used[0]).isDisjoint(with: used[1]))
        // As many connections as were approved. One may have been made and not be needed any more.
        #expect((Set(used[0]).count...1000).contains(one.accepted.value))
        #expect((Set(used[1]).count...1000).contains(other.accepted.value))
        #expect(try await Self.connections(parties[2].name).isEmpty)
        if version == .automatic { #expect(Set(used[0]).count == 1 && one.accepted.value == 1) }
        for party in parties { await party.session.shutdown() }
    }

    /// The certificate is for both names, and HTTP/2 would allow them one connection (RFC 9113 §9.1.1).
    @Test(arguments: [true, false])
    func `two names of one address have separate connections and evaluators`(_ isAccepting: Bool) async throws {
        let port = try ChainServer.wildcard.port()
        let (one, name) = (CountingEvaluator(), Self.name())
        var other = CountingEvaluator()
        other.isAccepting = isAccepting
        let manager = ServerTrustManager(evaluators: ["a.example.test": one, "b.example.test": other])
        for isOverridden in [true, false] {
            let session = try TrustFixture.session(manager) {
                if isOverridden {
                    for host in ["a", "b"] { $0.dns.overrides["\(host).example.test:\(port)"] = ["127.0.0.1"] }
                } else {
                    $0.dns.connectTo = [":\(port)": "127.0.0.1:\(port)"]
                }
            }
            for number in 0..<20 {
                let host = number.isMultiple(of: 2) ? "a" : "b"
                let url = "https://\(host).example.test:\(port)/\(name)/\(host)/"
                let error = await session.request(url).serializingData().response.error
                #expect(error?.kind == (isAccepting || host == "a" ? nil : .trust(.customEvaluationFailed)))
            }
            await session.shutdown()
        }
        let (first, second) = (try await Self.connections("\(name)/a"), try await Self.connections("\(name)/b"))
        #expect(first.count == 20 && second.count == (isAccepting ? 20 : 0))
        #expect(Set(first).isDisjoint(with: second))
        #expect(one.accepted.value == Set(first).count && Set(first).count == 2)
        #expect(other.accepted.value == Set(second).count)
    }

    @Test func `requests with their own settings use evaluated connections too`() async throws {
        let evaluator = CountingEvaluator()
        let (session, name) = (try TrustFixture.session(evaluator), Self.name())
        let url = "https://127.0.0.1:\(try ChainServer.threeLevels.port())/\(name)/"
        let proxy = Session.Configuration.Proxy.url(try TestServers.proxy.proxyURL())
        for number in 0..<40 {
            let request = session.request(url) { request in
                switch number % 4 {
                case 0: request.httpVersion = .http1_1
                case 1: request.proxy = proxy
                case 2: request.timeouts = Timeouts(connect: .seconds(120), idle: .seconds(120))
                default: break
                }
            }
            #expect(await request.serializingData().response.error == nil)
        }
        let used = try await Self.connections(name)
        #expect(used.count == 40)
        #expect(Set(used).count == evaluator.accepted.value)
        await session.shutdown()
    }

    /// A connection whose verdict was dropped, since the number of remembered hosts is limited, is not used, nor a
    /// failure.
    @Test func `the first host is connected to again after many hosts`() async throws {
        let port = try ChainServer.wildcard.port()
        let (evaluator, name) = (CountingEvaluator(), Self.name())
        let manager = ServerTrustManager(allHostsMustBeEvaluated: false, evaluators: ["a.example.test": evaluator])
        let session = try TrustFixture.session(manager) {
            $0.dns.connectTo = [":\(port)": "127.0.0.1:\(port)", ":1": "127.0.0.1:1"]
        }
        let url = "https://a.example.test:\(port)/\(name)/"
        for _ in 1...2 { #expect(await session.request(url).serializingData().response.error == nil) }
        #expect(evaluator.accepted.value == 1)
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<1050 {
                if number >= 50 { await group.next() }
                group.addTask {
                    let error = await session.request("https://h\(number).test:1/").serializingData().response.error
                    #expect(error?.kind == .connection(.refused))
                }
            }
        }
        for _ in 1...2 { #expect(await session.request(url).serializingData().response.error == nil) }
        #expect(evaluator.accepted.value == 2)
        #expect(Set(try await Self.connections(name)).count == 2)
        await session.shutdown()
    }

    @Test func `a manager is called once for each host, including the proxy`() async throws {
        let asked = Locked<[String]>([])
        let manager = ServerTrustManager { host in
            asked.withLock { $0.append(host) }
            return DisabledTrustEvaluator()
        }
        let proxy = try TestServers.secureProxy.proxyURL().replacing("127.0.0.1", with: "localhost")
        let session = try TrustFixture.session(manager) { $0.proxy = .url(proxy) }
        for server in [ChainServer.threeLevels, .reversed] {
            for host in ["127.0.0.1", "127.0.0.2", "LOCALHOST"] {
                // Only the first is listened at.
                let url = "https://\(host):\(try server.port())/"
                _ = await session.request(url).serializingData().response
            }
        }
        #expect(asked.withLock { $0.sorted() } == ["127.0.0.1", "127.0.0.2", "localhost"])
        await session.shutdown()
    }
}
