import FoundationEssentials
import Testing

@testable import Bluebonnet

struct MediaTypeTableTests {
    @Test(arguments: [
        ("a.jpg", "image/jpeg"), ("a.JPEG", "image/jpeg"), ("a.b.png", "image/png"), ("a.tar.gz", "application/gzip"),
        ("a.txt", "text/plain"), ("a.html", "text/html"), ("a.js", "text/javascript"), ("a.json", "application/json"),
        ("a.svg", "image/svg+xml"), ("a.mp4", "video/mp4"), ("a.mp3", "audio/mpeg"), ("a.zip", "application/zip"),
        ("a.webp", "image/webp"), ("größe.pdf", "application/pdf"), ("a b.csv", "text/csv"),
        ("-.xml", "application/xml"),
        ("a", "application/octet-stream"), ("", "application/octet-stream"), (".", "application/octet-stream"),
        (".json", "application/octet-stream"), ("a.", "application/octet-stream"), ("json", "application/octet-stream"),
        ("a.nonesuch", "application/octet-stream"), ("a.ü", "application/octet-stream"),
        ("..json", "application/json"), ("a.json ", "application/octet-stream"),
    ])
    func `without the system's tables, common extensions have types`(name: String, expected: String) {
        #expect(MediaTypeTable().mediaType(ofFileNamed: name) == expected)
    }

    private static let mimeTypes = """
        # a comment
        text/x-one	one ONE1\todd
        text/x-none

        not-a-type oops
        /x bad1
        x/ bad2
        text/x; charset=utf-8 bad3
          text/x-indented   indented
        text/x-jpeg jpg\r
        text/x-two odd # comment commented
        """

    @Test(arguments: [
        ("a.one", "text/x-one"), ("a.one1", "text/x-one"), ("a.Indented", "text/x-indented"), ("a.jpg", "text/x-jpeg"),
        ("a.odd", "text/x-two"), ("a.png", "image/png"), ("a.oops", nil), ("a.bad1", nil), ("a.bad2", nil),
        ("a.bad3", nil), ("a.comment", nil), ("a.commented", nil), ("a.charset=utf-8", nil),
    ])
    func `lines of mime types take precedence over the built-in table`(name: String, expected: String?) {
        let table = MediaTypeTable(mimeTypes: bytes(Self.mimeTypes))
        #expect(table.mediaType(ofFileNamed: name) == expected ?? MediaTypeTable.unknown)
    }

    private static let globs = """
        # a comment
        50:text/x-low:*.one
        80:text/x-high:*.one
        80:text/x-late:*.one
        50:text/x-case:*.C:cs
        50:text/x-name:makefile
        50:text/x-long:*.tar.gz
        50:text/x-set:*.[ch]
        50:text/x-star:*.a*
        heavy:text/x-heavy:*.heavy
        50:nothing:*.nothing
        50:text/x-short
        50:text/x-empty:*.
        50:text/x-png:*.PNG
        """

    @Test(arguments: [
        ("a.one", "text/x-high"), ("a.png", "text/x-png"), ("a.jpg", "image/jpeg"), ("a.c", nil), ("makefile", nil),
        ("a.tar.gz", "application/gzip"), ("a.a*", nil), ("a.[ch]", nil), ("a.heavy", nil), ("a.nothing", nil),
        ("a.", nil),
    ])
    func `patterns are ordered by their weight`(name: String, expected: String?) {
        let table = MediaTypeTable(globs: bytes(Self.globs))
        #expect(table.mediaType(ofFileNamed: name) == expected ?? MediaTypeTable.unknown)
    }

    @Test func `mime types take precedence over patterns`() {
        let table = MediaTypeTable(mimeTypes: bytes("text/x-a a"), globs: bytes("50:text/x-b:*.a\n50:text/x-b:*.b"))
        #expect(table.mediaType(ofFileNamed: "a.a") == "text/x-a")
        #expect(table.mediaType(ofFileNamed: "a.b") == "text/x-b")
    }

    @Test func `an invalid table is replaced by the built-in table`() {
        let garbage = Data((0..<5000).map { UInt8(truncatingIfNeeded: $0 &* 7919 >> 3) })
        let table = MediaTypeTable(mimeTypes: garbage, globs: garbage)
        #expect(table.mediaType(ofFileNamed: "a.jpg") == "image/jpeg")
    }

    @Test(arguments: [("a.jpg", "image/jpeg"), ("a.png", "image/png"), ("a.pdf", "application/pdf"), ("a", nil)])
    func `this system has the usual media types of common extensions`(name: String, expected: String?) async {
        await withTaskGroup { group in
            for _ in 0..<20 { group.addTask { MediaTypeTable.system.mediaType(ofFileNamed: name) } }
            for await type in group { #expect(type == expected ?? MediaTypeTable.unknown) }
        }
    }
}
