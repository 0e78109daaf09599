import Glibc
import Testing

/// A port of an address on loopback on which attempts to connect are dropped, for as long as this lives.
final class FullQueue {
    private var descriptors: [Int32] = []

    /// Binds a port.
    ///
    /// - Parameters:
    ///   - lastByte: The last byte of the address, whose others are 127.0.0.
    ///   - port: The port, which must be unused at this address.
    /// - Throws: An error when the system does not do its part.
    init(lastByte: UInt8, port: Int) throws {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(truncatingIfNeeded: port).bigEndian
        address.sin_addr.s_addr = (0x7f00_0000 | UInt32(lastByte)).bigEndian
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        // Safety: the pointers are used within the closures that provide them.
        try unsafe withUnsafePointer(to: &address) { pointer in
            try unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                let length = socklen_t(MemoryLayout<sockaddr_in>.size)
                let listener = socket(AF_INET, kind, 0)
                descriptors.append(listener)
                try #require(unsafe bind(listener, pointer, length) == 0)
                try #require(listen(listener, 0) == 0)
                // The queue accepts one connection. The system drops the other attempts.
                for index in 0..<4 {
                    let client = socket(AF_INET, kind | (index == 0 ? 0 : Int32(SOCK_NONBLOCK.rawValue)), 0)
                    descriptors.append(client)
                    let code = unsafe connect(client, pointer, length)
                    try #require(code == 0 || index > 0)
                }
            }
        }
    }

    deinit {
        for descriptor in descriptors { close(descriptor) }
    }
}
