/// Keeps the end of an upload from costing another body on the connection some of its bytes.
///
/// When a body of unknown length ends over HTTP/2, libcurl before 8.1.0 goes on with what has come in on the connection,
/// even if bytes of another stream wait there for room: those are lost, and nobody is told. It reads before it sends, so
/// that they may have come just then. So such an end waits until libcurl has nothing left to do, and is told in a step that
/// does not read.
struct UploadEnds {
    /// Whether this libcurl has the fault.
    static let costBytes = Libcurl.version < 0x08_01_00

    /// The transfers whose bodies have ended, which their servers do not know.
    private var waiting: [Transfer] = []
    /// The one whose server is being told.
    private var told: Transfer?

    /// A body has ended; returns whether its server may be told at once.
    mutating func bodyEnded(of transfer: Transfer) -> Bool {
        guard Self.costBytes, transfer.connection?.version == .http2, transfer.upload.length == nil, told !== transfer
        else { return true }
        waiting.append(transfer)
        return false
    }

    fileprivate mutating func takeWaiting() -> [Transfer] {
        guard !waiting.isEmpty else { return [] }
        defer { waiting = [] }
        return waiting
    }

    fileprivate mutating func keep(_ transfer: Transfer) { waiting.append(transfer) }

    fileprivate mutating func begins(with transfer: Transfer?) { told = transfer }
}

extension TransferEngine {
    /// Tells servers that the bodies of their requests have ended; returns whether there were any.
    func endUploads() -> Bool {
        let waiting = shared.uploadEnds.takeWaiting()
        for transfer in waiting where transfers[transfer.id] === transfer {
            guard let multi = transfer.multi, let socket = transfer.connection?.socket else { continue }
            // What libcurl has in its memory may wait for its next look at the socket.
            multi.read(socket)
            multi.runTimeouts(now: shared.now)
            guard !multi.isDue(at: shared.now) else {
                shared.uploadEnds.keep(transfer)
                continue
            }
            shared.uploadEnds.begins(with: transfer)
            perform(transfer.reception.state.bodyBytesArrived(), on: transfer)
            multi.send(on: socket)
            shared.uploadEnds.begins(with: nil)
        }
        return !waiting.isEmpty
    }
}
