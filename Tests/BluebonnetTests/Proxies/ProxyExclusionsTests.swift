import FoundationEssentials
import Testing

@testable import Bluebonnet

/// What curl, Go or httpx read in each form of an entry.
@Suite struct ProxyExclusionsTests {
    struct Row: Sendable {
        var entry: String
        /// The URLs that are reached without the proxy, and those that are not.
        var direct: [String]
        var proxied: [String]
    }

    @Test(arguments: [
        Row(entry: "*", direct: ["http://a.test", "https://[::1]"], proxied: []),
        Row(
            entry: "a.test", direct: ["http://a.test", "http://A.Test.", "https://b.a.test:1"],
            proxied: ["http://ba.test", "http://test", "http://a.test.b"]),
        Row(entry: ".a.test", direct: ["http://a.test", "http://b.a.test"], proxied: ["http://ba.test"]),
        Row(entry: "*.test", direct: ["http://a.test", "http://b.a.test."], proxied: ["http://test", "http://atest"]),
        Row(entry: "A.TEST.", direct: ["http://a.test"], proxied: ["http://b.test"]),
        Row(entry: "a_b", direct: ["http://a_b", "http://c.a_b"], proxied: ["http://ab"]),
        Row(entry: "127.0.0.1", direct: ["http://127.0.0.1", "http://127.1"], proxied: ["http://127.0.0.2"]),
        Row(entry: "127.1", direct: ["http://127.0.0.1"], proxied: ["http://127.1.0.0", "http://a.127.1.test"]),
        Row(
            entry: "::1", direct: ["http://[::1]", "http://[0:0::1]:80"], proxied: ["http://[::2]", "http://0.0.0.1"]),
        Row(entry: "[::1]", direct: ["http://[::1]:8080"], proxied: ["http://[::2]"]),
        Row(entry: "0:0:0:0:0:0:0:1", direct: ["http://[::1]"], proxied: ["http://[::2]"]),
        Row(entry: "10.0.0.1", direct: ["http://[::ffff:10.0.0.1]"], proxied: ["http://[::10.0.0.1]"]),
        Row(entry: "::1/128", direct: ["http://[::1]"], proxied: ["http://[::]", "http://a.test"]),
        Row(entry: "[fd00::]/8", direct: ["http://[fdff::1]"], proxied: ["http://[fe00::1]"]),
        Row(entry: "::/0", direct: ["http://[2001:db8::1]"], proxied: ["http://1.2.3.4", "http://a.test"]),
        Row(entry: "0.0.0.0/0", direct: ["http://1.2.3.4"], proxied: ["http://[2001:db8::1]", "http://a.test"]),
        Row(
            entry: "10.128.0.0/9", direct: ["http://10.128.0.0", "http://10.255.255.255"],
            proxied: ["http://10.127.255.255", "http://11.128.0.0"]),
        Row(entry: "10.0.0.1/32", direct: ["http://10.0.0.1"], proxied: ["http://10.0.0.0", "http://10.0.0.3"]),
        Row(
            entry: "::ffff:10.0.0.0/104", direct: ["http://[::ffff:10.1.2.3]", "http://10.1.2.3"],
            proxied: ["http://11.0.0.1", "http://[::10.1.2.3]"]),
        Row(entry: "::ffff:127.0.0.1", direct: ["http://127.0.0.1"], proxied: ["http://127.0.0.2"]),
        Row(entry: "::ffff:0:0/24", direct: ["http://[::1]"], proxied: ["http://0.0.0.1", "http://[1::1]"]),
        Row(entry: "169.254/16", direct: ["http://169.254.1.2"], proxied: ["http://169.255.1.2"]),
        Row(entry: "192.168.*", direct: ["http://192.168.1.2"], proxied: ["http://192.169.1.2"]),
        Row(entry: "10.*.*.*", direct: ["http://10.1.2.3"], proxied: ["http://11.1.2.3"]),
        Row(
            entry: "a.test:8080", direct: ["http://a.test:8080", "https://b.a.test:8080"],
            proxied: ["http://a.test", "http://a.test:80"]),
        Row(entry: "a.test:443", direct: ["https://a.test"], proxied: ["http://a.test"]),
        Row(entry: "[::1]:80", direct: ["http://[::1]"], proxied: ["http://[::1]:81", "https://[::1]"]),
        Row(entry: "10.0.0.0/8:80", direct: ["http://10.1.2.3"], proxied: ["http://10.1.2.3:81"]),
        Row(entry: "http://a.test", direct: ["http://a.test:1"], proxied: ["https://a.test"]),
        Row(entry: "HTTPS://a.test:443/", direct: ["https://a.test"], proxied: ["https://a.test:1", "http://a.test"]),
        Row(entry: "ws://a.test", direct: ["http://a.test"], proxied: ["https://a.test"]),
        Row(entry: "bücher.test", direct: ["http://xn--bcher-kva.test"], proxied: ["http://bucher.test"]),
        Row(entry: "xn--bcher-kva.test", direct: ["http://a.b%C3%BCcher.test"], proxied: ["http://bucher.test"]),
    ])
    func `an entry excludes its hosts, and no others`(_ row: Row) throws {
        for exclusions in [ProxyExclusions([row.entry]), ProxyExclusions(list: "b.example, \(row.entry)")] {
            #expect(exclusions.misunderstood.isEmpty)
            for url in row.direct { #expect(exclusions.contains(try #require(URL(string: url))), "\(url)") }
            for url in row.proxied { #expect(!exclusions.contains(try #require(URL(string: url))), "\(url)") }
        }
    }

    @Test(arguments: [
        "a b", "a,b", "", ".", "*.", "*.*", "*a.test", "a*", "a..b", "10.0.0.0/33", "::1/129", "10.0.0.0/", "10/-1",
        "-0/0", "+10/8", "010.0/8", "256/8", "fe80::1%lo", "[fe80::1%25lo]",
        "10.0.0.0/+8", "a:+80",
        "10.0.0.0/8/8", "a.test/24", "1.2.3.4.5/8", "[::1", "::1]", "[::1]]", "a:0", "a:65536", "a:", "a:b", "ftp://a",
        "http://", "http://a/b", "a#b", "<local>/", "*.10.0.0.1", ".10.0.0.1", "10.*.1", "a.*", "10.0.0.0.*",
    ])
    func `an entry that is not understood is named and excludes nothing`(_ entry: String) throws {
        let exclusions = ProxyExclusions([entry])
        #expect(exclusions.misunderstood == [entry])
        for url in ["http://a", "http://a.test", "http://10.0.0.1", "http://[::1]"] {
            #expect(!exclusions.contains(try #require(URL(string: url))), "\(url)")
        }
    }

    @Test(arguments: [
        ("a.test,b.test", 0), (" a.test  b.test ", 0), ("a.test,,\tb.test,", 0), ("x/y a.test\nz/ b.test", 2),
    ])
    func `a list is separated by commas and white space`(_ list: String, _ misunderstood: Int) throws {
        let exclusions = ProxyExclusions(list: list)
        #expect(exclusions.misunderstood.count == misunderstood)
        for (host, isExcluded) in [("a.test", true), ("b.test", true), ("c.test", false)] {
            #expect(exclusions.contains(try #require(URL(string: "http://\(host)/"))) == isExcluded, "\(host)")
        }
    }

    @Test func `no secrets of an entry are shown`() {
        let exclusions = ProxyExclusions(["http://me:hidden@a.test", "a.test?token=hidden"])
        #expect(exclusions.misunderstood.count == 2 && !"\(exclusions.misunderstood)".contains("hidden"))
    }
}
