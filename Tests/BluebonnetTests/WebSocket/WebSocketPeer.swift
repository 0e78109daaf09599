import Foundation
import Glibc
import TestSupport
import Testing

@testable import Bluebonnet

/// Servers for WebSockets from other projects; see `Tests/Support/servers/websocket_peer.py` for the orders.
enum WebSocketPeer: String, CaseIterable, Sendable {
    case websockets, aiohttp
    /// Node's "ws".
    case ws

    /// The settings of a server.
    struct Settings: Encodable, Sendable {
        /// A certificate, its key, and maybe the authority of the clients.
        var tls: [String]?
        var unix: String?
        /// Parameters of the compression, in the names of the package.
        var deflate: [String: JSONValue]?
    }

    /// Runs a test with the port of a server (0 for a unix socket), and ends the server.
    func run<Result>(_ settings: Settings = Settings(), _ body: (Int) async throws -> Result) async throws -> Result {
        let json = String(decoding: try JSONEncoder().encode(settings), as: UTF8.self)
        let node = ["NODE_PATH=/usr/share/nodejs", "node", Python.path(of: "servers/websocket_peer.js"), json]
        let program =
            self == .ws
            ? try LineOutputProgram(command: node)
            : try Python.start("servers/websocket_peer.py", [rawValue, json])
        return try await Self.run(program, lines: 1, endingWith: SIGKILL) { try await body(Int($0[0]) ?? 0) }
    }

    /// The same behind an nginx, with its port without TLS and its port with TLS.
    func runBehindNginx<Result>(_ body: (Int, Int) async throws -> Result) async throws -> Result {
        let files = try TestCertificates()
        let directory = FileManager.default.temporaryDirectory.appending(path: "bluebonnet-nginx-\(UUID())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        return try await run { port in
            let arguments = [directory.path(percentEncoded: false), "\(port)", files.server, files.serverKey]
            let program = try Python.start("servers/websocket_nginx.py", arguments)
            return try await Self.run(program, lines: 2, endingWith: SIGTERM) { lines in
                try await body(try #require(Int(lines[0])), try #require(Int(lines[1])))
            }
        }
    }

    /// Runs a program that prints some lines, and ends it after the body.
    ///
    /// Python and Node inherit a blocked SIGTERM; nginx waits for the signal, and ends its worker.
    private static func run<Result>(
        _ program: LineOutputProgram, lines count: Int, endingWith signal: Int32,
        _ body: ([String]) async throws -> Result
    ) async throws -> Result {
        defer { program.send(signal) }
        var iterator = program.lines.makeAsyncIterator()
        var lines: [String] = []
        for _ in 0..<count { lines.append(try #require(await iterator.next(), "the server does not start")) }
        return try await body(lines)
    }
}
