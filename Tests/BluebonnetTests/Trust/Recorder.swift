import Bluebonnet
import FoundationEssentials
import TestSupport

/// A server for one test that records the bytes that it has decrypted; see `Tests/Support/servers/recorder.py`.
struct Recorder: Sendable {
    /// The record of a server.
    struct Counts: Decodable, Sendable {
        let connections: Int
        let handshakes: Int
        let bytes: Int
        let requests: [String]
    }

    private struct Start: Decodable {
        let port: Int
    }

    let port: Int
    private let control: Session

    /// Starts a server with a chain and some protocols.
    init(_ chain: ChainServer, protocols: String = "h2,http/1.1") async throws {
        try await self.init(chain: Self.path(of: chain.rawValue), protocols)
    }

    /// The same for a certificate that is revoked or not, and the response that is stapled: a row of `revocation.sh`.
    init(row: String, protocols: String = "h2,http/1.1") async throws {
        try await self.init(chain: "revocation/rows/\(row)", protocols)
    }

    /// The same for a chain that is not one of the servers', by the path of its files without what comes after the name.
    init(path: String) async throws {
        try await self.init(chain: path, "h2,http/1.1")
    }

    private init(chain: String, _ protocols: String) async throws {
        var configuration = Session.Configuration()
        configuration.proxy = .none
        control = Session(configuration: configuration)
        port = try await control.request(
            try TestServers.recorder.url("/start?chain=\(chain)&alpn=\(protocols)")
        ).serializingDecodable(Start.self).value.port
    }

    func url(_ path: String = "/", host: String = "127.0.0.1") -> String { "https://\(host):\(port)\(path)" }

    func counts() async throws -> Counts { try await act("counts") }

    /// The same when all connections have ended, and nothing that was sent can be still to come.
    func finalCounts() async throws -> Counts { try await act("final") }

    /// Shows another chain on the same port from now on, and closes the connections, as a restarted server.
    func change(to chain: String) async throws { _ = try await act("change", "&chain=\(Self.path(of: chain))") }

    func stop() async throws {
        _ = try await act("stop")
        await control.shutdown()
    }

    private static func path(of chain: String) -> String { "certificates/chains/\(chain)" }

    private func act(_ name: String, _ more: String = "") async throws -> Counts {
        try await control.request(try TestServers.recorder.url("/\(name)?port=\(port)\(more)"))
            .validate().serializingDecodable(Counts.self).value
    }
}
