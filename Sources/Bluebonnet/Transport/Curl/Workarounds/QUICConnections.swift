import BluebonnetLibc
import CCurl

/// Recognizes QUIC connections, whose TLS connection libcurl before 8.15.0 does not reveal.
///
/// `CURLINFO_TLS_SSL_PTR` finds only TLS over TCP in these versions. The protocol of a QUIC connection and the policy
/// that evaluated its server are therefore determined without OpenSSL.
// Safety: the system writes to the variables within the call.
enum QUICConnections {
    /// Whether the installed libcurl supports HTTP/3 and has the defect.
    static let areHidden = Libcurl.hasHTTP3 && Libcurl.version < 0x08_0f_00

    /// Whether a socket is that of a QUIC connection; always `false` if the installed libcurl does not have the defect.
    static func isHidden(_ socket: Int32) -> Bool {
        guard areHidden else { return false }
        var type: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        return unsafe getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == Int32(SOCK_DGRAM.rawValue)
    }
}

extension Transfer {
    /// Whether a policy has evaluated the server of the connection that libcurl chose.
    func isConnectionEvaluated(_ ends: ConnectionEndpoints?, by policy: TrustPolicy) -> Bool {
        easy?.verifier?.hasAccepted(for: policy) ?? multi?.idleConnections.isEvaluated(ends, by: policy) ?? false
    }
}

extension IdleConnections {
    /// Whether a policy has evaluated the server of a QUIC connection.
    ///
    /// A connection for which no request was sent yet was opened for the transfer that asks. Its handshake was therefore
    /// evaluated by the transfer's policy.
    fileprivate func isEvaluated(_ ends: ConnectionEndpoints?, by policy: TrustPolicy) -> Bool {
        guard QUICConnections.areHidden, let ends else { return false }
        if let connection = connection(at: ends) { return connection.policy === policy }
        return freshSocket(at: ends).map(QUICConnections.isHidden) ?? false
    }
}
