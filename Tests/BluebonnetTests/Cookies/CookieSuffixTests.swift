import BluebonnetTesting
import FoundationEssentials
import Testing

@testable import Bluebonnet

/// The public suffix list on the wire, by the names that the list's own checks are about.
@Suite(.timeLimit(.minutes(10))) struct CookieSuffixTests {
    /// A host, and the part of it that is registered; `nil` when the host is a public suffix.
    struct Name: Sendable, CustomTestStringConvertible {
        let host: String
        let site: String?

        var testDescription: String { "\(host) of \(site ?? "nobody")" }
    }

    /// The hosts of sites; each line has the site first and then its hosts.
    private static let sites = """
        domain.biz b.domain.biz a.b.domain.biz
        example.com b.example.com a.b.example.com
        example.uk.com b.example.uk.com a.b.example.uk.com
        test.ac
        b.c.mm a.b.c.mm
        test.jp www.test.jp
        test.ac.jp www.test.ac.jp
        test.kyoto.jp
        b.ide.kyoto.jp a.b.ide.kyoto.jp
        b.c.kobe.jp a.b.c.kobe.jp
        city.kobe.jp www.city.kobe.jp
        b.test.ck a.b.test.ck
        www.ck www.www.ck
        test.us www.test.us
        test.ak.us www.test.ak.us
        test.k12.ak.us www.test.k12.ak.us
        xn--85x722f.com.cn www.xn--85x722f.com.cn
        xn--85x722f.xn--55qx5d.cn www.xn--85x722f.xn--55qx5d.cn
        shishi.xn--55qx5d.cn
        xn--85x722f.xn--fiqs8s www.xn--85x722f.xn--fiqs8s
        shishi.xn--fiqs8s
        example.example b.example.example a.b.example.example
        """

    private static let suffixes = """
        biz com uk.com ac mm c.mm jp ac.jp kyoto.jp ide.kyoto.jp c.kobe.jp ck test.ck us ak.us k12.ak.us xn--55qx5d.cn
        xn--fiqs8s co.uk github.io example
        """

    static let names: [Name] =
        sites.split(separator: "\n").flatMap { line in
            let hosts = line.split(separator: " ").map(String.init)
            return hosts.map { Name(host: $0, site: hosts[0]) }
        } + suffixes.split { $0.isWhitespace }.map { Name(host: String($0), site: nil) }

    @Test(arguments: names)
    func `a host can set cookies for its own site only`(_ name: Name) async throws {
        let scene = try await CookieTestSession()
        let labels = name.host.split(separator: ".")
        // The host and every domain above it.
        for first in labels.indices {
            let domain = labels[first...].joined(separator: ".")
            try await scene.get("http://\(name.host)", setting: ["n\(first)=1; Domain=\(domain)"])
            let isOwn = name.site.map { domain.hasSuffix($0) } ?? false
            let url = try #require(URL(string: "http://beside.\(domain)/"))
            let reported = try await scene.session.cookies.cookies(for: url)
            #expect(reported.contains { $0.name == "n\(first)" } == isOwn, "\(domain)")
        }
        // Beside the host, only what the site has for all.
        let site = name.site ?? name.host
        let sent = try await scene.get("http://beside.\(site)")
        #expect((sent != nil) == (name.site != nil), "\(sent ?? "")")
        // A suffix can still have its own cookies.
        if name.site == nil { #expect(try await scene.get("http://\(name.host)") == "n0=1") }
        try await scene.end()
    }

    /// The list's own checks have each name that is not in ASCII twice; here are those in their own letters.
    @Test(arguments: [
        ("食狮.com.cn", "xn--85x722f.com.cn", true), ("www.食狮.com.cn", "xn--85x722f.com.cn", true),
        ("食狮.公司.cn", "xn--85x722f.xn--55qx5d.cn", true), ("www.食狮.公司.cn", "xn--85x722f.xn--55qx5d.cn", true),
        ("shishi.公司.cn", "shishi.xn--55qx5d.cn", true), ("公司.cn", "xn--55qx5d.cn", false),
        ("食狮.中国", "xn--85x722f.xn--fiqs8s", true), ("www.食狮.中国", "xn--85x722f.xn--fiqs8s", true),
        ("shishi.中国", "shishi.xn--fiqs8s", true), ("中国", "xn--fiqs8s", false),
        ("WwW.example.COM", "example.com", true),
        ("COM", "com", false),
    ])
    func `a host with an international name can set cookies for its site`(_ host: String, domain: String, isSite: Bool)
        async throws
    {
        let scene = try await CookieTestSession()
        try await scene.get("http://\(host)", setting: ["n=1; Domain=\(domain)"])
        #expect(try await scene.get("http://beside.\(domain)") == (isSite ? "n=1" : nil))
        try await scene.end()
    }

    /// Both go through one connection to a proxy, and libcurl sends the second before it returns from reading the first.
    @Test func `a request that waits for the connection does not send a cookie of a public suffix`() async throws {
        let (asked, gate) = (Gate(), Gate())
        let server = try await LocalServer { router in
            router.fallback { request in
                if request.path == "/first" {
                    asked.open()
                    await gate.wait()
                }
                return CookieTestSession.answer(to: request)
            }
        }
        let session = TestHarness.session {
            $0.proxy = .url("http://127.0.0.1:\(server.port)")
            $0.connectionLimits.total = 1
        }
        let fields: HTTPHeaders = ["X-Set": "a=1; Domain=co.uk"]
        let first = session.request("http://co.uk/first", headers: fields).serializingString(emptyResponseCodes: [200])
        async let answer = first.response
        await asked.wait()
        let others = (0..<3).map { number in
            session.request("http://other\(number).co.uk/").serializingString(emptyResponseCodes: [200])
        }
        for other in others { other.resume() }
        await TestHarness.performEarlierCommands(of: session)
        gate.open()
        #expect(await answer.error == nil)
        for other in others { #expect(try await other.value == "") }
        #expect(try await session.cookies.all().map(\.includesSubdomains) == [false])
        try await TestHarness.end(session, server)
    }

    @Test(arguments: ["com", "CO.UK", ".co.uk", "github.io", "k12.ak.us"])
    func `a cookie for all hosts of a public suffix is refused`(_ domain: String) async throws {
        let scene = try await CookieTestSession()
        let cookie = Cookie(name: "a", value: "secret", domain: domain, includesSubdomains: true)
        let error = await #expect(throws: RequestError.self) { try await scene.session.cookies.set(cookie) }
        #expect(error?.kind == .cookies(.publicSuffix(name: "a", domain: cookie.domain)))
        #expect(error?.description.contains("secret") == false)
        #expect(try await scene.session.cookies.all().isEmpty)
        try await scene.end()
    }

    @Test func `the case of the host does not affect the check of public suffixes`() async throws {
        let scene = try await CookieTestSession()
        try await scene.get("http://Curl.CO.UK", setting: ["a=1; Domain=co.UK"])
        try await scene.get("http://curl.co.uk", setting: ["a=1; Domain=CO.uk"])
        #expect(try await scene.get("http://other.co.uk") == nil)
        #expect(try await scene.session.cookies.all().isEmpty)
        try await scene.end()
    }
}
