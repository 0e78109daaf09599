import CCurl
import FoundationEssentials
import Testing

@testable import Bluebonnet

/// Issues of a configuration are detected and named before anything is sent.
@Suite struct ConfigurationIssueTests {
    typealias Configuration = Session.Configuration

    struct Row: Sendable, CustomTestStringConvertible {
        let option: String
        let value: String
        let change: @Sendable (inout Configuration) -> Void

        init(_ option: String, _ value: String, _ change: @escaping @Sendable (inout Configuration) -> Void) {
            (self.option, self.value, self.change) = (option, value, change)
        }

        var testDescription: String { "\(option) \(value)" }
    }

    static let flaws: [Row] = [
        Row("connectionLimits.perHost", "0") { $0.connectionLimits.perHost = 0 },
        Row("connectionLimits.perHost", "-1") { $0.connectionLimits.perHost = -1 },
        Row("connectionLimits.perHost", "more than fits") { $0.connectionLimits.perHost = Int.max },
        Row("connectionLimits.total", "0") { $0.connectionLimits.total = 0 },
        Row("connectionLimits.idle", "0") { $0.connectionLimits.idle = 0 },
        Row("connectionLimits.idleLifetime", "0 s") { $0.connectionLimits.idleLifetime = .zero },
        Row("connectionLimits.idleLifetime", "-1 s") { $0.connectionLimits.idleLifetime = .seconds(-1) },
        Row("connectionLimits.lifetime", "999 ms") { $0.connectionLimits.lifetime = .milliseconds(999) },
        Row("unixSocketPath", "empty") { $0.unixSocketPath = "" },
        Row("unixSocketPath", "108 bytes") { $0.unixSocketPath = "/" + String(repeating: "a", count: 107) },
        Row("unixSocketPath", "NUL") { $0.unixSocketPath = "/a\0b" },
        Row("interface", "empty") { $0.interface = "" },
        Row("interface", "line break") { $0.interface = "lo\n" },
        Row("interface", "201 bytes") { $0.interface = String(repeating: "a", count: 201) },
        Row("happyEyeballsTimeout", "0 ms") { $0.happyEyeballsTimeout = .zero },
        Row("happyEyeballsTimeout", "-1 ms") { $0.happyEyeballsTimeout = .milliseconds(-1) },
        Row("keepAlive.idle", "0 s") { $0.keepAlive = .init(idle: .zero) },
        Row("keepAlive.idle", "32,768 s") { $0.keepAlive = .init(idle: .seconds(32_768)) },
        Row("keepAlive.interval", "500 ms") { $0.keepAlive = .init(interval: .milliseconds(500)) },
        Row("dns.overrides", "no port") { $0.dns.overrides["a.test"] = ["127.0.0.1"] },
        Row("dns.overrides", "no host") { $0.dns.overrides[":80"] = ["127.0.0.1"] },
        Row("dns.overrides", "port 0") { $0.dns.overrides["a.test:0"] = ["127.0.0.1"] },
        Row("dns.overrides", "port 65,536") { $0.dns.overrides["a.test:65536"] = ["127.0.0.1"] },
        Row("dns.overrides", "port with a sign") { $0.dns.overrides["a.test:+80"] = ["127.0.0.1"] },
        Row("dns.overrides", "an address for an address") { $0.dns.overrides["[::1]:80"] = ["127.0.0.1"] },
        Row("dns.overrides", "a name as address") { $0.dns.overrides["a.test:80"] = ["localhost"] },
        Row("dns.overrides", "an address in brackets") { $0.dns.overrides["a.test:80"] = ["[::1]"] },
        Row("dns.overrides", "two addresses in one") { $0.dns.overrides["a.test:80"] = ["127.0.0.1,127.0.0.2"] },
        Row("dns.httpsServer", "no TLS") { $0.dns.httpsServer = URL(string: "http://127.0.0.1/dns-query") },
        Row("dns.httpsServer", "no host") { $0.dns.httpsServer = URL(string: "https:///dns-query") },
        Row("dns.httpsServer", "a template") { $0.dns.httpsServer = URL(string: "https://a.test/dns{?dns}") },
        Row("dns.httpsServer", "a path") { $0.dns.httpsServer = URL(string: "dns-query") },
        Row("dns.overrides", "no address") { $0.dns.overrides["a.test:80"] = [] },
        Row("dns.overrides", "an empty address") { $0.dns.overrides["a.test:80"] = [""] },
        Row("dns.overrides", "a NUL") { $0.dns.overrides["a.test:80"] = ["127.0.0.1\0"] },
        Row("dns.connectTo", "no port on the left") { $0.dns.connectTo["a.test"] = "b.test:80" },
        Row("dns.connectTo", "no port on the right") { $0.dns.connectTo["a.test:80"] = "b.test" },
        Row("dns.connectTo", "an address without brackets") { $0.dns.connectTo["a.test:80"] = "::1:80" },
        Row("dns.connectTo", "a line break") { $0.dns.connectTo["a.test:80"] = "b.test:80\r\n" },
        Row("dns.servers", "whatever") { $0.dns.servers = ["127.0.0.1"] },
        Row("hsts", "empty") { $0.hsts = .file("") },
        Row("hsts", "no folder") { $0.hsts = .file("/no/such/folder/hsts.txt") },
        Row("hsts", "a folder") { $0.hsts = .file("/") },
        Row("hsts", "a device") { $0.hsts = .file("/dev/null") },
        Row("altSvc", "empty") { $0.altSvc = .file("") },
        Row("altSvc", "no file") { $0.altSvc = .file("/no/such/file") },
        Row("altSvc", "a folder") { $0.altSvc = .file("/") },
        Row("tls.maximumVersion", "below the minimum") {
            $0.tls.minimumVersion = .v1_3
            $0.tls.maximumVersion = .v1_2
        },
        Row("tls.ciphers", "no cipher") { $0.tls.ciphers = ["NONSENSE"] },
        Row("tls.ciphers", "one of two") { $0.tls.ciphers = ["ECDHE-ECDSA-AES256-GCM-SHA384", "NONSENSE"] },
        Row("tls.ciphers", "without something unknown") { $0.tls.ciphers = ["HIGH", "!NONSENSE"] },
        Row("tls.ciphers", "two in one") { $0.tls.ciphers = ["HIGH:NONSENSE"] },
        Row("tls.ciphers", "empty") { $0.tls.ciphers = [""] },
        Row("tls.cipherSuites", "no suite") { $0.tls.cipherSuites = ["NONSENSE"] },
        Row("tls.cipherSuites", "a cipher of TLS 1.2") { $0.tls.cipherSuites = ["ECDHE-ECDSA-AES256-GCM-SHA384"] },
        Row("tls.cipherSuites", "one of two") { $0.tls.cipherSuites = ["TLS_AES_256_GCM_SHA384", "TLS_NONSENSE"] },
        Row("tls.clientIdentity", "no file") { $0.tls.clientIdentity = .pem(file: "") },
        Row("tls.clientIdentity", "no bytes") { $0.tls.clientIdentity = .pkcs12(data: Data()) },
        Row("tls.clientIdentities", "no host") { $0.tls.clientIdentities[""] = .pem(file: "/a") },
        Row("tls.clientIdentities", "a URL") { $0.tls.clientIdentities["https://a.test"] = .pem(file: "/a") },
        Row("tls.clientIdentities", "a port") { $0.tls.clientIdentities["a.test:443"] = .pem(file: "/a") },
        Row("tls.clientIdentities", "a path") { $0.tls.clientIdentities["a.test/b"] = .pem(file: "/a") },
        Row("tls.clientIdentities", "a star") { $0.tls.clientIdentities["*"] = .pem(file: "/a") },
        Row("tls.clientIdentities", "a star alone") { $0.tls.clientIdentities["*."] = .pem(file: "/a") },
        Row("tls.clientIdentities", "a star within") { $0.tls.clientIdentities["a.*.test"] = .pem(file: "/a") },
        Row("tls.clientIdentities", "two stars") { $0.tls.clientIdentities["*.*.test"] = .pem(file: "/a") },
        Row("tls.clientIdentities", "addresses") { $0.tls.clientIdentities["*.0.0.1"] = .pem(file: "/a") },
        Row("tls.clientIdentities", "white space") { $0.tls.clientIdentities["a test"] = .pem(file: "/a") },
        Row("tls.clientIdentities", "a host twice") {
            $0.tls.clientIdentities = ["a.test": .pem(file: "/a"), "A.TEST.": .pem(file: "/b")]
        },
        Row(#"tls.clientIdentities["a.test"]"#, "no file") { $0.tls.clientIdentities["a.test"] = .pem(file: "") },
        Row("tls.proxyClientIdentity", "no bytes") { $0.tls.proxyClientIdentity = .pem(data: Data()) },
        Row("tls.clientIdentity", "a NUL") { $0.tls.clientIdentity = .pem(file: "/a", passphrase: "a\0b") },
    ]

    @Test(arguments: flaws) func `an invalid value is found`(_ row: Row) {
        var configuration = Configuration()
        row.change(&configuration)
        let issue = ConfigurationIssue(in: configuration)
        // A libcurl with c-ares would use these servers.
        if row.option == "dns.servers", Libcurl.asksServers { return #expect(issue == nil) }
        #expect(issue?.option == row.option)
        #expect(issue?.message.isEmpty == false)
    }

    @Test(arguments: [
        Row("default", "") { _ in },
        Row("connectionLimits", "1 each") {
            ($0.connectionLimits.perHost, $0.connectionLimits.total, $0.connectionLimits.idle) = (1, 1, 1)
            ($0.connectionLimits.idleLifetime, $0.connectionLimits.lifetime) = (.seconds(1), .seconds(1))
        },
        Row("unixSocketPath", "107 bytes") { $0.unixSocketPath = "/" + String(repeating: "a", count: 106) },
        Row("interface", "a name") { $0.interface = "eth0" },
        Row("interface", "an address") { $0.interface = "fe80::1" },
        Row("keepAlive", "the limits") { $0.keepAlive = .init(idle: .seconds(1), interval: .seconds(32_767)) },
        Row("dns.overrides", "of both kinds") {
            $0.dns.overrides = ["a.test:443": ["127.0.0.1", "::1"], "*:80": ["::1"]]
        },
        Row("dns.connectTo", "all that may be left out") {
            $0.dns.connectTo = [":": "b.test:", "a.test:": ":80", ":443": "[::1]:8443", "a.test:1": "127.0.0.1:2"]
        },
        Row("hsts", "a file that is yet to be") {
            $0.hsts = .file("/tmp/bluebonnet-no-such-file")
        },
        Row("tls", "one version") { ($0.tls.minimumVersion, $0.tls.maximumVersion) = (.v1_3, .v1_3) },
        Row("tls.ciphers", "words") { $0.tls.ciphers = ["ECDHE+AESGCM", "HIGH", "!aNULL", "-SHA1", "@STRENGTH"] },
        Row("tls.cipherSuites", "two") {
            $0.tls.cipherSuites = ["TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_256_GCM_SHA384"]
        },
        Row("tls.clientIdentities", "hosts of all kinds") {
            for host in [
                "a.test", "*.a.test", "bücher.example", "127.0.0.1", "[::1]", "fe80::1", "localhost", "B.test.",
            ] {
                $0.tls.clientIdentities[host] = .pem(file: "/client.pem")
            }
        },
        Row("tls.clientIdentity", "a path") { $0.tls.clientIdentity = .pem(file: "/client.pem", passphrase: "") },
    ])
    func `a valid value is accepted`(_ row: Row) {
        var configuration = Configuration()
        row.change(&configuration)
        #expect(ConfigurationIssue(in: configuration) == nil)
    }

    @Test(.timeLimit(.minutes(10))) func `every request fails with the issue and the session continues`() async throws {
        let session = TestHarness.session { $0.keepAlive = .init(idle: .seconds(40_000)) }
        for _ in 1...2 {
            try await TestHarness.expect(
                session.request("http://127.0.0.1:1/a").serializingData(), in: session,
                failsWith: .invalidRequest(
                    .configuration("keepAlive.idle: 40000.0 seconds is not between 1 and 32,767 seconds")),
                saying: "the configuration cannot be used: keepAlive.idle")
        }
        await session.shutdown()
    }

    @Test func `more specific overrides take precedence over less specific overrides`() {
        var dns = Configuration.DNS()
        dns.connectTo = [":": "d:1", ":80": "c:1", "a.test:": "b:1", "a.test:80": "a:1"]
        var lines: [String] = []
        let list = dns.connectToLines
        var next = unsafe list?.pointer
        while let node = unsafe next {
            if let text = unsafe node.pointee.data { lines.append(unsafe String(cString: text)) }
            unsafe next = node.pointee.next
        }
        #expect(lines == ["a.test:80:a:1", "a.test::b:1", ":80:c:1", "::d:1"])
    }
}
