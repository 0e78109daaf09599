import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// Responses whose frames were changed at random by `h3_origin.py`.
@Suite(.enabled(if: Libcurl.hasHTTP3, "libcurl with HTTP/3"), .timeLimit(.minutes(10)))
struct HTTP3MutationTests {
    /// A failure names the seed, which can then be requested alone.
    @Test func `changed frames end in a response or a typed error, and the next request succeeds`() async throws {
        let session = try HTTP3Tests.session(retries: false) { $0.timeouts.idle = .seconds(3) }
        // OpenSSL's QUIC often leaves libcurl before 8.15.0 without an answer.
        let (count, idle) = QUICConnections.areHidden ? (30, Duration.milliseconds(500)) : (100, .seconds(3))
        let first = Int.random(in: 1..<1_000_000)
        var failures = 0
        for seed in [0] + (first..<(first + count * raceMultiplier)) {
            let response = await session.request(try TestServers.http3.url("/mutated/\(seed)")) {
                $0.timeouts.idle = idle
            }.serializingData(emptyResponseCodes: [200]).response
            switch response.error?.kind {
            case nil: #expect(response.response?.statusCode != nil)
            case .connection, .invalidResponse, .timedOut(.idle), .timedOut(.connect):
                #expect(seed > 0)
                failures += 1
            case .some: Issue.record("seed \(seed): \(response)")
            }
            if seed == 0 { #expect(response.value?.count == 1004) }
            guard seed.isMultiple(of: 10) else { continue }
            let next = try await HTTP3Tests.repeatingStalls {
                [await session.request(try TestServers.http3.url("/fields")).serializingData().response]
            }
            #expect(next[0].response?.statusCode == 200, "after seed \(seed): \(next)")
        }
        #expect(failures > count / 10 && failures < count * raceMultiplier)
        await session.shutdown()
    }
}
