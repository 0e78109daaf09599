// Lists the responses in a cache's directory, which is the argument.

import Bluebonnet
import FoundationEssentials

enum CacheInspector {
    static func run() async throws {
        guard CommandLine.arguments.count > 1 else { return print("Usage: CacheInspector DIRECTORY") }
        let directory = URL(filePath: CommandLine.arguments[1], directoryHint: .isDirectory)
        // snippet.list
        let cache = ResponseCache(memoryCapacity: 0, directory: directory)
        for await entry in cache.entries() {
            let state = entry.freshness > .zero ? "fresh for \(entry.freshness)" : "stale"
            print("\(entry.statusCode) \(entry.url): \(entry.size) bytes, \(entry.age) old, \(state)")
        }
        // snippet.end
    }

    static func removeLargeResponses(_ cache: ResponseCache) async {
        // snippet.remove
        await cache.remove { entry in entry.freshness < .zero || entry.size > 1_000_000 }
        // snippet.end
    }
}

try await CacheInspector.run()
