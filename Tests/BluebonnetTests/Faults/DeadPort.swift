import Glibc
import Testing

/// Ports on loopback that never respond while the process runs.
///
/// The server of another test never gets such a port.
enum DeadPort {
    /// A port on which the system refuses connections.
    static func refusing() throws -> Int { try refusingPort.get() }

    /// A port on which attempts to connect are dropped: its queue of connections is full.
    static func ignoring() throws -> Int { try ignoringPort.get() }

    // Bound, which reserves it, but not listened on.
    private static let refusingPort = Result { try bind().port }

    private static let ignoringPort = Result {
        let (listener, port) = try bind()
        try #require(listen(listener, 0) == 0)
        // The queue accepts one connection. The system drops the other attempts.
        for index in 0..<4 {
            let client = socket(AF_INET, kind | (index == 0 ? 0 : Int32(SOCK_NONBLOCK.rawValue)), 0)
            try unsafe withAddress(port: port) { address, length in
                let code = unsafe connect(client, address, length)
                try #require(code == 0 || index > 0)
            }
        }
        return port
    }

    private static let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)

    private static func bind() throws -> (descriptor: Int32, port: Int) {
        let descriptor = socket(AF_INET, kind, 0)
        var port = 0
        try unsafe withAddress(port: 0) { address, length in
            var length = length
            try #require(unsafe Glibc.bind(descriptor, address, length) == 0)
            try #require(unsafe getsockname(descriptor, address, &length) == 0)
            port = unsafe address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { address in
                unsafe Int(UInt16(bigEndian: address.pointee.sin_port))
            }
        }
        return (descriptor, port)
    }

    /// Calls the body with the address of a port on loopback.
    private static func withAddress(
        port: Int, _ body: (UnsafeMutablePointer<sockaddr>, socklen_t) throws -> Void
    ) rethrows {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(truncatingIfNeeded: port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        // Safety: the pointers are used within the closures that provide them.
        try unsafe withUnsafeMutablePointer(to: &address) { pointer in
            try unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                try unsafe body(pointer, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}
