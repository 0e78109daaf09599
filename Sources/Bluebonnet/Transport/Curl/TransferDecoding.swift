import CCurl

/// Bodies that are decoded here.
///
/// Libcurl would decode all of the bytes that it has read at once, and keep those for which there is no place: the 64
/// KiB of its buffer may be 100 MiB then. So it hands over the coded bytes, which are decoded in small steps, for as
/// long as there is a place for the output and the turn is not too long for others.
// Safety: libcurl's buffers are used within the callback that provides them, up to the length that it names.
extension Transfer {
    /// Takes coded bytes of the body; returns libcurl's next step.
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

    /// Decodes the bytes that were left; returns the resulting action, a pause if some are still left.
    func decodeRest() -> TransferState.BodyAction {
        isToBeDecoded = false
        guard let decoder = reception.decoder, reception.state.hasCodedRest else { return .accept }
        let action = unsafe decoder.decodeRest { unsafe decode(&$0, decoder) }
        action == .pause ? noteDecoding() : noteRefusal()
        return action
    }

    /// Has the engine continue decoding in its next turn, if there is something left, and a place for it.
    func noteDecoding() {
        guard reception.state.hasCodedRest, reception.state.takesBody, !isToBeDecoded else { return }
        isToBeDecoded = true
        turn.toBeDecoded.append(self)
    }

    /// Decodes until there is no more input, or no place for the output, or the turn has to end.
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

/// Decoding that continues after libcurl has handed the bytes over.
extension TransferEngine {
    /// Resumes interrupted decoding, each transfer in its turn.
    func decodeRests() {
        let rests = shared.toBeDecoded.beginTurn()
        guard !rests.isEmpty else { return }
        var waiting = rests[...]
        while shared.toBeDecoded.allowance > 0, let transfer = waiting.popFirst() {
            // Transfers that have ended meanwhile are not decoded any more.
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
