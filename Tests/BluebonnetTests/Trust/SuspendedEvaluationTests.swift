import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// Exchanges that are suspended during the evaluation of their server give up their place among those that count.
@Suite(.timeLimit(.minutes(10))) struct SuspendedEvaluationTests {
    private struct GatedEvaluator: AsyncServerTrustEvaluating {
        let asked = Gate()
        let allows = Gate()

        func evaluate(_ trust: ServerTrust, forHost host: String) async throws {
            asked.open()
            await allows.wait()
        }
    }

    /// A held exchange has taken the only connection from one that is suspended during its evaluation.
    private struct Scene {
        let evaluator = GatedEvaluator()
        let arrived = Gate()
        let release = Gate()
        let server: LocalServer
        let session: Session
        let evaluated: DataRequest
        let held: DataRequest

        init(pool: Duration?) async throws {
            server = try await LocalServer { [arrived, release] router in
                router.fallback { _ in
                    arrived.open()
                    await release.wait()
                    return .ok
                }
            }
            session = try TrustFixture.session(evaluator) {
                $0.connectionLimits.total = 1
                ($0.timeouts.connect, $0.timeouts.idle, $0.timeouts.pool) = (nil, nil, pool)
            }
            evaluated = session.request("https://127.0.0.1:\(try ChainServer.threeLevels.port())/").resume()
            await evaluator.asked.wait()
            evaluated.suspend()
            held = session.request(server.url("/held")).resume()
            // Without the place of the suspended exchange, this would wait for it.
            await arrived.wait()
            evaluated.resume()
            evaluator.allows.open()
        }

        func end() async {
            await session.shutdown()
            await server.stop()
        }
    }

    @Test func `a resumed exchange waits for its turn again, and is counted once`() async throws {
        let scene = try await Scene(pool: nil)
        var counts = ConnectionCounts()
        while counts.waiting == 0 { counts = await scene.session.connectionCounts() }
        #expect(counts.waiting == 1)
        scene.release.open()
        let answer = await scene.evaluated.serializingString().response
        #expect(answer.error == nil)
        #expect(await scene.held.serializingData(emptyResponseCodes: [200]).response.error == nil)
        await scene.end()
    }

    /// No other limit would bring the time at which this one is checked.
    @Test func `the pool limit applies to a resumed exchange`() async throws {
        let scene = try await Scene(pool: .milliseconds(20))
        let answer = await scene.evaluated.serializingString().response
        #expect(answer.error?.kind == .timedOut(.pool))
        scene.release.open()
        #expect(await scene.held.serializingData(emptyResponseCodes: [200]).response.error == nil)
        await scene.end()
    }
}
