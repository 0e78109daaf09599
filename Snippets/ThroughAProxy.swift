// Sends requests through a proxy, excludes some hosts, and authenticates to the
// proxy.

import Bluebonnet
import BluebonnetTesting
import FoundationEssentials

enum ThroughAProxy {
    static func run() async throws {
        let proxy = try await startProxy()
        let server = try await LocalServer { router in
            router.get("/", .text("Hello from the server."))
        }
        let address = "http://127.0.0.1:\(proxy.port)"
        try await whole(address)
        try await past(address, server.url("/"))
        try await one(address)
    }

    /// Starts a proxy that accepts only the user `me` and responds to every
    /// request itself.
    static func startProxy() async throws -> LocalServer {
        let known = HTTPHeader.authorization(username: "me", password: "secret")
            .value
        return try await LocalServer { router in
            router.fallback { request in
                guard request.headers["Proxy-Authorization"] == known else {
                    return .text(
                        "Who is there?", status: 407,
                        headers: ["Proxy-Authenticate": "Basic realm=proxy"])
                }
                return .text("The proxy was asked for \(request.target)")
            }
        }
    }

    static func whole(_ address: String) async throws {
        // snippet.session
        var configuration = Session.Configuration()
        configuration.proxy = .url(
            address, credential: Credential(username: "me", password: "secret"))
        let session = Session(configuration: configuration)
        print(
            try await session.request("http://example.com/").validate()
                .serializingString().value)
        // snippet.end
        await session.shutdown()
    }

    static func past(_ address: String, _ local: URL) async throws {
        // snippet.past
        var configuration = Session.Configuration()
        configuration.proxy = .url(
            address, excluding: ["127.0.0.0/8", "intranet.example"])
        let session = Session(configuration: configuration)
        print(
            try await session.request(local).validate().serializingString()
                .value)
        // snippet.end
        await session.shutdown()
    }

    static func one(_ address: String) async throws {
        let session = Session()
        // snippet.request
        var request = HTTPRequest(url: try "http://example.com/one".asURL())
        request.proxy = .url(address)
        let response = await session.request(request)
            .serializingString().response
        if response.statusCode == 407 {
            print("The proxy asks: \(response.value ?? "")")
        }
        // snippet.end
        await session.shutdown()
    }
}

try await ThroughAProxy.run()
