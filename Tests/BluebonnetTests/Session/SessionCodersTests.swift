import BluebonnetTesting
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Bluebonnet

/// The decoder and the encoder of a session, and what a request takes from its caller's task.
@Suite struct SessionCodersTests {
    private struct User: Codable, Sendable, Equatable { var firstName: String }

    private static let body = #"{"first_name":"Ada"}"#

    private func session() -> Session {
        TestHarness.session { configuration in
            let decoder = JSONDecoder()
            decoder.keyDecodingStrategy = .convertFromSnakeCase
            configuration.decoder = decoder
            let encoder = JSONEncoder()
            encoder.keyEncodingStrategy = .convertToSnakeCase
            configuration.parameterEncoder = .json(encoder: encoder)
        }
    }

    private func server() async throws -> LocalServer {
        try await LocalServer { router in
            router.get("/") { _ in .text(Self.body, contentType: "application/json") }
            router.post("/") { .data($0.body, contentType: $0.headers["Content-Type"] ?? "none") }
            router.get("/list") { _ in .text("[\(Self.body)]", contentType: "application/json") }
        }
    }

    @Test func `Every way to decode uses the session's decoder`() async throws {
        let (session, server) = (session(), try await server())
        let directory = try TestDirectory()
        let user = User(firstName: "Ada")
        #expect(try await session.request(server.url("/")).serializingDecodable(User.self).value == user)
        let file = session.download(server.url("/"), to: .file(directory.url("a")))
        #expect(try await file.serializingDecodable(User.self).value == user)
        var values: [User] = []
        let task = session.streamRequest(server.url("/")).streamTask()
        for try await value in task.decodables(of: User.self) { values.append(value) }
        let other = session.streamRequest(server.url("/")).streamTask()
        for await event in other.streamingDecodables(User.self) { if let value = event.value { values.append(value) } }
        for try await page in session.pages(of: [User].self, from: server.url("/list")) { values += page }
        #expect(values == [user, user, user])
        try await TestHarness.end(session, server)
    }

    @Test func `A call's own decoder and encoder replace the session's`() async throws {
        let (session, server) = (session(), try await server())
        let own = session.request(server.url("/")).serializingDecodable(User.self, decoder: JSONDecoder())
        #expect(await own.response.error?.kind == .serialization(.decodingFailed))
        let form = session.request(
            server.url("/"), method: .post, parameters: User(firstName: "Ada"), encoder: .urlEncodedForm)
        #expect(try await form.serializingString().value == "firstName=Ada")
        try await TestHarness.end(session, server)
    }

    @Test func `Parameters are encoded by the session's encoder`() async throws {
        let (session, server) = (session(), try await server())
        let request = session.request(server.url("/"), method: .post, parameters: User(firstName: "Ada"))
        let response = await request.serializingString().response
        #expect(response.value == Self.body)
        #expect(response.response?.mimeType == "application/json")
        let query = session.request(server.url("/"), parameters: User(firstName: "Ada"))
        _ = try await query.serializingString().value
        #expect(query.request?.url.query == "firstName=Ada")
        try await TestHarness.end(session, server)
    }

    @TaskLocal private static var trace = "none"

    private enum Trace: RequestTag { typealias Value = String }

    private struct TraceAdapter: RequestInterceptor {
        func adapt(_ request: HTTPRequest, using state: RequestAdapterState) async throws -> HTTPRequest {
            var request = request
            request.headers["X-Trace"] = SessionCodersTests.trace
            request.tags[Trace.self] = SessionCodersTests.trace
            return request
        }
    }

    private final class TraceMonitor: EventMonitor {
        let traces = Locked<[String?]>([])

        func requestDidFinish(_ request: any Request) {
            let trace = request.request?.tags[Trace.self]
            traces.withLock { $0.append(trace) }
        }
    }

    /// A caller's task-locals reach adapters, in each way to start a request, and monitors by a tag.
    @Test func `An adapter sees the task-local values of the caller, and hands them to monitors`() async throws {
        let (server, monitor) = (try await server(), TraceMonitor())
        let session = Session(interceptor: TraceAdapter(), eventMonitors: [monitor])
        try await Self.$trace.withValue("one") {
            _ = try await session.request(server.url("/")).serializingString().value
            let task = session.streamRequest(server.url("/")).streamTask()
            for try await _ in task.bytes {}
        }
        try await Self.$trace.withValue("two") {
            _ = try await session.request(server.url("/")).serializingString().value
        }
        await session.shutdown()
        #expect(server.requests.map { $0.headers["X-Trace"] } == ["one", "one", "two"])
        #expect(monitor.traces.withLock { $0 } == ["one", "one", "two"])
        await server.stop()
    }
}
