import CSystem

/// Tells a TCP connection from all others that are open: a port of this end alone may be that of several.
// Safety: the system reads and writes within the calls.
struct ConnectionEnds: Hashable {
    private let localPort: UInt16
    private let remotePort: UInt16
    private let isV6: Bool
    private let high: UInt64
    private let low: UInt64

    /// Those of a socket; `nil` when it is not connected.
    init?(of socket: Int32) {
        var ends = bb_ends()
        guard unsafe bb_socket_ends(socket, &ends) != 0 else { return nil }
        self.init(ends)
    }

    /// Those that libcurl tells of; `nil` for what is no TCP connection.
    init?(localPort: Int, remotePort: Int, remoteAddress: UnsafePointer<CChar>?) {
        var ends = bb_ends()
        guard let localPort = UInt16(exactly: localPort), let remotePort = UInt16(exactly: remotePort), localPort > 0,
            unsafe bb_ends_set_address(&ends, remoteAddress) != 0
        else { return nil }
        ends.local_port = localPort
        ends.remote_port = remotePort
        self.init(ends)
    }

    /// The port alone tells nearly all of them apart.
    func hash(into hasher: inout Hasher) {
        hasher.combine(localPort)
    }

    private init(_ ends: bb_ends) {
        localPort = ends.local_port
        remotePort = ends.remote_port
        isV6 = ends.is_v6 != 0
        (high, low) = ends.address
    }
}
