/// The measurements of one exchange, which is one request with its response.
///
/// Each duration except ``queue`` counts from the start of the exchange. If a phase did not take place, its duration is
/// `nil`. For example, there is no name lookup and no TLS handshake on a reused connection.
public struct TransferMetrics: Hashable, Sendable {
    /// The time that the request waited for other requests to end, before the exchange started.
    ///
    /// The other durations do not contain this time. See ``Session/Configuration/requestLimits``.
    public var queue: Duration?
    /// The time from the start of the exchange until the host name was resolved.
    public var nameLookup: Duration?
    /// The time from the start of the exchange until the TCP connection was established.
    public var connect: Duration?
    /// The time from the start of the exchange until the TLS handshake was complete.
    public var tlsHandshake: Duration?
    /// The time from the start of the exchange until everything was ready to send the request.
    public var requestStart: Duration?
    /// The time from the start of the exchange until the first byte of the response arrived.
    public var firstByte: Duration?
    /// The time from the start of the exchange until the exchange ended.
    public var total: Duration = .zero
    /// The number of bytes sent for the request head and body, without the overhead of TLS.
    public var bytesSent: Int64 = 0
    /// The number of bytes received for the response head and body, without the overhead of TLS.
    public var bytesReceived: Int64 = 0
    /// The HTTP version of the response, or `nil` if there was no response.
    public var httpVersion: HTTPVersion?
    /// The address of the server, or of the proxy if the connection used a proxy.
    public var remoteAddress: SocketAddress?
    /// The local address of the connection.
    public var localAddress: SocketAddress?
    /// Whether the exchange reused the connection of an earlier exchange.
    public var isReusedConnection = false
    /// The number of bytes of the request body that were sent, or `nil` if it is not known.
    package var requestBodyBytes: Int64?
    /// The number of bytes of the response body that were received, before content decoding, or `nil` if it is not
    /// known.
    package var responseBodyBytes: Int64?
    /// The first challenges of the server, if the request has a credential.
    package var challenges: [Challenge] = []

    /// Creates empty metrics.
    public init() {}
}

/// The address of one end of a connection.
public struct SocketAddress: Hashable, Sendable, Described {
    /// The numeric IP address.
    public var host: String

    /// The port number.
    public var port: Int

    /// Creates an address.
    ///
    /// - Parameters:
    ///   - host: The numeric IP address.
    ///   - port: The port number.
    public init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// The address in the form of a URL, such as `127.0.0.1:80` or `[::1]:80`.
    package var text: String {
        host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}
