import Testing

@testable import Bluebonnet
@testable import BluebonnetTesting

/// The search for the socket of a new connection.
@Suite struct FreshSocketsTests {
    /// Opens connections to a server, and closes them at the end.
    private func withSockets(_ count: Int, _ body: ([Socket]) throws -> Void) async throws {
        let server = try await LocalServer { _ in }
        let sockets = try (0..<count).map { _ in try Socket.connecting(to: UInt16(server.port)) }
        defer { for socket in sockets { socket.close() } }
        try body(sockets)
        await server.stop()
    }

    @Test func `each socket is found by its connection until it has served a request`() async throws {
        try await withSockets(8) { sockets in
            var fresh = FreshSockets()
            for socket in sockets { fresh.insert(socket.descriptor) }
            for socket in sockets {
                let ends = try #require(ConnectionEndpoints(of: socket.descriptor))
                #expect(fresh.socket(at: ends) == socket.descriptor)
                fresh.remove(socket.descriptor)
                #expect(fresh.socket(at: ends) == nil)
                // The descriptor may belong to another connection now.
                fresh.insert(socket.descriptor)
                #expect(fresh.socket(at: ends) == socket.descriptor)
            }
        }
    }

    /// With 8,000 new connections, reading the ends of all sockets for each of them took 8.7 seconds.
    @Test func `a search does not read the ends of all sockets`() async throws {
        try await withSockets(300) { sockets in
            let descriptors = sockets.map(\.descriptor)
            let ends = descriptors.compactMap { ConnectionEndpoints(of: $0) }
            let clock = ContinuousClock()
            let all = clock.measure {
                for end in ends { _ = descriptors.first { ConnectionEndpoints(of: $0) == end } }
            }
            let searched = clock.measure {
                var fresh = FreshSockets()
                for descriptor in descriptors { fresh.insert(descriptor) }
                for end in ends { _ = fresh.socket(at: end) }
            }
            #expect(searched * 5 < all)
        }
    }
}
