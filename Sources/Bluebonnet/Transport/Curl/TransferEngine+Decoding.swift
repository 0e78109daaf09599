/// Decoding that goes on after libcurl has handed the bytes over.
extension TransferEngine {
    /// Goes on decoding where that was interrupted, each in its turn.
    func decodeRests() {
        let rests = shared.toBeDecoded.beginTurn()
        guard !rests.isEmpty else { return }
        var waiting = rests[...]
        while shared.toBeDecoded.allowance > 0, let transfer = waiting.popFirst() {
            // What has ended meanwhile is not decoded any more.
            if transfers[transfer.id] != nil { decodeRest(of: transfer) }
        }
        shared.toBeDecoded.endTurn(unserved: waiting)
    }

    private func decodeRest(of transfer: Transfer) {
        switch transfer.decodeRest() {
        case .pause:
            break
        case .refuse:
            finish(transfer, with: nil)
        case .accept:
            perform(transfer.reception.state.codedBytesDecoded(), on: transfer)
            // Libcurl may have been done with it before.
            if let code = transfer.codeAtEnd, let multi = transfer.multi, transfers[transfer.id] != nil {
                finish(transfer, with: code, of: multi)
            }
        }
    }
}
