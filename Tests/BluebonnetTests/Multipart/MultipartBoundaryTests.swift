import FoundationEssentials
import Testing

@testable import Bluebonnet

struct MultipartBoundaryTests {
    @Test(arguments: [
        ("a", "a"), ("----WebKitFormBoundaryA1", "----WebKitFormBoundaryA1"), ("a b", "\"a b\""), ("a:b", "\"a:b\""),
        ("'()+_,-./:=?", "\"'()+_,-./:=?\""), ("'+_-.", "'+_-."), (" a", "\" a\""),
        (String(repeating: "x", count: 70), String(repeating: "x", count: 70)),
    ])
    func `a boundary is quoted unless it is a token`(boundary: String, value: String) async throws {
        let form = MultipartFormData(boundary: boundary)
        #expect(form.boundary == boundary)
        #expect(form.contentType == "multipart/form-data; boundary=\(value)")
        #expect(MediaType(form.contentType)?.parameter("boundary") == boundary)
        #expect(try await form.encode() == bytes("--\(boundary)--\r\n"))
    }

    @Test(arguments: [
        "", " ", "a ", "a\"b", "a\\b", "a\r\n", "ä", "a\tb", "a\0", "a;b", "a*b", "a%b",
        String(repeating: "x", count: 71),
    ])
    func `an invalid boundary is refused when the form is used`(boundary: String) async {
        let form = MultipartFormData(boundary: boundary)
        let kind = RequestError.Kind.multipartEncoding(.boundaryInvalid(boundary))
        #expect(throws: RequestError.self) { try form.length() }
        #expect(form.contentLength == nil)
        let error = await #expect(throws: RequestError.self) { try await form.encode() }
        #expect(error?.kind == kind)
    }

    @Test func `random boundaries are tokens, and never the same`() {
        let boundaries = (0..<1000).map { _ in MultipartFormData.randomBoundary() }
        #expect(Set(boundaries).count == 1000)
        #expect(boundaries.allSatisfy { $0.utf8.isToken && $0.utf8.count == boundaries[0].utf8.count })
        #expect(MultipartFormData().boundary != MultipartFormData().boundary)
    }

    private static func finds(_ boundary: String, in pieces: [String]) -> Bool {
        var search = BoundarySearch(boundary: boundary)
        return pieces.contains { search.finds(in: bytes($0)) }
    }

    @Test(arguments: [
        ("b", "--b", true), ("b", "x--bx", true), ("b", "-b", false), ("b", "---b", true), ("b", "--", false),
        ("b", "", false), ("-", "---", true), ("-", "--", false), ("aab", "--aaab--aab", true),
        ("a--ab", "--a--a--ab", true), ("a--ab", "--a--a-ab", false), ("abc", "--ab--ab--abd--ab", false),
    ])
    func `a boundary is found, wherever the pieces end`(boundary: String, text: String, expected: Bool) {
        #expect(Self.finds(boundary, in: [text]) == expected)
        #expect(Self.finds(boundary, in: text.map { String($0) }) == expected)
        for index in text.indices {
            #expect(Self.finds(boundary, in: [String(text[..<index]), String(text[index...])]) == expected)
        }
    }

    @Test func `a search that restarts does not keep its state`() {
        var search = BoundarySearch(boundary: "b")
        let begins = search.finds(in: bytes("--"))
        search.restart()
        let ends = search.finds(in: bytes("b"))
        #expect(!begins && !ends)
    }

    @Test(arguments: [["x\r\n--b"], ["--b"], ["\n--bc"], ["x-", "-b"], ["x\r\n-", "", "-", "b"]])
    func `a custom boundary must not occur in a part`(chunks: [String]) async {
        var form = MultipartFormData(boundary: "b")
        form.append("--", withName: "first")
        form.append(Chunks(chunks.map { bytes($0) }), withName: "second")
        let error = await #expect(throws: RequestError.self) { try await form.encode() }
        #expect(error?.kind == .multipartEncoding(.boundaryInvalid("b")))
        #expect(error?.detail?.contains("second") == true)
    }

    @Test func `a boundary may occur where parsers ignore it`() async throws {
        var form = MultipartFormData(boundary: "b")
        form.append("--", withName: "b")
        form.append("b -b b--", withName: "--b")
        let text = String(decoding: try await form.encode(), as: UTF8.self)
        #expect(text.hasSuffix("\r\n\r\nb -b b--\r\n--b--\r\n"))
    }
}
