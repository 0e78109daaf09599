import Bluebonnet
import Testing

@testable import BluebonnetTesting

@Suite struct RequestTargetTests {
    @Test(
        arguments: [
            ("/", "/", nil),
            ("/a/b", "/a/b", nil),
            ("/a?b=c", "/a", "b=c"),
            ("/a?", "/a", ""),
            ("/a?b?c", "/a", "b?c"),
            ("/a%3Fb?c", "/a%3Fb", "c"),
            ("http://host/a?b", "/a", "b"),
            ("http://host:80", "/", nil),
            ("http://host?q", "/", "q"),
            ("/http://host/a", "/http://host/a", nil),
            ("*", "*", nil),
            ("host:443", "host:443", nil),
        ] as [(String, String, String?)])
    func `Each form of target has a path`(target: String, path: String, query: String?) {
        let parts = RequestTarget(target)
        #expect(parts.path == path)
        #expect(parts.query == query)
    }

    @Test(arguments: [
        ("", ""), ("abc", "abc"), ("a%20b", "a b"), ("%C3%A9", "é"), ("a+b", "a+b"), ("100%", "100%"), ("%zz", "%zz"),
        ("%4", "%4"), ("%2B", "+"),
    ])
    func `Well-formed percent-encoding is decoded`(text: String, decoded: String) {
        #expect(text.percentDecoded() == decoded)
    }

    @Test func `In a form, a plus is a space`() {
        #expect("a+b%2Bc".percentDecoded(plusIsSpace: true) == "a b+c")
    }

    @Test(arguments: [("host", "HOST", true), ("host", "hos", false), ("a[", "A{", false), ("é", "É", false)])
    func `Names are compared without the case of ASCII letters`(left: String, right: String, isSame: Bool) {
        #expect(left.isSameIgnoringCase(as: right) == isSame)
    }
}
