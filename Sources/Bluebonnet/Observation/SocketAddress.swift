/// One end of a connection.
public struct SocketAddress: Hashable, Sendable, CustomStringConvertible {
    /// The numeric IP address.
    public var host: String

    /// The port.
    public var port: Int

    /// Creates an address.
    ///
    /// - Parameters:
    ///   - host: The numeric IP address.
    ///   - port: The port.
    public init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// The address as in a URL: `127.0.0.1:80`, `[::1]:80`.
    public var description: String {
        host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}
