import FoundationEssentials
import Testing

@testable import Bluebonnet

/// Where a `Location` leads.
@Suite struct RedirectLocationTests {
    private static let base = "http://u@h.example:8080/a/b/c;d?q=1#f"
    private static let origin = "http://u@h.example:8080"

    private func read(_ values: String..., base: String = base) throws -> RedirectLocation.ParsedLocation {
        RedirectLocation.read(values, of: try #require(URL(string: base)))
    }

    /// RFC 3986 §5.4 with the base's fragment, since RFC 9110 §10.2.2 has it kept.
    static let examples: [(String, String)] = [
        ("g", "/a/b/g#f"), ("./g", "/a/b/g#f"), ("g/", "/a/b/g/#f"), ("/g", "/g#f"), ("?y", "/a/b/c;d?y#f"),
        ("g?y", "/a/b/g?y#f"), ("#s", "/a/b/c;d?q=1#s"), ("g#s", "/a/b/g#s"), ("g?y#s", "/a/b/g?y#s"),
        (";x", "/a/b/;x#f"), ("g;x", "/a/b/g;x#f"), (".", "/a/b/#f"), ("./", "/a/b/#f"), ("..", "/a/#f"),
        ("../", "/a/#f"), ("../g", "/a/g#f"), ("../..", "/#f"), ("../../g", "/g#f"), ("../../../g", "/g#f"),
        ("../../../../g", "/g#f"), ("/./g", "/g#f"), ("/../g", "/g#f"), ("g.", "/a/b/g.#f"), (".g", "/a/b/.g#f"),
        ("g..", "/a/b/g..#f"), ("..g", "/a/b/..g#f"), ("./../g", "/a/g#f"), ("./g/.", "/a/b/g/#f"),
        ("g/./h", "/a/b/g/h#f"), ("g/../h", "/a/b/h#f"), ("g;x=1/./y", "/a/b/g;x=1/y#f"),
        ("g;x=1/../y", "/a/b/y#f"), ("g?y/./x", "/a/b/g?y/./x#f"), ("g#s/../x", "/a/b/g#s/../x"),
        ("%2e%2E/g", "/a/g#f"), ("a//b", "/a/b/a//b#f"), ("?", "/a/b/c;d?#f"), ("#", "/a/b/c;d?q=1#"),
    ]

    @Test(arguments: examples)
    func `a relative location is resolved`(_ location: String, expected: String) throws {
        guard case .url(let url) = try read(location) else {
            Issue.record("\(try read(location))")
            return
        }
        #expect(url.absoluteString == Self.origin + expected)
    }

    static let odd: [(String, String)] = [
        // The number of slashes, and which ones, do not matter.
        ("http://x.example/p", "http://x.example/p#f"), ("//x.example/p", "http://x.example/p#f"),
        ("///x.example/p", "http://x.example/p#f"), ("http:///x.example/p", "http://x.example/p#f"),
        ("http:\\\\x.example\\p?\\q", "http://x.example/p?%5Cq#f"), ("https:x.example/p", "https://x.example/p#f"),
        ("https:/x.example/p", "https://x.example/p#f"), ("http:/p", "http://u@h.example:8080/p#f"),
        ("http:p", "http://u@h.example:8080/a/b/p#f"), ("HTTPS://X.example", "https://X.example/#f"),
        ("http://x.example?q", "http://x.example/?q#f"), ("http://x.example#s", "http://x.example/#s"),
        ("http://x.example/a/../../b", "http://x.example/b#f"),
        // A host without a scheme is a path.
        ("x.example/p", "http://u@h.example:8080/a/b/x.example/p#f"), ("x:1", ""),
        ("1:x", "http://u@h.example:8080/a/b/1:x#f"),
        // Text that a URL cannot contain.
        ("/a b", "http://u@h.example:8080/a%20b#f"), ("  /p\t ", "http://u@h.example:8080/p#f"),
        ("/a\tb", "http://u@h.example:8080/ab#f"), ("/ü", "http://u@h.example:8080/%C3%BC#f"),
        ("/p?q=ü ü", "http://u@h.example:8080/p?q=%C3%BC%20%C3%BC#f"),
        ("/%", "http://u@h.example:8080/%25#f"), ("/%4", "http://u@h.example:8080/%254#f"),
        ("/%zz%41", "http://u@h.example:8080/%25zz%41#f"),
        ("/<>\"{}|^`", "http://u@h.example:8080/%3C%3E%22%7B%7D%7C%5E%60#f"),
        ("/p?a[]=1", "http://u@h.example:8080/p?a%5B%5D=1#f"), ("/p#a b#c", "http://u@h.example:8080/p#a%20b%23c"),
        ("http://v:p@ss@x.example/", "http://v:p%40ss@x.example/#f"),
        ("http://[::1]:81/p", "http://[::1]:81/p#f"), ("http://x.example:/p", "http://x.example:/p#f"),
    ]

    @Test(arguments: odd.filter { !$0.1.isEmpty })
    func `an unusual location is read as in browsers`(_ location: String, expected: String) throws {
        guard case .url(let url) = try read(location) else {
            Issue.record("\(try read(location))")
            return
        }
        #expect(url.absoluteString == expected)
    }

    @Test func `an international host is converted to ASCII`() throws {
        guard case .url(let url) = try read("http://bücher.example/p") else {
            Issue.record("no URL")
            return
        }
        #expect(url.absoluteString == "http://xn--bcher-kva.example/p#f")
    }

    @Test(arguments: [
        "ftp://x.example/", "mailto:a@x.example", "javascript:alert(1)", "data:text/plain,a", "file:///etc/passwd",
        "x:1", "about:blank", "http://", "//", "http://:80/", "http://x.example:99999/", "http://x.example:a/",
        "http://a b/", "http://v@/", "http://[/", "https://", "http://x.example:80:80/", "http://%00/",
    ])
    func `a location that cannot be requested is refused`(_ location: String) throws {
        guard case .invalid = try read(location) else {
            Issue.record("\(try read(location))")
            return
        }
    }

    @Test func `a refused location shows no secrets`() throws {
        #expect(try read("ftp://v:hidden@x.example/?token=hidden") == .invalid("ftp://x.example/?token=<redacted>"))
    }

    @Test func `repeated fields must have the same value`() throws {
        let one = try read("/p")
        #expect(try read("/p", "/p ") == one)
        #expect(try read("/p", "") == one)
        #expect(try read("/p", "/q") == .invalid("/p, /q"))
        // A comma is part of a value.
        #expect(try read("/p,/q") == .url(#require(URL(string: Self.origin + "/p,/q#f"))))
    }

    @Test func `a base without a path has the root path`() throws {
        let url = try #require(URL(string: "http://h.example/p?q"))
        #expect(try read("p?q", base: "http://h.example") == .url(url))
        #expect(try read("p?q", base: "http://h.example?x#") == .url(#require(URL(string: "http://h.example/p?q#"))))
    }

    @Test func `any bytes result in a URL or a refusal`() throws {
        let base = try #require(URL(string: Self.base))
        var generator = SystemRandomNumberGenerator()
        let letters = Array("/\\:?#@[]%.ahttps0 \u{0}\u{7f}ü😀".unicodeScalars)
        for _ in 0..<3000 {
            var text = String.UnicodeScalarView()
            for _ in 0..<Int.random(in: 1...12, using: &generator) {
                if let letter = letters.randomElement(using: &generator) { text.append(letter) }
            }
            guard case .url(let url) = RedirectLocation.read([String(text)], of: base) else { continue }
            #expect((try? url.checkRequestable()) != nil, "\(String(text).debugDescription)")
            #expect(url.absoluteString.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f })
        }
    }
}
