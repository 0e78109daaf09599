/// Decides whether libcurl may send a request again by itself, as a value.
///
/// It does when a kept connection turns out to be dead, which means nothing about the server, and when the server
/// refuses the stream of HTTP/2 unseen (REFUSED_STREAM, RFC 9113 §8.7): up to five times each, one by one. All versions
/// tried do so, 7.88 to 8.23. A server that refuses the repeated request, too, wants to be left alone.
struct ResendPolicy: Equatable {
    /// How many connections have been made for the request.
    private var connections = 0
    /// How often it was sent.
    private var count = 0
    /// Whether the connection was there and the request was about to go out.
    var hasBegun: Bool { count > 0 }
    /// Whether it goes out on a connection that was made for it.
    ///
    /// Such a connection is never treated as one that was dead before: if libcurl wants to send the request again
    /// without an answer, then because the server has refused it, and has not looked at it.
    private(set) var isOnNewConnection = false

    /// Libcurl is about to send the request, for which it has made so many connections; returns whether it may.
    ///
    /// It may after anything of a response has come in, such as a challenge that is to be met.
    mutating func requestBegins(connections: Int, isAnswered: Bool) -> Bool {
        let wasRefused = count > 0 && isOnNewConnection && !isAnswered
        isOnNewConnection = connections > self.connections
        self.connections = connections
        count += 1
        return !wasRefused || count <= Self.limit
    }

    /// Once more at most.
    private static let limit = 2

    /// Whether the server has it sent again and again, such as by challenges (RFC 7616 §3.3: `stale=true`).
    var isEndless: Bool { count > Self.maximumSends }

    /// To meet the challenges of a proxy and of a server takes three each.
    static let maximumSends = 20
}
