// Gets JSON from a URL and prints it. Without a URL, the program uses its own
// server.

import Bluebonnet
import BluebonnetTesting
import Glibc

enum GetJSON {
    static func get(_ url: any URLConvertible) async throws {
        // snippet.get
        let json = try await Session.default
            .request(url)
            .validate()
            .serializingJSON()
            .value
        print(json)
        // snippet.end
    }

    static func run() async throws {
        guard CommandLine.arguments.count == 1 else {
            return try await get(CommandLine.arguments[1])
        }
        let server = try await LocalServer { router in
            router.get("/planets", .json(["Mercury", "Venus", "Earth"]))
        }
        try await get(server.url("/planets"))
    }
}

do {
    try await GetJSON.run()
} catch {
    print("error: \(error)")
    exit(1)
}
