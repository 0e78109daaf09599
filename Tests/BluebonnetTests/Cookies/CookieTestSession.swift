import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Testing

/// A session whose requests to all hosts, by `http`, are answered by one server, as by a proxy.
///
/// The server sets the cookies in a request's `X-Set` fields, and responds with the received cookies.
struct CookieTestSession {
    let server: LocalServer
    let session: Session

    init(_ configure: (inout Session.Configuration) -> Void = { _ in }) async throws {
        let server = try await LocalServer { router in
            router.fallback { Self.answer(to: $0) }
        }
        self.server = server
        session = TestHarness.session {
            $0.proxy = .url("http://127.0.0.1:\(server.port)")
            configure(&$0)
        }
    }

    /// Sets the requested cookies, responds with the received cookies (one line for each field), and redirects if
    /// requested.
    static func answer(to request: LocalServer.Request) -> LocalServer.Response {
        let headers = HTTPHeaders(
            request.headers.values(for: "X-Set").map { HTTPHeader(name: "Set-Cookie", value: $0) }
                + request.headers.values(for: "X-To").map { HTTPHeader(name: "Location", value: $0) })
        let status = headers.contains("Location") ? 302 : 200
        return .text(request.headers.values(for: "Cookie").joined(separator: "\n"), status: status, headers: headers)
    }

    /// Sends a request whose response sets cookies; returns the value of the sent field, or `nil` for no field.
    @discardableResult
    func get(_ url: String, setting cookies: [String] = [], headers: HTTPHeaders = [:]) async throws -> String? {
        var request = HTTPRequest(url: try #require(URL(string: url)), headers: headers)
        for cookie in cookies { request.headers.append(name: "X-Set", value: cookie) }
        return try await send(request)
    }

    func send(_ request: HTTPRequest) async throws -> String? {
        let text = try await session.request(request).serializingString(emptyResponseCodes: [200, 302]).value
        return text.isEmpty ? nil : text
    }

    func end() async throws {
        try await TestHarness.end(session, server)
    }
}
