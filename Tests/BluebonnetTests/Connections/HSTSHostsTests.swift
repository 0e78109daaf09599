import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// The hosts that require TLS, as a value (RFC 6797).
struct HSTSHostsTests {
    private let now = Date(timeIntervalSince1970: 1_800_000_000)

    @Test(arguments: [
        ("max-age=10", true, false), ("max-age=10; includeSubDomains", true, true),
        ("Max-Age = \"10\" ; INCLUDESUBDOMAINS; preload", true, true), (";;max-age=10;", true, false),
        ("max-age=99999999999999999999", true, false), ("max-age=0", false, false), ("max-age=-1", false, false),
        ("max-age=1x", false, false), ("max-age", false, false), ("max-age=\"10", false, false), ("", false, false),
        ("includeSubDomains", false, false), ("max-age=1; max-age=2", false, false),
        ("max-age=1; includeSubDomains; includeSubDomains", false, false), ("max-age=1; foo; FOO", false, false),
        ("max-age=1; includeSubDomains=true", false, false), ("max-age=1; includeSubDomains=\"\"", false, false),
        ("max-age=1; unknown=", false, false), ("max-age=1; non@token", false, false), ("max-age=1; =2", false, false),
        ("max-age=1; \"", false, false), ("max-age=1 includeSubDomains", false, false),
        ("max-age=10; x=\";includeSubDomains;\"", true, false), ("x=\"a;max-age=5\"; max-age=10", true, false),
        ("max-age=600, max-age=600", false, false),
    ])
    func `a field requires TLS for its host, and for subdomains if it includes them`(
        _ field: String, isStored: Bool, includesSubdomains: Bool
    ) {
        var hosts = HSTSHosts()
        hosts.received(field, from: "A.test", now: now)
        #expect(hosts.requireTLS(for: "a.TEST", now: now) == isStored)
        #expect(hosts.requireTLS(for: "a.test.", now: now) == isStored)
        #expect(hosts.requireTLS(for: "c.b.a.test", now: now) == includesSubdomains)
        #expect(!hosts.requireTLS(for: "test", now: now))
        #expect(!hosts.requireTLS(for: "ba.test", now: now))
    }

    @Test func `a requirement ends after its age, or when the host ends it`() {
        var hosts = HSTSHosts()
        hosts.received("max-age=10", from: "a.test", now: now)
        #expect(hosts.requireTLS(for: "a.test", now: now + 9))
        #expect(!hosts.requireTLS(for: "a.test", now: now + 10))
        hosts.received("max-age=0", from: "a.test", now: now)
        #expect(!hosts.requireTLS(for: "a.test", now: now))
    }

    @Test(arguments: ["127.0.0.1", "::1", "127.1", "0x7f.1", "1.2.3.4."])
    func `an address is never stored`(_ host: String) {
        var hosts = HSTSHosts()
        hosts.received("max-age=10", from: host, now: now)
        #expect(hosts == HSTSHosts())
    }

    @Test func `servers can add a thousand hosts, and the host that ends first is replaced`() {
        var hosts = HSTSHosts()
        for number in 0...HSTSHosts.limit {
            hosts.received("max-age=\(100 + number)", from: "h\(number).test", now: now)
        }
        #expect(!hosts.requireTLS(for: "h0.test", now: now))
        #expect(hosts.requireTLS(for: "h1.test", now: now))
        #expect(hosts.requireTLS(for: "h1000.test", now: now))
    }

    /// Two sessions may have read the same file.
    @Test func `the changes of a session are added to what others have written`() {
        var (mine, other) = (HSTSHosts(), HSTSHosts())
        for host in ["kept.test", "removed.test"] { other.received("max-age=100", from: host, now: now) }
        mine.received("max-age=100", from: "mine.test", now: now)
        mine.received("max-age=0", from: "removed.test", now: now)
        let merged = mine.merged(into: other)
        let hosts = ["kept.test", "mine.test", "removed.test"].filter { merged.requireTLS(for: $0, now: now) }
        #expect(hosts == ["kept.test", "mine.test"])
    }

    @Test(arguments: [
        ("http://a.test/p?q=%20", "https://a.test/p?q=%20"), ("http://a.test:80/p", "https://a.test/p"),
        ("http://a.test:8080/", "https://a.test:8080/"), ("HTTP://u:80@a.test:80/:80", "https://u:80@a.test/:80"),
        ("http://b.test/", "http://b.test/"), ("https://a.test:80/", "https://a.test:80/"),
    ])
    func `a URL is sent with TLS, on port 443 instead of 80`(_ text: String, sent: String) throws {
        let storage = try #require(SessionHSTS(.memory))
        storage.received("max-age=100", from: try #require(URL(string: "https://a.test/")))
        #expect(storage.secured(try #require(URL(string: text))).absoluteString == sent)
    }

    @Test func `a file that is too large to be read is not replaced`() throws {
        let directory = try TestDirectory()
        try directory.write(String(repeating: "#\n", count: 9 << 20), to: "hsts.txt")
        let storage = try #require(SessionHSTS(.file(directory.path("hsts.txt"))))
        storage.received("max-age=100", from: try #require(URL(string: "https://a.test/")))
        storage.close()
        #expect(directory.text("hsts.txt")?.utf8.count == 18 << 20)
    }

    @Test func `a file is read and written in the format of curl`() {
        let text = """
            # Your HSTS cache. https://curl.se/docs/hsts.html
            .a.test "unlimited"
            b.test "20991231 23:59:59"
            past.test "20200101 00:00:00"
            broken.test "soon"
            broken

            """
        var hosts = HSTSHosts()
        hosts.read(text, now: now)
        #expect(hosts.requireTLS(for: "x.a.test", now: now) && hosts.requireTLS(for: "b.test", now: now))
        #expect(!hosts.requireTLS(for: "x.b.test", now: now) && !hosts.requireTLS(for: "broken.test", now: now))
        let written = hosts.fileText(now: now)
        #expect(written.hasSuffix("\n.a.test \"unlimited\"\nb.test \"20991231 23:59:59\"\n"))
        var again = HSTSHosts()
        again.read(written, now: now)
        #expect(again == hosts)
    }
}
