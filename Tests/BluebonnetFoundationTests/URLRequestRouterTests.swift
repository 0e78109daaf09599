import BluebonnetFoundation
import BluebonnetTesting
import Foundation
import TestSupport
import Testing

/// Routers that are written for `URLRequest`, against httpbin.
@Suite(.timeLimit(.minutes(10))) struct URLRequestRouterTests {
    /// An API's routes, as people write them.
    private enum Route: URLRequestConvertible {
        case search(query: String, page: Int)
        case create(Parameters)
        case update(id: Int, Parameters)
        case patch(id: Int, name: String)
        case remove(id: Int)

        private var method: HTTPMethod {
            switch self {
            case .search: .get
            case .create: .post
            case .update: .put
            case .patch: .patch
            case .remove: .delete
            }
        }

        func asURLRequest() throws -> URLRequest {
            let base = try TestServers.httpbin.url("/anything")
            var request = try URLRequest(url: base.appendingPathComponent("users"), method: method)
            request.headers.append(.accept("application/json"))
            switch self {
            case .search(let query, let page):
                return try URLEncoding.default.encode(request, with: ["q": query, "page": page])
            case .create(let parameters): return try URLEncoding.default.encode(request, with: parameters)
            case .update(let id, let parameters):
                request.url?.appendPathComponent("\(id)")
                return try JSONEncoding.default.encode(request, with: parameters)
            case .patch(let id, let name):
                request.url?.appendPathComponent("\(id)")
                return try JSONParameterEncoder.default.encode(["name": name], into: request)
            case .remove(let id):
                request.url?.appendPathComponent("\(id)")
                return request
            }
        }
    }

    private static func echo(_ route: Route) async throws -> Echo {
        let session = FoundationFixture.session()
        let echo = try await session.request(route).validate().serializingDecodable(Echo.self).value
        #expect(echo.headers["Accept"] == "application/json")
        await session.shutdown()
        return echo
    }

    @Test func `a route reads`() async throws {
        let echo = try await Self.echo(.search(query: "a b&c", page: 2))
        #expect(echo.method == "GET" && echo.args == ["q": "a b&c", "page": "2"])
    }

    @Test func `a route creates`() async throws {
        let echo = try await Self.echo(.create(["name": "Ada", "tags": ["x", "y"]]))
        #expect(echo.method == "POST" && echo.form == ["name": "Ada", "tags[]": ["x", "y"]])
        #expect(echo.headers["Content-Type"] == "application/x-www-form-urlencoded; charset=utf-8")
    }

    @Test func `a route updates`() async throws {
        let echo = try await Self.echo(.update(id: 7, ["name": "Ada"]))
        #expect(echo.method == "PUT" && echo.data == #"{"name":"Ada"}"# && echo.url.hasSuffix("/users/7"))
        let patched = try await Self.echo(.patch(id: 7, name: "Bea"))
        #expect(patched.method == "PATCH" && patched.data == #"{"name":"Bea"}"#)
    }

    @Test func `a route removes`() async throws {
        let echo = try await Self.echo(.remove(id: 7))
        #expect(echo.method == "DELETE" && echo.url.hasSuffix("/users/7"))
    }

    private struct Refusal: Error {}

    private struct Failing: URLRequestConvertible {
        func asURLRequest() throws -> URLRequest { throw Refusal() }
    }

    @Test func `an error that a route throws fails the request`() async throws {
        let session = FoundationFixture.session()
        let error = try #require(await session.request(Failing()).serializingData().response.error)
        #expect(error.kind == .invalidRequest(.conversion) && error.underlying is Refusal)
        #expect(Failing().urlRequest == nil)
        await session.shutdown()
    }

    @Test func `a route is converted again for each attempt`() async throws {
        let count = Box(0)
        struct Counting: URLRequestConvertible {
            let url: URL
            let count: Box<Int>

            func asURLRequest() throws -> URLRequest {
                count.set(count.value + 1)
                return try URLRequest(url: url, method: .get, headers: ["X-Count": "\(count.value)"])
            }
        }
        let server = try await LocalServer { router in
            router.get("/") { request in
                request.headers["X-Count"] == "2" ? .text("second") : .status(503)
            }
        }
        let session = FoundationFixture.session()
        let request = session.request(Counting(url: server.url("/"), count: count)).validate()
            .retry { _, _, _ in .retry }
        let response = await request.serializingString().response
        #expect(response.value == "second" && count.value == 2)
        #expect(response.urlRequest?.value(forHTTPHeaderField: "X-Count") == "2")
        #expect(response.urlResponse?.statusCode == 200)
        var seen: [String?] = []
        for await urlRequest in request.urlRequests() { seen.append(urlRequest.value(forHTTPHeaderField: "X-Count")) }
        #expect(seen.last == "2")
        await session.shutdown()
    }

    // MARK: Session methods with an encoding

    @Test func `a request accepts an encoding and parameters of several types`() async throws {
        let session = FoundationFixture.session()
        let get = try TestServers.httpbin.url("/anything")
        let parameters: Parameters = ["a": 1, "b": "x y"]
        let query = try await session.request(get, parameters: parameters).serializingDecodable(Echo.self).value
        #expect(query.args == ["a": "1", "b": "x y"])
        let json = try await session.request(
            get, method: .post, parameters: parameters, encoding: JSONEncoding(options: .sortedKeys),
            headers: ["X-A": "1"], requestModifier: { $0.timeoutInterval = 5 }
        ).serializingDecodable(Echo.self).value
        #expect(json.data == #"{"a":1,"b":"x y"}"# && json.headers["X-A"] == "1")
        let form = try await session.request(
            get, method: .post, parameters: ["a": 1, "b": "x"], encoding: URLEncoding.httpBody
        ).serializingDecodable(Echo.self).value
        #expect(form.form == ["a": "1", "b": "x"])
        let nested = try await session.request(get, parameters: ["a": ["x", 1] as [any Sendable]]).serializingDecodable(
            Echo.self
        ).value
        #expect(nested.args == ["a[]": ["x", "1"]])
        await session.shutdown()
    }

    @Test func `a session accepts parameters of any type`() async throws {
        let session = FoundationFixture.session()
        let url = try TestServers.httpbin.url("/anything")
        let parameters: [String: Any] = ["a": ["x", 1], "b": true]
        let encoding = URLEncoding(arrayEncoding: .noBrackets)
        let echo = try await session.request(url, parameters: parameters, encoding: encoding)
            .serializingDecodable(Echo.self).value
        #expect(echo.args == ["a": ["x", "1"], "b": "1"])
        final class Strange {}
        let strange: [String: Any] = ["a": Strange()]
        let error = try #require(await session.request(url, parameters: strange).serializingData().response.error)
        #expect(error.kind == .parameterEncoding(.encoderFailed))
        await session.shutdown()
    }

    @Test func `a literal with values of one type uses the encoder`() async throws {
        let session = FoundationFixture.session()
        let url = try TestServers.httpbin.url("/anything")
        let echo = try await session.request(url, parameters: ["a": "b"]).serializingDecodable(Echo.self).value
        #expect(echo.args == ["a": "b"])
        let plain = try await session.request(url, encoding: JSONEncoding.default).serializingDecodable(Echo.self).value
        #expect(plain.args == [:] && plain.data == "")
        await session.shutdown()
    }

    @Test func `a download accepts an encoding`() async throws {
        let session = FoundationFixture.session()
        let url = try TestServers.httpbin.url("/anything")
        let response = await session.download(url, parameters: ["a": 1, "b": "x"] as Parameters)
            .serializingDecodable(Echo.self).response
        #expect(try response.result.get().args == ["a": "1", "b": "x"])
        #expect(response.urlResponse?.statusCode == 200)
        let any: [String: Any] = ["a": 1]
        let posted = session.download(url, method: .post, parameters: any, encoding: JSONEncoding.default)
        #expect(try await posted.serializingDecodable(Echo.self).value.data == #"{"a":1}"#)
        await session.shutdown()
    }

    @Test func `properties of the request modifier stay, even if a URLRequest cannot represent them`() async throws {
        let server = try await LocalServer { router in
            router.get("/") { request in
                request.headers["Authorization"] == "Basic dTpw"
                    ? .text(request.target + " " + request.headers.values(for: "X-A").joined(separator: "|"))
                    : .status(401, headers: ["WWW-Authenticate": "Basic realm=\"r\""])
            }
        }
        let session = FoundationFixture.session()
        let parameters: Parameters = ["a": 1]
        let text = try await session.request(server.url("/"), parameters: parameters) { request in
            request.credential = Credential(username: "u", password: "p")
            request.headers.append(name: "X-A", value: "1")
            request.headers.append(name: "X-A", value: "2")
        }.serializingString().value
        #expect(text == "/?a=1 1|2")
        await session.shutdown()
    }

    @Test func `the error of a custom encoding is reported like the error of a built-in encoding`() async throws {
        struct Own: ParameterEncoding {
            func encode(_ urlRequest: any URLRequestConvertible, with parameters: Parameters?) throws -> URLRequest {
                throw Refusal()
            }
        }
        let session = FoundationFixture.session()
        let parameters: Parameters = ["a": 1]
        let request = session.request("http://127.0.0.1:1/", parameters: parameters, encoding: Own())
        let error = try #require(await request.serializingData().response.error)
        #expect(error.kind == .parameterEncoding(.encoderFailed) && error.underlying is Refusal)
        await session.shutdown()
    }
}
