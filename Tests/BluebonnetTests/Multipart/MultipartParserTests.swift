import Foundation
import TestSupport
import Testing

@testable import Bluebonnet

/// The results of third-party parsers for the forms; `Tests/Support/multipart/parse.py` runs them.
@Suite(.timeLimit(.minutes(10))) struct MultipartParserTests {
    /// The parsers, by their names in the program.
    enum Parser: String, CaseIterable {
        case werkzeug, multipart, email
        case pythonMultipart = "python-multipart"
    }

    /// A part as returned by a parser.
    struct Part: Decodable, Equatable {
        let name: String?
        let fileName: String?
        let type: String?
        let length: Int
        let sha256: String
    }

    private let folder: FormFolder

    init() throws {
        folder = try FormFolder()
    }

    private func parse(_ form: MultipartFormData) async throws -> [Parser: [Part]] {
        enum Outcome: Decodable {
            case parts([Part])
            case refusal(String)

            init(from decoder: any Decoder) throws {
                let container = try decoder.singleValueContainer()
                if let words = try? container.decode(String.self) {
                    self = .refusal(words)
                } else {
                    self = .parts(try container.decode([Part].self))
                }
            }
        }
        let file = folder.url.appending(path: "form-\(UUID().uuidString)")
        try await form.write(to: file)
        let output = try await Python.run("multipart/parse.py", [form.contentType, file.path])
        var parts: [Parser: [Part]] = [:]
        for (name, outcome) in try JSONDecoder().decode([String: Outcome].self, from: output) {
            let parser = try #require(Parser(rawValue: name))
            switch outcome {
            case .parts(let list): parts[parser] = list
            case .refusal(let words): Issue.record("\(name) refuses the form: \(words)")
            }
        }
        #expect(Set(parts.keys) == Set(Parser.allCases))
        return parts
    }

    // MARK: Names

    /// A name for a field and a file, and the names that the parsers return.
    struct Name {
        let text: String
        /// The result of any parser that is not listed.
        var asField: String
        var asFile: String?
        /// The results of these parsers for the field and the file.
        var others: [Parser: (String, String?)] = [:]

        /// A name that parsers return unchanged.
        init(_ text: String, others: [Parser: (String, String?)] = [:]) {
            self.text = text
            asField = text
            asFile = text
            self.others = others
        }
    }

    /// Each name is both a field's and a file's.
    ///
    /// `multipart` undoes the three escapes, `werkzeug` only that of the quote, the others none. They do so also where a
    /// name had such characters itself, since percent signs are not escaped. A backslash is an escape to `werkzeug` before
    /// anything, to `python-multipart` and `email` before a quote or a backslash; `multipart` and `python-multipart` cut
    /// what looks like a path on Windows, but only of files.
    private static let names: [Name] = [
        Name("plain"), Name(" a  b "), Name("a;b=c, d"), Name("it's"), Name("naïve größe €😀"), Name("e\u{301}"),
        Name("100%"),
        Name("=?utf-8?q?a?="), Name("a/b/../c"), Name("a%2Fb"), Name("<a&b>"),
        Name("a\"b\"", others: [.email: ("a%22b%22", "a%22b%22"), .pythonMultipart: ("a%22b%22", "a%22b%22")]),
        Name("a%22b", others: [.werkzeug: ("a\"b", "a\"b"), .multipart: ("a\"b", "a\"b")]),
        Name("a%0Ab", others: [.multipart: ("a\nb", "a\nb")]),
        // The name of a field has its newlines made CR LF, that of a file has not.
        Name(
            "a\rb",
            others: [
                .multipart: ("a\r\nb", "a\rb"), .werkzeug: ("a%0D%0Ab", "a%0Db"), .email: ("a%0D%0Ab", "a%0Db"),
                .pythonMultipart: ("a%0D%0Ab", "a%0Db"),
            ]),
        Name(
            "a\nb",
            others: [
                .multipart: ("a\r\nb", "a\nb"), .werkzeug: ("a%0D%0Ab", "a%0Ab"), .email: ("a%0D%0Ab", "a%0Ab"),
                .pythonMultipart: ("a%0D%0Ab", "a%0Ab"),
            ]),
        Name(
            "a\r\nX: b",
            others: [
                .werkzeug: ("a%0D%0AX: b", "a%0D%0AX: b"), .email: ("a%0D%0AX: b", "a%0D%0AX: b"),
                .pythonMultipart: ("a%0D%0AX: b", "a%0D%0AX: b"),
            ]),
        Name("a\\b", others: [.werkzeug: ("ab", "ab")]),
        Name(
            "C:\\a\\b",
            others: [
                .werkzeug: ("C:ab", "C:ab"), .multipart: ("C:\\a\\b", "b"), .pythonMultipart: ("C:\\a\\b", "b"),
            ]),
        Name(
            "a\\\\b",
            others: [.werkzeug: ("a\\b", "a\\b"), .email: ("a\\b", "a\\b"), .pythonMultipart: ("a\\b", "a\\b")]),
        Name(
            "a\\\"",
            others: [
                .werkzeug: ("a\"", "a\""), .email: ("a\\%22", "a\\%22"), .pythonMultipart: ("a\\%22", "a\\%22"),
            ]),
        // The quote after it is treated as part of the name: a name should not end with a backslash.
        Name(
            "a\\",
            others: [
                .werkzeug: ("a\"; filename=", nil), .email: ("a\"; filename=\"a\\", nil),
                .pythonMultipart: ("a\"; filename=\"a\\", nil),
            ]),
    ]

    @Test func `each parser returns names as expected`() async throws {
        var form = MultipartFormData()
        for name in Self.names { form.append(bytes("x"), withName: name.text, fileName: name.text) }
        for (parser, parts) in try await parse(form) {
            try #require(parts.count == Self.names.count, "\(parser)")
            for (part, name) in zip(parts, Self.names) {
                let (field, file) = name.others[parser] ?? (name.asField, name.asFile)
                // Compared as bytes: to Swift, composed and decomposed letters are the same.
                #expect(part.name.map { Array($0.utf8) } == Array(field.utf8), "\(parser) of \(name.text)")
                #expect(
                    part.fileName.map { Array($0.utf8) } == file.map { Array($0.utf8) }, "\(parser) of \(name.text)")
                #expect(part.length == 1)
            }
        }
    }

    // MARK: Contents

    @Test func `every byte is parsed from any source`() async throws {
        let large = patterned(8 << 20)
        let tricky = bytes("\r\n--\r\n----x\r\n\r\nContent-Disposition: form-data; name=\"y\"\r\n\r\n\0\u{ff}--\r")
        var form = MultipartFormData()
        form.append("größe\r\n", withName: "text")
        form.append(Data(), withName: "nothing")
        form.append(Data(), withName: "empty file", fileName: "e.bin", mimeType: "application/octet-stream")
        form.append(tricky, withName: "tricky", fileName: "t", mimeType: "application/octet-stream")
        form.append(try folder.file("large.bin", large), withName: "large")
        form.append(try folder.file("page.html", bytes("<p>")), withName: "page")
        form.append(
            Chunks((0..<100).map { Data(repeating: $0, count: 5000) }), withName: "chunks", fileName: "c",
            mimeType: "image/png")
        form.append(bytes("\n"), withName: "last")
        typealias Expected = (name: String, fileName: String?, type: String?, contents: Data)
        let expected: [Expected] = [
            ("text", nil, nil, bytes("größe\r\n")), ("nothing", nil, nil, Data()),
            ("empty file", "e.bin", "application/octet-stream", Data()),
            ("tricky", "t", "application/octet-stream", tricky),
            ("large", "large.bin", "application/octet-stream", large), ("page", "page.html", "text/html", bytes("<p>")),
            ("chunks", "c", "image/png", (0..<100).reduce(into: Data()) { $0 += Data(repeating: $1, count: 5000) }),
            ("last", nil, nil, bytes("\n")),
        ]
        var sums: [String] = []
        for (index, part) in expected.enumerated() {
            sums.append(try await sha256(of: folder.file("part-\(index)", part.contents)))
        }
        for (parser, parts) in try await parse(form) {
            let wanted = zip(expected, sums).map { part, sum in
                Part(
                    name: part.name, fileName: part.fileName, type: part.type, length: part.contents.count, sha256: sum)
            }
            #expect(parts == wanted, "\(parser)")
        }
    }

    private func sha256(of file: URL) async throws -> String {
        let output = try await Subprocess.run("/usr/bin/sha256sum", [file.path]).output
        return String(decoding: output.prefix(64), as: UTF8.self)
    }

    @Test(arguments: ["x", "'()+_,-./:=?", "a b", "----", String(repeating: "-", count: 70)])
    func `a form with a custom boundary is parsed`(boundary: String) async throws {
        var form = MultipartFormData(boundary: boundary)
        form.append("1", withName: "a")
        form.append("\r\n-", withName: "b")
        for (parser, parts) in try await parse(form) {
            #expect(parts.map(\.name) == ["a", "b"], "\(parser)")
            #expect(parts.map(\.length) == [1, 3], "\(parser)")
        }
    }
}
