import Bluebonnet
import FoundationEssentials
import TestSupport
import Testing

/// The shared parts of the tests of proxies.
enum ProxyFixture {
    /// The accepted user and password.
    static let credential = Credential(username: "user", password: "secret")

    /// The address from which ``TestServers/proxy`` and ``TestServers/socks`` make their connections.
    static let address = "127.0.0.2"

    /// A session that trusts the test servers, with a proxy.
    static func session(_ proxy: Session.Configuration.Proxy) throws -> Session {
        try TestHarness.trustingSession { $0.proxy = proxy }
    }

    /// A request to httpbin with its own proxy.
    static func request(
        _ server: TestServers = .httpbin, through proxy: Session.Configuration.Proxy? = nil
    ) throws -> HTTPRequest {
        var request = HTTPRequest(url: try server.url("/get"))
        request.proxy = proxy
        return request
    }

    /// A request as httpbin echoes it: the sender, and the fields.
    struct Echo {
        let origin: String?
        let fields: [String: JSONValue]
        let answer: WireResponse
    }

    static func echo(
        _ request: HTTPRequest, in session: Session, at location: SourceLocation = #_sourceLocation
    ) async throws -> Echo {
        let answer = try await WireResponse(of: session.request(request), at: location)
        #expect(answer.status == 200, sourceLocation: location)
        let json = try answer.json()
        return Echo(origin: json["origin"]?.string, fields: json["headers"]?.object ?? [:], answer: answer)
    }
}
