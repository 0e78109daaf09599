import CCurl

/// Decodes the bodies of transfers.
///
/// Libcurl would decode everything that it has read at once, and store output without a destination: the 64 KiB of its
/// buffer may become 100 MiB. So it passes the coded bytes on. They are decoded here in small steps, as long as there
/// is room for the output and the turn does not take too long.
// Safety: libcurl's buffers are used within the callback that provides them, up to the length that it names.
extension Transfer {
    /// Receives coded bytes of the body; returns libcurl's next step.
    func receivedCodedBody(
        _ bytes: UnsafeRawBufferPointer, _ decoder: ContentDecoder
    ) -> TransferState.BodyAction {
        if announcesHead { noteHead() }
        guard reception.state.codedBytesReceived() == .accept else { return .pause }
        reception.lastActivity = turn.now
        var input = unsafe bytes
        let action = unsafe decode(&input, decoder)
        guard action == .pause else {
            noteRefusal()
            return action
        }
        unsafe decoder.keep(input)
        reception.state.codedBytesLeft()
        noteDecoding()
        return .accept
    }

    /// Decodes the remaining bytes; returns the resulting action, which is a pause if some bytes still remain.
    func decodeRest() -> TransferState.BodyAction {
        isToBeDecoded = false
        guard let decoder = reception.decoder, reception.state.hasCodedRest else { return .accept }
        let action = unsafe decoder.decodeRest { unsafe decode(&$0, decoder) }
        action == .pause ? noteDecoding() : noteRefusal()
        return action
    }

    /// Makes the engine continue decoding in its next turn, if coded bytes remain and there is room for the output.
    func noteDecoding() {
        guard reception.state.hasCodedRest, reception.state.takesBody, !isToBeDecoded else { return }
        isToBeDecoded = true
        turn.toBeDecoded.append(self)
    }

    /// Decodes until the input is used up, there is no room for the output, or the turn must end.
    private func decode(
        _ input: inout UnsafeRawBufferPointer, _ decoder: ContentDecoder
    ) -> TransferState.BodyAction {
        while true {
            if reception.isPieceFull(for: ContentDecoder.stepSize) { handPieceOver() }
            guard reception.state.takesBody else { return .pause }
            switch unsafe decoder.step(&input, allowance: &turn.toBeDecoded.allowance) {
            case .output(let count):
                let action = unsafe acceptBody(decoder.output(count))
                guard action == .accept else { return action }
            case .needsInput:
                return .accept
            case .restsForOthers:
                return .pause
            case .failed(let words):
                reception.failDecoding(words)
                return .refuse(.undecodableContent)
            }
        }
    }
}

/// Continues decoding after libcurl has passed the bytes on.
extension TransferEngine {
    /// Resumes interrupted decoding, one transfer after another.
    func decodeRests() {
        let rests = shared.toBeDecoded.beginTurn()
        guard !rests.isEmpty else { return }
        var waiting = rests[...]
        while shared.toBeDecoded.allowance > 0, let transfer = waiting.popFirst() {
            // Transfers that have ended in the meantime are no longer decoded.
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
            // Libcurl may already have completed the transfer.
            if let code = transfer.codeAtEnd, let multi = transfer.multi, transfers[transfer.id] != nil {
                finish(transfer, with: code, of: multi)
            }
        }
    }
}
