/// The measurements of one exchange.
///
/// The durations count from the start of the exchange, as libcurl measures them; a phase that did not take place (a
/// name lookup or a handshake on a reused connection) is `nil`.
public struct TransferMetrics: Hashable, Sendable {
    /// When the host's name was resolved.
    public var nameLookup: Duration?
    /// When the TCP connection was there.
    public var connect: Duration?
    /// When the TLS handshake was complete.
    public var tlsHandshake: Duration?
    /// When the request was about to be sent.
    public var requestStart: Duration?
    /// When the first byte of the response arrived.
    public var firstByte: Duration?
    /// When the exchange ended.
    public var total: Duration = .zero
    /// How many bytes of request head and body were sent, as on the wire but for TLS.
    public var bytesSent: Int64 = 0
    /// How many bytes of response head and body were received, as on the wire but for TLS.
    public var bytesReceived: Int64 = 0
    /// The version of HTTP that was spoken, if a response came.
    public var httpVersion: HTTPVersion?
    /// The address of the peer, a proxy's where there is one.
    public var remoteAddress: SocketAddress?
    /// The address of this end.
    public var localAddress: SocketAddress?
    /// Whether the connection had been used before.
    public var isReusedConnection = false

    /// Creates metrics of an exchange in which nothing happened.
    public init() {}
}

/// One end of a connection.
public struct SocketAddress: Hashable, Sendable, Described {
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
    package var text: String {
        host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}
