import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// Programs in processes that lack what most processes have.
///
/// ``ShortageTests`` has descriptors, threads and memory.
@Suite(.enabled(if: RunningProgram.hasMountNamespaces, "mount namespaces"), .timeLimit(.minutes(10)))
struct OddConditionsTests {
    /// Runs the program under the conditions that a shell sets; returns its lines.
    private static func lines(
        _ arguments: [String], _ conditions: String, environment: [String: String] = [:]
    ) async throws -> [String] {
        let program = try RunningProgram(
            "EnvironmentProgram", arguments, environment: environment, conditions: conditions)
        let outcome = await program.outcome()
        #expect(outcome.code == 0)
        return String(decoding: outcome.output, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    private static func server() async throws -> LocalServer { try await LocalServer { $0.get("/", .text("right")) } }

    @Test func `without name servers, only names in the hosts file are resolved`() async throws {
        let server = try await Self.server()
        let lines = try await Self.lines(
            ["http://localhost:\(server.port)/", "http://name.test/"], "mount --bind /dev/null /etc/resolv.conf")
        #expect(lines.count == 2 && lines.first == "200 right")
        #expect(lines.last?.contains("the host's name could not be resolved") == true, "\(lines)")
        await server.stop()
    }

    @Test func `without the system's authorities, the error names the file and an option`() async throws {
        let url = try TestServers.nginxTLS.url("/bytes/0").absoluteString
        let conditions = "mount -t tmpfs none /etc/ssl/certs"
        let lines = try await Self.lines([url], conditions)
        let file = try #require(Libcurl.authorityFile)
        #expect(lines.count == 1)
        #expect(lines.first?.contains("\(file.debugDescription) is not a file of certificates") == true, "\(lines)")
        #expect(lines.first?.contains("tls.caFile") == true, "\(lines)")
        let authority = try TestCertificates().authority
        #expect(try await Self.lines(["ca=\(authority)", url], conditions) == ["200 "])
    }

    /// Without ``UnusedAuthorities``, libcurl before 8.23 reads the file for each lookup over HTTPS.
    @Test(.disabled(if: (0x08_05_00..<0x08_09_00).contains(Libcurl.version), "libcurl 8.5.0 to 8.8.0 are refused"))
    func `lookups over HTTPS do not need the system's authorities`() async throws {
        let server = try await Self.server()
        let arguments = [
            "ca=\(try TestCertificates().authority)", "doh=\(try TestServers.doh.url("/dns-query"))",
            "http://a.doh.test:\(server.port)/",
        ]
        #expect(try await Self.lines(arguments, "mount -t tmpfs none /etc/ssl/certs") == ["200 right"])
        await server.stop()
    }

    /// The descriptors of the event loop get these numbers, so that what the program prints reaches no server.
    @Test func `closed standard descriptors are not used for sockets`() async throws {
        let server = try await Self.server()
        let url = "\(server.url("/"))"
        #expect(try await Self.lines([url, url], "exec <&- 2>&-") == ["200 right", "200 right"])
        #expect(try await Self.lines([url, url, url], "exec <&- >&- 2>&-").isEmpty)
        #expect(server.requestCount == 5 && server.connectionCount == 2)
        await server.stop()
    }

    @Test func `one processor is enough`() async throws {
        let server = try await Self.server()
        let url = "\(server.url("/"))"
        #expect(try await Self.lines([url, url], "taskset -p -c 0 $$ >&2") == ["200 right", "200 right"])
        await server.stop()
    }

    @Test func `a disk that is read-only is named in the error`() async throws {
        let server = try await Self.server()
        let lines = try await Self.lines(
            ["download", "\(server.url("/"))"], "mount -t tmpfs -o ro none /var/tmp",
            environment: ["TMPDIR": "/var/tmp"])
        #expect(lines.count == 1)
        #expect(lines.first?.contains("/var/tmp/") == true, "\(lines)")
        #expect(lines.first?.contains("Read-only file system") == true, "\(lines)")
        await server.stop()
    }

    /// The clock jumps while the server has the request.
    ///
    /// With libfaketime, a program of the address sanitizer does not start.
    @Test(.disabled(if: Sanitizer.current == .address), arguments: [2, -2])
    func `no limit depends on the system's clock`(days: Int) async throws {
        let directory = try TestDirectory()
        try directory.write("+0", to: "clock.txt")
        let server = try await LocalServer { router in
            router.get("/") { _ in
                try directory.write(days > 0 ? "+\(days)d" : "\(days)d", to: "clock.txt")
                try await Task.sleep(for: .milliseconds(300))
                return .text("right")
            }
        }
        let environment = [
            "FAKETIME_TIMESTAMP_FILE": directory.path("clock.txt"), "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        ]
        let preload = "export LD_PRELOAD=$(echo /usr/lib/*/faketime/libfaketimeMT.so.1)"
        let lines = try await Self.lines(["clock", "\(server.url("/"))"], preload, environment: environment)
        #expect(lines == ["200 right", "\(days * 24)"])
        await server.stop()
    }

    @Test func `requests continue while children are started`() async throws {
        let server = try await Self.server()
        let session = TestHarness.session()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 1...4 {
                group.addTask {
                    for _ in 1...25 {
                        let code = try await Subprocess.run("/bin/true", []).code
                        #expect(code == 0)
                    }
                }
                group.addTask {
                    for _ in 1...50 {
                        let value = try await session.request(server.url("/")).serializingString().value
                        #expect(value == "right")
                    }
                }
            }
            try await group.waitForAll()
        }
        try await TestHarness.end(session, server)
    }
}
