import CCurl

/// Decodes the bodies of transfers.
///
/// Libcurl would decode all bytes that it has read at once, and store output that cannot be delivered: 64 KiB in its
/// buffer may become 100 MiB. Libcurl therefore delivers the coded bytes. They are decoded here in small steps, while
/// there is room for the output and the turn does not take too long.
// Safety: libcurl's buffers are used within the callback that provides them, up to the length that it names.
extension Transfer {
    /// Receives coded bytes of the body; returns libcurl's next step.
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

    /// Decodes the remaining bytes; returns a pause if some bytes still remain.
    func decodeRest() -> TransferState.BodyAction {
        needsDecoding = false
        guard let decoder = responseBuffer.decoder, responseBuffer.state.hasCodedRest else { return .accept }
        let action = unsafe decoder.decodeRest { unsafe decode(&$0, decoder) }
        action == .pause ? noteDecoding() : noteRefusal()
        return action
    }

    /// Makes the engine continue the decoding in its next turn if coded bytes remain and there is room for the output.
    func noteDecoding() {
        guard responseBuffer.state.hasCodedRest, responseBuffer.state.takesBody, !needsDecoding else { return }
        needsDecoding = true
        turn.decodingQueue.append(self)
        turn.steps.ask(.resumeDecoding)
    }

    /// Decodes until the input is used up, there is no room for the output, or the turn must end.
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

/// Continues the decoding after libcurl has delivered the bytes.
extension TransferEngine {
    /// Resumes interrupted decoding, one transfer after another.
    func resumeDecoding() {
        var waiting = shared.decodingQueue.takeTransfers()[...]
        while shared.decodingQueue.allowance > 0, let transfer = waiting.popFirst() {
            // Transfers that have ended in the meantime are no longer decoded.
            if !transfer.hasEnded { decodeRest(of: transfer) }
        }
        shared.decodingQueue.endTurn(unserved: waiting)
        if !waiting.isEmpty { shared.steps.ask(.resumeDecoding) }
    }

    private func decodeRest(of transfer: Transfer) {
        switch transfer.decodeRest() {
        case .pause:
            break
        case .refuse:
            finish(transfer, with: nil)
        case .accept:
            perform(transfer.responseBuffer.state.codedBytesDecoded(), on: transfer)
            // Libcurl may already have completed the transfer.
            if let code = transfer.codeAtEnd, let multi = transfer.multi, !transfer.hasEnded {
                finish(transfer, with: code, of: multi)
            }
        }
    }
}
