import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Testing

/// The behavior of the stub through a session.
@Suite(.timeLimit(.minutes(10))) struct StubSessionTests {
    private struct User: Codable, Equatable, Sendable {
        var name: String
    }

    @Test func `A session with a stub receives values, and the stub records the requests`() async throws {
        let transport = StubTransport()
        transport.stub(.get, "/users/:id", .json(User(name: "Ada")))
        transport.stub(.post, "/users") { request in
            .json(["length": request.headers.count], status: 201, headers: ["Location": "/users/2"])
        }
        let session = Session(transport: transport)
        let user = try await session.request("https://example.com/users/1").validate()
            .serializingDecodable(User.self).value
        #expect(user == User(name: "Ada"))
        let created = await session.request(
            "https://example.com/users", method: .post, parameters: User(name: "Grace"), encoder: .json
        ).serializingData().response
        #expect(created.response?.statusCode == 201)
        #expect(created.response?.headers["Location"] == "/users/2")
        #expect(transport.requests.map(\.method) == [.get, .post])
        #expect(transport.requests.last?.headers["Content-Type"] == "application/json")
    }

    @Test func `A failure of the stub is the error of the request`() async throws {
        let transport = StubTransport { _ in .failure(RequestError(.connection(.nameNotResolved))) }
        let session = Session(transport: transport)
        let response = await session.request("https://example.com/").serializingData().response
        #expect(response.error?.kind == .connection(.nameNotResolved))
        #expect(response.error?.url == "https://example.com/")
    }

    @Test func `A request without a response can be cancelled`() async throws {
        let transport = StubTransport { _ in .never }
        let session = Session(transport: transport)
        let request = session.request("https://example.com/")
        let task = request.serializingData()
        let value = Task { try await task.value }
        _ = try await transport.request(1)
        request.cancel()
        await #expect { try await value.value } throws: { ($0 as? RequestError)?.isCancellation == true }
        try await transport.waitUntilIdle()
    }

    @Test func `The session's limit for bodies is respected`() async throws {
        var configuration = Session.Configuration()
        configuration.maximumResponseBytes = 3
        let session = Session(configuration: configuration, transport: StubTransport { _ in .text("1234") })
        let response = await session.request("https://example.com/").serializingString().response
        #expect(response.error?.kind == .invalidResponse(.bodyTooLarge(limit: 3)))
    }

    @Test func `A thousand concurrent requests receive a thousand responses`() async throws {
        let transport = StubTransport { request in .text(request.url.query() ?? "") }
        let session = Session(transport: transport)
        try await withThrowingTaskGroup { group in
            for number in 0..<1000 {
                group.addTask {
                    let text = try await session.request("https://example.com/?\(number)").serializingString().value
                    #expect(text == "\(number)")
                }
            }
            try await group.waitForAll()
        }
        #expect(transport.requestCount == 1000)
    }

    @Test func `Shutting the session down shuts the stub down`() async throws {
        let transport = StubTransport { _ in .ok }
        let session = Session(transport: transport)
        await session.shutdown()
        let response = await session.request("https://example.com/").serializingData().response
        #expect(response.error?.kind == .sessionShutDown)
    }
}
