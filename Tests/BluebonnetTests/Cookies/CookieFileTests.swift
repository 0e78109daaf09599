import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Glibc
import TestSupport
import Testing

/// Files of cookies, as lines and across processes.
@Suite(.timeLimit(.minutes(10))) struct CookieFileTests {
    private static let expires = Date(timeIntervalSince1970: 4_102_444_800)

    static let lines: [(Cookie, String)] = [
        (Cookie(name: "a", value: "1", domain: "example.com"), "example.com\tFALSE\t/\tFALSE\t0\ta\t1"),
        (
            Cookie(name: "a", value: "", domain: "example.com", includesSubdomains: true, path: "/p", isSecure: true),
            ".example.com\tTRUE\t/p\tTRUE\t0\ta\t"
        ),
        (
            Cookie(name: "a", value: "x y=z", domain: "::1", isHTTPOnly: true, expires: expires),
            "#HttpOnly_::1\tFALSE\t/\tFALSE\t4102444800\ta\tx y=z"
        ),
        (
            Cookie(name: "a", value: "1", domain: "b.example", expires: Date(timeIntervalSince1970: 1)),
            "b.example\tFALSE\t/\tFALSE\t1\ta\t1"
        ),
    ]

    @Test(arguments: lines)
    func `a cookie is written as a line and read back`(_ cookie: Cookie, line: String) {
        #expect(cookie.netscapeLine == line)
        #expect(Cookie(netscapeLine: line) == cookie)
        #expect(Cookie(netscapeLine: line + "\r\n") == cookie)
    }

    @Test(arguments: [
        "", "# Netscape HTTP Cookie File", "#HttpOnly_", "example.com", "example.com\tFALSE\t/\tFALSE\t0",
        "example.com\tFALSE\t/\tFALSE\tnever\ta\t1", "example.com\tFALSE\t/\tFALSE\t-1\ta\t1",
        "example.com\tFALSE\t/\tFALSE\t0\ta\t1\tmore", "example.com FALSE / FALSE 0 a 1",
        "example.com\tFALSE\t/\tFALSE\t99999999999999999999\ta\t1",
    ])
    func `a line with another format is ignored`(_ line: String) {
        #expect(Cookie(netscapeLine: line) == nil)
    }

    @Test func `a line without a path has the root path, as in libcurl`() {
        let cookie = Cookie(netscapeLine: "example.com\tFALSE\tTRUE\t0\ta\t1")
        #expect(cookie == Cookie(name: "a", value: "1", domain: "example.com", isSecure: true))
    }

    @Test func `an invalid time does not trap`() {
        for seconds in [1e300, -1e300, -1, 0.5, .nan, .infinity, -.infinity] {
            let expires = Date(timeIntervalSince1970: seconds)
            let cookie = Cookie(name: "a", value: "1", domain: "example.com", expires: expires)
            #expect(Cookie(netscapeLine: cookie.netscapeLine) != nil)
        }
    }

    // MARK: Files

    @Test func `another session loads the saved cookies`() async throws {
        let directory = try TestDirectory()
        let file = directory.url("cookies.txt")
        let cookies = Self.lines.map(\.0).filter { !$0.isExpired() }
        let first = TestHarness.session()
        try await first.cookies.set(cookies)
        try await first.cookies.save(to: file)
        await first.shutdown()
        let second = TestHarness.session()
        #expect(try await second.cookies.load(from: file) == cookies.count)
        #expect(Set(try await second.cookies.all()) == Set(cookies))
        // The same without session cookies.
        try await second.cookies.save(to: file, includingSessionCookies: false)
        #expect(try Cookie.load(from: file) == cookies.filter { !$0.isSessionCookie })
        await second.shutdown()
    }

    @Test func `a file is readable by its owner only and replaced atomically`() async throws {
        let directory = try TestDirectory()
        let file = directory.url("cookies.txt")
        try Data("old, and longer than what comes".utf8).write(to: file)
        #expect(unsafe chmod(file.path, 0o666) == 0)
        let session = TestHarness.session()
        try await session.cookies.save(to: file)
        var status = stat()
        #expect(unsafe stat(file.path, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
        #expect(try String(decoding: Data(contentsOf: file), as: UTF8.self).hasPrefix("# Netscape HTTP Cookie File\n"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.url("").path).count == 1)
        await session.shutdown()
    }

    /// Servers must not send such a name, but it is stored and sent (RFC 6265 §4.1, §5.2).
    @Test func `a received cookie whose name has a space is saved and loaded`() async throws {
        let directory = try TestDirectory()
        let file = directory.url("cookies.txt")
        let (one, other) = (TestHarness.session(), TestHarness.session())
        let url = try #require(URL(string: "http://a.example.com/"))
        try await one.cookies.set("a b=c d", for: url)
        try await one.cookies.save(to: file)
        #expect(try await other.cookies.load(from: file) == 1)
        #expect(try await other.cookies.cookies(for: url).map { "\($0.name)=\($0.value)" } == ["a b=c d"])
        await one.shutdown()
        await other.shutdown()
    }

    @Test func `cookies that a session must not store are not loaded`() async throws {
        let directory = try TestDirectory()
        let file = directory.url("cookies.txt")
        let text = """
            # a comment
            .com\tTRUE\t/\tFALSE\t0\tsuper\t1
            example.com\tFALSE\t/\tFALSE\t1\texpired\t1
            example.com\tFALSE\t/\tFALSE\t0\t__Host-a\t1
            nonsense
            Set-Cookie: a=1
            example.com\tFALSE\t/\tFALSE\t0\tgood\t1\r
            """
        try Data(text.utf8).write(to: file)
        #expect(try Cookie.load(from: file).map(\.name) == ["good"])
    }

    @Test func `a file that cannot be read or written is an error that names it`() async throws {
        let directory = try TestDirectory()
        let session = TestHarness.session()
        let missing = directory.url("none/cookies.txt")
        let unreadable = await #expect(throws: RequestError.self) { try await session.cookies.load(from: missing) }
        #expect(unreadable?.kind == .cookies(.fileUnreadable(path: missing.path)))
        #expect(unreadable?.detail == "No such file or directory")
        let unwritable = await #expect(throws: RequestError.self) { try await session.cookies.save(to: missing) }
        #expect(unwritable?.kind == .cookies(.fileUnwritable(path: missing.path)))
        let isDirectory = await #expect(throws: RequestError.self) {
            try await session.cookies.save(to: directory.url(""))
        }
        #expect(isDirectory != nil)
        let url = try #require(URL(string: "https://example.com/cookies"))
        let notAFile = await #expect(throws: RequestError.self) { try await session.cookies.load(from: url) }
        #expect(notAFile?.kind == .cookies(.notAFileURL("https://example.com/cookies")))
        await session.shutdown()
    }

    // MARK: Processes

    /// A server, used as a proxy, that sets two cookies for `/set` and returns the received cookies for other paths.
    private func server() async throws -> LocalServer {
        try await LocalServer { router in
            router.fallback { request in
                guard request.target.hasSuffix("/set") else { return CookieTestSession.answer(to: request) }
                return .status(
                    200,
                    headers: HTTPHeaders([
                        HTTPHeader(name: "Set-Cookie", value: "a=1; Domain=example.com; Path=/; HttpOnly"),
                        HTTPHeader(name: "Set-Cookie", value: "b=2; Max-Age=1000; Path=/p"),
                    ]))
            }
        }
    }

    @Test func `a second process loads the cookies of a first process`() async throws {
        let server = try await server()
        let directory = try TestDirectory()
        let arguments = [directory.url("cookies.txt").path, "http://127.0.0.1:\(server.port)"]
        let first = try RunningProgram("CookieProgram", arguments + ["http://example.com/", "http://example.com/set"])
        let begun = await first.outcome()
        #expect(begun.code == 0 && begun.output == Data("\n\n".utf8))
        let second = try RunningProgram(
            "CookieProgram", arguments + ["http://example.com/p", "http://www.example.com/p", "http://example.org/p"])
        let ended = await second.outcome()
        #expect(ended.code == 0)
        #expect(String(decoding: ended.output, as: UTF8.self) == "b=2; a=1\na=1\n\n")
    }

    @Test func `the curl command sends the saved cookies`() async throws {
        let server = try await server()
        let directory = try TestDirectory()
        let file = directory.url("cookies.txt")
        let session = TestHarness.session { $0.proxy = .url("http://127.0.0.1:\(server.port)") }
        _ = try await session.request("http://example.com/set").serializingData(emptyResponseCodes: [200]).value
        try await session.cookies.save(to: file)
        await session.shutdown()
        for (url, expected) in [("http://example.com/p", "b=2; a=1"), ("http://www.example.com/p", "a=1")] {
            let outcome = try await Subprocess.run(
                "/usr/bin/curl",
                ["--silent", "--cookie", file.path, "--proxy", "http://127.0.0.1:\(server.port)", "--noproxy", "", url])
            #expect(outcome.code == 0)
            #expect(String(decoding: outcome.output, as: UTF8.self) == expected)
        }
    }

    @Test func `the cookies that the curl command saved are sent`() async throws {
        let server = try await server()
        let directory = try TestDirectory()
        let file = directory.url("cookies.txt")
        let outcome = try await Subprocess.run(
            "/usr/bin/curl",
            [
                "--silent", "--cookie-jar", file.path, "--proxy", "http://127.0.0.1:\(server.port)", "--noproxy", "",
                "http://example.com/set",
            ])
        #expect(outcome.code == 0)
        let cookies = try Cookie.load(from: file)
        #expect(cookies.count == 2 && cookies.contains { $0.isHTTPOnly && $0.includesSubdomains })
        let scene = try await CookieTestSession { $0.cookies.initial = cookies }
        #expect(try await scene.get("http://example.com/p") == "b=2; a=1")
        #expect(try await scene.get("http://www.example.com/p") == "a=1")
        try await scene.end()
    }
}
