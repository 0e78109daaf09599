import CCurl

/// Stops request bodies that an HTTP/2 or HTTP/3 server refuses while they are being sent.
///
/// Libcurl would end such a body before its length. This makes the request malformed (RFC 9113 §8.1.1), and some
/// servers then close the connection with all its other streams. The body is therefore only stopped. When the response
/// is complete, the stream is reset, as §8.1 describes.
///
/// This requires a response with a length. With other responses, libcurl waits for the end of the stream in both
/// directions. All tested versions do this, 7.88 to 8.23.
extension Transfer {
    /// Stops the body if a head refuses it.
    func stopRefusedUpload(_ head: ReceivedHead) {
        guard head.httpVersion.isMultiplexed, head.statusCode >= 300, head.statusCode != 304,
            case .sending = responseBuffer.state.upload, responseBuffer.expectedBytes != nil, let easy
        else { return }
        easy.set(CURLOPT_KEEP_SENDING_ON_ERROR, 1)
        // The next request on the handle must not have this option.
        easy.profile = nil
        responseBuffer.state.bodyRefused()
        refusalMayBeComplete()
    }

    /// Lets the turn check whether the response to a refused body is complete.
    func refusalMayBeComplete() { turn.steps.ask(.endRefusedUploads, for: self) }

    /// Whether the transfer is complete, because the body was refused and the whole response has arrived.
    var isRefusalComplete: Bool {
        guard responseBuffer.state.upload == .refused, !responseBuffer.state.isReceivingPaused,
            !responseBuffer.state.hasRest, let expected = responseBuffer.expectedBytes, let easy
        else { return false }
        return easy.offset(CURLINFO_SIZE_DOWNLOAD_T) >= expected
    }
}

extension TransferEngine {
    /// Ends the transfers whose refusals are complete, and stops libcurl from waiting for bytes that will not be sent.
    func endRefusedUploads() {
        for transfer in shared.steps.takeTransfers(of: .endRefusedUploads) where !transfer.hasEnded {
            if transfer.isRefusalComplete {
                finish(transfer, with: transfer.responseBuffer.endError)
            } else {
                perform(transfer.responseBuffer.state.bodyBytesArrived(), on: transfer)
            }
        }
    }
}
