import CCurl
import CSystem

/// Keeps libcurl 8.5.0 from reading a response whose transfer is paused.
///
/// Libcurl 8.5.0 waits for the socket of a paused HTTP/1.1 transfer and reads from it. It stores up to 64 MiB, and then
/// the transfer fails. If the connection ends before the transfer continues, the stored bytes are lost. 8.4.0 and 8.6.0
/// do not wait for the socket.
enum ReadsDuringPause {
    /// Whether the installed libcurl has the defect.
    static let occur = Libcurl.version == 0x08_05_00
}

extension Transfer {
    /// Called when libcurl pauses or continues to receive the response.
    func receivingChanged(isPaused: Bool) {
        guard ReadsDuringPause.occur, let connection, connection.version == .http1 else { return }
        connection.isPaused = isPaused
        if !isPaused { multi?.resumeReading(from: connection) }
    }
}

extension MultiHandle {
    /// Stops waiting for a socket if its transfer is paused; returns whether it is.
    func holdsBack(_ socket: curl_socket_t) -> Bool {
        guard ReadsDuringPause.occur, let connection = idleConnections.connection(with: socket), connection.isPaused
        else { return false }
        connection.heldInterest = loop.interest(in: socket)
        loop.setInterest([], of: socket)
        return true
    }

    /// Waits again for a socket that was held back.
    func resumeReading(from connection: IdleConnections.Connection) {
        guard let interest = connection.heldInterest else { return }
        connection.heldInterest = nil
        if !connection.isClosed { loop.setInterest(interest, of: connection.socket) }
    }
}
