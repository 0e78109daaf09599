import Bluebonnet
import FoundationEssentials
import Testing

/// The `Link` field (RFC 8288).
@Suite struct LinkTests {
    private static func links(_ values: String...) throws -> [HTTPResponse.Link] {
        let url = try #require(URL(string: "https://api.test/a/b?page=1"))
        let headers = HTTPHeaders(values.map { HTTPHeader(name: "Link", value: $0) })
        return HTTPResponse(url: url, statusCode: 200, headers: headers).links
    }

    static let rows: [(value: String, targets: [String], relations: [[String]])] = [
        (#"<https://api.test/a?page=2>; rel="next""#, ["https://api.test/a?page=2"], [["next"]]),
        (
            "<?page=2>; rel=next, <?page=9>; rel=last", ["https://api.test/a/b?page=2", "https://api.test/a/b?page=9"],
            [["next"], ["last"]]
        ),
        (#"<c>;rel="NEXT  Start""#, ["https://api.test/a/c"], [["next", "start"]]),
        (#"</x,y;z>; title="a, <b>; rel=\"no\""; rel=up"#, ["https://api.test/x,y;z"], [["up"]]),
        ("<a>; rel=one; rel=two", ["https://api.test/a/a"], [["one"]]),
        ("<a>", [], []),
        (#"<a>; rel="""#, [], []),
        (#"<a>; rel=next; anchor="/other""#, [], []),
        ("a; rel=next", [], []),
        (#"a "b, <c>; rel=next", <d>; rel=next"#, [], []),
        ("<a; rel=next", [], []),
        ("", [], []),
        (",, <a>; rel=next,,", ["https://api.test/a/a"], [["next"]]),
        ("<a>; ; rel=next", ["https://api.test/a/a"], [["next"]]),
        ("<>; rel=self", ["https://api.test/a/b?page=1"], [["self"]]),
    ]

    @Test(arguments: rows)
    func `links are parsed`(_ row: (value: String, targets: [String], relations: [[String]])) throws {
        let links = try Self.links(row.value)
        #expect(links.map(\.target.absoluteString) == row.targets)
        #expect(links.map(\.relations) == row.relations)
    }

    @Test func `fields are joined, and parameters are kept`() throws {
        let links = try Self.links(#"<1>; rel=prev; title="a b""#, "<2>; rel=next; Type=text/html")
        #expect(links.map(\.parameters) == [["title": "a b"], ["type": "text/html"]])
        let headers = HTTPHeaders([HTTPHeader(name: "link", value: "<2>; rel=Next")])
        let url = try #require(URL(string: "https://api.test/"))
        #expect(HTTPResponse(url: url, statusCode: 200, headers: headers).link(relation: "NEXT")?.path == "/2")
        #expect(HTTPResponse(url: url, statusCode: 200, headers: headers).link(relation: "prev") == nil)
    }

    @Test func `20,000 links are parsed, and random bytes do not trap`() throws {
        let parts = ["<", ">", ";", ",", "\"", "\\", "rel=", "next", " ", "a", "=", "é"]
        for seed in 1...2000 {
            let value = (0..<seed % 41).map { parts[($0 * seed + seed / 7) % parts.count] }.joined()
            let links = try Self.links(value)
            #expect(links.count <= value.count / 2)
        }
        #expect(try Self.links(String(repeating: "<a>;rel=x,", count: 20_000)).count == 20_000)
    }

    @Test func `a description contains no secret`() throws {
        let link = try #require(try Self.links("<?token=secret>; rel=next").first)
        #expect(!"\(link)\(String(reflecting: link))".contains("secret"))
    }
}
