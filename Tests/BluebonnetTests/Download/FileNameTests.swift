import Testing

@testable import Bluebonnet

@Suite struct FileNameTests {
    @Test(
        arguments: [
            ("report.pdf", "report.pdf"), ("naïve 🎈.txt", "naïve 🎈.txt"), ("../../etc/passwd", "passwd"),
            ("a/b\\c.txt", "c.txt"), ("..\\..\\evil.exe", "evil.exe"), (".bashrc", "bashrc"), ("...hidden", "hidden"),
            (". .x", "x"), ("..", "download"), (".", "download"), ("", "download"), (nil, "download"),
            ("/", "download"), ("   ", "download"), (" a b ", "a b"), ("a\u{0}b\n.txt", "ab.txt"),
            ("gpj.\u{202e}exe", "gpj.exe"), ("\u{2066}x\u{2069}", "x"), ("a.", "a."), ("C:\\x.txt", "x.txt"),
            ("./x/..", "download"), ("family 👨‍👩‍👧.png", "family 👨‍👩‍👧.png"),
        ] as [(String?, String)])
    func `a name stays in its directory and is not hidden`(_ suggestion: String?, name: String) {
        #expect(FileName.harmless(suggestion) == name)
    }

    @Test(arguments: [
        String(repeating: "a", count: 300) + ".pdf", String(repeating: "é", count: 300) + ".tar.gz",
        String(repeating: "🎈", count: 100), "x." + String(repeating: "y", count: 300),
        String(repeating: "👨‍👩‍👧", count: 100) + ".png",
    ])
    func `a long name is truncated between characters and keeps its extension`(_ suggestion: String) {
        let name = FileName.harmless(suggestion)
        #expect(name.utf8.count <= 200 && name.utf8.count > 150)
        for suffix in [".pdf", ".tar.gz", ".png"] where suggestion.hasSuffix(suffix) { #expect(name.hasSuffix(suffix)) }
        #expect(suggestion.hasPrefix(String(name.prefix(7))))
        #expect(name.unicodeScalars.allSatisfy { $0 != "\u{fffd}" })
    }

    @Test(arguments: [
        ("report.pdf", "report 2.pdf"), ("archive.tar.gz", "archive 2.tar.gz"), ("noextension", "noextension 2"),
        ("a.b.c", "a.b 2.c"), (".tar.gz", ".tar 2.gz"), ("x.", "x 2."),
    ])
    func `a number is inserted before the extension`(_ name: String, numbered: String) {
        #expect(FileName.numbered(name, 2) == numbered)
    }

    @Test func `the partial file of a name has a fixed, hidden and short name`() {
        #expect(FileName.partial(of: "report.pdf") == ".report.pdf.part")
        let long = String(repeating: "é", count: 127)
        let partial = FileName.partial(of: long)
        #expect(partial == FileName.partial(of: long) && partial.hasPrefix(".é") && partial.hasSuffix(".part"))
        #expect((partial + ".resume.new").utf8.count <= FileName.limit)
        #expect(partial != FileName.partial(of: String(long.dropLast()) + "e"))
    }

    @Test func `unique names are unique`() {
        #expect(Set((0..<1000).map { _ in FileName.unique() }).count == 1000)
    }
}
