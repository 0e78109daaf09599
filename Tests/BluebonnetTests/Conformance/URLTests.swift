import Bluebonnet
import FoundationEssentials
import TestSupport
import Testing

/// The forms that a URL can have, as the server reads them.
@Suite(.timeLimit(.minutes(10)))
struct `Conformance of URLs` {
    /// Returns a URL's text from a server's, after a change.
    private static func text(_ server: TestServers, _ change: (String) -> String) throws -> String {
        change(try server.url("").absoluteString)
    }

    @Test(arguments: TestServers.httpbins)
    func `text, a URL and components create the same request`(server: TestServers) async throws {
        let text = try Self.text(server) { $0 + "/get?a=1&b=two%20words" }
        let url = try #require(URL(string: text))
        let components = try #require(URLComponents(string: text))
        let convertibles: [any URLConvertible] = [text, url, components]
        for convertible in convertibles {
            let answer = try await server.answer(Session.conformance.request(convertible))
            #expect(try answer.json()["url"]?.string == text)
            #expect(try answer.json()["args"] == ["a": "1", "b": "two words"])
        }
    }

    @Test(arguments: TestServers.httpbins)
    func `the case of the scheme and of the host does not matter`(server: TestServers) async throws {
        for change in [{ $0.replacing("http", with: "HTTP") }, { $0.replacing("127.0.0.1", with: "LOCALHOST") }]
            as [(String) -> String]
        {
            let text = try Self.text(server) { change($0) + "/get?a=1" }
            let answer = try await server.answer(Session.conformance.request(text))
            #expect(try answer.json()["args"] == ["a": "1"])
        }
    }

    @Test(arguments: TestServers.httpbins, ["", "/", "?a=1", "#fragment", "/?a=1#fragment"])
    func `a URL without a path requests the root`(server: TestServers, suffix: String) async throws {
        let text = try Self.text(server) { $0 + suffix }
        let answer = try await server.answer(Session.conformance.request(text))
        #expect(answer.status == 200)
        #expect(answer.head.mimeType == "text/html")
    }

    @Test(
        arguments: TestServers.httpbins,
        [
            ("/anything/two words?q=two words", "/anything/two%20words?q=two%20words"),
            ("/anything/ünï?q=日本", "/anything/ünï?q=日本"),
            ("/anything/%C3%BC%20%2F?q=%26", "/anything/ü%20/?q=%26"),
            ("/anything/a+b;c=d,e@f:g!$&'()*", "/anything/a+b;c=d,e@f:g!$&'()*"),
        ])
    func `characters of every kind arrive in the path and in the query`(
        server: TestServers, url: (path: String, arrives: String)
    ) async throws {
        let text = try Self.text(server) { $0 + url.path }
        let answer = try await server.answer(Session.conformance.request(text))
        // httpbin decodes the URL, and encodes again what is ASCII.
        #expect(try answer.json()["url"]?.string == Self.text(server) { $0 + url.arrives })
    }

    @Test(arguments: TestServers.httpbins)
    func `a URL that is not HTTP or has no host is refused before anything is sent`(server: TestServers) async throws {
        let url = try server.url("/get").absoluteString
        for text in [url.replacing("http", with: "ftp"), url.replacing("127.0.0.1", with: ""), "/get", ""] {
            let response = await Session.conformance.request(text).serializingData().response
            #expect(response.response == nil && response.metrics == nil)
            switch response.error?.kind {
            case .invalidURL, .invalidRequest(.unsupportedScheme): break
            default: Issue.record("\(text): \(String(describing: response.error))")
            }
            #expect(response.error?.detail == "the text is empty" || !text.isEmpty)
        }
    }
}
