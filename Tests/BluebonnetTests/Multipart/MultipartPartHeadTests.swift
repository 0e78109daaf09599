import FoundationEssentials
import Testing

@testable import Bluebonnet

struct MultipartPartHeadTests {
    @Test(arguments: [
        ("", "", ""), ("plain", "plain", "plain"), ("a\"b", "a%22b", "a%22b"), ("\"", "%22", "%22"),
        ("a\rb", "a%0D%0Ab", "a%0Db"), ("a\nb", "a%0D%0Ab", "a%0Ab"), ("a\r\nb", "a%0D%0Ab", "a%0D%0Ab"),
        ("\n\r", "%0D%0A%0D%0A", "%0A%0D"), ("\r\r\n\n", "%0D%0A%0D%0A%0D%0A", "%0D%0D%0A%0A"),
        ("\r", "%0D%0A", "%0D"), ("100%", "100%", "100%"), ("%22", "%22", "%22"), ("%0D", "%0D", "%0D"),
        ("a\\b", "a\\b", "a\\b"), ("a\\\"", "a\\%22", "a\\%22"), ("a;b=c", "a;b=c", "a;b=c"), ("ü €😀", "ü €😀", "ü €😀"),
        ("\u{1}\t\u{7f}", "\u{1}\t\u{7f}", "\u{1}\t\u{7f}"), ("e\u{301}", "e\u{301}", "e\u{301}"),
    ])
    func `names are escaped as in browsers`(text: String, asField: String, asFile: String) {
        // Compared as bytes: to Swift, composed and decomposed letters are the same.
        #expect(Array(MultipartPartHead.escaped(text, isFieldName: true).utf8) == Array(asField.utf8))
        #expect(Array(MultipartPartHead.escaped(text, isFieldName: false).utf8) == Array(asFile.utf8))
    }

    @Test(
        arguments: [
            (MultipartPartHead(name: "a"), "Content-Disposition: form-data; name=\"a\"\r\n\r\n"),
            (
                MultipartPartHead(name: "a", fileName: "b.txt"),
                "Content-Disposition: form-data; name=\"a\"; filename=\"b.txt\"\r\n\r\n"
            ),
            (
                MultipartPartHead(name: "", fileName: ""),
                "Content-Disposition: form-data; name=\"\"; filename=\"\"\r\n\r\n"
            ),
            (
                MultipartPartHead(name: "a", mimeType: "text/plain; charset=utf-8"),
                "Content-Disposition: form-data; name=\"a\"\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n"
            ),
            (
                MultipartPartHead(
                    name: "a\nb", fileName: "c\nd", mimeType: "x/y", headers: ["X-One": "1", "x-two": ""]),
                "Content-Disposition: form-data; name=\"a%0D%0Ab\"; filename=\"c%0Ad\"\r\nContent-Type: x/y\r\n"
                    + "X-One: 1\r\nx-two: \r\n\r\n"
            ),
            (
                MultipartPartHead(name: "a", headers: ["content-type": "x/y"]),
                "Content-Disposition: form-data; name=\"a\"\r\ncontent-type: x/y\r\n\r\n"
            ),
        ] as [(MultipartPartHead, String)])
    func `the fields are in order and followed by an empty line`(head: MultipartPartHead, expected: String) throws {
        #expect(try head.bytes() == bytes(expected))
    }

    @Test(
        arguments: [
            (MultipartPartHead(name: "a\0"), "Content-Disposition"),
            (MultipartPartHead(name: "a", fileName: "\0"), "Content-Disposition"),
            (MultipartPartHead(name: "a", mimeType: "x/y\r\nX: y"), "Content-Type"),
            (MultipartPartHead(name: "a", mimeType: "x/y\n"), "Content-Type"),
            (MultipartPartHead(name: "a", mimeType: "\r"), "Content-Type"),
            (MultipartPartHead(name: "a", mimeType: "x\0"), "Content-Type"),
            (MultipartPartHead(name: "a", headers: ["X": "1\n"]), "X"),
            (MultipartPartHead(name: "a", headers: ["X Y": "1"]), "X Y"),
            (MultipartPartHead(name: "a", headers: ["": "1"]), ""),
            (MultipartPartHead(name: "a", headers: ["content-disposition": "x"]), "content-disposition"),
            (MultipartPartHead(name: "a", mimeType: "x/y", headers: ["content-TYPE": "x/y"]), "content-TYPE"),
        ] as [(MultipartPartHead, String)])
    func `a field that would break the part is refused`(head: MultipartPartHead, name: String) {
        let error = #expect(throws: RequestError.self) { try head.bytes() }
        #expect(error?.kind == .multipartEncoding(.bodyPartHeaderInvalid(name)))
    }
}
