// Uses responses from a cache, revalidates stored responses, and decides which
// responses are stored.

import Bluebonnet
import BluebonnetTesting
import FoundationEssentials

enum Caching {
    static func run() async throws {
        let server = try await LocalServer { router in
            router.get(
                "/news",
                .text(
                    "News of the hour",
                    headers: ["Cache-Control": "max-age=3600"]))
            router.get("/page") { request in
                guard request.headers["If-None-Match"] != "\"1\"" else {
                    return .status(304)
                }
                return .text(
                    "A long page",
                    headers: ["Cache-Control": "no-cache", "ETag": "\"1\""])
            }
            router.get(
                "/me", .text("Ada", headers: ["Cache-Control": "max-age=60"]))
        }
        let session = makeSession()
        try await ask(session, server)
        try await choose(session, server)
        try await decide(session, server)
        await look(session, server)
        await session.shutdown()
        await server.stop()
    }

    static func makeSession() -> Session {
        // snippet.session
        var configuration = Session.Configuration()
        configuration.cache = ResponseCache(memoryCapacity: 32 * 1024 * 1024)
        let session = Session(configuration: configuration)
        // snippet.end
        return session
    }

    static func ask(_ session: Session, _ server: LocalServer) async throws {
        // snippet.source
        for path in ["/news", "/news", "/page", "/page"] {
            let response = await session.request(server.url(path))
                .serializingString().response
            print(
                "\(path): \(try response.result.get()), from \(response.source)"
            )
        }
        // snippet.end
        // snippet.status
        let response = await session.request(server.url("/page"))
            .serializingString().response
        if let status = response.cacheStatus {
            print("Cache-Status: \(status)")
        }
        // snippet.end
    }

    static func choose(_ session: Session, _ server: LocalServer) async throws {
        // snippet.policy
        var request = HTTPRequest(url: server.url("/news"))
        request.cachePolicy = .reloadIgnoringCache
        let latest = try await session.request(request)
            .serializingString().value

        request.cachePolicy = .returnCacheDontLoad
        let kept = try await session.request(request).serializingString().value
        // snippet.end
        print(latest == kept)
        // snippet.alone
        let own = session.request(server.url("/news")) {
            $0.allowsCollapsing = false
        }
        // snippet.end
        print(try await own.serializingString().value == kept)
    }

    static func decide(_ session: Session, _ server: LocalServer) async throws {
        // snippet.decide
        let name = try await session.request(server.url("/me"))
            .cacheResponse(
                using: .modify { request, response in
                    guard response.data.count < 1_000_000 else { return nil }
                    var response = response
                    response.storagePolicy = .memoryOnly
                    return response
                }
            )
            .serializingString()
            .value
        // snippet.end
        print(name)
    }

    static func look(_ session: Session, _ server: LocalServer) async {
        // snippet.look
        guard let cache = session.configuration.cache else { return }
        let statistics = cache.statistics
        print(
            "\(statistics.hits) hits, \(statistics.validations) validated,",
            "\(statistics.misses) misses")
        await cache.remove(for: server.url("/me"))
        await cache.removeAll()
        // snippet.end
    }
}

try await Caching.run()
