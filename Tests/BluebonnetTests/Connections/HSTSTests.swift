import BluebonnetTesting
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@testable import Bluebonnet

@Suite(.timeLimit(.minutes(10))) struct HSTSTests {
    /// A session to whose requests for `named.test` and the hosts below it a plain server answers at port 80, and one with
    /// TLS at port 443.
    private struct FixtureSession {
        let plain: LocalServer
        let session: Session
        let securePort: String

        init(_ hsts: Session.Configuration.HSTS, cookies: Bool = true) async throws {
            let plain = try await LocalServer {
                $0.fallback { _ in
                    .text("plain", headers: ["Set-Cookie": "a=b", "Strict-Transport-Security": "max-age=600"])
                }
            }
            self.plain = plain
            let port = try #require(try TestServers.tls1_3.url().port)
            securePort = "\(port)\n"
            session = try TestHarness.trustingSession {
                $0.hsts = hsts
                if !cookies { $0.cookies.policy = .never }
                $0.dns.connectTo = [":80": "127.0.0.1:\(plain.port)", ":443": "127.0.0.1:\(port)"]
            }
        }

        func get(_ url: String, handlesCookies: Bool = true) async throws -> (text: String, url: String?) {
            var request = HTTPRequest(url: try #require(URL(string: url)))
            request.handlesCookies = handlesCookies
            let answer = await session.request(request).serializingString().response
            return (try answer.result.get(), answer.response?.url.absoluteString)
        }

        func end() async throws { try await TestHarness.end(session, plain) }
    }

    @Test(arguments: [true, false])
    func `only a host that requires TLS is contacted over TLS`(
        withCookies: Bool
    ) async throws {
        let scene = try await FixtureSession(.memory, cookies: withCookies)
        // A field that was received without TLS does not count.
        #expect(try await scene.get("http://named.test/port") == ("plain", "http://named.test/port"))
        #expect(try await scene.get("http://named.test/port").text == "plain")
        #expect(try await scene.get("https://named.test/hsts").text == "remembered\n")
        #expect(try await scene.get("http://named.test/port") == (scene.securePort, "https://named.test/port"))
        #expect(try await scene.get("http://NAMED.test/port").text == scene.securePort)
        #expect(try await scene.get("http://a.named.test/port") == ("plain", "http://a.named.test/port"))
        #expect(try await scene.get("http://127.0.0.1/port").text == "plain")
        try await scene.end()
    }

    @Test func `a server can include its subdomains and remove itself`() async throws {
        let scene = try await FixtureSession(.memory)
        #expect(try await scene.get("https://named.test/hsts/all").text == "remembered\n")
        #expect(try await scene.get("http://a.named.test/port").text == scene.securePort)
        #expect(try await scene.get("https://named.test/hsts/none").text == "forgotten\n")
        #expect(try await scene.get("http://named.test/port").text == "plain")
        #expect(try await scene.get("http://a.named.test/port").text == "plain")
        try await scene.end()
    }

    @Test func `an address cannot require TLS`() async throws {
        let scene = try await FixtureSession(.memory)
        #expect(try await scene.get("https://127.0.0.1/hsts").text == "remembered\n")
        #expect(try await scene.get("http://127.0.0.1/port").text == "plain")
        try await scene.end()
    }

    @Test func `a request without cookies is also sent over TLS and has no cookies`() async throws {
        let scene = try await FixtureSession(.memory)
        _ = try await scene.get("http://named.test/")
        _ = try await scene.get("http://other.test/")
        #expect(try await scene.get("https://named.test/hsts").text == "remembered\n")
        for _ in 1...2 {
            #expect(try await scene.get("http://named.test/port", handlesCookies: false).text == scene.securePort)
            #expect(try await scene.get("http://other.test/", handlesCookies: false).text == "plain")
            #expect(try await scene.get("http://other.test/").text == "plain")
        }
        var cookies: [[String]] = []
        for _ in 1...6 { cookies.append(try await scene.plain.nextRequest().headers.values(for: "Cookie")) }
        // Those of named.test went elsewhere: the plain server saw its first request, and five to the other host.
        #expect(cookies == [[], [], [], ["a=b"], [], ["a=b"]])
        try await scene.end()
    }

    /// Otherwise it would be made for HTTP/2 without TLS, and have a connection to itself.
    @Test func `a request that waits while its host requires TLS is sent over TLS`() async throws {
        let port = try #require(try TestServers.tls1_3.url().port)
        let session = try TestHarness.trustingSession {
            $0.hsts = .memory
            $0.httpVersion = .http2PriorKnowledge
            // The requests share a connection.
            $0.eventLoops = 1
            $0.dns.connectTo = [":443": "127.0.0.1:\(port)"]
        }
        let made = Locked<DataRequest?>(nil)
        let holding = Adapter { request, _ in
            made.withLock { $0 }?.suspend()
            return request
        }
        let request = session.request("http://named.test/port", interceptor: holding)
        made.withLock { $0 = request }
        let task = request.serializingString()
        // The transport has it, most likely; it goes to the same server in any case.
        for _ in 0..<100_000 where request.requests.isEmpty { await Task.yield() }
        await TestHarness.performEarlierCommands(of: session)
        let announced = await session.request("https://named.test/hsts").serializingString().response
        #expect(announced.value == "remembered\n")
        request.resume()
        let answer = await task.response
        made.withLock { $0 = nil }
        #expect(answer.value == "\(port)\n" && answer.response?.url.scheme == "https", "\(answer)")
        #expect(answer.metrics?.isReusedConnection == true)
        #expect(answer.response?.httpVersion == announced.response?.httpVersion)
        await session.shutdown()
    }

    @Test func `nothing is remembered by default`() async throws {
        let scene = try await FixtureSession(.off)
        #expect(try await scene.get("https://named.test/hsts").text == "remembered\n")
        #expect(try await scene.get("http://named.test/port").text == "plain")
        try await scene.end()
    }

    @Test func `another session does not know the hosts`() async throws {
        let (first, second) = (try await FixtureSession(.memory), try await FixtureSession(.memory))
        #expect(try await first.get("https://named.test/hsts").text == "remembered\n")
        #expect(try await second.get("http://named.test/port").text == "plain")
        try await first.end()
        try await second.end()
    }

    @Test(arguments: [true, false])
    func `a file passes the hosts to the next session`(withCookies: Bool) async throws {
        let directory = try TestDirectory()
        let file = directory.path("hsts.txt")
        let first = try await FixtureSession(.file(file), cookies: withCookies)
        #expect(try await first.get("http://named.test/port").text == "plain")
        #expect(try await first.get("https://named.test/hsts").text == "remembered\n")
        try await first.end()
        #expect(directory.text("hsts.txt")?.contains("\nnamed.test \"") == true)
        // A session without requests does not change the file.
        try await FixtureSession(.file(file)).end()
        let second = try await FixtureSession(.file(file), cookies: withCookies)
        #expect(try await second.get("http://named.test/port").text == second.securePort)
        try await second.end()
        #expect(directory.text("hsts.txt")?.contains("\nnamed.test \"") == true)
    }

    @Test(arguments: [nil, 0o644, 0o666, 0o600] as [mode_t?])
    func `the file is readable by its owner only`(mode: mode_t?) async throws {
        let directory = try TestDirectory()
        let file = directory.path("hsts.txt")
        if let mode {
            try directory.write("", to: "hsts.txt")
            _ = unsafe chmod(file, mode)
        }
        let scene = try await FixtureSession(.file(file))
        #expect(try await scene.get("https://named.test/hsts").text == "remembered\n")
        try await scene.end()
        #expect(directory.text("hsts.txt")?.contains("\nnamed.test \"") == true)
        #expect(directory.mode("hsts.txt") == 0o600 && directory.names == ["hsts.txt"])
    }

    @Test func `a symbolic link is replaced, and the file behind it stays as it is`() async throws {
        let directory = try TestDirectory()
        try directory.write("mine", to: "other")
        try FileManager.default.createSymbolicLink(
            atPath: directory.path("hsts.txt"), withDestinationPath: directory.path("other"))
        let scene = try await FixtureSession(.file(directory.path("hsts.txt")))
        #expect(try await scene.get("https://named.test/hsts").text == "remembered\n")
        try await scene.end()
        #expect(directory.text("hsts.txt")?.contains("\nnamed.test \"") == true)
        #expect(directory.text("other") == "mine")
    }

    @Test func `hosts in a file of the user are known from the first request`() async throws {
        let directory = try TestDirectory()
        try directory.write(".named.test \"unlimited\"\n", to: "hsts.txt")
        let scene = try await FixtureSession(.file(directory.path("hsts.txt")))
        #expect(try await scene.get("http://a.named.test/port").text == scene.securePort)
        try await scene.end()
    }
}
