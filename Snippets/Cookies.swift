// Stores the cookies that servers set, reads and changes them, and loads them
// into another session.

import Bluebonnet
import BluebonnetTesting
import FoundationEssentials

enum Cookies {
    static func run() async throws {
        let server = try await LocalServer { router in
            router.post("/login") { _ in
                .text(
                    "Welcome.",
                    headers: [
                        "Set-Cookie": "sid=4711; Path=/; Max-Age=3600; HttpOnly"
                    ])
            }
            router.get("/account") { request in
                request.headers["Cookie"]?.contains("sid=4711") == true
                    ? .text("Ada") : .status(403)
            }
        }
        let file = FileManager.default.temporaryDirectory.appending(
            path: "Cookies-\(UInt64.random(in: 0 ... .max))")
        defer { try? FileManager.default.removeItem(at: file) }
        try await keep(server, in: file)
        try await takeAlong(server, from: file)
    }

    static func keep(_ server: LocalServer, in file: URL) async throws {
        let (login, account) = (server.url("/login"), server.url("/account"))
        // snippet.keep
        let session = Session()
        _ = try await session.request(login, method: .post)
            .validate().serializingData().value
        // The session sends the cookie automatically.
        let name = try await session.request(account)
            .validate().serializingString().value
        // snippet.end
        print("Hello, \(name).")

        // snippet.read
        for cookie in try await session.cookies.cookies(for: account) {
            let time =
                cookie.isSessionCookie ? "for this session" : "for longer"
            print("\(cookie.name) for \(cookie.domain), \(time)")
        }
        // snippet.end

        // snippet.change
        try await session.cookies.set(
            Cookie(name: "theme", value: "dark", domain: "127.0.0.1"))
        try await session.cookies.set("lang=de; Max-Age=86400", for: account)
        try await session.cookies.delete(
            Cookie(name: "theme", value: "", domain: "127.0.0.1"))
        // snippet.end

        // snippet.save
        try await session.cookies.save(to: file, includingSessionCookies: false)
        // snippet.end
        await session.shutdown()
    }

    static func takeAlong(_ server: LocalServer, from file: URL) async throws {
        // snippet.load
        var configuration = Session.Configuration()
        configuration.cookies.initial = try Cookie.load(from: file)
        configuration.cookies.policy = .firstPartyOnly
        let session = Session(configuration: configuration)
        // snippet.end
        let name = try await session.request(server.url("/account"))
            .validate().serializingString().value
        let names = try await session.cookies.all().map(\.name).sorted()
        print("Hello again, \(name), with \(names.joined(separator: " and ")).")
        await session.shutdown()
    }
}

try await Cookies.run()
