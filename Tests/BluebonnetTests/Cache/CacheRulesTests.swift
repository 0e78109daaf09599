import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// The rules of RFC 9111, 9110, 9211, 8246 and 5861, decided and on the wire.
@Suite(.timeLimit(.minutes(10)))
struct CacheRulesTests {
    @Test(arguments: CacheRule.rows) func `a stored response is used as the standards require`(_ row: CacheRule) throws
    {
        let request = try CacheFixtures.request(
            CacheRule.fields(row.request), method: row.method, policy: row.policy)
        let candidates = try row.storedFields.map { fields in
            let first = try CacheFixtures.request(CacheRule.fields(row.first))
            return [try CacheFixtures.stored(fields, status: row.status, body: row.body, for: first)]
        }
        let now = CacheFixtures.begin.addingTimeInterval(row.age)
        let decision = CacheDecision(request, candidates: candidates ?? [], now: now)
        #expect(Self.summary(decision, request, now) == row.expected)
    }

    private static func summary(_ decision: CacheDecision, _ request: CacheRequest, _ now: Date) -> String {
        func text(_ fields: HTTPHeaders) -> String {
            fields.sorted().map { " \($0.name) \($0.value)" }.joined()
        }
        switch decision {
        case .network(let reason): return "network \(reason.rawValue)"
        case .stored(let entry):
            let range = entry.answer(to: request, at: now)?.response.headers["Content-Range"]
            return "stored" + (range.map { " \($0)" } ?? "")
        case .storedWhileRevalidating(_, let conditions): return "revalidating" + text(conditions)
        case .validate(_, let conditions, let reason): return "validate \(reason.rawValue)" + text(conditions)
        case .complete(_, let conditions): return "complete" + text(conditions)
        case .unsatisfiable: return "unsatisfiable"
        }
    }

    // MARK: On the wire

