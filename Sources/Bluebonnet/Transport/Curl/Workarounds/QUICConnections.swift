import BluebonnetLibc
import CCurl
import CSystem

/// Recognizes QUIC connections, whose TLS connection libcurl before 8.15.0 does not reveal.
///
/// `CURLINFO_TLS_SSL_PTR` finds only TLS over TCP in these versions. The protocol of a QUIC connection and the policy
/// that evaluated its server are therefore determined without OpenSSL.
///
/// All versions, 8.14 to 8.23, reuse a connection that the server has closed. Each request on this connection fails,
/// until the idle limit of the connection.
///
/// They do not report a GOAWAY frame either (RFC 9114 §5.2), so a request that is not idempotent fails if it was sent
/// before the frame arrived. A connection is therefore left before the number of requests at which nginx sends one.
// Safety: the system writes to the variables within the call.
enum QUICConnections {
    /// Whether the installed libcurl supports HTTP/3 and has the defect.
    static let areHidden = Libcurl.hasHTTP3 && Libcurl.version < 0x08_0f_00

    /// The number of requests on one connection; nginx as shipped handles 1,000.
    static let requestLimit = 900

    /// Whether a socket is that of a QUIC connection whose TLS connection is hidden.
    static func isHidden(_ socket: Int32) -> Bool { areHidden && isQUIC(socket) }

    /// Whether a socket is that of a QUIC connection.
    static func isQUIC(_ socket: Int32) -> Bool {
        guard Libcurl.hasHTTP3 else { return false }
        var type: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        return unsafe getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == Int32(SOCK_DGRAM.rawValue)
    }
}

extension IdleConnections {
    /// The codes after which a QUIC connection is not used for other requests.
    static let codesOfLoss = [
        CURLE_COULDNT_CONNECT, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_QUIC_CONNECT_ERROR,
    ]

    /// Called when a request failed on a connection.
    mutating func requestFailed(on connection: Connection, with code: CURLcode) {
        if Self.codesOfLoss.contains(code) { connectionIsLost(connection) }
    }

    /// Called when a connection has ended without a response to a request.
    ///
    /// The other requests on the connection may still receive their responses, or learn that they were refused.
    mutating func connectionIsLost(_ connection: Connection) {
        // The number of a closed socket may be that of another socket.
        guard connection.version == .multiplexed, !connection.isClosed, QUICConnections.isQUIC(connection.socket) else {
            return
        }
        connection.isLost = true
    }

    /// Whether another request must not be sent on a connection, because it has served many.
    ///
    /// Libcurl may choose the connection again and again while a long response keeps it open. After a number of
    /// handshakes, it is used nevertheless.
    func isSpent(_ connection: Connection) -> Bool {
        guard connection.requestCount >= QUICConnections.requestLimit, connection.refusals < 100,
            connection.version == .multiplexed, connection.isQUIC
        else { return false }
        connection.refusals += 1
        return true
    }

    /// Called when no request uses a connection any more.
    mutating func endIfLost(_ connection: Connection) {
        guard connection.isLost || connection.refusals > 0, !connection.isClosed else { return }
        // Libcurl then recognizes that the connection is closed.
        _ = shutdown(connection.socket, Int32(SHUT_RDWR))
        cutOff(connection.socket)
    }
}

extension Transfer {
    /// Whether a policy has evaluated the server of the connection that libcurl chose.
    func isConnectionEvaluated(_ ends: ConnectionEndpoints?, by policy: TrustPolicy) -> Bool {
        easy?.verifier?.hasAccepted(for: policy) ?? isQUICEvaluated(ends, by: policy)
    }

    /// Whether a policy has evaluated the server of a QUIC connection.
    ///
    /// A connection for which no request was sent yet was opened for this transfer. One of the transfer's own verifiers
    /// has therefore accepted its server.
    private func isQUICEvaluated(_ ends: ConnectionEndpoints?, by policy: TrustPolicy) -> Bool {
        guard QUICConnections.areHidden, let ends, let multi else { return false }
        if let connection = multi.idleConnections.connection(at: ends) { return connection.policy === policy }
        return trust.verifiers.contains { $0.hasAccepted(for: policy) }
            && multi.idleConnections.freshSocket(at: ends).map(QUICConnections.isHidden) == true
    }
}
