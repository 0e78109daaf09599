import BluebonnetLibc
import CSystem

/// Defers the end of an upload so that another body on the connection does not lose bytes.
///
/// When a body of unknown length ends over HTTP/2, libcurl before 8.1.0 processes the bytes that have arrived on the
/// connection. If bytes of another stream wait for room at that time, they are lost. Libcurl may have read these bytes
/// just before. The end therefore waits until libcurl has no work left, and is sent only if no bytes have been read
/// since then.
///
/// Over HTTP/3, all tested versions, 8.14.1 and 8.23.0, send the end only when they send something else. After the end
/// of the body, the engine therefore calls libcurl once more, so that libcurl sends the end.
struct DeferredUploadEnds {
    /// Whether the installed libcurl has the defect.
    static let costBytes = Libcurl.version < 0x08_01_00

    /// The transfers whose bodies have ended, but whose servers have not been notified, and whether an earlier attempt
    /// to send the end was interrupted by bytes that were read.
    fileprivate var waiting: [(transfer: Transfer, wasInterrupted: Bool)] = []
    /// The transfer whose end is being sent, and the number of bytes read from its connection before.
    fileprivate var ending: (transfer: Transfer, read: UInt64)?

    /// The transfers over QUIC whose bodies have ended, but whose ends may not have been sent.
    fileprivate var unsent: [Transfer] = []

    /// Whether no end has to be sent.
    var isEmpty: Bool { waiting.isEmpty && unsent.isEmpty }

    /// Called when a body has ended; returns whether its end may be sent immediately.
    mutating func bodyEnded(of transfer: Transfer) -> Bool {
        guard let connection = transfer.connection, connection.version == .multiplexed, transfer.upload.length == nil
        else { return true }
        guard Self.costBytes else {
            if QUICConnections.isQUIC(connection.socket) { unsent.append(transfer) }
            return true
        }
        let isEnding = ending?.transfer === transfer
        if isEnding, ending?.read == bb_socket_read(connection.socket) { return true }
        waiting.append((transfer, isEnding))
        return false
    }
}

extension TransferEngine {
    /// Sends the deferred ends of bodies; returns whether there were deferred ends.
    func endUploads() -> Bool {
        guard !shared.uploadEnds.isEmpty else { return false }
        for transfer in exchange(&shared.uploadEnds.unsent, with: []) {
            if let socket = transfer.connection?.socket { transfer.multi?.send(on: socket) }
        }
        for waiting in exchange(&shared.uploadEnds.waiting, with: []) {
            let transfer = waiting.transfer
            guard transfers[transfer.id] === transfer else { continue }
            guard let multi = transfer.multi, let socket = transfer.connection?.socket else {
                // The transfer starts again on another connection.
                perform(transfer.responseBuffer.state.bodyBytesArrived(), on: transfer)
                continue
            }
            // Bytes in libcurl's memory may wait for its next read from the socket.
            multi.read(socket)
            multi.runTimeouts(now: shared.now)
            guard !multi.isDue(at: shared.now) else {
                shared.uploadEnds.waiting.append(waiting)
                shared.steps.ask(.endUploads)
                continue
            }
            shared.uploadEnds.ending = (transfer, bb_socket_read(socket))
            perform(transfer.responseBuffer.state.bodyBytesArrived(), on: transfer)
            // Libcurl handles transfers in the order of their deadlines, in milliseconds, and does not read for the
            // first transfer.
            if waiting.wasInterrupted { usleep(1_100) }
            multi.send(on: socket)
            shared.uploadEnds.ending = nil
        }
        return true
    }
}
