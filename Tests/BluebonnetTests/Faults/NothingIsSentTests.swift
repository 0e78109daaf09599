import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Testing

/// Requests that must not reach a server.
@Suite(.timeLimit(.minutes(10))) struct NothingIsSentTests {
    @Test func `an encoded request is not sent by a session that shuts down`()
        async throws
    {
        let gate = Gate()
        let server = try await LocalServer { router in
            router.get("/first") { _ in
                await gate.wait()
                return .text("first")
            }
            router.post("/second", .text("second"))
        }
        // The first request waits until the machine has handled the others.
        let session = TestHarness.session { $0.timeouts.idle = nil }
        let first = session.request(server.url("/first")).serializingString()
        _ = try await server.nextRequest()
        async let shutdown: Void = session.shutdown()
        // Requests are accepted until the shutdown has begun, and then refused.
        var kind: RequestError.Kind?
        var answered = 0
        repeat {
            let second = session.request(server.url("/second"), method: .post, parameters: ["pay": 1], encoder: .json)
            kind = await second.serializingString().response.error?.kind
            if kind == nil { answered += 1 }
        } while kind == nil
        #expect(kind == .sessionShutDown)
        gate.open()
        #expect(try await first.value == "first")
        await shutdown
        #expect(server.requests.count { $0.path == "/second" } == answered)
        await server.stop()
    }

    @Test func `a request that is suspended at once is sent after it is resumed, on a reused handle`()
        async throws
    {
        let server = try await LocalServer { router in
            router.get("/warm", .text("warm"))
            router.get("/held", .text("held"))
        }
        let session = TestHarness.session()
        // On the loop's own thread, suspending comes right after starting, before libcurl has run.
        try await withTaskExecutorPreference(session.executor) {
            #expect(try await session.request(server.url("/warm")).serializingString().value == "warm")
            let request = session.request(server.url("/held"))
            let task = request.serializingString()
            request.suspend()
            for _ in 0..<3 { _ = try await session.request(server.url("/warm")).serializingString().value }
            #expect(server.requests.allSatisfy { $0.path == "/warm" })
            request.resume()
            #expect(try await task.value == "held")
        }
        try await TestHarness.end(session, server)
    }
}
