import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

@Suite(.timeLimit(.minutes(10))) struct ConnectionOptionTests {
    private static let hasIPv6 = FileManager.default.contents(atPath: "/proc/net/if_inet6").map {
        String(decoding: $0, as: UTF8.self).contains("00000000000000000000000000000001 ")
    }

    private static func text(_ session: Session, _ url: String) async throws -> String {
        try await session.request(url).validate().serializingString().value.trimmingSuffix("\n")
    }

    private static func port(of server: TestServers) throws -> Int { try #require(try server.url().port) }

    // MARK: Unix sockets

    @Test func `requests go through a unix socket, whatever their host`() async throws {
        let path = try TestServers.nginxSocket()
        let session = TestHarness.session {
            $0.unixSocketPath = path
            $0.proxy = .url("http://127.0.0.1:1")
        }
        for host in ["a.invalid", "127.0.0.1:1", "[::1]:2"] {
            #expect(try await Self.text(session, "http://\(host)/address") == "unix:\(path)")
            // An empty query is kept, and the target is that for a server.
            #expect(try await Self.text(session, "http://\(host)/target?") == "GET /target? HTTP/1.1")
        }
        await session.shutdown()
    }

    @Test(arguments: [
        ("/no/such/socket", "No such file or directory"), ("/dev/null", "Connection refused"),
    ])
    func `an error names the unix socket that cannot be reached`(_ path: String, _ reason: String) async throws {
        let session = TestHarness.session { $0.unixSocketPath = path }
        let error = await session.request("http://a.invalid/").serializingData().response.error
        #expect(error?.kind == .connection(.refused))
        #expect(error?.detail == "the Unix socket \(path): \(reason)")
        await session.shutdown()
    }

    @Test func `sessions on one loop do not use each other's connections`() async throws {
        let loop = EventLoop()
        let path = try TestServers.nginxSocket()
        let direct = TestHarness.session { $0.eventLoop = loop }
        let local = TestHarness.session {
            $0.eventLoop = loop
            $0.unixSocketPath = path
        }
        let url = try TestServers.nginx.url("/address").absoluteString
        for _ in 1...2 {
            #expect(try await Self.text(direct, url) == "127.0.0.1")
            #expect(try await Self.text(local, url) == "unix:\(path)")
        }
        await direct.shutdown()
        await local.shutdown()
    }

    // MARK: Names

    @Test func `an override replaces the name lookup and keeps the name`() async throws {
        let port = try Self.port(of: .tls1_3)
        let session = try TestHarness.trustingSession {
            $0.dns.overrides = ["named.test:\(port)": ["127.0.0.1"], "other.test:\(port)": ["127.0.0.1"]]
        }
        let answer = await session.request("https://named.test:\(port)/port").serializingString().response
        #expect(answer.value == "\(port)\n")
        #expect(answer.metrics?.remoteAddress?.host == "127.0.0.1")
        // Its certificate is checked by the name of the URL.
        try await TestHarness.expect(
            session.request("https://other.test:\(port)/port").serializingData(), in: session,
            failsWith: .trust(.hostMismatch))
        // Another port is looked up.
        try await TestHarness.expect(
            session.request("http://named.test:1/").serializingData(), in: session,
            failsWith: .connection(.nameNotResolved))
        await session.shutdown()
    }

    @Test func `an override can apply to every host`() async throws {
        let server = try await LocalServer { $0.fallback { .text($0.headers["Host"] ?? "") } }
        let session = TestHarness.session { $0.dns.overrides["*:\(server.port)"] = ["127.0.0.1"] }
        for host in ["a.invalid", "b.invalid", "a.invalid"] {
            #expect(try await Self.text(session, "http://\(host):\(server.port)/") == "\(host):\(server.port)")
        }
        try await TestHarness.end(session, server)
    }

    @Test func `an override connects to another host and port and keeps the name`() async throws {
        let (first, second) = (try Self.port(of: .tls1_2), try Self.port(of: .tls1_3))
        let session = try TestHarness.trustingSession {
            $0.dns.connectTo = ["named.test:443": "127.0.0.1:\(first)", ":\(first)": ":\(second)"]
        }
        #expect(try await Self.text(session, "https://named.test/port") == "\(first)")
        #expect(try await Self.text(session, "https://127.0.0.1:\(first)/port") == "\(second)")
        await session.shutdown()
    }

    @Test func `name servers are refused if libcurl does not support them`() async throws {
        let session = TestHarness.session { $0.dns.servers = ["127.0.0.1"] }
        let error = try #require(await session.request("http://a.invalid/").serializingData().response.error)
        #expect(error.description.contains("dns.servers") || error.kind == .connection(.nameNotResolved))
        await session.shutdown()
    }

    // MARK: Interfaces and versions of IP

    @Test(arguments: [("lo", "127.0.0.1"), ("127.0.0.3", "127.0.0.3")])
    func `connections use an interface or a local address`(_ interface: String, address: String) async throws {
        let session = TestHarness.session { $0.interface = interface }
        let answer = await session.request(try TestServers.nginx.url("/address")).serializingString().response
        #expect(answer.value == "127.0.0.1\n")
        #expect(answer.metrics?.localAddress?.host == address)
        await session.shutdown()
    }

    @Test(arguments: ["no-such-if0", "192.0.2.1", "if!lo", "host!127.0.0.1"])
    func `a missing interface is reported as missing`(_ interface: String) async throws {
        let session = TestHarness.session { $0.interface = interface }
        try await TestHarness.expect(
            session.request(try TestServers.nginx.url("/address")).serializingData(), in: session,
            failsWith: .connection(.interface), saying: "interface")
        await session.shutdown()
    }

    @Test(
        .enabled(if: hasIPv6 == true),
        arguments: [
            (Session.Configuration.AddressFamily.ipv4, ["127.0.0.1"]), (.ipv6, ["::1"]), (.any, ["127.0.0.1", "::1"]),
        ])
    func `connections use the allowed versions of IP`(
        _ family: Session.Configuration.AddressFamily, expected: [String]
    ) async throws {
        let port = try Self.port(of: .nginx)
        let session = TestHarness.session {
            $0.addressFamily = family
            $0.dns.overrides["both.invalid:\(port)"] = ["::1", "127.0.0.1"]
        }
        #expect(expected.contains(try await Self.text(session, "http://both.invalid:\(port)/address")))
        await session.shutdown()
    }

    @Test(arguments: [
        (Session.Configuration.AddressFamily.ipv6, "127.0.0.1"), (.ipv4, "::1"),
    ])
    func `a host without an address of the allowed version is not found`(
        _ family: Session.Configuration.AddressFamily, address: String
    ) async throws {
        let session = TestHarness.session {
            $0.addressFamily = family
            $0.dns.overrides["one.invalid:80"] = [address]
        }
        let error = try #require(await session.request("http://one.invalid/").serializingData().response.error)
        #expect(error.isConnectionFailure, "\(error)")
        await session.shutdown()
    }

    /// Libcurl 7.81.0 does not wait for the delay.
    @Test(.enabled(if: hasIPv6 == true && Libcurl.version >= 0x07_58_00))
    func `the other version of IP is tried after a delay`() async throws {
        let port = try Self.port(of: .nginx)
        let queue = try FullQueue(lastByte: 9, port: port)
        // The address of IPv6 that is 127.0.0.9: a newer libcurl begins with IPv6, an older one with the first address.
        let full = "::ffff:127.0.0.9"
        func session(_ timeout: Duration) -> Session {
            TestHarness.session {
                $0.happyEyeballsTimeout = timeout
                $0.timeouts.connect = .milliseconds(700)
                $0.dns.overrides["both.invalid:\(port)"] = [full, "127.0.0.1"]
            }
        }
        let soon = session(.milliseconds(1))
        #expect(try await Self.text(soon, "http://both.invalid:\(port)/address") == "127.0.0.1")
        await soon.shutdown()
        let late = session(.seconds(60))
        try await TestHarness.expect(
            late.request("http://both.invalid:\(port)/address").serializingData(), in: late,
            failsWith: .timedOut(.connect))
        await late.shutdown()
        withExtendedLifetime(queue) {}
    }

    // MARK: Connections that are kept

    /// The timer that the system runs for the connection between two ports, and its rest in hundredths of a second.
    private static func timer(of local: Int, to remote: Int) async throws -> (kind: String, rest: Int) {
        let table = try await Subprocess.run("/bin/cat", ["/proc/net/tcp"])
        for line in String(decoding: table.output, as: UTF8.self).split(separator: "\n").dropFirst() {
            let columns = line.split(separator: " ")
            // Only an established connection counts, because an older connection from the same port may be closing.
            // Connections to other servers may have the same local port.
            let ports = columns[1...2].map { $0.split(separator: ":").last.flatMap { Int($0, radix: 16) } }
            guard columns[3] == "01", ports == [local, remote] else { continue }
            let timer = columns[5].split(separator: ":")
            return (String(timer[0]), Int(timer[1], radix: 16) ?? 0)
        }
        throw TestFailure("no connection from port \(local)")
    }

    @Test func `TCP keep-alive is used only if it is enabled`() async throws {
        for isOn in [true, false] {
            let session = TestHarness.session {
                if isOn { $0.keepAlive = .init(idle: .seconds(3_000), interval: .seconds(7)) }
            }
            let answer = await session.request(try TestServers.nginx.url("/address")).serializingString().response
            let timer = try await Self.timer(
                of: try #require(answer.metrics?.localAddress?.port), to: try Self.port(of: .nginx))
            // The second kind of timer is that of keep-alive.
            #expect((timer.kind == "02") == isOn)
            if isOn { #expect((200_000...300_000).contains(timer.rest)) }
            await session.shutdown()
        }
    }

    @Test func `the limit for each host is respected`() async throws {
        let server = try await LocalServer { $0.fallback { .text("\($0.connection)") } }
        let session = TestHarness.session { $0.connectionLimits.perHost = 1 }
        let url = server.url
        let connections = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 1...8 { group.addTask { try await session.request(url).serializingString().value } }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(connections == ["1"])
        try await TestHarness.end(session, server)
    }

    @Test func `the total limit is respected and lets another host connect`() async throws {
        let first = try await LocalServer { $0.fallback { .text("\($0.connection)") } }
        let second = try await LocalServer { $0.fallback { .text("\($0.connection)") } }
        let session = TestHarness.session { $0.connectionLimits.total = 1 }
        for number in 1...2 {
            for server in [first, second] {
                #expect(try await session.request(server.url).serializingString().value == "\(number)")
            }
        }
        try await TestHarness.end(session, first)
        try await second.waitForOpenConnections(atMost: 0)
    }

    @Test(arguments: [1, 2]) func `the allowed number of connections is kept`(_ kept: Int) async throws {
        let first = try await LocalServer { $0.fallback { _ in .text("a") } }
        let second = try await LocalServer { $0.fallback { _ in .text("b") } }
        let session = TestHarness.session {
            $0.connectionLimits.idle = kept
            // The limit is divided among the loops.
            $0.eventLoops = 1
        }
        for server in [first, second] { _ = try await session.request(server.url).serializingString().value }
        let answer = await session.request(first.url).serializingString().response
        #expect(answer.metrics?.isReusedConnection == (kept == 2))
        try await TestHarness.end(session, first)
        try await second.waitForOpenConnections(atMost: 0)
    }
}

extension String {
    fileprivate func trimmingSuffix(_ suffix: String) -> String {
        hasSuffix(suffix) ? String(dropLast(suffix.count)) : self
    }
}
