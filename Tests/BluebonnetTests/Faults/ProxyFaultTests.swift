import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Testing

@Suite(.timeLimit(.minutes(10))) struct ProxyFaultTests {
    @Test func `a proxy that refuses connections`() async throws {
        let port = try DeadPort.refusing()
        let session = TestHarness.session { $0.proxy = .url("http://user:hidden-word@127.0.0.1:\(port)") }
        let error = try await TestHarness.expect(
            session.request("http://example.com/a").serializingData(), in: session, failsWith: .connection(.refused),
            saying: "no connection could be made", TestHarness.words("127.0.0.1", port: port),
            "[GET http://example.com/a]")
        #expect(!error.description.contains("hidden-word"))
        await session.shutdown()
    }

    @Test func `a proxy whose name does not resolve`() async throws {
        let session = TestHarness.session { $0.proxy = .url("http://user:hidden-word@no-such-proxy.invalid:3128") }
        let error = try await TestHarness.expect(
            session.request("http://example.com/a").serializingData(), in: session,
            failsWith: .connection(.proxyNameNotResolved), saying: "the proxy's name could not be resolved",
            "no-such-proxy.invalid", "[GET http://example.com/a]")
        #expect(!error.description.contains("hidden-word"))
        await session.shutdown()
    }

    @Test(arguments: [
        "http://user:hidden-word@[::1", "nonsense://user:hidden-word@127.0.0.1:1", "http://user:hidden-word@:x",
        "http://user:hidden-word@127.0.0.1:99999", "user:hidden-word@127.0.0.1:x",
    ])
    func `an invalid URL of a proxy`(_ proxy: String) async throws {
        let session = TestHarness.session { $0.proxy = .url(proxy) }
        let error = try #require(await session.request("http://example.com/a").serializingData().response.error)
        let isSaidSo =
            switch error.kind {
            case .connection(.proxyNameNotResolved), .invalidRequest(.configuration): true
            default: false
            }
        #expect(isSaidSo, "\(error)")
        #expect(!error.description.contains("hidden-word"), "\(error)")
        #expect(error.description.contains("[GET http://example.com/a]"))
        await session.shutdown()
    }

    @Test(arguments: [
        ("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n", "502"),
        ("HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"a\"\r\n\r\n", "407"),
        ("", ""), ("\0\0\0\0\r\n\r\n", "through http://127.0.0.1:"),
    ])
    func `a proxy that opens no tunnel`(_ answer: String, words: String) async throws {
        let proxy = try await LocalServer.scripted(.waitForHead, .bytes(answer))
        let session = TestHarness.session { $0.proxy = .url("http://user:hidden-word@127.0.0.1:\(proxy.port)") }
        let task = session.request("https://example.com/a").serializingData()
        let error = try await TestHarness.expect(
            task, in: session, failsWith: .connection(.proxy), saying: "the proxy failed", words,
            "[GET https://example.com/a]")
        #expect(!error.description.contains("hidden-word"))
        #expect(await task.response.response == nil)
        #expect(try await proxy.nextRequest().target == "example.com:443")
        try await TestHarness.end(session, proxy)
    }

    /// Libcurl reads an interim response as the final one, and does not connect again after a challenge that closes.
    @Test(arguments: [
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.0 407 No\r\nProxy-Authenticate: Basic realm=\"a\"\r\n\r\n",
    ])
    func `an interim response to CONNECT, and a challenge that closes, are errors`(_ answer: String) async throws {
        let proxy = try await LocalServer.scripted(.waitForHead, .bytes(answer), .close)
        let credential = Credential(username: "user", password: "hidden-word")
        let session = TestHarness.session { $0.proxy = .url("127.0.0.1:\(proxy.port)", credential: credential) }
        let response = await session.request("https://example.com/a").serializingData().response
        let error = try #require(response.error)
        // Before 8.1.0, the answer to the challenge is sent on the connection that is closed.
        #expect([.connection(.proxy), .connection(.lost)].contains(error.kind), "\(error)")
        #expect(error.description.contains("through 127.0.0.1:\(proxy.port)"), "\(error)")
        #expect(!error.description.contains("hidden-word"))
        try await TestHarness.end(session, proxy)
    }

    @Test func `a proxy that stalls while it opens a tunnel causes a connect timeout`() async throws {
        let proxy = try await LocalServer.scripted(.waitForHead, .stall)
        let session = TestHarness.session {
            $0.proxy = .url("http://127.0.0.1:\(proxy.port)")
            $0.timeouts = Timeouts(connect: .milliseconds(150), idle: .seconds(20))
        }
        try await TestHarness.expect(
            session.request("https://example.com/a").serializingData(), in: session, failsWith: .timedOut(.connect),
            saying: "connecting took too long")
        try await TestHarness.end(session, proxy)
    }

    @Test func `an error response of a proxy is a response like any other`() async throws {
        let proxy = try await LocalServer { router in
            router.fallback { _ in .text("no way", status: 504) }
        }
        let session = TestHarness.session { $0.proxy = .url("http://127.0.0.1:\(proxy.port)") }
        let answer = await session.request("http://example.com/a").serializingString().response
        #expect(answer.response?.statusCode == 504)
        #expect(answer.value == "no way")
        try await TestHarness.end(session, proxy)
    }
}
