import BluebonnetTesting
import FoundationEssentials
import Testing

@testable import Bluebonnet

/// The `Cache-Status` of responses (RFC 9211).
struct CacheStatusTests {
    struct Row: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let change: @Sendable (inout CacheStatus) -> Void

        init(_ text: String, _ change: @escaping @Sendable (inout CacheStatus) -> Void) {
            testDescription = text
            self.change = change
        }
    }

    static let rows: [Row] = [
        Row("Bluebonnet; hit") { _ in },
        Row("Bluebonnet; hit; ttl=30") { $0.ttl = 30 },
        Row("Bluebonnet; hit; ttl=-7") { $0.ttl = -7 },
        Row("Bluebonnet; fwd=bypass") { $0.forward = .bypass },
        Row("Bluebonnet; fwd=method") { $0.forward = .method },
        Row("Bluebonnet; fwd=uri-miss; fwd-status=200") { ($0.forward, $0.forwardStatus) = (.uriMiss, 200) },
        Row("Bluebonnet; fwd=vary-miss; fwd-status=200; ttl=60; stored") {
            ($0.forward, $0.forwardStatus, $0.ttl, $0.isStored) = (.varyMiss, 200, 60, true)
        },
        Row("Bluebonnet; fwd=miss; collapsed") { ($0.forward, $0.isCollapsed) = (.miss, true) },
        Row("Bluebonnet; fwd=request; fwd-status=304") { ($0.forward, $0.forwardStatus) = (.request, 304) },
        Row("Bluebonnet; fwd=stale; fwd-status=503; ttl=-9") {
            ($0.forward, $0.forwardStatus, $0.ttl) = (.stale, 503, -9)
        },
        Row("Bluebonnet; fwd=partial; stored; collapsed") {
            ($0.forward, $0.isStored, $0.isCollapsed) = (.partial, true, true)
        },
    ]

    @Test(arguments: rows) func `RFC 9211 §2: a status is a member of the field`(_ row: Row) {
        var status = CacheStatus(forward: nil)
        row.change(&status)
        #expect(status.description == row.testDescription)
        #expect(status.isHit == (status.forward == nil))
    }

    @Test func `a response tells how the cache handled its request`() async throws {
        let scene = CacheTestSession { request in
            if request.headers["X-Fail"] != nil { return .response(status: 503) }
            if request.headers["X-Vary"] != nil { return .text("hello", headers: ["Vary": "*"]) }
            if request.headers["If-None-Match"] != nil { return .response(status: 304) }
            let headers: HTTPHeaders = ["Cache-Control": "max-age=60, stale-if-error=60", "ETag": "\"1\""]
            return .text("hello", headers: headers)
        }
        func status(_ headers: HTTPHeaders = [:], _ method: HTTPMethod = .get) async -> String? {
            let url = scene.url(headers.contains("X-Vary") ? "/vary" : "/")
            let request = HTTPRequest(url: url, method: method, headers: headers)
            return await scene.session.request(request).serializingData(emptyResponseCodes: Set(200...599)).response
                .cacheStatus?.description
        }
        #expect(await status() == "Bluebonnet; fwd=uri-miss; fwd-status=200; ttl=60; stored")
        scene.clock.advance(by: 25)
        #expect(await status() == "Bluebonnet; hit; ttl=35")
        #expect(
            await status(["Cache-Control": "no-cache"]) == "Bluebonnet; fwd=request; fwd-status=304; ttl=60; stored")
        scene.clock.advance(by: 70)
        #expect(await status(["X-Fail": "1"]) == "Bluebonnet; fwd=stale; fwd-status=503; ttl=-10")
        #expect(await status([:], .post) == "Bluebonnet; fwd=method; fwd-status=200; detail=method")
        #expect(await status(["X-Vary": "1"]) == "Bluebonnet; fwd=uri-miss; fwd-status=200; detail=vary")
    }
}
