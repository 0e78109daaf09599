import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// Settings from the environment of a process: proxies, and Kerberos tickets.
@Suite(.timeLimit(.minutes(10))) struct EnvironmentTests {
    /// Runs the program and returns its lines.
    private static func lines(_ arguments: [String], _ environment: [String: String]) async throws -> [String] {
        let outcome = await (try RunningProgram("EnvironmentProgram", arguments, environment: environment)).outcome()
        #expect(outcome.code == 0)
        return String(decoding: outcome.output, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    // MARK: Directories

    /// Without a rule of Bluebonnet, files are in the root directory if the variable is empty.
    @Test(arguments: [nil, "", "/var/tmp", "/var/tmp/"])
    func `temporary files are in the directory of the environment, or in /tmp`(directory: String?) async throws {
        let url = try TestServers.nginx.url("/bytes/1")
        let path = try #require(
            try await Self.lines(["download", url.absoluteString], directory.map { ["TMPDIR": $0] } ?? [:]).first)
        #expect(FileManager.default.fileExists(atPath: path), "\(path)")
        try FileManager.default.removeItem(atPath: path)
        let expected = directory?.isEmpty == false ? "/var/tmp" : "/tmp"
        #expect(URL(filePath: path).deletingLastPathComponent().path() == expected + "/")
    }

    /// Without ``InheritedDescriptors``, libcurl 7.88.1 leaves two more descriptors to children.
    @Test func `a child process inherits no descriptor of a session`() async throws {
        let url = try TestServers.nginx.url("/bytes/0")
        #expect(try await Self.lines(["descriptors", url.absoluteString], [:]) == ["200 ", "0"])
    }

    // MARK: Proxies

    /// The environment and the arguments of the program; `PROXY` is replaced with a proxy that responds itself.
    struct Row: Sendable {
        var environment: [String: String]
        var arguments: [String] = []
        var isProxied: Bool
    }

    @Test(arguments: [
        Row(environment: ["http_proxy": "PROXY"], isProxied: true),
        Row(environment: ["all_proxy": "PROXY"], isProxied: true),
        Row(environment: ["ALL_PROXY": "PROXY"], isProxied: true),
        // A web server's CGI programs have a client's "Proxy" field there.
        Row(environment: ["HTTP_PROXY": "PROXY"], isProxied: false),
        Row(environment: ["https_proxy": "PROXY"], isProxied: false),
        Row(environment: ["http_proxy": "PROXY", "no_proxy": "localhost,127.0.0.1"], isProxied: false),
        Row(environment: ["http_proxy": "PROXY", "NO_PROXY": "*"], isProxied: false),
        Row(environment: ["http_proxy": "PROXY", "no_proxy": "example.com"], isProxied: true),
        // Each version of libcurl reads these differently.
        Row(environment: ["http_proxy": "PROXY", "no_proxy": "example.com 127.0.0.1"], isProxied: false),
        Row(environment: ["http_proxy": "PROXY", "no_proxy": "example.com,0.0.0.0/0"], isProxied: false),
        Row(environment: ["http_proxy": "PROXY", "no_proxy": "example.com, 127.*"], isProxied: false),
        Row(environment: ["http_proxy": "PROXY", "no_proxy": "127.0.0.0/33,::/0"], isProxied: true),
        Row(environment: ["no_proxy": "*"], arguments: ["proxy=PROXY"], isProxied: true),
        Row(environment: ["http_proxy": "http://127.0.0.1:1"], arguments: ["proxy=PROXY"], isProxied: true),
        Row(environment: [:], isProxied: false),
    ])
    func `the proxies and the exceptions of the environment are used`(_ row: Row) async throws {
        let proxy = try TestServers.socksEcho.proxyURL()
        let url = try TestServers.nginx.url("/bytes/0")
        let lines = try await Self.lines(
            row.arguments.map { $0.replacing("PROXY", with: proxy) } + [url.absoluteString],
            row.environment.mapValues { $0.replacing("PROXY", with: proxy) })
        #expect(lines == [row.isProxied ? "200 5 address 127.0.0.1 \(url.port ?? 0)" : "200 "])
    }

    /// No libcurl reads it as a network, so the request would go to the proxy.
    @Test func `an error names an exception that is not understood`() async throws {
        let lines = try await Self.lines(
            ["http://example.test/"], ["http_proxy": "http://127.0.0.1:1", "no_proxy": "a.test,127.0.0.0/33"])
        #expect(lines.count == 1, "\(lines)")
        #expect(lines.first?.contains("whose no_proxy has \"127.0.0.0/33\", neither a host nor a network") == true)
    }

    /// The hosts of the evaluators were determined when the session was created.
    @Test(arguments: ["http_proxy=http://127.0.0.1:1", "http_proxy=", "no_proxy=*", "NO_PROXY=127.0.0.2"])
    func `a change of the environment does not affect an existing session`(
        _ change: String
    ) async throws {
        let proxy = try TestServers.socksEcho.proxyURL()
        let url = try TestServers.nginx.url("/bytes/0")
        // The second connection is not the first one, used again.
        let other = url.absoluteString.replacing("127.0.0.1", with: "127.0.0.2")
        let lines = try await Self.lines([url.absoluteString, "set=\(change)", other], ["http_proxy": proxy])
        #expect(lines == ["127.0.0.1", "127.0.0.2"].map { "200 5 address \($0) \(url.port ?? 0)" })
    }

    @Test func `a new proxy in the environment does not affect an existing session`() async throws {
        let url = try TestServers.nginx.url("/bytes/0").absoluteString
        let other = url.replacing("127.0.0.1", with: "localhost")
        let change = "set=http_proxy=http://127.0.0.1:1"
        #expect(try await Self.lines([url, change, other], [:]) == ["200 ", "200 "])
        #expect(try await Self.lines([url, change, other], ["https_proxy": "http://127.0.0.1:1"]) == ["200 ", "200 "])
    }

    /// Libcurl makes an https request of one for a host that wants TLS, before it looks for a proxy.
    @Test
    func `a host that requires TLS is requested through the proxy for https`() async throws {
        let directory = try TestDirectory()
        try directory.write("localhost \"20990101 00:00:00\"\n", to: "hsts.txt")
        let secure = try TestServers.nginxTLS.url("/bytes/0").absoluteString
        let plain = try TestServers.nginx.url("/bytes/0").absoluteString
        let upgraded = secure.replacing("https://127.0.0.1", with: "http://localhost")
        let arguments = [
            "ca=\(try TestCertificates().authority)", "hsts=\(directory.path("hsts.txt"))", upgraded, plain, upgraded,
            plain,
        ]
        let (dead, alive) = ("http://127.0.0.1:1", try TestServers.proxy.proxyURL())
        let good = try await Self.lines(arguments, ["http_proxy": dead, "https_proxy": alive])
        #expect(good.map { $0.prefix(4) } == ["200 ", "erro", "200 ", "erro"], "\(good)")
        let bad = try await Self.lines(arguments, ["http_proxy": alive, "https_proxy": dead])
        #expect(bad.map { $0.prefix(4) } == ["erro", "200 ", "erro", "200 "], "\(bad)")
    }

    @Test(arguments: ["https_proxy", "HTTPS_PROXY", "all_proxy"])
    func `the environment's proxy for https opens a tunnel for an authenticated user`(_ name: String) async throws {
        let arguments = [
            "ca=\(try TestCertificates().authority)", try TestServers.nginxTLS.url("/bytes/0").absoluteString,
        ]
        let known = try TestServers.proxyWithPassword.proxyURL(userInfo: "user:secret")
        #expect(try await Self.lines(arguments, [name: known]) == ["200 "])
        let wrong = try TestServers.proxyWithPassword.proxyURL(userInfo: "user:hidden-word")
        // Tinyproxy answers with 401 rather than 407.
        let refused = try await Self.lines(arguments, [name: wrong])
        #expect(refused.count == 1 && refused.first?.hasPrefix("error") == true)
        #expect(refused.first?.contains("401, through the environment's proxy") == true, "\(refused)")
        #expect(refused.first?.contains("hidden") == false)
    }

    // MARK: Kerberos

    @Test func `Negotiate authenticates with the tickets of the process's user`() async throws {
        let url = try TestServers.apache.url("/negotiate/index.txt").absoluteString
        let lines = try await Self.lines(["negotiate", url, url, url], try Kerberos.environment())
        #expect(lines == ["200 negotiate", "200 negotiate", "200 negotiate"])
    }

    @Test func `without a ticket, the response is the 401`() async throws {
        let url = try TestServers.apache.url("/negotiate/index.txt").absoluteString
        for (word, environment) in [
            ("negotiate", try Kerberos.environmentWithoutTickets()),
            ("negotiate", try Kerberos.environmentWithoutCenter()), ("basic", try Kerberos.environment()),
            (nil, try Kerberos.environment()),
            ("negotiate", ["KRB5_CONFIG": "/dev/null", "KRB5CCNAME": "FILE:/none"]),
        ] {
            let lines = try await Self.lines([word, url].compactMap(\.self), environment)
            #expect(lines.count == 1 && lines.first?.hasPrefix("401 ") == true, "\(word ?? "nothing"): \(lines)")
        }
    }

    @Test(arguments: [true, false])
    func `a proxy's challenge is answered with tickets too`(hasTickets: Bool) async throws {
        let arguments = [
            "ca=\(try TestCertificates().authority)", "negotiate-proxy=\(try TestServers.negotiatingProxy.proxyURL())",
            try TestServers.nginx.url("/bytes/0").absoluteString,
            try TestServers.nginxTLS.url("/bytes/0").absoluteString,
        ]
        let environment = hasTickets ? try Kerberos.environment() : try Kerberos.environmentWithoutTickets()
        let lines = try await Self.lines(arguments, environment)
        guard !hasTickets else {
            #expect(lines == ["200 ", "200 "])
            return
        }
        #expect(lines.count == 2 && lines.first?.hasPrefix("407 ") == true, "\(lines)")
        #expect(lines.last?.hasPrefix("error ") == true && lines.last?.contains("407") == true, "\(lines)")
    }
}
