import Glibc
import Testing

@testable import Bluebonnet

/// The hosts of a certificate, and the comparison of hosts.
@Suite struct HostMatchTests {
    private static func match(_ names: [String], _ addresses: [[UInt8]] = [], commonName: String? = nil) -> HostMatch {
        let commonName = commonName.map { Array($0.utf8) }
        return HostMatch(names: names.map { Array($0.utf8) }, addresses: addresses, commonName: commonName)
    }

    @Test(arguments: [
        ("example.test", "example.test", true), ("example.test", "EXAMPLE.Test", true),
        ("example.test", "example.test.", true), ("example.test.", "example.test", true),
        ("example.test", "a.example.test", false), ("example.test", "xexample.test", false),
        ("example.test", "", false),
        ("", "", false), ("", "example.test", false), (".", ".", false),
        ("*.example.test", "a.example.test", true), ("*.example.test", "A.EXAMPLE.TEST", true),
        ("*.example.test", "a.b.example.test", false), ("*.example.test", "example.test", false),
        ("*.example.test", ".example.test", false), ("*.example.test", "xn--bcher-kva.example.test", true),
        ("*.example.test.", "a.example.test.", true),
        ("*", "test", false), ("*", "*", true), ("*.test", "a.test", false), ("*.test.", "a.test", false),
        ("*.*.test", "a.b.test", false), ("a.*.test", "a.b.test", false), ("a*.example.test", "ab.example.test", false),
        ("*a.example.test", "ba.example.test", false), ("*.0.0.1", "127.0.0.1", false),
        ("127.0.0.1", "127.0.0.1", false),
        ("::1", "[::1]", false), ("example.test\0.evil.test", "example.test", false),
        ("example.test\0.evil.test", "example.test\0.evil.test", false), ("bücher.test", "BÜCHER.TEST", false),
    ])
    func `a DNS name matches certain hosts`(_ pattern: String, _ host: String, _ isFor: Bool) {
        #expect(Self.match([pattern]).isFor(host) == isFor)
        // Among others, too.
        #expect(Self.match(["other.test", pattern], [[10, 0, 0, 1]], commonName: "other").isFor(host) == isFor)
    }

    private static let addresses: [([UInt8], String, Bool)] = [
        ([127, 0, 0, 1], "127.0.0.1", true), ([127, 0, 0, 1], "127.0.0.2", false),
        ([127, 0, 0, 1], "::ffff:127.0.0.1", false), ([127, 0, 0, 1], "127.1", false),
        (loopback, "[::1]", true), (loopback, "::1", true), (loopback, "0:0:0:0:0:0:0:1", true),
        (loopback, "::2", false), (Array("loca".utf8), "loca", false), ([], "127.0.0.1", false),
    ]
    private static let loopback = [UInt8](repeating: 0, count: 15) + [1]

    @Test(arguments: addresses)
    func `an address matches the same address`(_ address: [UInt8], _ host: String, _ isFor: Bool) {
        #expect(Self.match([], [address]).isFor(host) == isFor)
    }

    @Test func `the common name is used only without other names`() {
        #expect(Self.match([], commonName: "a.test").isFor("a.test"))
        #expect(Self.match([], commonName: "*.b.test").isFor("a.b.test"))
        #expect(Self.match([], commonName: "127.0.0.1").isFor("127.0.0.1"))
        #expect(!Self.match([], commonName: "*.0.0.1").isFor("127.0.0.1"))
        #expect(!Self.match([]).isFor("a.test"))
        #expect(!Self.match(["b.test"], commonName: "a.test").isFor("a.test"))
        #expect(!Self.match([], [[127, 0, 0, 1]], commonName: "a.test").isFor("a.test"))
        #expect(!Self.match([], [[127, 0, 0, 1]], commonName: "127.0.0.2").isFor("127.0.0.2"))
    }

