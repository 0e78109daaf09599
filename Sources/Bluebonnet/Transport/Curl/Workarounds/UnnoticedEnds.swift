import CCurl

/// Makes libcurl notice for every stream that their HTTP/2 connection has ended.
///
/// Before 8.1.0, only one stream fails when the server ends TLS (close_notify, RFC 8446 §6.1) but keeps the TCP
/// connection open. Nothing more arrives at the socket, so the other streams would wait until their idle limit. The
/// engine therefore lets libcurl read from such a socket again.
enum UnnoticedEnds {
    /// Whether the installed libcurl has the defect.
    static let isGuarded = Libcurl.version < 0x08_01_00

    /// Whether a code may mean that the connection has ended.
    static func mayMeanEnd(_ code: CURLcode) -> Bool {
        [CURLE_PARTIAL_FILE, CURLE_HTTP2, CURLE_RECV_ERROR, CURLE_SEND_ERROR].contains(code)
    }
}

extension Transfer {
    /// Called when a request has failed, or is sent again, perhaps because its connection has ended.
    func noteEnd(of connection: IdleConnections.Connection?, _ code: CURLcode = CURLE_HTTP2) {
        guard UnnoticedEnds.isGuarded, let connection, connection.version == .multiplexed, let multi,
            UnnoticedEnds.mayMeanEnd(code)
        else { return }
        turn.endedSockets.append((multi, connection))
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
