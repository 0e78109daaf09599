import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// The behavior while a responder delays its answer.
@Suite(.timeLimit(.minutes(10))) struct OCSPWaitingTests {
    /// A responder that responds when the test permits it.
    private struct FixtureSession {
        let server: LocalServer
        let asker: Session
        let asked = Latch()
        let gate = Gate()

        init() async throws {
            server = try await LocalServer { [asked, gate] routes in
                routes.post("/") { request in
                    asked.open()
                    await gate.wait()
                    return RevocationFixture.response(try await RevocationFixture.answer(to: request.body))
                }
            }
            asker = try RevocationFixture.asker(server.url)
        }
    }

    /// Pauses tasks until it is opened or they are cancelled.
    private final class Gate: Sendable {
        private let state = Locked((isOpen: false, latches: [Latch]()))

        func open() {
            let latches = state.withLock { state in
                state.isOpen = true
                return state.latches
            }
            for latch in latches { latch.open() }
        }

        func wait() async {
            let latch = Latch()
            let isOpen = state.withLock { state in
                state.latches.append(latch)
                return state.isOpen
            }
            if !isOpen { await latch.waitUnlessCancelled() }
        }
    }

    @Test func `cancelling a request during an OCSP query cancels both at once`() async throws {
        let scene = try await FixtureSession()
        let session = try RevocationFixture.session(.ocsp(session: scene.asker))
        let request = session.request(try RevocationFiles().address(of: "none"))
        let task = request.serializingData()
        await scene.asked.wait()
        request.cancel()
        #expect(await task.response.error?.isCancellation == true)
        // The answer is not waited for any more.
        try await scene.server.waitForOpenConnections(atMost: 0)
        #expect(await scene.asker.withAllRequests { $0.isEmpty })
        await session.shutdown()
        await scene.asker.shutdown()
    }

    @Test func `other requests continue during an OCSP query, even if one request is cancelled`() async throws {
        let scene = try await FixtureSession()
        let files = try RevocationFiles()
        let session = try RevocationFixture.session(.ocsp(session: scene.asker))
        let url = files.address(of: "none")
        let (leaving, staying) = (session.request(url), session.request(url))
        let answer = Task { await staying.serializingData().response }
        let left = Task { await leaving.serializingData().response }
        await scene.asked.wait()
        for _ in 1...5 {
            #expect(await session.request(files.address(of: "good")).serializingData().response.error == nil)
        }
        leaving.cancel()
        #expect(await left.value.error?.isCancellation == true)
        scene.gate.open()
        #expect(await answer.value.error == nil)
        #expect(scene.server.requestCount == 1)
        await session.shutdown()
        await scene.asker.shutdown()
    }

    @Test func `the responder may use its whole timeout`() async throws {
        let scene = try await FixtureSession()
        let files = try RevocationFiles()
        for failure in [OCSPTrustEvaluator.Failure.soft, .hard] {
            let session = try RevocationFixture.session(
                OCSPTrustEvaluator(failure: failure, timeout: .milliseconds(150), session: scene.asker))
            let error = await session.request(files.address(of: "none")).serializingData().response.error
            if failure == .soft {
                #expect(error == nil)
            } else {
                #expect(error?.kind == .trust(.revocationCheckFailed(.noResponse)))
                #expect((error?.underlying as? RequestError)?.isTimeout == true)
            }
            await session.shutdown()
        }
        await scene.asker.shutdown()
    }

    @Test func `the timeouts of a request apply during an OCSP query`() async throws {
        let scene = try await FixtureSession()
        let url = try RevocationFiles().address(of: "none")
        let session = try RevocationFixture.session(.ocsp(session: scene.asker))
        for (timeouts, stage) in [
            (Timeouts(total: .milliseconds(200)), RequestError.TimeoutStage.total),
            (Timeouts(connect: .milliseconds(200)), .connect),
        ] {
            let request = session.request(url, requestModifier: { $0.timeouts = timeouts })
            #expect(await request.serializingData().response.error?.kind == .timedOut(stage))
        }
        await session.shutdown()
        await scene.asker.shutdown()
    }

    @Test func `a request that is suspended during an OCSP query is sent when it is resumed`() async throws {
        for isDecidedBefore in [true, false] {
            let scene = try await FixtureSession()
            let session = try RevocationFixture.session(.ocsp(session: scene.asker))
            let url = try RevocationFiles().address(of: "none")
            let request = session.request(url)
            let task = request.serializingData()
            await scene.asked.wait()
            request.suspend()
            if isDecidedBefore {
                scene.gate.open()
                // This one waits for the same answer.
                #expect(await session.request(url).serializingData().response.error == nil)
                request.resume()
            } else {
                for _ in 1...20 {
                    request.resume()
                    request.suspend()
                }
                request.resume()
                scene.gate.open()
            }
            #expect(await task.response.error == nil)
            #expect(scene.server.requestCount == 1)
            await session.shutdown()
            await scene.asker.shutdown()
        }
    }

    @Test func `the end of an abandoned query does not complete the next query`() async throws {
        let (first, second) = (Latch(), Latch())
        let (firstAsked, secondAsked) = (Latch(), Latch())
        let count = Counter()
        let session = try RevocationFixture.session(
            AsyncClosureTrustEvaluator { _, _ in
                if count.next() == 1 {
                    firstAsked.open()
                    await first.wait()
                    throw TestFailure("of the first question")
                }
                secondAsked.open()
                await second.wait()
            })
        let url = try RevocationFiles().address(of: "none")
        let leaving = session.request(url)
        let left = leaving.serializingData()
        await firstAsked.wait()
        leaving.cancel()
        #expect(await left.response.error?.isCancellation == true)
        let staying = session.request(url).serializingData()
        let answer = Task { await staying.response }
        await secondAsked.wait()
        first.open()
        // The loop runs meanwhile, and is notified of it.
        let plain = try await LocalServer { $0.get("/", .status(204)) }
        for _ in 1...10 { _ = await session.request(plain.url).serializingData().response }
        second.open()
        #expect(await answer.value.error == nil)
        #expect(count.value == 2)
        await session.shutdown()
    }

    @Test func `an accepted certificate is remembered only for the same chain`() throws {
        let files = try RevocationFiles()
        let good = try Certificate.all(inFile: files.url("good.pem"))
        let other = try Certificate.all(inFile: files.url("revoked.pem"))
        func trust(
            _ chain: [Certificate], host: String = "a.test", staple: Data? = nil, code: Int = 0,
            version: String = "TLSv1.3", cipher: String = "AES", built: [Certificate] = []
        ) -> ServerTrust {
            ServerTrust(
                host: host, chain: chain, verdict: ServerTrust.Verdict(code: code, depth: 0), stapledResponse: staple,
                protocolVersion: version, cipher: cipher, builtChain: built, securityLevel: 0)
        }
        let now = Locked<Int64>(0)
        let cache = TrustCache(now: { now.withLock { $0 } })
        cache.accept(trust(good))
        #expect(cache.hasAccepted(trust(good)))
        #expect(!cache.hasAccepted(trust(good, host: "b.test")))
        #expect(!cache.hasAccepted(trust(other)))
        // A new response could report a revocation, or the old response could have expired.
        #expect(!cache.hasAccepted(trust(good, staple: Data([1]))))
        #expect(!cache.hasAccepted(trust(good, code: 10)))
        // An evaluator may have checked the version, the cipher and the authorities.
        #expect(!cache.hasAccepted(trust(good, version: "TLSv1.2")))
        #expect(!cache.hasAccepted(trust(good, cipher: "CHACHA20")))
        #expect(!cache.hasAccepted(trust(good, built: good + other)))
        now.withLock { $0 = TrustCache.lifetime }
        #expect(!cache.hasAccepted(trust(good)))
    }
}