    @Test(arguments: [
        ("Example.TEST", "example.test"), ("example.test.", "example.test"), ("*.Example.test", "*.example.test"),
        ("bücher.example", "xn--bcher-kva.example"), ("B%C3%BCcher.example", "xn--bcher-kva.example"),
        ("127.0.0.1", "127.0.0.1"), ("127.1", "127.0.0.1"), ("0x7F.1", "127.0.0.1"), ("2130706433", "127.0.0.1"),
        ("0177.0.0.1", "127.0.0.1"), ("[::1]", "::1"), ("::1", "::1"), ("[0:0:0:0:0:0:0:1]", "::1"),
        ("0::1", "::1"), ("1.2.3.4.5", "1.2.3.4.5"), ("a.1", "a.1"), ("cafe.be", "cafe.be"), ("fade", "fade"), ("", ""),
        ("127.1.", "127.0.0.1"), ("[127.0.0.1]", "127.0.0.1"), ("１２７.1", "127.0.0.1"), ("127.0.0.1.1", "127.0.0.1.1"),
        ("256.1", "256.1"), ("08.1", "08.1"), ("0x", "0x"), ("*.127.1", "*.127.0.0.1"), ("127.0.0.１.", "127.0.0.1"),
        ("fe80::1%eth0", "fe80::1"), ("[FE80::1%25eth0]", "fe80::1"), ("::FFFF:127.0.0.1", "::ffff:127.0.0.1"),
        ("[::1", "[::1"), ("1:2", "1:2"), ("EXAMPLE.test.", "example.test"),
        ("bücher.example.", "xn--bcher-kva.example"),
        ("bücher.example:443", "bücher.example:443"), ("example.test:443", "example.test:443"),
        ("ex%61mple.test", "example.test"), ("ü@example.test", "ü@example.test"), ("ü/example", "ü/example"),
    ])
    func `a host is normalized`(_ host: String, _ canonical: String) {
        #expect(HostName.canonical(host) == canonical)
    }

    /// A port is no part of a host, in whatever letters that is.
    @Test(arguments: ["bücher.example:443", "example.test:443", "*.bücher.example:443", "B%C3%BCcher.example:443"])
    func `a name with a port matches no host`(_ host: String) throws {
        #expect(HostName.pattern(host) == nil)
        let manager = ServerTrustManager(
            allHostsMustBeEvaluated: false, evaluators: [host: .disabled])
        for name in ["bücher.example", "example.test", "a.bücher.example"] {
            #expect(try manager.serverTrustEvaluator(forHost: name) == nil)
        }
    }

    @Test(arguments: [
        ("127.0.0.1", true), ("127.1", true), ("127.1.", true), ("::1", true), ("a.7", true), ("a.0x7f", true),
        ("a.0X7F.", true), ("a.0x", true), ("a.07", true), ("a.09", true), ("0x7f", true), ("", true),
        ("a.7f", false), ("a.0x7g", false), ("a.x7", false), ("0x7f.a", false), ("a.1x0", false),
        ("example.test", false), ("a.0xn--7", false),
    ])
    func `a host that ends in a number has no parent domains`(_ host: String, _ hasNone: Bool) {
        #expect(HostName.hasNoDomains(host) == hasNone)
    }

    /// A manager or a cookie is created on the caller's thread, whose locale must not change.
    ///
    /// Without ``InternationalNames``, names stay as they are with libcurl before 7.88.0.
    @Test func `a Unicode name does not change the thread's locale`() {
        let before = unsafe uselocale(nil)
        #expect(HostName.canonical("bücher.example") == "xn--bcher-kva.example")
        #expect(unsafe uselocale(nil) == before)
        #expect(HostName.ascii("bücher.example") == "xn--bcher-kva.example")
        #expect(unsafe uselocale(nil) == before)
        // Another locale than the program's, too.
        let other = unsafe newlocale(1 << LC_CTYPE, "C", nil)
        unsafe uselocale(other)
        #expect(HostName.canonical("bücher.example") == "xn--bcher-kva.example")
        #expect(unsafe uselocale(before) == other)
        unsafe freelocale(other)
    }
}
