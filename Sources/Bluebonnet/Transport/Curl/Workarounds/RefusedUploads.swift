import CCurl

/// Bodies of requests that an HTTP/2 server refuses while they are being sent.
///
/// Libcurl would end such a body right there, short of its length. That makes the request malformed (RFC 9113 §8.1.1),
/// and there are servers that close the connection then, with all other streams on it. So the body just stops, and the
/// stream is reset once the response is complete, as §8.1 has it. Only of a response with a length is that known here;
/// the others are left to libcurl, which waits for the end of a stream in both directions. All versions tried do so,
/// 7.88 to 8.23.
extension Transfer {
    /// Ensures that no more of the body is sent, if a head refuses it.
    func stopRefusedUpload(_ head: ReceivedHead) {
        guard head.httpVersion == .http2, head.statusCode >= 300, head.statusCode != 304,
            case .sending = responseBuffer.state.upload, responseBuffer.expectedBytes != nil, let easy
        else { return }
        easy.set(CURLOPT_KEEP_SENDING_ON_ERROR, 1)
        // The next request on the handle must not have that option.
        easy.profile = nil
        responseBuffer.state.bodyRefused()
        turn.refused.append(self)
    }

    /// Whether nothing is left to wait for: the body was refused, and all of the response is here.
    var isRefusalComplete: Bool {
        guard responseBuffer.state.upload == .refused, !responseBuffer.state.isReceivingPaused,
            !responseBuffer.state.hasCodedRest, let expected = responseBuffer.expectedBytes, let easy
        else { return false }
        return easy.offset(CURLINFO_SIZE_DOWNLOAD_T) >= expected
    }
}

extension TransferEngine {
    /// Has libcurl wait no more for bytes that it will not send, nor for the end of a body that is not wanted.
    func endRefusedUploads() {
        guard !shared.refused.isEmpty else { return }
        let refused = shared.refused
        shared.refused.removeAll(keepingCapacity: true)
        for transfer in refused where transfers[transfer.id] != nil {
            if transfer.isRefusalComplete {
                finish(transfer, with: transfer.responseBuffer.endError)
            } else {
                perform(transfer.responseBuffer.state.bodyBytesArrived(), on: transfer)
            }
        }
    }
}
