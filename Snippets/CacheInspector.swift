// Lists the responses in a cache's directory, which is the argument.

import Bluebonnet
import BluebonnetTesting
import FoundationEssentials

enum CacheInspector {
    static func run() async throws {
        guard CommandLine.arguments.count > 1 else {
            return try await demonstrate()
        }
        let directory = URL(
            filePath: CommandLine.arguments[1], directoryHint: .isDirectory)
        // snippet.list
        let cache = ResponseCache(
            diskCapacity: 100 * 1024 * 1024, directory: directory)
        for await entry in cache.entries() {
            let state =
                entry.freshness > .zero
                ? "fresh for \(entry.freshness)" : "stale"
            print(
                "\(entry.statusCode) \(entry.url): \(entry.size) bytes,",
                "\(entry.age) old, \(state)")
        }
        // snippet.end
    }

    static func removeStaleAndLargeResponses(_ cache: ResponseCache) async {
        // snippet.remove
        await cache.remove { entry in
            entry.freshness < .zero || entry.size > 1_000_000
        }
        await cache.remove { entry in entry.url.host() == "api.example.com" }
        // snippet.end
    }

    /// Stores two responses of a local server in memory, and lists them before
    /// and after a removal.
    private static func demonstrate() async throws {
        let server = try await LocalServer { router in
            router.get(
                "/fresh", .text("tea", headers: ["Cache-Control": "max-age=60"])
            )
            router.get(
                "/stale",
                .text("coffee", headers: ["Cache-Control": "max-age=0"]))
        }
        let cache = ResponseCache()
        var configuration = Session.Configuration()
        configuration.cache = cache
        let session = Session(configuration: configuration)
        for path in ["/fresh", "/stale"] {
            _ = try await session.request(server.url(path))
                .serializingData().value
        }
        for round in ["before", "after"] {
            for await entry in cache.entries() {
                print("\(round): \(entry.url.path())")
            }
            await cache.remove { $0.freshness <= .zero }
        }
        await session.shutdown()
        await server.stop()
    }
}

try await CacheInspector.run()
