import CCurl

/// Takes bytes into the bodies of transfers, and decodes them.
///
/// Libcurl would decode all bytes that it has read at once, and store output that cannot be delivered: 64 KiB in its
/// buffer may become 100 MiB. Libcurl therefore delivers the coded bytes. They are decoded here in small steps, while
/// there is room for the output and the turn does not take too long.
// Safety: libcurl's buffers are used within the callback that provides them, up to the length that it names.
extension Transfer {
    /// Keeps bytes of the body until it can be delivered, or until the bytes before them are decoded.
    func keep(_ bytes: UnsafeRawBufferPointer) {
        responseBuffer.lastActivity = turn.now
        unsafe responseBuffer.leave(bytes, pool: turn.buffers)
        noteProgress()
    }

    /// The fraction of a coded body that was decoded, if its length is known.
    var codedFraction: Double? {
        guard responseBuffer.decoder != nil, let easy, let length = responseBuffer.head?.statedLength, length > 0 else {
            return nil
        }
        let decoded = easy.offset(CURLINFO_SIZE_DOWNLOAD_T) - Int64(responseBuffer.rest.count)
        return min(1, max(0, Double(decoded) / Double(length)))
    }

    /// Receives coded bytes of the body; returns libcurl's next step.
    func receivedCodedBody(_ bytes: UnsafeRawBufferPointer) -> TransferState.BodyAction {
        responseBuffer.lastActivity = turn.now
        var input = unsafe bytes
        let action = unsafe take(&input)
        guard action == .pause else {
            noteRefusal()
            return action
        }
        unsafe responseBuffer.leave(input, pool: turn.buffers)
        responseBuffer.state.bytesLeft()
        noteRest()
        return .accept
    }

    /// Takes the bytes that were kept; returns a pause if some bytes still remain.
    func takeRest() -> TransferState.BodyAction {
        waitsToTakeRest = false
        guard responseBuffer.state.hasRest else { return .accept }
        let action = takeRestAsPiece() ?? takeRestAsBytes()
        action == .pause ? noteRest() : noteRefusal()
        return action
    }

    /// Makes the kept bytes the next piece for the receiver, without copying them; `nil` if that is not possible.
    private func takeRestAsPiece() -> TransferState.BodyAction? {
        if responseBuffer.rest.buffer != nil { deliverPiece() }
        guard responseBuffer.restIsPiece else { return nil }
        guard responseBuffer.state.takesBody else { return .pause }
        return noted(responseBuffer.takeRestAsPiece(now: turn.now))
    }

    private func takeRestAsBytes() -> TransferState.BodyAction {
        unsafe responseBuffer.takeRest().withUnsafeBytes { rest in
            var input = unsafe rest
            let action = unsafe take(&input)
            unsafe responseBuffer.leave(input, pool: turn.buffers)
            return action
        }
    }

    /// Makes the engine take the kept bytes in its next turn if there is room for them.
    func noteRest() {
        guard responseBuffer.state.hasRest, responseBuffer.state.takesBody, !waitsToTakeRest else { return }
        waitsToTakeRest = true
        turn.steps.ask(.takeRests, for: self)
    }

    /// Takes bytes until they are used up, there is no room for the body, or the turn must end.
    private func take(_ input: inout UnsafeRawBufferPointer) -> TransferState.BodyAction {
        guard let decoder = responseBuffer.decoder else { return unsafe takeUncoded(&input) }
        while true {
            if responseBuffer.isPieceFull(for: ContentDecoder.stepSize) { deliverPiece() }
            guard responseBuffer.state.takesBody else { return .pause }
            switch unsafe decoder.step(&input, allowance: &turn.decodingAllowance) {
            case .output(let count):
                let action = unsafe acceptBody(decoder.output(count))
                guard action == .accept else { return action }
            case .needsInput:
                return .accept
            case .yieldsTurn:
                return .pause
            case .failed(let message):
                responseBuffer.failure = RequestError(.invalidResponse(.undecodableContent), detail: message)
                return .refuse(.undecodableContent)
            }
        }
    }

    private func takeUncoded(_ input: inout UnsafeRawBufferPointer) -> TransferState.BodyAction {
        while input.count > 0 {
            let part = unsafe UnsafeRawBufferPointer(rebasing: input.prefix(ContentDecoder.stepSize))
            if responseBuffer.isPieceFull(for: part.count) { deliverPiece() }
            guard responseBuffer.state.takesBody else { return .pause }
            let action = unsafe acceptBody(part)
            guard action == .accept else { return action }
            unsafe input = UnsafeRawBufferPointer(rebasing: input[part.count...])
        }
        return .accept
    }
}

/// Takes the bytes that were kept after libcurl had delivered them.
extension TransferEngine {
    /// Takes the bytes of the transfers that wait, one transfer after another.
    func takeRests() {
        var waiting = shared.steps.takeTransfers(of: .takeRests)[...]
        while shared.decodingAllowance > 0, let transfer = waiting.popFirst() {
            // Transfers that have ended in the meantime take no more bytes.
            if !transfer.hasEnded { takeRest(of: transfer) }
        }
        shared.steps.putBack(waiting, for: .takeRests)
        shared.decodingAllowance = LoopTurnState.fullDecodingAllowance
    }

    private func takeRest(of transfer: Transfer) {
        switch transfer.takeRest() {
        case .pause:
            break
        case .refuse:
            finish(transfer, with: nil)
        case .accept:
            guard case .draining(let error) = transfer.life.place else {
                return perform(transfer.responseBuffer.state.restTaken(), on: transfer)
            }
            finish(transfer, with: error ?? transfer.responseBuffer.endError)
        }
    }
}
