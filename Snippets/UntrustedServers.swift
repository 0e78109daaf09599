// Limits the resources that an untrusted server can use.

import Bluebonnet
import BluebonnetTesting
import FoundationEssentials

enum UntrustedServers {
    static func run() async throws {
        let server = try await LocalServer { router in
            router.get("/large", .text(String(repeating: "x", count: 1 << 20)))
            router.get("/small", .text("small"))
        }
        try await limits(server.url)
        await server.stop()
    }

    static func limits(_ url: URL) async throws {
        // snippet.configuration
        var configuration = Session.Configuration()
        configuration.timeouts = Timeouts(
            connect: .seconds(10), idle: .seconds(15), total: .seconds(60))
        configuration.maximumResponseBytes = 512 * 1024
        configuration.maximumResponseHeadBytes = 64 * 1024
        configuration.bodyHighWatermark = 256 * 1024
        configuration.bodyLowWatermark = 64 * 1024
        configuration.connectionLimits.perHost = 4
        configuration.connectionLimits.total = 256
        configuration.connectionLimits.idle = 256
        configuration.redirects.maximum = 5
        configuration.cookies.policy = .never
        // HTTP/2 may buffer up to 32 MiB more for each stream.
        configuration.httpVersion = .http1_1
        // Decoders for brotli and zstd may use 80 MiB.
        configuration.decodesContent = false
        let session = Session(configuration: configuration)
        // snippet.end
        for path in ["small", "large"] {
            let response = await session.request(url.appending(path: path))
                .serializingData().response
            print(
                path,
                response.error.map { "\($0.kind)" }
                    ?? "\(response.value?.count ?? 0) bytes")
        }
        await session.shutdown()
    }
}

try await UntrustedServers.run()
