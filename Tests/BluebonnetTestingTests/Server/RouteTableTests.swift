import Bluebonnet
import Testing

@testable import BluebonnetTesting

@Suite struct RouteTableTests {
    static let table: RouteTable<String> = {
        var table = RouteTable<String>()
        table.set("get", path: "/a", method: .get)
        table.set("post", path: "/a", method: .post)
        table.set("any", path: "/any", method: nil)
        table.set("any get", path: "/any", method: .get)
        table.set("head", path: "/h", method: .head)
        table.set("get h", path: "/h", method: .get)
        table.set("one", path: "/u/:id", method: .get)
        table.set("two", path: "/u/:id/p/:post", method: .get)
        table.set("me", path: "/u/me", method: .get)
        table.set("rest", path: "/files/*", method: .get)
        table.set("delete", path: "/u/:name", method: .delete)
        table.set("star", path: "*", method: .options)
        return table
    }()

    static func describe(_ match: RouteTable<String>.Match) -> String {
        switch match {
        case .found(let name, let parameters):
            ([name] + parameters.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }).joined(separator: " ")
        case .otherMethods(let methods): "only " + methods.map(\.rawValue).joined(separator: ",")
        case .nothing: "nothing"
        }
    }

    @Test(
        arguments: [
            (.get, "/a", "get"), (.post, "/a", "post"), (.head, "/a", "get"), (.put, "/a", "only GET,HEAD,POST"),
            (.get, "/A", "nothing"), (.get, "/a/", "nothing"), (.get, "/any", "any get"), (.put, "/any", "any"),
            (.head, "/any", "any get"), (.head, "/h", "head"), (.get, "/h", "get h"), (.get, "/u/7", "one id=7"),
            (.get, "/u/a%20b", "one id=a b"), (.get, "/u/7/p/8", "two id=7 post=8"), (.get, "/u/me", "me"),
            (.get, "/u/", "nothing"), (.get, "/u", "nothing"), (.delete, "/u/7", "delete name=7"),
            (.put, "/u/7", "only GET,HEAD"), (.delete, "/u/me", "delete name=me"), (.get, "/files/", "rest"),
            (.get, "/files/a/b", "rest"), (.get, "/files", "rest"), (.options, "*", "star"), (.get, "/", "nothing"),
        ] as [(HTTPMethod, String, String)])
    func `A request finds its route`(method: HTTPMethod, path: String, expected: String) {
        #expect(Self.describe(Self.table.match(method, path)) == expected)
    }

    @Test func `A second route for a path and method replaces the first route`() {
        var table = Self.table
        table.set("new", path: "/a", method: .get)
        table.set("new one", path: "/u/:id", method: .get)
        #expect(Self.describe(table.match(.get, "/a")) == "new")
        #expect(Self.describe(table.match(.get, "/u/7")) == "new one id=7")
    }

    @Test func `The fallback handles all other requests`() {
        var table = Self.table
        table.fallback = "else"
        #expect(Self.describe(table.match(.put, "/a")) == "else")
        #expect(Self.describe(table.match(.get, "/nowhere")) == "else")
        #expect(Self.describe(table.match(.get, "/a")) == "get")
    }
}
