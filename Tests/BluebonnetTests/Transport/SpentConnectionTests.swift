import Glibc
import Testing

@testable import Bluebonnet

/// QUIC connections that have served so many requests that the server may refuse the next one.
@Suite struct SpentConnectionTests {
    /// A connected socket of a type, and its peer.
    private static func sockets(_ type: __socket_type) throws -> (socket: Int32, peer: Int32) {
        let (socket, peer) = (
            Glibc.socket(AF_INET, Int32(type.rawValue), 0), Glibc.socket(AF_INET, Int32(type.rawValue), 0)
        )
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                guard unsafe bind(peer, pointer, length) == 0, listen(peer, 1) == 0 || type == SOCK_DGRAM,
                    unsafe getsockname(peer, pointer, &length) == 0
                else { return Int32(-1) }
                return unsafe connect(socket, pointer, length)
            }
        }
        try #require(code == 0)
        return (socket, peer)
    }

    private static func isUsed(_ connections: inout IdleConnections, _ socket: Int32) throws -> Bool {
        let ends = try #require(ConnectionEndpoints(of: socket))
        switch connections.requestBegins(on: ends, to: { "a.test:443" }, version: { .multiplexed }, now: 0) {
        case .good: return true
        case .dead: return false
        default: throw SystemError(EINVAL)
        }
    }

    /// Without ``QUICConnections``, nginx refuses the requests after the 1,000th, and libcurl does not tell it.
    @Test(.enabled(if: Libcurl.hasHTTP3)) func `a QUIC connection is left after 900 requests, unless it stays in use`()
        throws
    {
        let (socket, peer) = try Self.sockets(SOCK_DGRAM)
        defer {
            close(socket)
            close(peer)
        }
        var connections = IdleConnections()
        connections.opened(socket)
        for number in 1...900 {
            let isUsed = try Self.isUsed(&connections, socket)
            #expect(isUsed, "\(number)")
        }
        for number in 1...100 {
            let isUsed = try Self.isUsed(&connections, socket)
            #expect(!isUsed, "\(number)")
        }
        // Another connection for each request would cost more.
        let isUsed = try Self.isUsed(&connections, socket)
        #expect(isUsed)
    }

    @Test func `a connection over TCP serves any number of requests`() throws {
        let (socket, peer) = try Self.sockets(SOCK_STREAM)
        defer {
            close(socket)
            close(peer)
        }
        var connections = IdleConnections()
        connections.opened(socket)
        for number in 1...1500 {
            let isUsed = try Self.isUsed(&connections, socket)
            #expect(isUsed, "\(number)")
        }
    }
}
