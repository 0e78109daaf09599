// Configures addresses, TLS versions and the number of connections.

import Bluebonnet
import BluebonnetTesting
import FoundationEssentials

enum Connections {
    static func run() async throws {
        let server = try await LocalServer { router in
            router.fallback {
                .text(
                    "\($0.headers["Host"] ?? "") on connection \($0.connection)"
                )
            }
        }
        try await names(port: server.port)
        await dnsOverHTTPS()
        try await limits(server.url)
        try await cores(server.url)
        await unixSocket("/no/such/socket")
        await identity("/no/such/client.pem", key: "/no/such/client.key")
        secure()
    }

    static func names(port: Int) async throws {
        // snippet.names
        var configuration = Session.Configuration()
        configuration.dns.overrides["api.example:\(port)"] = ["127.0.0.1"]
        configuration.dns.connectTo["www.example:80"] = "127.0.0.1:\(port)"
        let session = Session(configuration: configuration)
        print(
            try await session.request("http://api.example:\(port)/")
                .serializingString().value)
        print(
            try await session.request("http://www.example/").serializingString()
                .value)
        // snippet.end
        await session.shutdown()
    }

    static func dnsOverHTTPS() async {
        // snippet.dns-over-https
        var configuration = Session.Configuration()
        configuration.dns.httpsServer = URL(
            string: "https://cloudflare-dns.com/dns-query")
        let session = Session(configuration: configuration)
        // snippet.end
        await session.shutdown()
    }

    static func limits(_ url: URL) async throws {
        // snippet.limits
        var configuration = Session.Configuration()
        configuration.connectionLimits.perHost = 2
        configuration.connectionLimits.idleLifetime = .seconds(30)
        configuration.keepAlive = .init(
            idle: .seconds(20), interval: .seconds(5))
        let session = Session(configuration: configuration)
        // snippet.end
        print(try await session.request(url).serializingString().value)
        await session.shutdown()
    }

    static func cores(_ url: URL) async throws {
        // snippet.cores
        var configuration = Session.Configuration()
        configuration.eventLoops = .cores
        let session = Session(configuration: configuration)
        // snippet.end
        print(try await session.request(url).serializingString().value)
        await session.shutdown()
    }

    static func unixSocket(_ path: String) async {
        // snippet.unix
        var configuration = Session.Configuration()
        configuration.unixSocketPath = path  // such as /run/docker.sock
        let session = Session(configuration: configuration)
        let response = await session.request("http://localhost/version")
            .serializingString().response
        // snippet.end
        print(response.error?.kind.description ?? "There is such a socket.")
        await session.shutdown()
    }

    static func identity(_ certificate: String, key: String) async {
        // snippet.identity
        var configuration = Session.Configuration()
        configuration.tls.clientIdentity = .pem(
            file: certificate, keyFile: key, passphrase: "secret")
        let session = Session(configuration: configuration)
        // snippet.end
        print(
            configuration.tls.clientIdentity.map { "\($0)" }
                ?? "no client identity"
        )
        await session.shutdown()
    }

    static func secure() {
        // snippet.tls
        var configuration = Session.Configuration()
        configuration.tls.minimumVersion = .v1_3
        configuration.tls.cipherSuites = [
            "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_256_GCM_SHA384",
        ]
        configuration.hsts = .memory
        // snippet.end
        print("TLS 1.3 at least: \(configuration.tls.minimumVersion == .v1_3)")
    }
}

try await Connections.run()