    @Test(arguments: CacheRule.rows.filter { !$0.expected.hasPrefix("revalidating") })
    func `the server receives the requests that the standards require`(_ row: CacheRule) async throws {
        let server = try await LocalServer { router in
            router.on("/") { request in
                if request.sequence == 1, let fields = row.storedFields {
                    return LocalServer.Response(status: row.status, headers: fields, body: Data(row.body.utf8))
                }
                if request.headers.contains("If-None-Match") || request.headers.contains("If-Modified-Since") {
                    return .status(304)
                }
                guard row.expected.hasPrefix("complete "), let fields = row.storedFields, let part = row.part else {
                    return .text("new", headers: ["Cache-Control": "no-store"])
                }
                let rest = part.lowerBound == 0 ? part.upperBound..<10 : 0..<part.lowerBound
                var headers = fields
                headers["Content-Range"] = "bytes \(rest.lowerBound)-\(rest.upperBound - 1)/10"
                let body = Array(CacheRule.representation.utf8)[rest]
                return LocalServer.Response(status: 206, headers: headers, body: Data(body))
            }
        }
        let clock = CacheClock()
        var configuration = Session.Configuration()
        configuration.cache = ResponseCache { clock.now }
        let session = Session(configuration: configuration)
        func answer(
            _ fields: String, _ method: HTTPMethod = .get, _ policy: HTTPRequest.CachePolicy? = nil
        ) async -> DataResponse<Data, RequestError> {
            var request = HTTPRequest(url: server.url("/"), method: method, headers: CacheRule.fields(fields))
            request.cachePolicy = policy
            return await session.request(request).serializingData(emptyResponseCodes: Set(200...599)).response
        }
        let firsts = row.stored == nil ? 0 : 1
        if firsts > 0 { #expect(await answer(row.first).cacheStatus?.isStored == true) }
        clock.advance(by: row.age)
        let response = await answer(row.request, row.method, row.policy)
        let words = row.expected.split(separator: " ", maxSplits: 2).map(String.init)
        switch words[0] {
        case "stored":
            #expect(response.cacheStatus?.isHit == true && server.requestCount == firsts)
            let range = row.expected.dropFirst("stored ".count)
            #expect(response.response?.statusCode == (range.isEmpty ? row.part == nil ? row.status : 200 : 206))
            #expect(response.response?.headers["Content-Range"] ?? "" == range)
            if row.method == .get { #expect(response.data == Data(Self.bytes(String(range)).utf8)) }
        case "unsatisfiable":
            #expect(response.error?.kind == .cache(.notStored) && server.requestCount == firsts)
        default:
            try #require(server.requestCount == firsts + 1)
            let sent = server.requests[firsts].headers
            let reason = words[0] == "complete" ? "partial" : words[1]
            #expect(response.cacheStatus?.forward?.rawValue == reason)
            let own = CacheRule.fields(row.request)
            for name in ["If-None-Match", "If-Modified-Since", "Range", "If-Range"] where !own.contains(name) {
                let isExpected =
                    sent[name].map { row.expected.contains("\(name) \($0)") } ?? !row.expected.contains(" \(name) ")
                #expect(isExpected, "\(name): \(sent[name] ?? "")")
            }
            if words[0] == "complete", words.count > 1 {
                #expect(response.data == Data(CacheRule.representation.utf8))
                #expect(response.response?.statusCode == 200 && response.cacheStatus?.isStored == true)
            }
        }
        await session.shutdown()
        await server.stop()
    }

    /// Rows whose stored response nginx can be asked for: its fields occur once, and its `Date` is that of nginx.
    private static let nginxRows = CacheRule.rows.filter { row in
        guard let stored = row.stored, row.status == 200, row.part == nil else { return false }
        let names = CacheRule.fields(stored).map(\.name)
        return Set(names).count == names.count && !row.expected.hasPrefix("revalidating")
            && Set(names).isSubset(of: ["Cache-Control", "ETag", "Last-Modified", "Age", "Vary"])
    }

    @Test(arguments: nginxRows) func `nginx receives the requests that the standards require`(
        _ row: CacheRule
    ) async throws {
        // A little before the clock of nginx, so that its `Date` is never in the past.
        let begin = Date() - 2
        let age = Locked(0.0)
        var configuration = Session.Configuration()
        configuration.cache = ResponseCache { begin + age.withLock { $0 } }
        let session = Session(configuration: configuration)
        /// Moves a date of the table to the time of this test.
        func moved(_ text: String) -> String {
            guard let date = HTTPDate.parse(text, now: CacheFixtures.begin) else { return text }
            return HTTPDate.format(begin + date.timeIntervalSince(CacheFixtures.begin))
        }
        func answer(
            _ fields: HTTPHeaders, _ method: HTTPMethod = .get, _ policy: HTTPRequest.CachePolicy? = nil
        ) async throws -> DataResponse<Data, RequestError> {
            var request = HTTPRequest(url: try TestServers.nginx.url("/caching"), method: method, headers: fields)
            request.cachePolicy = policy
            return await session.request(request).serializingData(emptyResponseCodes: Set(200...599)).response
        }
        let stored = CacheRule.fields(try #require(row.stored)).map { field in
            HTTPHeader(name: "X-\(field.name)", value: moved(field.value))
        }
        let first = try await answer(HTTPHeaders(CacheRule.fields(row.first) + stored))
        #expect(first.cacheStatus?.isStored == true)
        age.withLock { $0 = row.age }
        let request = HTTPHeaders(
            CacheRule.fields(row.request).map { HTTPHeader(name: $0.name, value: moved($0.value)) })
        let response = try await answer(request, row.method, row.policy)
        let words = row.expected.split(separator: " ", maxSplits: 2).map(String.init)
        switch words[0] {
        case "stored":
            #expect(response.cacheStatus?.isHit == true)
            if row.method == .get {
                #expect(response.data == Data(Self.bytes(String(row.expected.dropFirst("stored ".count))).utf8))
            }
        case "unsatisfiable": #expect(response.error?.kind == .cache(.notStored))
        default:
            #expect(response.cacheStatus?.forward?.rawValue == words[1])
            let received = try #require(response.response?.headers["X-Received"])
            for word in words.dropFirst(2).flatMap({ $0.split(separator: " If-") }) {
                let value = word.split(separator: " ", maxSplits: 1).last.map { moved(String($0)) } ?? ""
                #expect(received.contains(value), "\(received)")
            }
        }
        await session.shutdown()
    }

    /// Returns the bytes of the representation that a `Content-Range` field states.
    private static func bytes(_ range: String) -> String {
        guard case .bytes(let first, let last, _)? = ContentRange(range) else { return CacheRule.representation }
        return String(decoding: Array(CacheRule.representation.utf8)[Int(first)...Int(last)], as: UTF8.self)
    }
}
