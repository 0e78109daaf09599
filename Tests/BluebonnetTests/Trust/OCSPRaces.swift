import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// Requests with OCSP queries that are cancelled, suspended, shut down or released at any moment.
@Suite(.timeLimit(.minutes(5 * raceMultiplier))) struct OCSPRaces {
    /// Responds to queries after different delays, with prepared responses, because `openssl` is slow.
    private static func responder() async throws -> (LocalServer, Session) {
        let count = Counter()
        let revoked = try Data(contentsOf: try RevocationFiles().url("revoked.der"))
        let server = try await LocalServer { routes in
            routes.post("/") { _ in
                for _ in 0..<(count.next() * 31) % 211 { await Task.yield() }
                // An old response with the status good is ignored, one with the status revoked counts.
                return count.value.isMultiple(of: 2) ? .status(503) : RevocationFixture.response(revoked)
            }
        }
        return (server, try RevocationFixture.asker(server.url))
    }

    private static func dawdle(_ iteration: Int) async {
        for _ in 0..<(iteration * 37) % 997 { await Task.yield() }
    }

    /// Runs groups of iterations.
    ///
    /// Each group has its own session, and all of its requests use the same server.
    private func race(
        _ body: @escaping @Sendable (_ iteration: Int, _ session: Session, _ url: String) async throws -> Void
    ) async throws {
        let url = try RevocationFiles().address(of: "none-revoked")
        let (server, asker) = try await Self.responder()
        for group in 0..<12 * raceMultiplier {
            let session = try RevocationFixture.session(.ocsp(failure: .soft, session: asker), .http1_1)
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for member in 0..<8 { tasks.addTask { try await body(group * 8 + member, session, url) } }
                try await tasks.waitForAll()
            }
            #expect(await session.withAllRequests { $0.isEmpty })
            await session.shutdown()
        }
        #expect(await asker.withAllRequests { $0.isEmpty })
        await asker.shutdown()
        try await server.waitForOpenConnections(atMost: 0)
    }

    private static func expect(_ error: RequestError?) {
        guard let error else { return }
        let isExpected =
            error.kind == .trust(.revocationCheckFailed(.revoked)) || error.isCancellation
            || error.kind == .sessionShutDown
        #expect(isExpected, "\(error)")
    }

    @Test func `cancelling at any moment ends a request once`() async throws {
        try await race { iteration, session, url in
            let request = session.request(url)
            let task = request.serializingData()
            async let response = task.response
            await Self.dawdle(iteration)
            if !iteration.isMultiple(of: 5) { request.cancel() }
            let error = await response.error
            Self.expect(error)
            // The same response for all queries.
            #expect(await task.response.error?.kind == error?.kind)
            if iteration.isMultiple(of: 5) { #expect(error?.isCancellation != true) }
        }
    }

    @Test func `suspending and resuming at any moment loses no response`() async throws {
        try await race { iteration, session, url in
            let request = session.request(url)
            async let response = request.serializingData().response
            for turn in 0...(iteration % 12) {
                await Self.dawdle(iteration + turn)
                request.suspend()
                await Self.dawdle(turn)
                request.resume()
            }
            let error = await response.error
            Self.expect(error)
            #expect(error?.isCancellation != true)
        }
    }

    @Test func `shutting down at any moment ends all requests`() async throws {
        let url = try RevocationFiles().address(of: "none-revoked")
        let (server, asker) = try await Self.responder()
        for iteration in 0..<40 * raceMultiplier {
            let session = try RevocationFixture.session(.ocsp(failure: .soft, session: asker), .http1_1)
            await withTaskGroup(of: Void.self) { tasks in
                for _ in 0..<4 {
                    tasks.addTask { Self.expect(await session.request(url).serializingData().response.error) }
                }
                await Self.dawdle(iteration * 3)
                if iteration.isMultiple(of: 2) { await session.cancelAllRequests() }
                await session.shutdown()
            }
        }
        await asker.shutdown()
        try await server.waitForOpenConnections(atMost: 0)
    }

    @Test func `requests end if their session is released or the OCSP session is shut down`() async throws {
        let url = try RevocationFiles().address(of: "none-revoked")
        for iteration in 0..<40 * raceMultiplier {
            let (server, asker) = try await Self.responder()
            var session: Session? = try RevocationFixture.session(.ocsp(failure: .soft, session: asker), .http1_1)
            let task = try #require(session).request(url).serializingData()
            async let response = task.response
            await Self.dawdle(iteration * 3)
            session = nil
            await Self.dawdle(iteration)
            await asker.shutdown()
            Self.expect(await response.error)
            try await server.waitForOpenConnections(atMost: 0)
        }
    }
}
