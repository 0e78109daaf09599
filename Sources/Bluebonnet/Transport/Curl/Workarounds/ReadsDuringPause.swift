import CCurl
import CSystem

/// Keeps libcurl 8.5.0 from reading a response whose transfer is paused.
///
/// Libcurl 8.5.0 waits for the socket of a connection on which all transfers are paused. With HTTP/1.1, it reads from
/// the socket and stores up to 64 MiB, after which the transfer fails. If the connection ends before the transfer
/// continues, the stored bytes are lost. With HTTP/2, libcurl may not read, and is called again and again. Libcurl
/// 8.4.0 and 8.6.0 do not wait for the socket.
enum ReadsDuringPause {
    /// Whether the installed libcurl has the defect.
    static let occur = Libcurl.version == 0x08_05_00
}

extension Transfer {
    /// Stops or continues waiting for the socket of the connection; see ``receivingChanged(isPaused:)``.
    func holdSocketBack(while isPaused: Bool) {
        guard let connection else { return }
        if isPaused {
            // An upload needs its socket. While it lasts, the defect remains.
            if case .sending = responseBuffer.state.upload { return }
            return _ = connection.paused.insert(ObjectIdentifier(self))
        }
        connection.paused.remove(ObjectIdentifier(self))
        multi?.resumeReading(from: connection)
    }

    /// Called when the transfer no longer uses a connection.
    func receivingEnded(on connection: IdleConnections.Connection) {
        guard ReadsDuringPause.occur else { return }
        connection.paused.remove(ObjectIdentifier(self))
        if connection.users > 0 { multi?.resumeReading(from: connection) } else { connection.heldInterest = nil }
    }
}

extension MultiHandle {
    /// Stops waiting for a socket if all of its transfers are paused; returns whether they are.
    func holdsBack(_ socket: curl_socket_t) -> Bool {
        guard ReadsDuringPause.occur, let connection = idleConnections.connection(with: socket), connection.users > 0,
            connection.paused.count == connection.users
        else { return false }
        let interest = loop.interest(in: socket)
        if !interest.isEmpty { connection.heldInterest = interest }
        loop.setInterest([], of: socket)
        return true
    }

    /// Waits again for a socket that was held back.
    fileprivate func resumeReading(from connection: IdleConnections.Connection) {
        guard let interest = connection.heldInterest else { return }
        connection.heldInterest = nil
        if !connection.isClosed { loop.setInterest(interest, of: connection.socket) }
    }
}
