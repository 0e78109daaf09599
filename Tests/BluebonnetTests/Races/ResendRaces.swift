import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// Requests that are interrupted while they are refused, lose their connection, and are sent again.
///
/// Every request ends, a POST is processed at most once, and a refused request succeeds whatever interrupts it.
@Suite(.timeLimit(.minutes(10 * raceMultiplier))) struct ResendRaces {
    /// The source of the interruption.
    enum Interruption: CaseIterable {
        case cancellation, suspension, speedLimit, credential, nothing
    }

    private struct Counts: Decodable {
        let processed: Int
        let sums: [UInt32]
    }

    private static func dawdle(_ iteration: Int) async {
        for _ in 0..<iteration * 7 % 53 { await Task.yield() }
    }

    @Test(arguments: Interruption.allCases)
    func `Interrupting a request that is sent again ends it once`(interruption: Interruption) async throws {
        let server = TestServers.misbehavingHTTP2
        let session = try TestHarness.trustingSession {
            if interruption == .speedLimit { $0.speedLimits.upload = 2_000_000 }
        }
        let counting = try TestHarness.trustingSession()
        // A GOAWAY would also name the streams of other requests, which this server has processed.
        let ends = ["refused", "http1", "fin", "rst"]
        let bytes = Data(count: 30_000)
        try await race(groups: 6, of: 20) { iteration in
            let key = UUID().uuidString
            let end = ends[iteration % ends.count]
            let moment = ["opened", "part", "all"][iteration / ends.count % 3]
            let url = try server.url("/fate?key=\(key)&at=\(moment)&by=\(end)")
            let method = iteration.isMultiple(of: 2) ? HTTPMethod.post : .put
            var request = session.request(url, method: method) { $0.body = .data(bytes) }
            if interruption == .credential { request = request.authenticate(username: "a", password: "b") }
            async let answer = request.serializingString().response
            await Self.dawdle(iteration)
            switch interruption {
            case .cancellation: request.cancel()
            case .suspension:
                for _ in 0..<3 {
                    request.suspend()
                    await Self.dawdle(iteration)
                    request.resume()
                    await Self.dawdle(iteration + 1)
                }
            default: break
            }
            let response = await answer
            let counts = try await counting.request(try server.url("/counts?key=\(key)"))
                .serializingDecodable(Counts.self).value
            let words = "\(end) \(moment) \(method.rawValue): \(response), \(counts)"
            // Others end the connection, too, so a PUT may be sent several times.
            #expect(method == .put || counts.processed <= 1, "\(words)")
            #expect(Set(counts.sums).count <= 1, "\(words)")
            if let error = response.error {
                #expect(!error.isCancellation || interruption == .cancellation, "\(words)")
                #expect(!error.isSafeToRetry || counts.processed == 0, "\(words)")
            } else {
                #expect(response.value == counts.sums.first.map { "\($0)" }, "\(words)")
            }
        }
        // The handles that were used work for other requests.
        _ = try await session.request(try server.url("/ok")).validate().serializingData().value
        #expect(await session.withAllRequests { $0.count } == 0)
        await session.shutdown()
        await counting.shutdown()
    }
}
