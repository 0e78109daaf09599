import CSystem
import Glibc

/// Keeps the end of an upload from costing another body on the connection some of its bytes.
///
/// When a body of unknown length ends over HTTP/2, libcurl before 8.1.0 processes the bytes that have come in on the
/// connection, even if bytes of another stream wait there for room, which are lost then. It may have read them just
/// before. So such an end waits until libcurl has nothing left to do, and is sent only if nothing was read since.
struct DeferredUploadEnds {
    /// Whether this libcurl has the fault.
    static let costBytes = Libcurl.version < 0x08_01_00

    fileprivate struct DeferredEnd {
        let transfer: Transfer
        /// Whether bytes were read when the end was to be sent before.
        let wasInterrupted: Bool
    }

    /// The transfers whose bodies have ended, which their servers do not know.
    fileprivate var waiting: [DeferredEnd] = []
    /// The transfer whose end is being sent, and how many bytes had been read of its connection before.
    fileprivate var ending: (transfer: Transfer, read: UInt64)?

    /// Whether no end is to be sent.
    var isEmpty: Bool { waiting.isEmpty }

    /// A body has ended; returns whether the end may be sent at once.
    mutating func bodyEnded(of transfer: Transfer) -> Bool {
        guard Self.costBytes, let connection = transfer.connection, connection.version == .http2,
            transfer.upload.length == nil
        else { return true }
        let isEnding = ending?.transfer === transfer
        if isEnding, ending?.read == bb_socket_read(connection.socket) { return true }
        waiting.append(DeferredEnd(transfer: transfer, wasInterrupted: isEnding))
        return false
    }
}

extension TransferEngine {
    /// Tells servers that the bodies of their requests have ended; returns whether there were any.
    func endUploads() -> Bool {
        guard !shared.uploadEnds.isEmpty else { return false }
        for waiting in exchange(&shared.uploadEnds.waiting, with: []) {
            let transfer = waiting.transfer
            guard transfers[transfer.id] === transfer else { continue }
            guard let multi = transfer.multi, let socket = transfer.connection?.socket else {
                // It begins again on another connection.
                perform(transfer.responseBuffer.state.bodyBytesArrived(), on: transfer)
                continue
            }
            // Bytes in libcurl's memory may wait for its next look at the socket.
            multi.read(socket)
            multi.runTimeouts(now: shared.now)
            guard !multi.isDue(at: shared.now) else {
                shared.uploadEnds.waiting.append(waiting)
                continue
            }
            shared.uploadEnds.ending = (transfer, bb_socket_read(socket))
            perform(transfer.responseBuffer.state.bodyBytesArrived(), on: transfer)
            // Libcurl serves transfers in the order in which they fell due, to the millisecond, and does not read for
            // the first.
            if waiting.wasInterrupted { usleep(1_100) }
            multi.send(on: socket)
            shared.uploadEnds.ending = nil
        }
        return true
    }
}
