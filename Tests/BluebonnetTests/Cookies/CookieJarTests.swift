import FoundationEssentials
import Testing

@testable import Bluebonnet

/// The stored cookies as a value: what is sent, and which cookie replaces which.
struct CookieJarTests {
    private var jar = CookieJar()
    private let now = Date()

    private mutating func receive(_ fields: String..., from url: String) throws {
        for field in fields { jar.received(Array(field.utf8), from: try #require(URL(string: url)), now: now) }
    }

    private mutating func sent(to url: String, after seconds: Double = 0) throws -> String {
        let date = now + seconds
        return String(decoding: jar.field(for: try #require(URL(string: url)), now: date), as: UTF8.self)
    }

    @Test mutating func `the longest path is sent first, and then the oldest cookie`() throws {
        try receive("c=1", "b=2; Path=/p", "a=3", "d=4; Path=/p", from: "http://a.test/")
        try receive("e=5; Domain=a.test", from: "http://b.a.test/")
        #expect(try sent(to: "http://a.test/p") == "b=2; d=4; c=1; a=3; e=5")
        // A replaced cookie passes on its age.
        try receive("c=6", from: "http://a.test/")
        #expect(try sent(to: "http://a.test/") == "c=6; a=3; e=5")
        #expect(jar.cookies(at: now).map(\.name) == ["c", "b", "a", "d", "e"])
    }

    @Test mutating func `a cookie replaces another one with the same name, domain and path only`() throws {
        try receive("a=1", "A=2", "a=3; Domain=a.test", "a=4; Path=/p", from: "http://a.test/")
        #expect(try sent(to: "http://a.test/p") == "a=4; a=1; A=2; a=3")
        try receive("a=; Max-Age=0", from: "http://a.test/")
        #expect(try sent(to: "http://a.test/p") == "a=4; A=2; a=3")
    }

    /// RFC 6265 §5.2 accepts more than servers may send, and more than the session accepts from the program.
    @Test mutating func `a received name may contain spaces`() throws {
        try receive(" a b = 1 ", from: "http://a.test/")
        #expect(try sent(to: "http://a.test/") == "a b=1")
    }

    @Test mutating func `an expired cookie is not sent`() throws {
        let cookie = Cookie(name: "a", value: "1", domain: "a.test", expires: now + 10)
        jar.change(.set([cookie]), now: now)
        #expect(try sent(to: "http://a.test/", after: 9) == "a=1")
        #expect(try sent(to: "http://a.test/", after: 10).isEmpty)
        #expect(jar.cookies(at: now + 10).isEmpty)
    }

    @Test(arguments: [
        ("a=1; Secure", "a=2", "a=1"), ("a=1; Secure; Domain=a.test", "a=2", "a=1"),
        ("a=1; Secure", "a=2; Domain=a.test", "a=1"), ("a=1; Secure", "a=2; Path=/p", "a=1"),
        ("a=1; Secure; Path=/p", "a=2", "a=1; a=2"),
        ("a=1; Secure; Path=/p", "a=2; Path=/p/q", "a=1"), ("a=1; Secure", "b=2", "a=1; b=2"), ("a=1", "a=2", "a=2"),
    ])
    mutating func `a server without TLS cannot replace or hide a secure cookie`(
        _ secure: String, _ insecure: String, sent: String
    ) throws {
        try receive(secure, from: "https://a.test/")
        try receive(insecure, from: "http://a.test/")
        #expect(try self.sent(to: "https://a.test/p") == sent)
    }

    @Test mutating func `a request has at most 150 cookies and 8190 bytes of them`() throws {
        for number in 0..<160 { try receive("n\(number)=1", from: "http://a.test/") }
        #expect(try sent(to: "http://a.test/").split(separator: ";").count == 150)
        for name in ["x", "y", "z"] {
            try receive("\(name)=" + String(repeating: "v", count: 4000), "\(name)2=1", from: "http://b.test/")
        }
        let names = try sent(to: "http://b.test/").split(separator: "; ").map { $0.prefix { $0 != "=" } }
        #expect(names == ["x", "x2", "y", "y2", "z2"])
    }

    @Test mutating func `changes concern the named cookies only`() throws {
        try receive("a=1; Max-Age=100", "b=2", from: "http://a.test/")
        try receive("c=3", from: "http://b.a.test/")
        try receive("d=4", from: "http://ba.test/")
        jar.change(.deleteDomain("a.test"), now: now)
        #expect(jar.cookies(at: now).map(\.name) == ["d"])
        try receive("e=5; Max-Age=100", from: "http://a.test/")
        jar.change(.deleteSessionCookies, now: now)
        #expect(jar.cookies(at: now).map(\.name) == ["e"])
        jar.change(.delete([Cookie(name: "e", value: "other", domain: "a.test")]), now: now)
        #expect(jar.cookies(at: now).isEmpty)
    }

    /// The value is what was received, byte for byte.
    @Test mutating func `bytes that are not UTF-8 are sent as received`() throws {
        let url = try #require(URL(string: "http://a.test/"))
        jar.received([0x20, 0x61, 0x20, 0x3d, 0x09, 0xff, 0x20, 0x3b, 0x78], from: url, now: now)
        #expect(jar.field(for: url, now: now) == [0x61, 0x3d, 0xff])
        // Different names are different cookies.
        for byte: UInt8 in [0xe8, 0xe9, 0xe9] { jar.received([byte, 0x3d, byte], from: url, now: now) }
        #expect(jar.field(for: url, now: now).split(separator: 0x3b).count == 3)
    }
}
