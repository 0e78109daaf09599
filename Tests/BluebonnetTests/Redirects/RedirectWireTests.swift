import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

/// Redirects as httpbin sends them, over HTTP/1.1 and HTTP/2.
@Suite(.timeLimit(.minutes(10)))
struct RedirectWireTests {
    @Test(
        arguments: TestServers.httpbins, ["/redirect/3", "/relative-redirect/3", "/absolute-redirect/3"])
    func `a chain of redirects is followed and the response has its history`(
        server: TestServers, path: String
    ) async throws {
        let task = Session.conformance.request(try server.url(path)).validate().serializingJSON()
        let json = try await task.value
        let response = try #require(await task.response.response)
        #expect(response.statusCode == 200 && response.url.path() == "/get")
        #expect(json["url"]?.string?.hasSuffix("/get") == true)
        #expect(response.history.map(\.statusCode) == [302, 302, 302])
        #expect(response.history.first?.url.path() == path)
        #expect(response.history.allSatisfy { $0.history.isEmpty && $0.headers["Location"] != nil })
        #expect(task.request.requests.count == 4)
        #expect(task.request.retryCount == 0)
    }

    struct Row: Sendable {
        let status: Int
        let method: HTTPMethod
        let next: HTTPMethod
    }

    static let rows: [Row] = [
        Row(status: 301, method: .post, next: .get), Row(status: 302, method: .post, next: .get),
        Row(status: 303, method: .post, next: .get), Row(status: 307, method: .post, next: .post),
        Row(status: 308, method: .post, next: .post), Row(status: 301, method: .put, next: .put),
        Row(status: 302, method: .put, next: .put), Row(status: 303, method: .put, next: .get),
        Row(status: 307, method: .put, next: .put), Row(status: 302, method: .patch, next: .patch),
        Row(status: 308, method: .delete, next: .delete), Row(status: 303, method: .delete, next: .get),
    ]

    @Test(arguments: TestServers.httpbins, rows)
    func `method and body are forwarded as in the table`(server: TestServers, row: Row) async throws {
        let url = try server.url("/redirect-to?url=%2Fanything%3Fa%3Db&status_code=\(row.status)")
        let request = HTTPRequest(
            url: url, method: row.method, headers: [.contentType("text/plain")], body: .data(Data("body".utf8)))
        let json = try await Session.conformance.request(request).validate().serializingJSON().value
        #expect(json["method"]?.string == row.next.rawValue)
        #expect(json["args"]?["a"]?.string == "b")
        let keepsBody = row.next == row.method
        #expect(json["data"]?.string == (keepsBody ? "body" : ""))
        #expect(json["headers"]?["Content-Type"]?.string == (keepsBody ? "text/plain" : nil))
    }

    @Test(arguments: TestServers.httpbins, [301, 302, 303, 307, 308])
    func `a redirect that is not followed is the response itself`(server: TestServers, code: Int) async throws {
        let url = try server.url("/redirect-to?url=%2Fget%3Fx%3D1&status_code=\(code)")
        for method in [HTTPMethod.get, .post] {
            let request = HTTPRequest(url: url, method: method, body: method == .post ? .data(Data("x".utf8)) : nil)
            let answer = try await server.answer(
                Session.conformance.request(request).redirect(using: .doNotFollow))
            #expect(answer.status == code)
            #expect(answer.head.headers["Location"] == "/get?x=1")
            #expect(answer.head.url.path() == "/redirect-to")
            #expect(answer.head.history.isEmpty)
        }
    }

    @Test(arguments: TestServers.httpbins)
    func `more than 20 redirects are too many`(server: TestServers) async throws {
        let within = Session.conformance.request(try server.url("/relative-redirect/20")).validate()
        #expect(try await within.serializingData().value.isEmpty == false)
        let beyond = Session.conformance.request(try server.url("/relative-redirect/21")).validate()
        let error = await beyond.serializingData().response.error
        #expect(error?.kind == .redirect(.tooMany(limit: 20)))
        #expect(error?.response?.statusCode == 302)
        #expect(beyond.requests.count == 21)
    }
}
