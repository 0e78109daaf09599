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
        if reportsHead { noteHead() }
        guard responseBuffer.state.codedBytesReceived() == .accept else { return .pause }
        responseBuffer.lastActivity = turn.now
        var input = unsafe bytes
        let action = unsafe decode(&input, decoder)
        guard action == .pause else {
            noteRefusal()
            return action
        }
        unsafe decoder.keep(input)
        responseBuffer.state.codedBytesLeft()
        noteDecoding()
        return .accept
    }

    /// Decodes the bytes that were left; returns the resulting action, a pause if some are still left.
    func decodeRest() -> TransferState.BodyAction {
        needsDecoding = false
        guard let decoder = responseBuffer.decoder, responseBuffer.state.hasCodedRest else { return .accept }
        let action = unsafe decoder.decodeRest { unsafe decode(&$0, decoder) }
        action == .pause ? noteDecoding() : noteRefusal()
        return action
    }

    /// Has the engine continue decoding in its next turn, if there is something left, and a place for it.
    func noteDecoding() {
        guard responseBuffer.state.hasCodedRest, responseBuffer.state.takesBody, !needsDecoding else { return }
        needsDecoding = true
        turn.decodingQueue.append(self)
    }

    /// Decodes until there is no more input, or no place for the output, or the turn has to end.
    private func decode(
        _ input: inout UnsafeRawBufferPointer, _ decoder: ContentDecoder
    ) -> TransferState.BodyAction {
        while true {
            if responseBuffer.isPieceFull(for: ContentDecoder.stepSize) { deliverPiece() }
            guard responseBuffer.state.takesBody else { return .pause }
            switch unsafe decoder.step(&input, allowance: &turn.decodingQueue.allowance) {
            case .output(let count):
                let action = unsafe acceptBody(decoder.output(count))
                guard action == .accept else { return action }
            case .needsInput:
                return .accept
            case .yieldsTurn:
                return .pause
            case .failed(let message):
                responseBuffer.failDecoding(message)
                return .refuse(.undecodableContent)
            }
        }
    }
}

/// Decoding that continues after libcurl has handed the bytes over.
extension TransferEngine {
    /// Resumes interrupted decoding, each transfer in its turn.
    func resumeDecoding() {
        let queued = shared.decodingQueue.beginTurn()
        guard !queued.isEmpty else { return }
        var waiting = queued[...]
        while shared.decodingQueue.allowance > 0, let transfer = waiting.popFirst() {
            // Transfers that have ended meanwhile are not decoded any more.
            if transfers[transfer.id] != nil { decodeRest(of: transfer) }
        }
        shared.decodingQueue.endTurn(unserved: waiting)
    }

    private func decodeRest(of transfer: Transfer) {
        switch transfer.decodeRest() {
        case .pause:
            break
        case .refuse:
            finish(transfer, with: nil)
        case .accept:
            perform(transfer.responseBuffer.state.codedBytesDecoded(), on: transfer)
            // Libcurl may have been done with it before.
            if let code = transfer.codeAtEnd, let multi = transfer.multi, transfers[transfer.id] != nil {
                finish(transfer, with: code, of: multi)
            }
        }
    }
}
