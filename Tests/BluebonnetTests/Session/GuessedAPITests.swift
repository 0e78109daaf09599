import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// Calls that people who know other libraries write at once.
@Suite(.timeLimit(.minutes(10))) struct GuessedAPITests {
    private static func session(
        _ configuration: Session.Configuration = Session.Configuration()
    ) -> (Session, StubTransport) {
        let stub = StubTransport { _ in .json(["id": 1]) }
        return (Session(configuration: configuration, transport: stub), stub)
    }

    @Test func `a response has its status code, its fields and its URL`() async throws {
        let (session, _) = Self.session()
        let response = await session.request("https://a.test/x").serializingJSON().response
        #expect(response.statusCode == 200 && response.url?.absoluteString == "https://a.test/x")
        #expect(response.headers["Content-Type"]?.hasPrefix("application/json") == true)
        let failed = await session.request("not a URL").serializingJSON().response
        #expect(failed.statusCode == nil && failed.url == nil && failed.headers.isEmpty)
        #expect(failed.error?.code == "invalid_url")
    }

    @Test func `header fields and parameters can be variables and literals`() async throws {
        let (session, stub) = Self.session()
        let fields = ["X-A": "1"]
        _ = await session.request("https://a.test/", headers: fields).serializingData().response
        _ = await session.request("https://a.test/", headers: ["X-A": "2"]).serializingData().response
        _ = await session.request(
            "https://a.test/", method: .post, parameters: ["a": "b", "c": 1, "d": true], encoder: .json
        ).serializingData().response
        _ = await session.request("https://a.test/", parameters: ["a": "b", "c": 1]).serializingData().response
        let requests = stub.requests
        #expect(requests[0].headers["X-A"] == "1" && requests[1].headers["X-A"] == "2")
        let body = try #require(requests[2].body?.data)
        #expect(try JSONDecoder().decode(JSONValue.self, from: body) == ["a": "b", "c": 1, "d": true])
        #expect(requests[3].url.query() == "a=b&c=1")
    }

    @Test func `adapters change requests in place`() async throws {
        let (_, stub) = Self.session()
        let session = Session(
            interceptors: [
                Adapter { request, _ in request.headers["X-A"] = "1" },
                Adapter { request, state in
                    let value = "\(state.retryCount)"
                    request.headers["X-B"] = value
                },
            ], transport: stub)
        _ = await session.request("https://a.test/")
            .adapt { request, _ in request.headers["X-C"] = "3" }
            .adapt { request, _ in
                var request = request
                request.headers["X-D"] = "4"
                return request
            }
            .serializingData().response
        let fields = stub.requests[0].headers
        #expect(["X-A", "X-B", "X-C", "X-D"].map { fields[$0] } == ["1", "0", "3", "4"])
    }

    @Test func `a request has its own limits and retries`() async throws {
        let transport = StubTransport { _ in .status(503) }
        var configuration = Session.Configuration()
        let sleeps = RecordedSleeps()
        sleeps.use(in: &configuration)
        let session = Session(configuration: configuration, transport: transport)
        let request = session.request("https://a.test/").timeouts { $0.total = .seconds(5) }.retry(3).validate()
        let response = await request.serializingData().response
        #expect(response.statusCode == 503 && request.retryCount == 3)
        #expect(transport.requests.allSatisfy { $0.timeouts.total == .seconds(5) })
    }

    @Test(arguments: [
        ("https://a.test/v1", "users", "https://a.test/v1/users"),
        ("https://a.test/v1/", "users", "https://a.test/v1/users"), ("https://a.test", "users", "https://a.test/users"),
        ("https://a.test/v1", "users/1?a=b", "https://a.test/v1/users/1?a=b"),
        ("https://a.test/v1?key=1", "users", "https://a.test/v1/users"),
        ("https://a.test/v1", "./users", "https://a.test/v1/users"),
        ("https://a.test/v1", "../users", "https://a.test/users"),
        ("https://a.test/v1", "users:batch", "https://a.test/v1/users:batch"),
        ("https://a.test/v1", "/users", "https://a.test/users"), ("https://a.test/v1", "?a=b", "https://a.test/v1?a=b"),
        ("https://a.test/v1", "https://b.test/x", "https://b.test/x"), ("https://a.test/v1", "", "https://a.test/v1"),
        ("https://a.test/v1/?key=1", "", "https://a.test/v1/?key=1"), ("https://a.test", "", "https://a.test"),
    ])
    func `a base URL ends with a slash or not`(_ base: String, _ reference: String, _ url: String) async throws {
        var configuration = Session.Configuration()
        configuration.baseURL = URL(string: base)
        let (session, stub) = Self.session(configuration)
        _ = await session.request(reference).serializingData().response
        #expect(stub.requests.first?.url.absoluteString == url)
    }

    @Test func `parameters are added to the base URL`() async throws {
        var configuration = Session.Configuration()
        configuration.baseURL = URL(string: "https://a.test/v1")
        let (session, stub) = Self.session(configuration)
        _ = await session.request("", parameters: ["a": 1]).serializingData().response
        #expect(stub.requests.first?.url.absoluteString == "https://a.test/v1?a=1")
        configuration.baseURL = URL(string: "https://a.test/v1?key=%2F")
        let (keyed, other) = Self.session(configuration)
        _ = await keyed.request("", parameters: ["a": 1]).serializingData().response
        #expect(other.requests.first?.url.absoluteString == "https://a.test/v1?key=%2F&a=1")
        let failed = await Self.session().0.request("", parameters: ["a": 1]).serializingData().response
        #expect(failed.error?.code == "invalid_url")
    }

    @Test func `the last segment of a base URL can be replaced`() async throws {
        var configuration = Session.Configuration()
        configuration.baseURL = URL(string: "https://a.test/v1")
        configuration.baseURLReplacesLastSegment = true
        let (session, stub) = Self.session(configuration)
        _ = await session.request("users").serializingData().response
        #expect(stub.requests.first?.url.absoluteString == "https://a.test/users")
    }

    @Test func `a session for an API is one line`() {
        let api = Session(
            baseURL: URL(string: "https://a.test/v1"), headers: ["X-A": "1"], timeouts: Timeouts(total: .seconds(3)),
            interceptors: [RetryPolicy()])
        #expect(api.configuration.baseURL?.absoluteString == "https://a.test/v1")
        #expect(api.configuration.headers["X-A"] == "1" && api.configuration.headers["User-Agent"] != nil)
        #expect(api.configuration.timeouts.total == .seconds(3) && api.interceptor != nil)
        #expect(Session(baseURL: nil).interceptor == nil)
    }
}
