import CCurl

/// Makes libcurl notice for every stream that their connection has ended.
///
/// Nothing more arrives at the socket of such a connection, so its streams would wait until their idle limit. The
/// engine therefore lets libcurl read from the socket again. Not all streams notice an end:
///
/// - With HTTP/2 before 8.1.0, only one stream fails when the server ends TLS (close_notify, RFC 8446 §6.1) but keeps
///   the TCP connection open.
/// - With HTTP/3, seen with 8.23.0, only the stream fails for which libcurl reads the CONNECTION_CLOSE frame (RFC 9000
///   §10.2), unless the socket becomes ready again.
enum UnnoticedEnds {
    /// Whether the installed libcurl has the defect with HTTP/2.
    static let isGuarded = Libcurl.version < 0x08_01_00

    /// Whether a code may mean that the connection has ended.
    static func mayMeanEnd(_ code: CURLcode) -> Bool {
        [CURLE_PARTIAL_FILE, CURLE_HTTP2, CURLE_RECV_ERROR, CURLE_SEND_ERROR].contains(code)
    }
}

extension Transfer {
    /// Called when a request has failed, or is sent again, perhaps because its connection has ended.
    func noteEnd(of connection: IdleConnections.Connection?, _ code: CURLcode = CURLE_HTTP2) {
        guard let connection, connection.version == .multiplexed, let multi,
            connection.isLost || UnnoticedEnds.isGuarded && UnnoticedEnds.mayMeanEnd(code)
        else { return }
        turn.endedSockets.append((multi, connection))
        turn.steps.ask(.readEndedSockets)
    }
}

extension TransferEngine {
    /// Reads from the sockets whose connections may have ended, if requests use them; returns whether there were any.
    func readEndedSockets() -> Bool {
        guard !shared.endedSockets.isEmpty else { return false }
        let ended = shared.endedSockets
        shared.endedSockets.removeAll()
        for (multi, connection) in ended where connection.isInUse { multi.read(connection.socket) }
        return true
    }
}
