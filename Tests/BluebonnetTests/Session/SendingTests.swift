import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// The methods that send a request and return the whole response, on the wire.
@Suite(.timeLimit(.minutes(10))) struct SendingTests {
    private struct User: Codable, Equatable {
        var id: Int
        var name: String
    }

    private typealias Send = @Sendable (Session, String) async throws(RequestError) -> DataResponse<Data, RequestError>

    private static let ada = User(id: 1, name: "Ada")
    /// Each method with the request that the server must see: method, target, type and body.
    private static let table: [(Send, [String])] = [
        ({ s, u throws(RequestError) in try await s.get(u) }, ["GET", "/x", "", ""]),
        (
            { s, u throws(RequestError) in try await s.get(u, parameters: ["page": 2, "all": true]) },
            ["GET", "/x?all=1&page=2", "", ""]
        ),
        ({ s, u throws(RequestError) in try await s.head(u, headers: ["X-A": "1"]) }, ["HEAD", "/x", "", "", "1"]),
        (
            { s, u throws(RequestError) in try await s.delete(u, parameters: ["a": "b c"]) },
            ["DELETE", "/x?a=b%20c", "", ""]
        ),
        (
            { s, u throws(RequestError) in try await s.post(u, json: ["a": ada.id], headers: ["X-A": "1"]) },
            ["POST", "/x", "application/json", #"{"a":1}"#, "1"]
        ),
        (
            { s, u throws(RequestError) in try await s.put(u, json: [1, 2]) },
            ["PUT", "/x", "application/json", "[1,2]"]
        ),
        (
            { s, u throws(RequestError) in try await s.patch(u, json: ["a": 1]) },
            ["PATCH", "/x", "application/json", #"{"a":1}"#]
        ),
        (
            { s, u throws(RequestError) in try await s.post(u, form: ["a": "b c"]) },
            ["POST", "/x", "application/x-www-form-urlencoded", "a=b%20c"]
        ),
        (
            { s, u throws(RequestError) in try await s.put(u, form: ["a": 1]) },
            ["PUT", "/x", "application/x-www-form-urlencoded", "a=1"]
        ),
        (
            { s, u throws(RequestError) in try await s.patch(u, form: ada) },
            ["PATCH", "/x", "application/x-www-form-urlencoded", "id=1&name=Ada"]
        ),
        ({ s, u throws(RequestError) in try await s.post(u) }, ["POST", "/x", "", ""]),
        (
            { s, u throws(RequestError) in
                try await s.put(u, body: .data(Data("raw".utf8)), headers: ["Content-Type": "text/plain"])
            }, ["PUT", "/x", "text/plain", "raw"]
        ),
        (
            { s, u throws(RequestError) in
                try await s.patch(
                    u,
                    body: .stream(
                        AsyncStream {
                            $0.yield(Data("piece".utf8)); $0.finish()
                        }))
            }, ["PATCH", "/x", "", "piece"]
        ),
    ]

    @Test func `each method sends what its arguments say`() async throws {
        let server = try await LocalServer(answering: .json(Self.ada))
        let session = Session()
        for (send, expected) in Self.table {
            let response = try await send(session, "\(server.url)/x")
            let request = try await server.nextRequest()
            let type = request.headers["Content-Type"].map { $0.split(separator: ";")[0] } ?? ""
            let seen = [
                request.method.rawValue, request.target, String(type), String(decoding: request.body, as: UTF8.self),
            ]
            #expect(seen == Array(expected.prefix(4)))
            #expect(request.headers["X-A"] == (expected.count > 4 ? expected[4] : nil))
            #expect(response.statusCode == 200)
            if request.method != .head {
                #expect(try response.json(User.self) == Self.ada)
                #expect(try response.text() == #"{"id":1,"name":"Ada"}"#)
            }
        }
        await session.shutdown()
        await server.stop()
    }

    /// What httpbin says of a request.
    private struct Echo: Decodable {
        var method: String
        var args: [String: String]
        var form: [String: String]
        var json: JSONValue?
    }

    @Test(arguments: [TestServers.httpbin, .httpbinHTTP2])
    func `a server of others receives what is sent`(server: TestServers) async throws {
        let session = TestHarness.session { $0.tls.caFile = try? TestCertificates().authority }
        let url = try server.url("/anything")
        let get = try await session.get(url, parameters: ["q": "a b"]).validate().json(Echo.self)
        #expect(get.method == "GET" && get.args == ["q": "a b"])
        #expect(try await session.head(url).statusCode == 200)
        #expect(try await session.delete(url).json(Echo.self).method == "DELETE")
        let post = try await session.post(url, json: ["name": "Ada", "age": 36]).json(Echo.self)
        #expect(post.method == "POST" && post.json == ["name": "Ada", "age": 36])
        let put = try await session.put(url, form: ["a": "b c"]).json(Echo.self)
        #expect(put.method == "PUT" && put.form == ["a": "b c"])
        let mixed = try await session.post(url, form: ["a": "b", "n": 1, "is": true]).json(Echo.self)
        #expect(mixed.form == ["a": "b", "n": "1", "is": "1"])
        #expect(try await session.patch(url, body: .data(Data("raw".utf8))).json(Echo.self).method == "PATCH")
        #expect(try await session.get(try server.url("/status/418")).statusCode == 418)
        await session.shutdown()
    }

    @Test func `a status code is an error only for validate, which has the response`() async throws {
        let server = try await LocalServer(
            answering: .json(["error": "none"], status: 404), .status(204), .text("no JSON"))
        let session = Session()
        let missing = try await session.get("\(server.url)/users/9")
        #expect(missing.statusCode == 404)
        #expect(try missing.json(JSONValue.self) == ["error": "none"])
        #expect {
            try missing.validate()
        } throws: { error in
            guard let error = error as? RequestError else { return false }
            return error.kind == .validation(.unacceptableStatusCode(404)) && error.statusCode == 404
                && error.description.contains("GET \(server.url)/users/9")
        }
        // An empty body does not fail, and decodes only where an empty value is possible.
        let empty = try await session.delete(server.url).validate()
        #expect(empty.data?.isEmpty == true)
        #expect(try empty.text().isEmpty)
        let text = try await session.get(server.url).validate()
        #expect {
            try text.json(User.self)
        } throws: { error in
            guard let error = error as? RequestError else { return false }
            return error.kind == .serialization(.decodingFailed) && error.statusCode == 200
                && error.description.contains("GET \(server.url)")
        }
        await session.shutdown()
        await server.stop()
    }

    @Test func `what fails throws, and the time limit is that of the call`() async throws {
        let server = try await LocalServer(answering: .text("late").delayed(by: .seconds(3600)))
        let session = Session()
        await #expect(throws: RequestError.self) { try await session.get("not a URL") }
        do throws(RequestError) {
            _ = try await session.get(server.url, timeout: .milliseconds(50))
            Issue.record("the limit was not used")
        } catch {
            #expect(error.kind == .timedOut(.total))
        }
        let task = Task { try await session.get(server.url) }
        _ = try await server.request(2)
        task.cancel()
        let result = await task.result
        #expect { try result.get() } throws: { ($0 as? RequestError)?.kind == .cancelled }
        await session.shutdown()
        await server.stop()
    }

    @Test func `a prepared request is sent, also if the session does not start requests`() async throws {
        let server = try await LocalServer(answering: .text("a"))
        var configuration = Session.Configuration()
        configuration.headers["X-A"] = "1"
        let session = Session(configuration: configuration, startRequestsImmediately: false)
        let response = try await session.send(try HTTPRequest(url: "\(server.url)/x", method: .put))
        #expect(try response.text() == "a")
        let request = try await server.nextRequest()
        #expect(request.method == .put && request.headers["X-A"] == "1")
        await session.shutdown()
        await server.stop()
    }

    @Test func `retriers decide about status codes, and the last response is returned`() async throws {
        let server = try await LocalServer(
            answering: .status(503), .status(503), .text("a"), .status(404), .status(503))
        let policy = RetryPolicy(retryLimit: 2, exponentialBackoffScale: 0.001)
        let session = Session(baseURL: "\(server.url)", interceptors: [policy])
        #expect(try await session.get("a").text() == "a")
        #expect(server.requestCount == 3)
        // No retrier wants this one.
        #expect(try await session.get("b").statusCode == 404)
        // These are all attempts.
        let last = try await session.get("c")
        #expect(last.statusCode == 503 && last.error == nil)
        #expect(throws: RequestError.self) { try last.validate() }
        #expect(server.requestCount == 7)
        await session.shutdown()
        await server.stop()
    }

    @Test func `the coders are those of the session`() async throws {
        struct Item: Codable, Equatable { var itemName: String }
        var configuration = Session.Configuration()
        let (encoder, decoder) = (JSONEncoder(), JSONDecoder())
        encoder.keyEncodingStrategy = .convertToSnakeCase
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        configuration.decoder = decoder
        configuration.parameterEncoder = .json(encoder: encoder)
        let stub = StubTransport { _ in .response(body: Data(#"{"item_name":"a"}"#.utf8)) }
        let session = Session(configuration: configuration, transport: stub)
        let item = try await session.post("http://a.test/", json: Item(itemName: "b")).json(Item.self)
        #expect(item == Item(itemName: "a"))
        #expect(stub.requests.first?.body?.data == Data(#"{"item_name":"b"}"#.utf8))
        _ = try await session.post("http://a.test/", json: ["a": "b", "c": 1])
        let mixed = try #require(stub.requests.last?.body?.data)
        #expect(try JSONDecoder().decode(JSONValue.self, from: mixed) == ["a": "b", "c": 1])
    }

    @Test func `a base URL can be a text, and a false one is an error of each request`() async throws {
        let server = try await LocalServer(answering: .ok)
        let session = Session(baseURL: "\(server.url)/v1", headers: ["X-A": "1"])
        _ = try await session.get("users")
        let request = try await server.nextRequest()
        #expect(request.path == "/v1/users" && request.headers["X-A"] == "1")
        let broken = Session(baseURL: "http://[", transport: StubTransport { _ in .ok })
        await #expect(throws: RequestError.self) { try await broken.get("users") }
        await session.shutdown()
        await server.stop()
    }
}
