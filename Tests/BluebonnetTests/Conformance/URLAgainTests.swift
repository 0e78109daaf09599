import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

/// A URL that a handle of libcurl's is used for again, which is handed over in pieces then.
@Suite(.timeLimit(.minutes(10)))
struct `Conformance of URLs that are used again` {
    @Test(
        arguments: [
            ("/", "/"), ("/a?b=c#d", "/a?b=c"), ("/a?#b", "/a?"), ("/./a/../b/%2e%2e/c", "/c"),
            ("/a//b///", "/a//b///"), ("/%7Euser/%c3%bc", "/%7Euser/%c3%bc"), ("/ü?ü=日", "/%C3%BC?%C3%BC=%E6%97%A5"),
            ("/?q=a+b&c=%20;/?:@", "/?q=a+b&c=%20;/?:@"),
        ])
    func `the target of a URL is the same after another URL`(path: String, target: String) async throws {
        let server = try await LocalServer { $0.fallback { _ in .ok } }
        let session = Session()
        let order = [path, path, path, "/other", path, "/other", "/other", path, path]
        for path in order {
            let answer = try await WireResponse(of: session.request("http://127.0.0.1:\(server.port)\(path)"))
            #expect(answer.status == 200)
        }
        let targets = server.requests.map(\.target)
        #expect(targets == order.map { $0 == "/other" ? $0 : target })
        // There is one handle and one connection, so the same handle was used again.
        #expect(server.connectionCount == 1)
        await session.shutdown()
        await server.stop()
    }

    @Test func `the same path is sent to the server of each URL`() async throws {
        let servers = [
            try await LocalServer { $0.fallback { _ in .ok } }, try await LocalServer { $0.fallback { _ in .ok } },
        ]
        let session = Session()
        for index in [0, 0, 0, 1, 1, 0, 1, 1, 1, 0] {
            let before = servers.map(\.requestCount)
            _ = try await WireResponse(of: session.request(servers[index].url("/same")))
            #expect(servers[index].requestCount == before[index] + 1)
            #expect(servers[1 - index].requestCount == before[1 - index])
        }
        await session.shutdown()
        for server in servers { await server.stop() }
    }

    @Test func `user info is sent only for the URL that contains it`() async throws {
        let server = try await LocalServer { $0.fallback { _ in .ok } }
        let session = Session()
        let (plain, known) = (
            "http://127.0.0.1:\(server.port)/a", "http://ada:secret@127.0.0.1:\(server.port)/a"
        )
        let order = [known, known, known, plain, plain, known, plain, plain]
        for url in order { _ = try await WireResponse(of: session.request(url)) }
        let fields = server.requests.map { $0.headers["Authorization"] }
        let first = fields.first ?? nil
        #expect(first != nil)
        #expect(fields == order.map { $0 == known ? first : nil })
        await session.shutdown()
        await server.stop()
    }

    @Test func `methods and bodies can change between uses of a URL`() async throws {
        let server = try await LocalServer { $0.fallback { _ in .ok } }
        let session = Session()
        for (method, body) in [
            (HTTPMethod.get, nil), (.post, "one"), (.get, nil), (.get, nil), (.put, "two"), (.delete, nil),
            (.head, nil), (.get, nil), (.post, "three"),
        ] as [(HTTPMethod, String?)] {
            let request = HTTPRequest(
                url: server.url("/a?b"), method: method, body: body.map { .data(Data($0.utf8)) })
            _ = try await WireResponse(of: session.request(request))
            let received = try #require(server.requests.last)
            #expect(received.method == method && received.target == "/a?b")
            #expect(received.body == Data((body ?? "").utf8))
        }
        await session.shutdown()
        await server.stop()
    }
}
