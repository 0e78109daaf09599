import BluebonnetFoundation
import BluebonnetTesting
import Foundation
import Testing

/// Small values of Foundation's in our terms, and back.
@Suite(.timeLimit(.minutes(10))) struct ValueTests {
    // MARK: Responses

    @Test func `a response converts to a Foundation response`() throws {
        let response = HTTPResponse(
            url: try FoundationFixture.url("http://example.com/f.txt"), statusCode: 404,
            headers: [
                HTTPHeader(name: "content-type", value: "text/plain; charset=utf-8"),
                HTTPHeader(name: "Content-Length", value: "12"), HTTPHeader(name: "X-A", value: "1"),
                HTTPHeader(name: "x-a", value: "2"),
            ])
        let foundation = response.urlResponse
        #expect(foundation.url == response.url && foundation.statusCode == 404)
        #expect(foundation.mimeType == "text/plain" && foundation.textEncodingName == "utf-8")
        #expect(foundation.expectedContentLength == 12)
        #expect(foundation.value(forHTTPHeaderField: "CONTENT-TYPE") == "text/plain; charset=utf-8")
        #expect(foundation.headers["x-a"] == "1, 2")
        #expect(response.value(forHTTPHeaderField: "X-a") == "1, 2")
        let back = try #require(HTTPResponse(foundation))
        #expect(back.url == response.url && back.statusCode == 404)
        #expect(back.mimeType == "text/plain" && back.expectedContentLength == 12)
        #expect(back.headers["X-A"] == "1, 2")
    }

    @Test(arguments: [100, 200, 204, 599, 999])
    func `a response with any status converts to a Foundation response`(status: Int) throws {
        #expect(HTTPResponse(url: try FoundationFixture.url(), statusCode: status).urlResponse.statusCode == status)
    }

    // MARK: Credentials

    @Test func `a credential converts to a Foundation credential and back`() {
        let credential = Credential(username: "u", password: "p:ß")
        let foundation = URLCredential(credential)
        #expect(foundation.user == "u" && foundation.password == "p:ß" && foundation.persistence == .forSession)
        #expect(URLCredential(credential, persistence: .none).persistence == .none)
        #expect(Credential(foundation) == credential)
    }

    @Test func `a Foundation credential answers a challenge`() async throws {
        let server = try await LocalServer { router in
            router.get("/") { request in
                request.headers["Authorization"] == "Basic dTpw"
                    ? .text("in") : .status(401, headers: ["WWW-Authenticate": "Basic realm=\"r\""])
            }
        }
        let session = FoundationFixture.session()
        let credential = URLCredential(user: "u", password: "p", persistence: .forSession)
        let requests = [
            session.request(server.url("/")).authenticate(using: credential),
            session.request(server.url("/")).authenticate(with: credential),
            session.request(server.url("/")).authenticate(username: "u", password: "p", persistence: .none),
        ]
        for request in requests { #expect(try await request.serializingString().value == "in") }
        await session.shutdown()
    }

    // MARK: Cookies

    static let cookies = [
        Cookie(name: "a", value: "b", domain: "example.com"),
        Cookie(name: "a", value: "b", domain: "example.com", includesSubdomains: true, path: "/p", isSecure: true),
        Cookie(
            name: "n", value: "v=w", domain: "a.example.com", path: "/", isHTTPOnly: true,
            expires: Date(timeIntervalSince1970: 2_000_000_000)),
        Cookie(name: "s", value: "", domain: "localhost", isSecure: true, isHTTPOnly: true),
    ]

    @Test(arguments: cookies)
    func `a cookie converts to a Foundation cookie and back`(cookie: Cookie) throws {
        let foundation = try #require(HTTPCookie(cookie))
        #expect(foundation.name == cookie.name && foundation.value == cookie.value && foundation.path == cookie.path)
        #expect(foundation.isSecure == cookie.isSecure && foundation.isHTTPOnly == cookie.isHTTPOnly)
        #expect(foundation.expiresDate == cookie.expires)
        #expect(foundation.domain == (cookie.includesSubdomains ? ".\(cookie.domain)" : cookie.domain))
        #expect(Cookie(foundation) == cookie)
    }

    @Test(arguments: [Cookie(name: "", value: "b", domain: "c"), Cookie(name: "a", value: "b", domain: "")])
    func `a cookie that Foundation rejects converts to nil`(cookie: Cookie) {
        #expect(HTTPCookie(cookie) == nil)
    }

    @Test func `a session stores Foundation cookies`() async throws {
        let server = try await LocalServer { router in
            router.get("/") { request in .text(request.headers["Cookie"] ?? "none") }
        }
        let cookies = HTTPCookie.cookies(
            withResponseHeaderFields: ["Set-Cookie": "a=b; Path=/"], for: server.url)
        let session = FoundationFixture.session()
        try await session.cookies.set(cookies)
        #expect(try await session.request(server.url("/")).serializingString().value == "a=b")
        await session.shutdown()
    }

    // MARK: Progress

    static let progress: [(TransferProgress, Int64, Int64, Double)] = [
        (TransferProgress(), 0, -1, 0), (TransferProgress(completed: 5), 5, -1, 0),
        (TransferProgress(completed: 5, total: 10), 5, 10, 0.5),
        (TransferProgress(completed: 10, total: 10), 10, 10, 1), (TransferProgress(completed: 0, total: 0), 1, 1, 1),
        (TransferProgress(completed: 0, total: .max), 0, .max, 0),
    ]

    @Test(arguments: progress)
    func `a transfer progress converts to a Foundation progress`(
        transfer: TransferProgress, completed: Int64, total: Int64, fraction: Double
    ) {
        let progress = Progress(transfer)
        #expect(progress.completedUnitCount == completed && progress.totalUnitCount == total)
        #expect(progress.fractionCompleted == fraction)
        #expect(progress.isIndeterminate == (total < 0))
    }

    @Test func `a Foundation progress can change from any value to any other value`() {
        let values = Self.progress.map(\.0)
        for first in values {
            for second in values {
                let progress = Progress(first)
                let parent = Progress(totalUnitCount: 100)
                parent.addChild(progress, withPendingUnitCount: 50)
                progress.update(to: second)
                progress.update(to: first)
                #expect(progress.totalUnitCount == Progress(first).totalUnitCount)
            }
        }
    }

    @MainActor @Test func `a Foundation progress follows a request on the caller's actor`() async throws {
        let server = try await LocalServer { $0.get("/", .data(FoundationFixture.bytes(300_000))) }
        let session = FoundationFixture.session()
        let request = session.request(server.url("/"))
        let progress = Progress(request.downloadProgress)
        async let data = request.serializingData().value
        await progress.follow(request.downloadProgressUpdates())
        MainActor.assertIsolated()
        #expect(progress.completedUnitCount == 300_000 && progress.isFinished)
        #expect(try await data.count == 300_000)
        await session.shutdown()
    }
}
