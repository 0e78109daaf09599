import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// The base URL and the query parameters of a session.
@Suite(.timeLimit(.minutes(10))) struct RequestDefaultsTests {
    struct Row: CustomTestStringConvertible, Sendable {
        var base: String? = "https://api.test/v1/"
        var query: [URLQueryItem] = []
        let url: String
        let result: String
        var testDescription: String { "\(base ?? "-") + \(url)" }
    }

    static let rows = [
        Row(url: "users/1", result: "https://api.test/v1/users/1"),
        Row(url: "/users/1", result: "https://api.test/users/1"),
        Row(url: "../users", result: "https://api.test/users"),
        Row(url: "?a=1", result: "https://api.test/v1/?a=1"),
        Row(url: "users?a=b%2Fc#d", result: "https://api.test/v1/users?a=b%2Fc#d"),
        Row(url: "//other.test/a", result: "https://other.test/a"),
        Row(url: "http://other.test/a", result: "http://other.test/a"),
        Row(base: "https://api.test/v1", url: "users", result: "https://api.test/v1/users"),
        Row(base: "https://api.test", url: "users", result: "https://api.test/users"),
        Row(base: "https://api.test:8080/a/?k=1", url: "b", result: "https://api.test:8080/a/b"),
        Row(
            query: [URLQueryItem(name: "key", value: "a b&c+d")], url: "x",
            result: "https://api.test/v1/x?key=a%20b%26c%2Bd"),
        Row(
            query: [URLQueryItem(name: "k", value: "1"), URLQueryItem(name: "l", value: nil)], url: "x?k=%32&m",
            result: "https://api.test/v1/x?k=%32&m&l"),
        Row(query: [URLQueryItem(name: "k", value: "1")], url: "https://cdn.test/a", result: "https://cdn.test/a"),
        Row(base: nil, query: [URLQueryItem(name: "k", value: "1")], url: "http://a.test", result: "http://a.test?k=1"),
        Row(query: [URLQueryItem(name: "k", value: "1")], url: "x?#f", result: "https://api.test/v1/x?k=1#f"),
    ]

    @Test(arguments: rows) func `a URL is completed`(_ row: Row) throws {
        var configuration = Session.Configuration()
        configuration.baseURL = row.base.flatMap { URL(string: $0) }
        configuration.defaultQueryItems = row.query
        var request = HTTPRequest(url: try row.url.asURL())
        try configuration.urlDefaults.complete(&request)
        #expect(request.url.absoluteString == row.result)
    }

    @Test(arguments: ["ftp://api.test/", "/v1/", "https://", "api.test"])
    func `a base URL that cannot be used is an error that names the option`(_ base: String) async throws {
        let session = TestHarness.session { $0.baseURL = URL(string: base) }
        let error = try #require(await session.request("users").serializingData().response.error)
        guard case .invalidRequest(.configuration(let text)) = error.kind else { throw error }
        #expect(text.hasPrefix("baseURL"))
        await session.shutdown()
    }

    private struct Token: RequestInterceptor {
        let value: String

        func adapt(_ request: HTTPRequest, using state: RequestAdapterState) async throws -> HTTPRequest {
            var request = request
            request.headers.update(name: "X-\(value)-Token", value: value)
            if value == "session" { request.headers.update(name: "X-Own-Key", value: value) }
            return request
        }
    }

    /// The secrets of a session with a base URL are for its origin; those of the request are for its URL.
    @Test(arguments: ["/", "//localhost:PORT/", "http://localhost:PORT/"])
    func `the session's secrets are sent to the origin of the base URL only`(_ text: String) async throws {
        let server = try await LocalServer { $0.fallback(.text("")) }
        var configuration = Session.Configuration()
        configuration.baseURL = server.url("/v1/")
        configuration.headers = ["Authorization": "Bearer a", "X-Name": "b", "X-Api-Key": "c"]
        let session = Session(configuration: configuration, interceptor: Token(value: "session"))
        let url = text.replacing("PORT", with: "\(server.port)")
        _ = try await session.request(url, headers: ["X-Own-Key": "own"], interceptor: Token(value: "own"))
            .serializingString(emptyResponseCodes: [200]).value
        let fields = try await server.request(1).headers
        let isBase = text == "/"
        for name in ["Authorization", "X-Api-Key", "X-session-Token"] {
            #expect(fields.contains(name) == isBase, "\(name)")
        }
        for name in ["X-Name", "X-Own-Key", "X-own-Token"] { #expect(fields.contains(name), "\(name)") }
        // The session's interceptor has replaced the field.
        #expect(fields["X-Own-Key"] == (isBase ? "session" : "own"))
        try await TestHarness.end(session, server)
    }

    @Test func `a description contains no secret`() {
        var configuration = Session.Configuration()
        configuration.baseURL = URL(string: "https://me:secret@api.test/")
        configuration.defaultQueryItems = [URLQueryItem(name: "key", value: "secret")]
        configuration.dns.httpsServer = URL(string: "https://dns.test/secret?token=secret")
        var text = ""
        dump(configuration, to: &text)
        #expect(text.contains("api.test") && text.contains("key"))
        #expect(!text.contains("me:secret") && !text.contains("token=secret") && !text.contains("\"secret\""))
    }

    @Test func `without a base URL, a relative URL is invalid`() async throws {
        let session = TestHarness.session()
        let error = try #require(await session.request("users/1").serializingData().response.error)
        #expect(error.description.contains("users/1"), "\(error)")
        guard case .invalidURL = error.kind else { throw error }
        await session.shutdown()
    }

    @Test func `parameters, modifiers, retries and downloads use the base URL`() async throws {
        let server = try await LocalServer { $0.fallback { .text($0.target) } }
        let session = TestHarness.session {
            $0.baseURL = server.url("/v1/")
            $0.defaultQueryItems = [URLQueryItem(name: "key", value: "1")]
        }
        let search = session.request("search", parameters: ["q": "a b"])
        #expect(try await search.serializingString().value == "/v1/search?q=a%20b&key=1")
        let post = session.request("notes", method: .post, parameters: ["q": "a"]) { $0.headers["X-A"] = "1" }
        #expect(try await post.serializingString().value == "/v1/notes?key=1")
        #expect(try await session.upload(Data([1]), to: "up").serializingString().value == "/v1/up?key=1")
        #expect(try await session.download("down").serializingString().value == "/v1/down?key=1")
        #expect(session.request("late").cURLDescription(revealingSecrets: true).contains("/v1/late?key=1"))
        try await TestHarness.end(session, server)
    }
}
