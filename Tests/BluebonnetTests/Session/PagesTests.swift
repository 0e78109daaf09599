import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// Pages that name the next page.
@Suite(.timeLimit(.minutes(10))) struct PagesTests {
    struct Page: Codable, Sendable, Equatable {
        var number: Int
        var next: String?
    }

    /// Pages 1 to 3 by `Link`, and the same with the next page in the body.
    private static func server() async throws -> LocalServer {
        try await LocalServer { router in
            router.get("/items") { request in
                guard request.headers["Authorization"] == "Bearer 1" else { return .status(401) }
                let number = Int(request.query["page"] ?? "1") ?? 0
                let headers: HTTPHeaders = number < 3 ? ["Link": "<?page=\(number + 1)>; rel=\"next\""] : [:]
                return .json(
                    Page(number: number, next: number < 3 ? "/items?page=\(number + 1)" : nil), headers: headers)
            }
            router.get("/loop") { _ in .json(Page(number: 1), headers: ["Link": "</loop>; rel=next"]) }
            router.get("/away") { _ in
                .json(Page(number: 1), headers: ["Link": "<http://other.test/?token=secret>; rel=next"])
            }
            router.get("/moved", .redirect(to: "/items"))
            router.get("/broken") { _ in .json(Page(number: 1), headers: ["Link": "</missing>; rel=next"]) }
        }
    }

    private static func read(_ pages: Pages<Page>) async -> (numbers: [Int], error: (any Error)?) {
        var numbers: [Int] = []
        do {
            for try await page in pages { numbers.append(page.number) }
        } catch {
            return (numbers, error)
        }
        return (numbers, nil)
    }

    private static let headers: HTTPHeaders = ["Authorization": "Bearer 1"]

    @Test(arguments: ["/items", "/moved"]) func `links lead from page to page`(_ path: String) async throws {
        let server = try await Self.server()
        let session = TestHarness.session()
        let pages = session.pages(of: Page.self, from: server.url(path), headers: Self.headers)
        for _ in 1...2 {
            let reading = await Self.read(pages)
            #expect(reading.numbers == [1, 2, 3] && reading.error == nil, "\(reading)")
        }
        try await TestHarness.end(session, server)
    }

    @Test func `a cancelled task requests no further page`() async throws {
        let server = try await Self.server()
        let session = TestHarness.session()
        let pages = session.pages(of: Page.self, from: server.url("/items"), headers: Self.headers)
        let reader = Task {
            for try await page in pages {
                #expect(page.number == 1)
                unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            }
        }
        let error = await #expect(throws: RequestError.self) { try await reader.value }
        #expect(error?.isCancellation == true)
        #expect(server.requestCount == 1)
        try await TestHarness.end(session, server)
    }

    @Test func `parameters belong to the first page, and responses have the fields of each`() async throws {
        let server = try await Self.server()
        let session = TestHarness.session()
        let pages = session.pages(
            of: Page.self, from: server.url("/items"), parameters: ["page": 2, "q": "a b"], headers: Self.headers)
        var seen: [String] = []
        for try await response in pages.responses {
            let page = try response.result.get()
            seen.append("\(page.number) \(response.headers["Link"] ?? "last")")
        }
        #expect(seen == ["2 <?page=3>; rel=\"next\"", "3 last"])
        #expect(server.requests.map(\.target) == ["/items?page=2&q=a%20b", "/items?page=3"])
        // An error ends the loop.
        var count = 0
        let broken = session.pages(of: Page.self, from: server.url("/broken"))
        await #expect(throws: RequestError.self) { for try await _ in broken.responses { count += 1 } }
        #expect(count == 1)
        try await TestHarness.end(session, server)
    }

    @Test func `a closure finds the next page in the body`() async throws {
        let server = try await Self.server()
        let session = TestHarness.session { $0.baseURL = server.url("/") }
        var request = HTTPRequest(url: try "items".asURL(), headers: Self.headers)
        request.httpVersion = .http1_1
        let pages = session.pages(of: Page.self, from: request) { page, _ in page.next.flatMap { URL(string: $0) } }
        #expect(await Self.read(pages).numbers == [1, 2, 3])
        try await TestHarness.end(session, server)
    }

    @Test func `a page is requested only when it is asked for`() async throws {
        let server = try await Self.server()
        let session = TestHarness.session()
        for try await page in session.pages(of: Page.self, from: server.url("/items"), headers: Self.headers)
        where page.number == 2 { break }
        #expect(server.requestCount == 2)
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [("/loop", "already received"), ("/away", "another origin"), ("/broken", "404")])
    func `a bad next page is an error after the good pages`(_ path: String, words: String) async throws {
        let server = try await Self.server()
        let session = TestHarness.session()
        let reading = await Self.read(session.pages(of: Page.self, from: server.url(path)))
        let error = try #require(reading.error as? RequestError)
        #expect(reading.numbers == [1] && error.description.contains(words), "\(error)")
        #expect(!error.description.contains("secret"))
        try await TestHarness.end(session, server)
    }

    /// The transport answers without a network, as a server with and without TLS.
    @Test func `an upgrade to TLS is no other origin, and user info is kept`() async throws {
        let stub = StubTransport { request in
            switch request.url.absoluteString {
            case "http://me:pw@api.test/":
                .text("", status: 301, headers: ["Location": "https://me:pw@api.test/1"])
            case "https://me:pw@api.test/1":
                .text(#"{"number":1}"#, headers: ["Link": "<https://api.test/2>; rel=next"])
            case "https://me:pw@api.test/2", "http://me:pw@api.test/2", "https://api.test/2": .text(#"{"number":2}"#)
            default: .status(404)
            }
        }
        let session = Session(transport: stub)
        let reading = await Self.read(session.pages(of: Page.self, from: "http://me:pw@api.test/"))
        #expect(reading.numbers == [1, 2] && reading.error == nil, "\(reading)")
        await session.shutdown()
    }

    @Test func `the error of the closure is the error of the loop`() async throws {
        struct Failure: Error {}
        let server = try await Self.server()
        let session = TestHarness.session()
        let pages = session.pages(of: Page.self, from: server.url("/loop")) { _, _ in throw Failure() }
        let reading = await Self.read(pages)
        #expect(reading.numbers == [1])
        #expect((reading.error as? RequestError)?.underlying is Failure)
        try await TestHarness.end(session, server)
    }
}
