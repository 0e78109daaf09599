/// Decides whether libcurl may send a request again on its own, as a value.
///
/// Libcurl does so if a kept connection turns out to be dead, which says nothing about the server. It also does so if
/// the server refuses the HTTP/2 stream unprocessed (REFUSED_STREAM, RFC 9113 §8.7). It tries up to five times in each
/// case, one after another. All tested versions do so, 7.88 to 8.23. A server that also refuses the repeated request
/// should be left alone.
struct ResendPolicy: Equatable {
    /// The number of connections that were opened for the request.
    private var connections = 0
    /// The number of times that the request was sent.
    private var count = 0
    /// Whether the connection was ready and the request was about to be sent.
    var hasBegun: Bool { count > 0 }
    /// Whether the request is sent on a connection that was opened for it.
    ///
    /// Libcurl never treats such a connection as one that was already dead. If libcurl sends the request again without
    /// a response, the server has refused it unprocessed.
    private(set) var isOnNewConnection = false

    /// Called when libcurl is about to send the request, with the number of connections opened for it so far; returns
    /// whether it may.
    ///
    /// It may always do so after a part of a response has arrived, such as a challenge to answer.
    mutating func requestBegins(connections: Int, isAnswered: Bool) -> Bool {
        let wasRefused = count > 0 && isOnNewConnection && !isAnswered
        isOnNewConnection = connections > self.connections
        self.connections = connections
        count += 1
        return !wasRefused || count <= Self.limit
    }

    /// The request may be sent once more at most.
    private static let limit = 2

    /// Whether the server causes the request to be sent endlessly, for example by challenges (RFC 7616 §3.3:
    /// `stale=true`).
    var isEndless: Bool { count > Self.maximumSends }

    /// Answering the challenges of a proxy and of a server takes three requests each.
    static let maximumSends = 20
}
