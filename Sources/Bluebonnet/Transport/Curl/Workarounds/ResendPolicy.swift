/// Decides whether libcurl may send a request again.
///
/// This is a value type without I/O and without a clock.
///
/// Libcurl sends a request again if an idle connection turns out to be closed. It also does so if the server refuses
/// the HTTP/2 stream without processing it (REFUSED_STREAM, RFC 9113 §8.7). In both cases, it makes up to five
/// attempts. All tested versions do this, 7.88 to 8.23. If a server also refuses the second attempt, no more attempts
/// are allowed.
struct ResendPolicy: Equatable {
    /// The number of connections that were opened for the request.
    private var connections = 0
    /// The number of times that the request was sent.
    private var count = 0
    /// Whether the request was ready to be sent on a connection.
    var hasBegun: Bool { count > 0 }
    /// Whether the request is sent on a connection that was opened for it.
    ///
    /// Libcurl never treats such a connection as one that was closed before. If libcurl sends the request again without
    /// a response, the server has refused it without processing it.
    private(set) var isOnNewConnection = false

    /// Whether the request is sent on a connection that was open before.
    ///
    /// If the server has closed such a connection, libcurl sends the request again only if it detects this by reading,
    /// not by sending a part of a body.
    var isOnKeptConnection: Bool { hasBegun && !isOnNewConnection }

    /// Called when libcurl is about to send the request, with the number of connections opened for it so far.
    ///
    /// Returns whether libcurl may send it. After a part of a response has arrived, such as a challenge, libcurl may
    /// always send it.
    mutating func requestBegins(connections: Int, isAnswered: Bool) -> Bool {
        let wasRefused = count > 0 && isOnNewConnection && !isAnswered
        isOnNewConnection = connections > self.connections
        self.connections = connections
        count += 1
        return !wasRefused || count <= Self.limit
    }

    /// The maximum number of attempts for a refused request.
    private static let limit = 2

    /// Whether the server makes libcurl send the request without end, for example with challenges (RFC 7616 §3.3:
    /// `stale=true`).
    var isEndless: Bool { count > Self.maximumSends }

    /// The maximum number of times that a request is sent; the challenges of a proxy and of a server take three
    /// requests each.
    static let maximumSends = 20
}
