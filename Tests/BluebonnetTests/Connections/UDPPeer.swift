import BluebonnetLibc
import Synchronization

@testable import Bluebonnet

/// A UDP socket on 127.0.0.1 in place of a QUIC server: it relays to one, is silent, or answers with noise.
// Safety: C types are passed by value or within a call.
final class UDPPeer: Sendable {
    /// What the peer does with a datagram of a client.
    enum Behavior: Sendable {
        /// Passes it to the port of 127.0.0.1, and the answers back.
        case relays(to: Int)
        case ignores
        /// Answers with datagrams of random bytes; each has the size of a QUIC packet.
        case answers(count: Int)
    }

    /// The UDP port.
    let port: Int

    private let behavior: Behavior
    private let socket: Int32
    private let isBroken = Atomic<Bool>(false)
    private let isEnded = Atomic<Bool>(false)
    private let received = Atomic<Int>(0)

    /// The number of datagrams that clients have sent.
    var receivedCount: Int { received.load(ordering: .relaxed) }

    /// Binds a port.
    ///
    /// - Parameters:
    ///   - behavior: What to do with a datagram.
    ///   - port: The port to bind; 0 for any.
    /// - Throws: `TestFailure` if there is no port or no thread.
    init(_ behavior: Behavior, port: Int = 0) throws {
        self.behavior = behavior
        let socket = Self.openSocket()
        self.socket = socket
        var address = Self.address(UInt16(port))
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = unsafe withUnsafeMutablePointer(to: &address) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(socket, $0, length) == 0 && getsockname(socket, $0, &length) == 0
            }
        }
        self.port = Int(UInt16(bigEndian: address.sin_port))
        guard isBound, DetachedThread.start(name: "udp-peer", { self.run() }) else {
            throw TestFailure("no UDP port, or no thread")
        }
    }

    /// Drops all datagrams from now on, in both directions.
    func breakPath() { isBroken.store(true, ordering: .relaxed) }

    /// Closes the socket.
    func stop() { isEnded.store(true, ordering: .relaxed) }

    private static func openSocket() -> Int32 {
        BluebonnetLibc.socket(AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    }

    private static func address(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        return address
    }

    private func run() {
        // The sockets towards the server, by the clients' ports.
        var upstream: [UInt16: Int32] = [:]
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let noise = (0..<1_200).map { _ in UInt8.random(in: 0...255) }[...]
        while !isEnded.load(ordering: .relaxed) {
            let sockets = [(UInt16(0), socket)] + upstream.map { ($0.key, $0.value) }
            var polled = sockets.map { pollfd(fd: $0.1, events: Int16(POLLIN), revents: 0) }
            guard unsafe poll(&polled, nfds_t(polled.count), 20) > 0 else { continue }
            for (index, (client, descriptor)) in sockets.enumerated() where polled[index].revents != 0 {
                var sender = sockaddr_in()
                let count = Self.receive(&buffer, on: descriptor, from: &sender)
                guard count > 0, !isBroken.load(ordering: .relaxed) else { continue }
                if client != 0 {
                    Self.send(buffer[..<count], on: socket, to: client)
                    continue
                }
                received.add(1, ordering: .relaxed)
                let port = UInt16(bigEndian: sender.sin_port)
                switch behavior {
                case .ignores: break
                case .answers(let answers):
                    for _ in 0..<answers { Self.send(noise, on: socket, to: port) }
                case .relays(let server):
                    let up = upstream[port] ?? Self.openSocket()
                    upstream[port] = up
                    Self.send(buffer[..<count], on: up, to: UInt16(server))
                }
            }
        }
        for descriptor in upstream.values { close(descriptor) }
        close(socket)
    }

    private static func receive(_ buffer: inout [UInt8], on socket: Int32, from sender: inout sockaddr_in) -> Int {
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        return unsafe withUnsafeMutablePointer(to: &sender) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe buffer.withUnsafeMutableBytes { bytes in
                    unsafe recvfrom(socket, bytes.baseAddress, bytes.count, 0, address, &length)
                }
            }
        }
    }

    private static func send(_ bytes: ArraySlice<UInt8>, on socket: Int32, to port: UInt16) {
        var address = address(port)
        _ = unsafe withUnsafePointer(to: &address) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe bytes.withUnsafeBytes { bytes in
                    unsafe sendto(
                        socket, bytes.baseAddress, bytes.count, 0, address, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        }
    }
}
