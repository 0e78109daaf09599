/// Decoding that goes on after libcurl has handed the bytes over.
extension TransferEngine {
    /// How many bytes may go in and out of decoders before the loop looks after others: some two milliseconds' worth.
    static let decodingAllowance = 1 << 20

    /// Goes on decoding where that was interrupted, each in its turn.
    func decodeRests() {
        shared.decodingAllowance = Self.decodingAllowance
        guard !shared.toBeDecoded.isEmpty else { return }
        var waiting = shared.toBeDecoded[...]
        shared.toBeDecoded = []
        while shared.decodingAllowance > 0, let transfer = waiting.popFirst() {
            // What has ended meanwhile is not decoded any more.
            if transfers[transfer.id] != nil { decodeRest(of: transfer) }
        }
        // Those who were not served are the first next time.
        shared.toBeDecoded.insert(contentsOf: waiting, at: 0)
        shared.decodingAllowance = Self.decodingAllowance
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
